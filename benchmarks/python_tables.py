#!/usr/bin/env python3
"""Towline's estimators against those of scikit-learn of the same name, on tables in memory. Writes a dated record.

    benchmarks/python_tables.py --covtype covtype.csv.zst --mice mice_bmi.svm.bz2 --a9a a9a

Run it with the Python of an environment that has both packages: `pip install .` builds the optimised one. Both fit
the same arrays of 64 bits, one after the other, with their default options but for max_iter, on one core. A fit has a
process of its own, forked from the one that has the data, and is ended after --max-time. All seconds are those of the
processor, so that other programs on the machine matter little; the shortest of up to three runs counts. The objective is
computed from the weights by its definition; "above" is how far it is above the lower of the two, as a part of it. Whether
a fit says that it has converged is shown too.
"""
import argparse
import multiprocessing
import os
import platform
import resource
import sys
import time
import warnings

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
import sklearn
from scipy.special import logsumexp
from sklearn import datasets, linear_model, svm
from sklearn.preprocessing import StandardScaler

import common
import towline
from record import Record
from solver_sets import bytes_of

LONG = 1_000_000


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("covtype", "mice", "a9a"):
        parser.add_argument(f"--{name}", metavar="FILE", help="its source; without it the set is left out")
    parser.add_argument("--max-time", type=float, default=150.0, help="most seconds of a fit [150]")
    parser.add_argument("--limit-seconds", type=float, help="begin no further fits after so many seconds")
    parser.add_argument("--only", default="", help="only rows of the table that have this word in them")
    parser.add_argument("--records", default=str(common.HERE / "records"), help="folder for the record")
    parser.add_argument("--record", default="python-tables", help="the end of the record's name; none writes none")
    return parser.parse_args()


def standardized(x):
    return StandardScaler().fit_transform(x)


def covtype(path):
    table = np.loadtxt(bytes_of(path), delimiter=",", skiprows=1)
    classes = table[:, 54].astype(int)
    yield "covtype, elevation, raw", np.ascontiguousarray(table[:, 1:54]), table[:, 0], ["Ridge", "Lasso"]
    x = standardized(table[:, :54])
    del table
    yield "covtype, class 2, standardized", x, classes == 2, ["LinearSVC", "LogisticRegression"]
    yield "covtype, 7 classes, standardized", x, classes, ["LinearSVC", "LogisticRegression"]


def mice(path):
    x, y = datasets.load_svmlight_file(bytes_of(path))
    x = x.toarray()
    yield "mouse genomes, raw", x, y, ["Ridge", "LinearSVR"]
    yield "mouse genomes, standardized", standardized(x), y, ["Ridge", "LinearSVR"]


def a9a(path):
    x, y = datasets.load_svmlight_file(bytes_of(path))
    yield "a9a, standardized", standardized(x.toarray()), y > 0, ["LinearSVC", "LogisticRegression"]


def estimators(name):
    """Ours and theirs."""
    ours, theirs = getattr(towline, name), getattr(svm if name.startswith("LinearSV") else linear_model, name)
    return ours(max_iter=LONG), theirs() if name == "Ridge" else theirs(max_iter=LONG)


def objective(model, name, x, y):
    """What both minimise. Weights of classes with softmax are penalised, and intercepts as each package does it."""
    w, b = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    z, squares = x @ w.T + b, (w**2).sum()
    if name == "Ridge":
        return ((y - z[:, 0]) ** 2).sum() + squares
    if name == "Lasso":
        return ((y - z[:, 0]) ** 2).mean() / 2 + np.abs(w).sum()
    if name == "LinearSVR":
        return 0.5 * (squares + b @ b) + np.abs(y - z[:, 0]).sum()
    classes = np.unique(y)
    if name == "LogisticRegression" and len(classes) > 2:
        own = np.take_along_axis(z, np.searchsorted(classes, y)[:, None], axis=1)[:, 0]
        return 0.5 * squares + (logsumexp(z, axis=1) - own).sum()
    sides = np.where(y[:, None] == (classes if len(classes) > 2 else classes[1:]), 1, -1)
    if name == "LogisticRegression":
        return 0.5 * squares + np.logaddexp(0, -sides * z).sum()
    return 0.5 * (squares + b @ b) + (np.maximum(0, 1 - sides * z) ** 2).sum()


def fit(estimator, name, x, y, limit, pipe):
    """Times a fit, in a process of its own."""
    used, seconds = time.process_time(), []
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + limit) + 1, int(used + limit) + 2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        while len(seconds) < 3 and sum(seconds) < min(5, limit / 3):
            begin = time.process_time()
            estimator.fit(x, y)
            seconds.append(time.process_time() - begin)
    converged = not any(issubclass(each.category, sklearn.exceptions.ConvergenceWarning) for each in caught)
    pipe.send({"seconds": min(seconds), "objective": float(objective(estimator, name, x, y)), "converged": converged,
               "solver": getattr(estimator, "solver_", None)})


def timed(estimator, name, x, y, limit):
    """What a fit found, or nothing if it did not end in time."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=fit, args=(estimator, name, x, y, limit, there))
    process.start()
    there.close()
    try:
        found = here.recv()
    except EOFError:
        found = None
    process.join()
    return found


def shown(found, limit):
    if not found:
        return f"not in {limit:g} s"
    return f"{found['seconds']:.2f} s{'' if found['converged'] else ', not converged'}"


def above(found, best):
    return f"{max(0.0, found['objective'] / best - 1):.1e}" if found else ""


def main():
    options = arguments()
    # One core: neither program has more threads than that.
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(cores)[:1])
    record = Record(
        "Tables in Python", "One core. `benchmarks/python_tables.py` says what is measured.",
        ("data", "estimator", "Towline", "scikit-learn", "ratio", "Towline above", "scikit-learn above", "solver"),
    )
    begin = time.monotonic()
    sources = [(a9a, options.a9a), (mice, options.mice), (covtype, options.covtype)]
    for data, x, y, names in (each for load, source in sources if source for each in load(source)):
        for name in names:
            late = options.limit_seconds is not None and time.monotonic() - begin > options.limit_seconds
            if late or options.only not in f"{data} {name}":
                continue
            ours, theirs = (timed(each, name, x, y, options.max_time) for each in estimators(name))
            best = min((each["objective"] for each in (ours, theirs) if each), default=1.0)
            ratio = f"{theirs['seconds'] / ours['seconds']:.2g}x" if ours and theirs else ""
            record.row(data, name, shown(ours, options.max_time), shown(theirs, options.max_time), ratio,
                       above(ours, best), above(theirs, best), ours["solver"] if ours else "")
            record.facts.append({"data": data, "estimator": name, "towline": ours, "scikit-learn": theirs})
    os.sched_setaffinity(0, cores)
    if options.record == "none":
        print(common.table(record.heads, record.rows))
    else:
        commit = common.first_line("git", "describe", "--always", "--dirty")
        versions = {"towline": towline.__version__, "commit": commit, "scikit-learn": sklearn.__version__,
                    "numpy": np.__version__, "python": platform.python_version()}
        record.write(options.records, options.record, versions)


if __name__ == "__main__":
    sys.exit(main())
