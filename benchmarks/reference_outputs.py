#!/usr/bin/env python3
"""Optima for several outputs in one objective, for the tests of the library: several targets, and softmax with other penalties.

    python benchmarks/reference_outputs.py extract FOLDER   make crates/towline/tests/data/covtype-targets.svm.zst from the data sets in FOLDER
    python benchmarks/reference_outputs.py solve            write crates/towline/tests/data/outputs.json from the files there

Needs what reference.py needs. What is minimised over W (features by outputs) and, with an intercept, b:

    R(W) + C sum_i L(y_i, W'x_i + b)     L: 1/2 |z - y|^2, or log(sum_m exp(z_m)) - z_y
    R: lambda times 1/2 |W|^2 (l2), sum |w_jm| (l1), sum_j |w_j| (group: each feature's weights), the sum of singular values (nuclear)

Where scikit-learn knows the objective, its optimum must agree with that of a plain dense proximal gradient method with the singular value
decomposition of the whole matrix, which is run until its own duality gap is below 1e-9.
"""
import csv
import json
import pathlib
import subprocess
import sys
import warnings

import numpy as np

from reference import DATA, every, load, shortest, unpacked, write

TARGETS = ["Elevation", "Slope", "Horizontal_Distance_To_Hydrology", "Hillshade_Noon"]


def covtype(path):
    """Four columns of numbers are to be predicted from all others; every column scaled to [0, 1] by its range in the whole set."""
    header, *table = csv.reader(unpacked(path).splitlines())
    values = np.array(table, dtype=float)
    low, high = values.min(axis=0), values.max(axis=0)
    targets = [header.index(name) for name in TARGETS]
    for row in every(values, 700):
        scaled = (row - low) / np.where(high > low, high - low, 1.0)
        features = {j + 1: shortest(x) for j, x in enumerate(scaled[:-1]) if x != 0 and j not in targets}
        yield ",".join(shortest(scaled[j]) for j in targets), features


def load_targets(name):
    text = subprocess.run(["zstd", "-dc", DATA / f"{name}.svm.zst"], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in text.splitlines()]
    y = np.array([[float(target) for target in row[0].split(",")] for row in rows])
    entries = [[(int(j), float(np.float32(x))) for j, x in (item.split(":") for item in row[1:])] for row in rows]
    columns = {j: k for k, j in enumerate(sorted({j for row in entries for j, _ in row}))}
    x = np.zeros((len(rows), len(columns)))
    for i, row in enumerate(entries):
        for j, value in row:
            x[i, columns[j]] = value
    return x, y


# ---- penalties: value, proximal map, and the largest multiple of v that is in the dual ball (l2 has none)


def singular(w):
    return np.linalg.svd(w, compute_uv=False)


def value_of(penalty, w):
    return {
        "l2": lambda: 0.5 * (w**2).sum(),
        "l1": lambda: np.abs(w).sum(),
        "group": lambda: np.linalg.norm(w, axis=1).sum(),
        "nuclear": lambda: singular(w).sum(),
    }[penalty]()


def prox(penalty, u, t):
    if penalty == "l2":
        return u / (1 + t)
    if penalty == "l1":
        return np.sign(u) * np.maximum(0, np.abs(u) - t)
    if penalty == "group":
        norms = np.linalg.norm(u, axis=1, keepdims=True)
        return u * np.maximum(0, 1 - t / np.maximum(norms, 1e-300))
    left, sigma, right = np.linalg.svd(u, full_matrices=False)
    return (left * np.maximum(0, sigma - t)) @ right


def dual_norm(penalty, v):
    return {
        "l1": lambda: np.abs(v).max(),
        "group": lambda: np.linalg.norm(v, axis=1).max(),
        "nuclear": lambda: singular(v).max(),
    }[penalty]()


# ---- losses: sum of values, slopes, and the dual value of slopes times -s


class Squared:
    curvature = 1.0

    def __init__(self, y):
        self.y = y

    def value(self, z):
        return 0.5 * ((z - self.y) ** 2).sum()

    def slopes(self, z):
        return z - self.y

    def dual(self, beta):
        return (beta * (self.y - 0.5 * beta)).sum()

    def centred(self, beta):
        return beta - beta.mean(axis=0)


class Softmax:
    curvature = 0.5

    def __init__(self, y):
        self.y = (y[:, None] == np.unique(y)).astype(float)

    def value(self, z):
        from scipy.special import logsumexp

        return (logsumexp(z, axis=1) - (z * self.y).sum(axis=1)).sum()

    def slopes(self, z):
        from scipy.special import softmax

        return softmax(z, axis=1) - self.y

    def dual(self, beta):
        from scipy.special import entr

        return entr(np.clip(self.y - beta, 0, None)).sum()

    def centred(self, beta):
        """Probabilities mixed with one distribution for all rows, so that every class has its share."""
        p, n = self.y - beta, len(beta)
        missing = beta.sum(axis=0)
        t = max(0.0, (-missing / p.sum(axis=0)).max())
        return self.y - ((1 - t) * p + (t * p.sum(axis=0) + missing) / n)


