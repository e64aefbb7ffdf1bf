#!/usr/bin/env python3
"""Towline's estimators against those of scikit-learn of the same name, on tables in memory. Writes a dated record.

    benchmarks/python_tables.py --a9a a9a --ijcnn1 ijcnn1 --mnist mnist --covtype covtype.csv.zst --mice mice_bmi.svm.bz2

Run it with the Python of an environment that has both packages: `pip install .` builds the optimised one. Both fit the same
arrays, raw and with columns of deviation 1, one after the other, **with their default options**, on one core. A pair of fits has
a process of its own, forked from the one that has the data, and is ended after --max-time. All seconds are those of the
processor, so that other programs on the machine matter little; fits alternate, and the shortest of up to 40 in a second counts. The
objective is computed from the weights by its definition; "above" is how far it is above the lower of the two, as a part of
it. A fit that says that it has not converged is marked by a star. What takes less than 0.05 s is small: there the difference
counts, in milliseconds.
"""
import argparse
import math
import multiprocessing
import os
import platform
import sys
import time
import warnings

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
import scipy.sparse as sparse
import sklearn
from scipy.special import logsumexp
from sklearn import datasets, linear_model, svm
from sklearn.preprocessing import StandardScaler

import common
import towline
from record import Record
from solver_sets import bytes_of

