#!/usr/bin/env python3
"""Measures training with an index against the same truncated loss by blocks, and writes a dated record.

    benchmarks/indexed.py --covtype covtype --kdd kddcup.data.gz --digits digits

`--covtype` names libsvm text with two classes and features from 0 to 1 (benchmarks/README.md), `--kdd` the KDD Cup 99 table as it
comes (CSV, no header; packed, with normal against the rest), `--digits PREFIX` the files PREFIX.train and PREFIX.test of `datagen mnist` (1 against the
rest; --copies 40 makes more than two million rows). A third of the rows of the first two is for testing. Settings of the paper: s = 1, C = 1, n = 1000.

Both trainers begin with the same 10,000 rows, in a tenth of the memory that the rows take, under `limited` (root or a delegated control
group; left out with --no-limit) with a disk of 125 MB/s. Time and bytes count until the test error first is within 0.1 points of the batch solver's last one; time
spent on test scores is subtracted. The convex model is LIBLINEAR's (-s 3) if liblinear-train is there, else Towline's.
"""
import argparse
import csv
import gzip
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import zlib

import common
from common import HERE
from record import Record


def arguments():
    parser = argparse.ArgumentParser(description="Measures training with an index and writes a dated record.")
    parser.add_argument("--covtype", metavar="FILE", help="libsvm text with two classes")
    parser.add_argument("--kdd", metavar="FILE", help="the KDD Cup 99 table, gzip or plain")
    parser.add_argument("--digits", metavar="PREFIX", help="PREFIX.train and PREFIX.test of datagen mnist")
    parser.add_argument("--rows", type=int, help="take only so many rows of each set, to try things")
    parser.add_argument("--no-limit", action="store_true", help="without a control group, and at the disk's own speed")
    parser.add_argument("--part", type=float, default=0.1, help="memory as a part of what the rows take [default: 0.1]")
    common.add_common(parser)
    return parser.parse_args()


def split(lines, train, test):
    """A third of the lines, by a hash of each one's number, is for testing."""
    with open(train, "w") as to_train, open(test, "w") as to_test:
        for number, line in enumerate(lines):
            (to_test if zlib.crc32(str(number).encode()) % 3 == 0 else to_train).write(line)


def kdd_lines(path, limit):
    """Categories become features of value 1, numbers become features scaled to [0, 1]; the label is 1 for normal."""
    opener = gzip.open if open(path, "rb").read(2) == b"\x1f\x8b" else open
    with opener(path, "rt") as file:
        rows = [row for _, row in zip(range(limit or 1 << 60), csv.reader(file))]
    categorical = {1, 2, 3}
    largest = [0.0] * 41
    for row in rows:
        for k in range(41):
            if k not in categorical:
                largest[k] = max(largest[k], float(row[k]))
    numbers = {k: 1 + n for n, k in enumerate(k for k in range(41) if k not in categorical)}
    categories = {}
    for row in rows:
        entries = []
        for k in range(41):
            if k in categorical:
                entries.append((categories.setdefault((k, row[k]), 39 + len(categories)), 1))
            elif float(row[k]) > 0:
                entries.append((numbers[k], round(float(row[k]) / largest[k], 6)))
        text = "".join(f" {i}:{v:g}" for i, v in sorted(entries) if v)
        yield f"{1 if row[41].startswith('normal') else -1}{text}\n"


def head(path, limit):
    with open(path) as file:
        for number, line in enumerate(file):
            if limit and number >= limit:
                return
            yield line


def digit_lines(path, limit):
    for line in head(path, limit):
        label, _, rest = line.partition(" ")
        yield f"{1 if label == '1' else -1} {rest}"


class Set:
    def __init__(self, name, work):
        self.name, self.train, self.test, self.store = name, work / f"{name}.train", work / f"{name}.test", work / f"{name}.tow"


def prepare(options, work):
    sets = []
    if options.covtype:
        covtype = Set("covtype", work)
        split(head(options.covtype, options.rows), covtype.train, covtype.test)
        sets.append(covtype)
    if options.kdd:
        kdd = Set("kddcup99", work)
        split(kdd_lines(options.kdd, options.rows), kdd.train, kdd.test)
        sets.append(kdd)
    if options.digits:
        digits = Set("digits", work)
        for part, to in (("train", digits.train), ("test", digits.test)):
            with open(to, "w") as out:
                out.writelines(digit_lines(f"{options.digits}.{part}", options.rows))
        sets.append(digits)
    return sets