def gap(loss, penalty, x, c, lam, w, b, intercept):
    z = x @ w + b
    objective = lam * value_of(penalty, w) + c * loss.value(z)
    beta = -loss.slopes(z)
    if intercept:
        beta = loss.centred(beta)
    v = c * (x.T @ beta)
    if penalty == "l2":
        return objective, objective - (c * loss.dual(beta) - 0.5 * (v**2).sum() / lam)
    scale = min(1.0, lam / dual_norm(penalty, v))
    return objective, objective - c * loss.dual(scale * beta)


def proximal_gradient(loss, penalty, x, c, lam, intercept):
    """Beck & Teboulle 2009, with restarts; the intercept is a column of ones that is free of the penalty."""
    n, d = x.shape
    k = loss.y.shape[1]
    whole = np.hstack([x, np.ones((n, 1))]) if intercept else x
    step = 1 / (c * loss.curvature * np.linalg.norm(whole, 2) ** 2)
    w = ahead = np.zeros((whole.shape[1], k))
    age = 0.0
    for turn in range(2_000_000):
        following = ahead - step * c * (whole.T @ loss.slopes(whole @ ahead))
        following[:d] = prox(penalty, following[:d], step * lam)
        age = 0.0 if ((ahead - following) * (following - w)).sum() > 0 else age + 1
        ahead, w = following + age / (age + 3) * (following - w), following
        if turn % 200 == 199:
            objective, missing = gap(loss, penalty, x, c, lam, w[:d], w[d] if intercept else 0.0, intercept)
            if missing <= 1e-9 * objective:
                return objective
    sys.exit(f"{penalty}: no convergence, gap {missing / objective:g}")


# ---- scikit-learn


def scikit(loss, penalty, x, y, c, lam, intercept):
    """The same objective by scikit-learn, where it has it."""
    from sklearn.linear_model import Lasso, LogisticRegression, MultiTaskLasso, Ridge

    n, exact = len(x), {"tol": 1e-13, "max_iter": 1_000_000, "fit_intercept": intercept}
    if isinstance(loss, Squared) and penalty == "l2":
        model = Ridge(alpha=lam / c, fit_intercept=intercept, solver="svd").fit(x, y)
    elif isinstance(loss, Squared) and penalty == "l1":
        model = Lasso(alpha=lam / (c * n), **exact).fit(x, y)
    elif isinstance(loss, Squared) and penalty == "group":
        model = MultiTaskLasso(alpha=lam / (c * n), **exact).fit(x, y)
    elif isinstance(loss, Softmax) and penalty == "l2":
        model = LogisticRegression(C=c / lam, solver="newton-cg", **exact).fit(x, y)
    else:
        return None
    w, b = model.coef_.T, model.intercept_ if intercept else 0.0
    return lam * value_of(penalty, w) + c * loss.value(x @ w + b)


CASES = [("l2", 0.5, True), ("l2", 1.0, False), ("l1", 2.0, True), ("group", 3.0, True), ("nuclear", 3.0, True), ("nuclear", 0.5, False)]


def solve():
    warnings.simplefilter("error")
    cases = []
    problems = [("covtype-targets", Squared, load_targets)]
    problems += [(name, Softmax, lambda name: (load(name)[0].toarray(), load(name)[1])) for name in ["covtype-classes", "debian-classes"]]
    for data, kind, read in problems:
        x, y = read(data)
        loss, c = kind(y), 1.0
        for penalty, lam, intercept in CASES:
            value = float(proximal_gradient(loss, penalty, x, c, lam, intercept))
            peer = scikit(loss, penalty, x, y, c, lam, intercept)
            if peer is not None and abs(peer - value) > 1e-8 * value:
                sys.exit(f"{data} {penalty}: {value} here, {peer} by scikit-learn")
            peers = ["proximal gradient"] + (["scikit-learn"] if peer is not None else [])
            cases.append(
                {"data": data, "loss": "squared" if kind is Squared else "softmax", "penalty": penalty, "lambda": lam}
                | {"c": c, "intercept": intercept, "objective": value, "peers": peers}
            )
            print(cases[-1], flush=True)
    (DATA / "outputs.json").write_text(json.dumps({"cases": cases}, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["extract"] and len(sys.argv) == 3:
        write("covtype-targets", covtype(pathlib.Path(sys.argv[2]) / "covtype.csv.zst"))
    elif sys.argv[1:] == ["solve"]:
        solve()
    else:
        sys.exit(__doc__)
