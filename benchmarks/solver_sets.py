#!/usr/bin/env python3
"""The data sets of solvers.py, each raw and scaled, as libsvm text to pack and as arrays for the peers.

Runs in the environment of the peers: it needs NumPy, SciPy and scikit-learn. Values are rounded to 32 bits first, so
that the peers see exactly what a store holds. WORK/sets.json lists what was made.

  classes   two classes, or several; a table of numbers is divided at the median of its target
  numbers   the target of the regression losses: the label as a number where the set has no other
  scaled    columns to [0, 1], or to mean 0 and deviation 1 where `Table.standard` says so
"""
import argparse
import bz2
import csv
import gzip
import io
import json
import pathlib
import struct
import subprocess
import sys

import numpy as np
import scipy.sparse as sparse
from sklearn import datasets

TOYS = ["iris", "wine", "breast_cancer", "digits", "diabetes", "linnerud"]
SOURCES = ["covtype", "kddcup99", "flights", "ijcnn1", "a9a", "w8a", "mnist"]


class Table:
    """Columns of numbers, columns of zeros and ones, and what is to be predicted."""

    def __init__(self, numeric, classes, marks=None, numbers=None, standard=False):
        self.numeric, self.marks, self.classes, self.standard = numeric, marks, classes, standard
        self.numbers = numbers

    def scaled(self):
        x = self.numeric.astype(np.float64)
        low = x.mean(axis=0) if self.standard else x.min(axis=0)
        size = x.std(axis=0) if self.standard else x.max(axis=0) - low
        # A constant column stays constant: it is no intercept by accident.
        size[size <= 1e-12 * np.maximum(1.0, np.abs(low))] = np.inf
        return Table((x - low) / size, self.classes, self.marks, self.numbers)

    def matrix(self):
        parts = [sparse.csr_matrix(self.numeric.astype(np.float32))]
        if self.marks is not None:
            parts.append(self.marks.astype(np.float32))
        return sparse.hstack(parts, format="csr", dtype=np.float32)


def bytes_of(path):
    """A file as a stream of bytes, decompressed."""
    if path.endswith(".zst"):
        return io.BytesIO(subprocess.run(["zstd", "-dc", path], check=True, capture_output=True).stdout)
    opener = {".gz": gzip.open, ".bz2": bz2.open}.get(pathlib.Path(path).suffix, open)
    return opener(path, "rb")


def one_hot(columns):
    """A column of zeros and ones for each value of each column."""
    rows, base, indices = len(columns[0]), 0, []
    for column in columns:
        values, codes = np.unique(np.array(column), return_inverse=True)
        indices.append(base + codes)
        base += len(values)
    flat = np.stack(indices, axis=1).astype(np.int32).ravel()
    starts = np.arange(0, len(flat) + 1, len(columns))
    return sparse.csr_matrix((np.ones(len(flat), np.float32), flat, starts), shape=(rows, base))


def toy(name):
    loaded = getattr(datasets, f"load_{name}")()
    x, y = loaded.data, loaded.target
    if name == "linnerud":
        y = y[:, 0]
    if name in ("diabetes", "linnerud"):
        if name == "diabetes":
            # The columns as they were measured.
            x = datasets.load_diabetes(scaled=False).data
        return Table(x, np.where(y > np.median(y), 1, -1), numbers=y, standard=True)
    return Table(x, y, standard=True)


def covtype(path):
    """Class 2 against the rest."""
    x = np.loadtxt(bytes_of(path), delimiter=",", skiprows=1, dtype=np.float32)
    return Table(x[:, :10], np.where(x[:, 54] == 2, 1, -1), sparse.csr_matrix(x[:, 10:54]))


def elevation(path):
    """The elevation from the other columns."""
    table = covtype(path)
    return Table(table.numeric[:, 1:], None, table.marks, numbers=table.numeric[:, 0])


def kddcup99(path):
    """Normal connections against the rest."""
    categories, numbers, labels = [[], [], []], [], []
    for row in csv.reader(io.TextIOWrapper(bytes_of(path))):
        for column, value in zip(categories, row[1:4]):
            column.append(value)
        numbers.append(np.array(row[:1] + row[4:41], dtype=np.float64))
        labels.append(1 if row[41] == "normal." else -1)
    return Table(np.array(numbers), np.array(labels), one_hot(categories))


