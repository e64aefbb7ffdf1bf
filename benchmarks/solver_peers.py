#!/usr/bin/env python3
"""A run of a peer for solvers.py, in the environment of the peers; prints one line with RESULT and JSON.

    solver_peers.py liblinear FILE.npz LOSS TYPE C
    solver_peers.py ridge FILE.npz ALPHA INTERCEPT
    solver_peers.py lasso FOLDER

Objectives are computed here from the weights, in 64 bits, on the values of 32 bits that the stores hold.
"""
import json
import sys
import time

import numpy as np
import scipy.sparse as sparse

EPSILON = 0.1


def load(path):
    found = np.load(path)
    x = sparse.csr_matrix((found["data"].astype(np.float64), found["indices"], found["indptr"]), shape=found["shape"])
    return x, found["y"]


def loss_sum(loss, y, z):
    """The losses as crates/towline/src/math/loss/mod.rs defines them."""
    if loss in ("hinge", "squared-hinge"):
        slack = np.maximum(0.0, 1.0 - y * z)
        return slack.sum() if loss == "hinge" else slack @ slack
    if loss == "logistic":
        return np.logaddexp(0.0, -y * z).sum()
    if loss == "squared":
        return 0.5 * (z - y) @ (z - y)
    slack = np.maximum(0.0, np.abs(z - y) - EPSILON)
    return slack.sum() if loss == "epsilon-insensitive" else slack @ slack


def objective(loss, c, x, y, w):
    return 0.5 * w @ w + c * loss_sum(loss, y, x @ w)


def best_of(run, most=3, enough=1.0):
    """Seconds of the processor of the shortest of a few runs, and what the last one found."""
    seconds = []
    while len(seconds) < most and sum(seconds) < enough:
        begin = time.process_time()
        found = run()
        seconds.append(time.process_time() - begin)
    return min(seconds), found


def liblinear(path, loss, kind, c):
    from liblinear.liblinearutil import parameter, problem, train
    x, y = load(path)
    data, c = problem(y, x), float(c)
    seconds, model = best_of(lambda: train(data, parameter(f"-s {kind} -c {c!r} -p {EPSILON} -B -1")))
    if loss.endswith("insensitive"):
        return {"seconds": seconds, "objective": objective(loss, c, x, y, np.array(model.w[: x.shape[1]]))}
    labels = model.label[: model.nr_class]
    rows = 1 if len(labels) == 2 else len(labels)
    weights = np.array(model.w[: x.shape[1] * rows]).reshape(x.shape[1], rows)
    # Each class against the rest; with two classes one model says both.
    sums = [objective(loss, c, x, np.where(y == label, 1.0, -1.0), w) for label, w in zip(labels, weights.T)]
    classes = {f"{label:g}": found for label, found in zip(labels, sums)} if rows > 1 else None
    return {"seconds": seconds, "objective": sum(sums), "classes": classes}


def ridge(path, alpha, intercept):
    from sklearn.linear_model import Ridge
    x, y = load(path)
    alpha, intercept = float(alpha), intercept == "yes"
    # Dense where at least a tenth of all values are not zero, and wherever there is an intercept.
    if intercept or x.nnz >= 0.1 * x.shape[0] * x.shape[1]:
        x = x.toarray()
    model = Ridge(alpha=alpha, solver="cholesky", fit_intercept=intercept)
    seconds, _ = best_of(lambda: model.fit(x, y), most=5, enough=2.0)
    w, z = model.coef_, x @ model.coef_ + model.intercept_
    return {"seconds": seconds, "losses": loss_sum("squared", y, z), "norm": 0.5 * w @ w}


def lasso(folder):
    from sklearn.linear_model import LassoCV
    about = json.load(open(f"{folder}/lasso.json"))
    # In 32 bits LassoCV finds its own Gram matrix wrong.
    x, y = (np.load(f"{folder}/lasso-{name}.npy", mmap_mode="r").astype(np.float64) for name in "xy")
    begin = time.perf_counter()
    found = LassoCV(alphas=about["alphas"], cv=10, copy_X=False, n_jobs=1).fit(x, y)
    seconds = time.perf_counter() - begin
    means = found.mse_path_.mean(axis=1)
    return {"seconds": seconds, "alpha": float(found.alpha_), "rmse": float(np.sqrt(means.min()))}


if __name__ == "__main__":
    result = {"liblinear": liblinear, "ridge": ridge, "lasso": lasso}[sys.argv[1]](*sys.argv[2:])
    print("\nRESULT " + json.dumps(result), flush=True)
