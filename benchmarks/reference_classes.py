#!/usr/bin/env python3
"""Optima of other programs for many classes, for the tests of the library.

    python benchmarks/reference_classes.py extract FOLDER   make crates/towline/tests/data/*-classes.svm.zst from the data sets in FOLDER
    python benchmarks/reference_classes.py solve            write crates/towline/tests/data/classes.json from these files

Needs what reference.py needs. What is minimised, without bias:

    1/2 sum |w_m|^2 + C sum_i max_m (z_im + [m != y_i]) - z_iy          crammer-singer, by LIBLINEAR -s 4
    1/2 sum |w_m|^2 + C sum_i log(sum_m exp(z_im)) - z_iy               softmax, by scikit-learn's LogisticRegression
    the sum over m of the two-class objective of m against the rest     ovr with the squared hinge loss, by LIBLINEAR -s 1
"""
import collections
import csv
import json
import sys
import pathlib

import numpy as np

import reference
from reference import DATA, every, libsvm, load, shortest, unpacked, write


def covtype(path):
    """All seven classes; every column scaled to [0, 1] by its range in the whole set."""
    values = np.array(list(csv.reader(unpacked(path).splitlines()))[1:], dtype=float)
    low, high = values.min(axis=0), values.max(axis=0)
    for row in every(values, 800):
        scaled = (row - low) / np.where(high > low, high - low, 1.0)
        yield str(int(row[-1])), {j + 1: shortest(x) for j, x in enumerate(scaled[:-1]) if x != 0}


def sections(path):
    """Packages of the eight largest sections."""
    rows = [libsvm(line) for line in unpacked(path).splitlines()]
    largest = {label for label, _ in collections.Counter(label for label, _ in rows).most_common(8)}
    return every([row for row in rows if row[0] in largest], 600)


def extract(folder):
    folder = pathlib.Path(folder)
    write("covtype-classes", covtype(folder / "covtype.csv.zst"))
    write("debian-classes", sections(folder / "debian-section.train.zst"))


def crammer_singer(x, y, c):
    from liblinear.liblinearutil import parameter, problem, train

    classes = np.unique(y)
    model = train(problem(y, x), parameter(f"-s 4 -c {c} -e 1e-9 -q"))
    w = np.array(model.w[: x.shape[1] * len(classes)]).reshape(x.shape[1], len(classes))
    order = np.argsort(model.get_labels())
    w = w[:, order]
    z = x @ w
    own = np.searchsorted(classes, y)
    rows = np.arange(len(y))
    granted = z + 1
    granted[rows, own] -= 1
    return 0.5 * (w**2).sum() + c * (granted.max(axis=1) - z[rows, own]).sum()


def softmax(x, y, c):
    from scipy.special import logsumexp
    from sklearn.linear_model import LogisticRegression

    best = np.inf
    for solver in ["newton-cg", "lbfgs"]:
        model = LogisticRegression(C=c, fit_intercept=False, tol=1e-12, max_iter=100_000, solver=solver).fit(x, y)
        z = x @ model.coef_.T
        own = np.searchsorted(model.classes_, y)
        value = 0.5 * (model.coef_**2).sum() + c * (logsumexp(z, axis=1) - z[np.arange(len(y)), own]).sum()
        best = min(best, value)
    return best


def one_vs_rest(x, y, c):
    total = 0.0
    for label in np.unique(y):
        side = np.where(y == label, 1.0, -1.0)
        w = reference.liblinear(1, x, side, c)
        total += reference.objective("squared-hinge", x, side, c, w)
    return total


SOLVERS = {
    "crammer-singer": ("hinge", crammer_singer),
    "softmax": ("logistic", softmax),
    "ovr": ("squared-hinge", one_vs_rest),
}


def solve():
    cases = []
    for data in ["covtype-classes", "debian-classes"]:
        x, y, _ = load(data)
        for multiclass, (loss, solver) in SOLVERS.items():
            for c in [0.05, 1.0]:
                value = float(solver(x, y, c))
                cases.append({"data": data, "multiclass": multiclass, "loss": loss, "c": c, "objective": value})
                print(cases[-1], flush=True)
    (DATA / "classes.json").write_text(json.dumps({"cases": cases}, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["extract"] and len(sys.argv) == 3:
        extract(sys.argv[2])
    elif sys.argv[1:] == ["solve"]:
        solve()
    else:
        sys.exit(__doc__)