CLASSES = ["LinearSVC", "LogisticRegression", "RidgeClassifier"]
NUMBERS = ["Ridge", "Lasso", "ElasticNet", "LinearSVR", "HuberRegressor"]
#: Slower in scikit-learn by far: on small tables alone.
SLOW = ["QuantileRegressor"]
#: Fits that take less are small: the difference counts.
SMALL_SECONDS = 0.05
SOURCES = ["a9a", "w8a", "ijcnn1", "newsgroups", "mnist", "sizes", "mice", "covtype"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in SOURCES:
        parser.add_argument(f"--{name}", metavar="FILE", help="its source; without it the set is left out")
    parser.add_argument("--max-time", type=float, default=60.0, help="most seconds of a fit [60]")
    parser.add_argument("--limit-seconds", type=float, help="begin no further fits after so many seconds")
    parser.add_argument("--only", default="", help="only rows of the table that have this word in them")
    parser.add_argument("--records", default=str(common.HERE / "records"), help="folder for the record")
    parser.add_argument("--record", default="python-tables", help="the end of the record's name; none writes none")
    return parser.parse_args()


def toys():
    for name in ("iris", "wine", "breast_cancer", "digits"):
        x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield name.replace("_", " "), x, y, CLASSES
    yield "diabetes", *datasets.load_diabetes(return_X_y=True, scaled=False), NUMBERS + SLOW


def libsvm(path):
    x, y = datasets.load_svmlight_file(bytes_of(path))
    # Not all of scikit-learn takes indices of 64 bits.
    return sparse.csr_matrix((x.data, x.indices.astype(np.int32), x.indptr.astype(np.int32)), shape=x.shape), y


def digits(path, count):
    """The first images of MNIST, with the labels beside them."""
    images, labels = bytes_of(path).read()[16:], bytes_of(path.replace("images-idx3", "labels-idx1")).read()[8:]
    return np.frombuffer(images, np.uint8).reshape(-1, 784)[:count].astype(np.float64), np.frombuffer(labels, np.uint8)[:count]


def sets(options):
    """Name, rows, labels and estimators of each set."""
    yield from toys()
    for name in ("a9a", "w8a", "ijcnn1"):
        if source := getattr(options, name):
            x, y = libsvm(source)
            yield name, x.toarray() if name == "ijcnn1" else x, y > 0, CLASSES
    if options.newsgroups:
        yield "20 newsgroups", *libsvm(options.newsgroups), CLASSES
    if options.mnist:
        yield "MNIST, 10,000 rows", *digits(options.mnist, 10_000), CLASSES
    if options.sizes:
        yield "Debian sizes", *libsvm(options.sizes), NUMBERS[:-1]
    if options.mice:
        x, y = libsvm(options.mice)
        yield "mouse genomes", x.toarray(), y, NUMBERS
    if options.covtype:
        table = np.loadtxt(bytes_of(options.covtype), delimiter=",", skiprows=1)
        yield "covtype, elevation", np.ascontiguousarray(table[:, 1:54]), table[:, 0], NUMBERS
        yield "covtype, class 2", np.ascontiguousarray(table[:, :54]), table[:, 54] == 2, CLASSES


def scales(x):
    yield "raw", x
    yield "standardized", StandardScaler(with_mean=not sparse.issparse(x)).fit_transform(x)


def pair(name):
    """Ours and theirs, with their defaults."""
    theirs = getattr(svm if name.startswith("LinearSV") else linear_model, name)
    return getattr(towline, name)(), theirs()


def objective(model, name, x, y):
    """What both minimise. Weights of classes with softmax are penalised, and intercepts as each package does it."""
    w, b = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    z, squares = x @ w.T + b, (w**2).sum()
    if name in NUMBERS + SLOW:
        return of_residuals(model, name, y - z[:, 0], w, b)
    classes = np.unique(y)
    if name == "LogisticRegression" and len(classes) > 2:
        own = np.take_along_axis(z, np.searchsorted(classes, y)[:, None], axis=1)[:, 0]
        return 0.5 * squares + (logsumexp(z, axis=1) - own).sum()
    sides = np.where(y[:, None] == (classes if len(classes) > 2 else classes[1:]), 1, -1)
    if name == "LogisticRegression":
        return 0.5 * squares + np.logaddexp(0, -sides * z).sum()
    if name == "RidgeClassifier":
        return ((sides - z) ** 2).sum() + squares
    return 0.5 * (squares + b @ b) + (np.maximum(0, 1 - sides * z) ** 2).sum()


def of_residuals(model, name, r, w, b):
    squares, sizes = (w**2).sum(), np.abs(w).sum()
    if name == "Ridge":
        return (r**2).sum() + squares
    if name == "Lasso":
        return (r**2).mean() / 2 + sizes
    if name == "ElasticNet":
        return (r**2).mean() / 2 + 0.5 * sizes + 0.25 * squares
    if name == "LinearSVR":
        return 0.5 * (squares + b @ b) + np.abs(r).sum()
    if name == "QuantileRegressor":
        return 0.5 * np.abs(r).mean() + sizes
    # sigma (1 + H(r / sigma)), and sigma may be nearly 0.
    s, e = model.scale_, model.epsilon
    return (s + np.where(np.abs(r) < e * s, r**2 / s, 2 * e * np.abs(r) - e**2 * s)).sum() + model.alpha * squares


def fit(both, name, x, y, limit, pipe):
    """Times fits of both in turn, in a process of its own."""
    seconds, converged = ([], []), [True, True]
    begin = time.process_time()
    while len(seconds[1]) < 40 and (not seconds[1] or time.process_time() - begin < 1):
        for at, estimator in enumerate(both):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                start = time.process_time()
                estimator.fit(x, y)
                seconds[at].append(time.process_time() - start)
            converged[at] = not any(issubclass(each.category, sklearn.exceptions.ConvergenceWarning) for each in caught)
            if len(seconds[at]) == 1:
                pipe.send((at, {"seconds": seconds[at][0], "objective": float(objective(estimator, name, x, y)),
                                "converged": converged[at], "solver": getattr(estimator, "solver_", None)}))
    pipe.send([min(each) for each in seconds])


def timed(both, name, x, y, limit):
    """What both found; nothing for one that did not end in time."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=fit, args=(both, name, x, y, limit, there))
    process.start()
    there.close()
    found = [None, None]
    try:
        while not isinstance(message := received(here, process, limit), list):
            found[message[0]] = message[1]
        for each, seconds in zip(found, message):
            each["seconds"] = seconds
    except EOFError:
        process.kill()
    process.join()
    return found


def received(pipe, process, limit):
    """The next message of a process, unless it works on it for longer than the limit. (A limit of the kernel would make its clock coarse.)"""
    def used():
        with open(f"/proc/{process.pid}/stat") as file:
            return sum(map(int, file.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")

    begin = used()
    while not pipe.poll(0.2):
        if used() - begin > limit:
            raise EOFError
    return pipe.recv()


def shown(found, limit):
    if not found:
        return f"not in {limit:g} s"
    size = f"{found['seconds']:.2f} s" if found["seconds"] >= 1 else f"{1e3 * found['seconds']:.2f} ms"
    return size + ("" if found["converged"] else " *")


def above(found, best):
    return f"{max(0.0, found['objective'] / best - 1):.1e}" if found else ""


def summary(facts):
    """What the table says as a whole, against what it should."""
    ended = [fact for fact in facts if fact["towline"] and fact["scikit-learn"]]
    ratio = {id(fact): fact["scikit-learn"]["seconds"] / fact["towline"]["seconds"] for fact in ended}
    large = [fact for fact in ended if max(fact["towline"]["seconds"], fact["scikit-learn"]["seconds"]) >= SMALL_SECONDS]
    small = [fact for fact in ended if fact not in large]

    def name(fact):
        return f"{fact['data']}, {fact['scale']}, {fact['estimator']}"

    def more(fact):
        return 1e3 * (fact["towline"]["seconds"] - fact["scikit-learn"]["seconds"])

    def worse(fact):
        return fact["towline"]["objective"] / fact["scikit-learn"]["objective"] - 1

    notes = [f"{len(ended)} of {len(facts)} pairs ended; Towline alone in {sum(bool(f['towline']) for f in facts) - len(ended)} of the others."]
    if ended:
        mean = math.exp(sum(math.log(each) for each in ratio.values()) / len(ratio))
        notes.append(f"Geometric mean of all ratios: {mean:.2f} (goal 3).")
        last = max(ended, key=worse)
        count = sum(worse(fact) > 1e-6 for fact in ended)
        notes.append(f"Objective above scikit-learn's by more than 1e-6 of it: {count} pairs (goal 0); most: {worse(last):.1e}, {name(last)}.")
    if large:
        last = min(large, key=lambda fact: ratio[id(fact)])
        slow = sum(ratio[id(fact)] < 1 / 1.2 for fact in large)
        notes.append(f"Of {len(large)} pairs of {SMALL_SECONDS} s or more, {slow} take more than 1.2x (goal 0); worst {1 / ratio[id(last)]:.2f}x: {name(last)}.")
    if small:
        last = max(small, key=more)
        slow = sum(more(fact) > 2 for fact in small)
        notes.append(f"Of {len(small)} smaller ones, {slow} take more than 2 ms more (goal 0); most {more(last):.2f} ms: {name(last)}.")
    return notes


def main():
    options = arguments()
    # One core: neither program has more threads than that.
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(cores)[-1:])
    record = Record(
        "Tables in Python", "One core. `benchmarks/python_tables.py` says what is measured. A star: not converged, by its own words.",
        ("data", "scale", "estimator", "Towline", "scikit-learn", "ratio", "Towline above", "scikit-learn above", "solver"),
    )
    begin = time.monotonic()
    for data, raw, y, names in sets(options):
        if not any(options.only in f"{data} {scale} {name}" for scale in ("raw", "standardized") for name in names):
            continue
        for scale, x in scales(raw):
            for name in names:
                late = options.limit_seconds is not None and time.monotonic() - begin > options.limit_seconds
                if late or options.only not in f"{data} {scale} {name}":
                    continue
                ours, theirs = timed(pair(name), name, x, y, options.max_time)
                best = min((each["objective"] for each in (ours, theirs) if each), default=1.0)
                ratio = f"{theirs['seconds'] / ours['seconds']:.2g}x" if ours and theirs else ""
                record.row(data, scale, name, shown(ours, options.max_time), shown(theirs, options.max_time), ratio,
                           above(ours, best), above(theirs, best), ours["solver"] if ours else "")
                record.facts.append({"data": data, "scale": scale, "estimator": name, "towline": ours, "scikit-learn": theirs})
    os.sched_setaffinity(0, cores)
    record.notes = summary(record.facts)
    if options.record == "none":
        print(common.table(record.heads, record.rows) + "\n".join(record.notes))
    else:
        commit = common.first_line("git", "describe", "--always", "--dirty")
        versions = {"towline": towline.__version__, "commit": commit, "scikit-learn": sklearn.__version__,
                    "numpy": np.__version__, "python": platform.python_version()}
        record.write(options.records, options.record, versions)


if __name__ == "__main__":
    sys.exit(main())