class Bench(Record):
    def __init__(self, options, towline, work):
        self.options, self.towline, self.work = options, towline, work
        super().__init__("Training with an index", "`benchmarks/indexed.py` says what exactly is timed; a ratio above 1 is in favour of the index.",
                         ("what", "with an index", "without", "ratio", "must reach"))

    def train(self, data, method, memory, *more):
        """A run: its summary, and its trace with test errors."""
        model, trace = self.work / "model.towm", self.work / "trace.jsonl"
        for path in (model, trace, self.work / "model.towm.duals"):
            common.remove(path)
        for path in data.store.rglob("*"):
            if path.is_file():
                common.drop_from_cache(path)
        prefix = [] if self.options.no_limit else [HERE / "limited", str(int(memory * 1.25) + (24 << 20)), "125M", "--"]
        command = [*prefix, self.towline, "train", data.store, "-o", model, "--json", "--trace", trace, "--method", method, "--memory", memory,
                   "--test", data.test, "--test-every", 0, *more]
        _, out, _ = common.timed(command, expect=(0, 5))
        steps = [json.loads(line) for line in open(trace)]
        return json.loads(out), [step for step in steps if step.get("test") is not None]


def error(step):
    return 100 * (1 - step["test"]["accuracy"])


def until(steps, goal):
    """The first step with a test error of at most `goal`."""
    return next((step for step in steps if error(step) <= goal), None)


def measure(bench, data):
    _, out, _ = common.timed([bench.towline, "pack", data.train, "-o", data.store, "--json", "--force"])
    pack = json.loads(out)
    _, out, _ = common.timed([bench.towline, "index", data.store, "--json"])
    index = json.loads(out)
    info = json.loads(common.timed([bench.towline, "info", data.store, "--json"])[1])
    plan = json.loads(common.timed([bench.towline, "plan", data.store, "--memory", "64G", "--json"])[1])
    size = index["bytes"] / info["store_bytes"]
    seconds = pack.get("seconds") or pack.get("total_seconds") or 1e-9
    bench.row(f"{data.name}: building the index", f"{index['seconds']:.1f} s, {index['bytes'] / 1e6:.1f} MB",
              f"pack {seconds:.1f} s, store {info['store_bytes'] / 1e6:.1f} MB", f"{index['seconds'] / seconds:.2f} and {size:.2f}", "at most 3 and 1.3")
    memory = max(int(bench.options.part * plan["resident_bytes"]), 24 << 20)
    batch, batch_steps = bench.train(data, "trunc-l1-dual", memory)
    ours, steps = bench.train(data, "ibcd-l1-dual", memory)
    convex, _ = bench.train(data, "sbm", "4G", "--loss", "hinge")
    goal = error(batch_steps[-1]) + 0.1
    there, theirs = until(steps, goal), until(batch_steps, goal)
    fast = data.name != "covtype"
    if there and theirs:
        spent = [step["seconds"] - step["test_seconds"] for step in (there, theirs)]
        time = spent[1] / max(spent[0], 1e-3)
        read = theirs["bytes_read"] / max(there["bytes_read"], 1)
        bench.row(f"{data.name}: to a test error of {goal:.2f} %, {memory >> 20} MiB", f"{spent[0]:.2f} s, {there['bytes_read'] / 1e6:.1f} MB",
                  f"by blocks {spent[1]:.2f} s, {theirs['bytes_read'] / 1e6:.1f} MB", f"{time:.1f} and {read:.1f}",
                  "at least 5 and 10" if fast else "time at least 0.67")
    else:
        bench.row(f"{data.name}: to a test error of {goal:.2f} %", "not reached", "", "-", "")
    convex_error = liblinear(data, bench.work) if shutil.which("liblinear-train") else 100 * (1 - convex["test"]["accuracy"])
    ours_error = 100 * (1 - ours["test"]["accuracy"])
    bench.row(f"{data.name}: test error", f"{ours_error:.3f} %", f"convex {convex_error:.3f} %", f"{ours_error - convex_error:+.3f} points", "at most +0.1")
    bench.row(f"{data.name}: support rows", f"{ours['support']:,}", f"convex {convex['support']:,}",
              f"{convex['support'] / max(ours['support'], 1):.1f}", "at least 5" if fast else "")
    bench.facts.append({"set": data.name, "pack": pack, "index": index, "memory": memory, "batch": batch, "indexed": ours, "convex": convex})


def liblinear(data, work):
    model, out = work / "liblinear.model", work / "liblinear.out"
    common.timed(["liblinear-train", "-s", "3", "-q", data.train, model])
    _, text, _ = common.timed(["liblinear-predict", data.test, model, out])
    return 100 - float(re.search(r"Accuracy = ([0-9.]+)%", text)[1])


def main():
    options = arguments()
    towline, _ = common.build(options)
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        work = pathlib.Path(work)
        bench = Bench(options, towline, work)
        for data in prepare(options, work):
            with bench.part(data.name):
                measure(bench, data)
    bench.write(options.records, "indexed", common.versions(towline, None))


if __name__ == "__main__":
    try:
        main()
    except common.Failed as failure:
        sys.exit(f"indexed.py: {failure}")