def minutes(clock):
    """1738 is 17:38."""
    return 60 * (int(clock) // 100) + int(clock) % 100


def flights(path):
    """Late by a quarter of an hour, and by how much, from what is known the day before."""
    categories, numbers, late, delay = [[], [], [], []], [], [], []
    for row in csv.DictReader(io.TextIOWrapper(bytes_of(path))):
        if not row["ArrDelay"] or not row["CRSElapsedTime"]:
            continue
        for column, name in zip(categories, ["Operating_Airline ", "Origin", "Dest", "DayOfWeek"]):
            column.append(row[name])
        known = [float(row[name]) for name in ("DayofMonth", "CRSElapsedTime", "Distance")]
        numbers.append(known + [minutes(row["CRSDepTime"]), minutes(row["CRSArrTime"])])
        late.append(1 if float(row["ArrDel15"]) else -1)
        delay.append(float(row["ArrDelay"]))
    return Table(np.array(numbers), np.array(late), one_hot(categories), np.array(delay))


def libsvm(path):
    """A file of LIBSVM's page; its values are of one size, so that scaling means mean 0 and deviation 1."""
    x, y = datasets.load_svmlight_file(bytes_of(path))
    return Table(x.toarray().astype(np.float32), np.where(y > 0, 1, -1), standard=True)


def mnist(path):
    """Eights against the rest; the images, with the labels beside them."""
    labels = path.replace("images-idx3", "labels-idx1")
    with bytes_of(path) as file:
        _, rows, height, width = struct.unpack(">4I", file.read(16))
        x = np.frombuffer(file.read(), np.uint8).reshape(rows, height * width)
    with bytes_of(labels) as file:
        y = np.frombuffer(file.read()[8:], np.uint8)
    return Table(x.astype(np.float32), np.where(y == 8, 1, -1))


def write(work, name, scale, kind, x, y):
    """Text and arrays; what sets.json says about them."""
    stem = work / f"{name}-{scale}{'-numbers' if kind == ['numbers'] else ''}"
    np.savez(f"{stem}.npz", data=x.data, indices=x.indices, indptr=x.indptr, shape=x.shape, y=y.astype(np.float64))
    datasets.dump_svmlight_file(x, y, f"{stem}.svm", zero_based=False)
    print(f"  {stem.name}: {x.shape[0]} x {x.shape[1]}, {x.nnz} values", file=sys.stderr)
    return {"set": name, "scale": scale, "kind": kind, "stem": stem.name, "rows": x.shape[0],
            "columns": x.shape[1], "values": int(x.nnz), "quick": name in TOYS}


def make(work, name, table, kinds):
    """A set, raw and scaled. One store serves both kinds of losses where the label is the target of both."""
    made = []
    for scale, table in (("raw", table), ("scaled", table.scaled())):
        x = table.matrix()
        if "classes" in kinds:
            both = ["classes", "numbers"] if table.numbers is None and "numbers" in kinds else ["classes"]
            made.append(write(work, name, scale, both, x, table.classes))
        if "numbers" in kinds and table.numbers is not None:
            made.append(write(work, name, scale, ["numbers"], x, table.numbers.astype(np.float32)))
    return made


def products(numbers, marks, columns):
    """The columns, then products of two numbers, of a number and a mark, and of three numbers, as many as wanted."""
    width = numbers.shape[1]
    parts, pairs = [numbers, marks], []
    for k in range(width):
        pairs.append(numbers[:, k:] * numbers[:, k : k + 1])
    parts += pairs + [marks * numbers[:, k : k + 1] for k in range(width)] + [pairs[0] * numbers[:, :1]]
    return np.hstack(parts)[:, :columns]


def lasso(work, source, rows, columns=500, chunk=20_000):
    """A wide table for a Lasso: elevation from products of the other columns.

    Where more rows are asked for than the set has, they come again with a little noise."""
    table = elevation(source)
    scaled = Table(table.numeric, None, standard=True).scaled().numeric.astype(np.float32)
    noise = np.random.default_rng(0)
    x = np.lib.format.open_memmap(work / "lasso-x.npy", "w+", np.float32, (rows, columns), fortran_order=True)
    y = np.empty(rows)
    sums = np.zeros((3, columns))
    with open(work / "lasso.svm", "wb") as text:
        for start in range(0, rows, chunk):
            number = np.arange(start, min(start + chunk, rows))
            row, again = number % len(scaled), number >= len(scaled)
            jitter = 0.01 * again[:, None] * noise.standard_normal((len(row), scaled.shape[1]))
            made = products(scaled[row] + jitter.astype(np.float32), table.marks[row].toarray(), columns)
            x[number], y[number] = made, table.numbers[row]
            sums += [made.sum(axis=0, dtype=np.float64), y[number] @ made, np.full(columns, y[number].sum())]
            datasets.dump_svmlight_file(sparse.csr_matrix(made), y[number], text, zero_based=False)
    x.flush()
    np.save(work / "lasso-y.npy", y.astype(np.float32))
    # The least alpha under which all weights are 0, and a thousandth of it.
    largest = np.abs(sums[1] - sums[0] * sums[2] / rows).max() / rows
    alphas = list(map(float, np.geomspace(largest, largest / 1000, 100)))
    (work / "lasso.json").write_text(json.dumps({"rows": rows, "columns": columns, "alphas": alphas}) + "\n")


def load(name, source):
    if name in TOYS:
        return [(toy(name), ["classes", "numbers"])]
    if name == "covtype":
        return [(covtype(source), ["classes"]), (elevation(source), ["numbers"])]
    reader = {"kddcup99": kddcup99, "flights": flights, "mnist": mnist}.get(name, libsvm)
    return [(reader(source), ["classes", "numbers"])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--source", action="append", default=[], metavar="NAME=FILE", help=", ".join(SOURCES))
    parser.add_argument("--lasso", type=int, metavar="ROWS", help="make the table of the Lasso too, with so many rows")
    options = parser.parse_args()
    sources = dict(text.split("=", 1) for text in options.source)
    listed = options.work / "sets.json"
    made = json.loads(listed.read_text()) if listed.exists() else []
    for name in TOYS + [name for name in SOURCES if sources.get(name)]:
        if any(entry["set"] == name for entry in made):
            continue
        for table, kinds in load(name, sources.get(name)):
            made += make(options.work, name, table, kinds)
        listed.write_text(json.dumps(made, indent=1) + "\n")
    if options.lasso and not (options.work / "lasso.json").exists():
        lasso(options.work, sources["covtype"], options.lasso)


if __name__ == "__main__":
    main()
