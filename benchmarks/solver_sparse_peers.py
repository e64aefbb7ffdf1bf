#!/usr/bin/env python3
"""Runs of celer, skglm and adelie for solver_sparse.py, in the environment of the peers.

    solver_sparse_peers.py scales FILE.npz                 rows, and the least alphas under which all weights are 0
    solver_sparse_peers.py PEER FILE.npz SECONDS PROBLEMS  a line with RESULT and JSON for each problem

A problem is a loss, a share of l1, an alpha and an objective to be reached:

    F(w) = rho |w|_1 + (1 - rho)/2 |w|^2 + C sum of L,    C = 1 / (rows x alpha)

which is the peers' objective over alpha. A peer runs with one tolerance after the other until F at its weights, which
NumPy computes, is no more than that objective, or a run takes longer than SECONDS.
"""
import json
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sparse

from solver_peers import best_of, load, loss_sum

# Tables with at least this part of values that are not 0 are arrays to peers; others are sparse.
DENSE = 0.2
TOLERANCES = {"celer": [1e-4, 1e-6, 1e-8, 1e-10], "skglm": [1e-4, 1e-6, 1e-8, 1e-10], "adelie": [1e-7, 1e-9, 1e-11, 1e-13]}
# A loop that runs is no longer compiled.
WARM_ROWS = 200


def read(path):
    """Rows as peers like them, and two labels as -1 and 1."""
    x, y = load(path)
    labels = np.unique(y)
    signs = np.where(y == labels[-1], 1.0, -1.0) if len(labels) == 2 else None
    return x, y, signs


def shaped(x):
    is_dense = x.nnz >= DENSE * x.shape[0] * x.shape[1]
    return np.asfortranarray(x.toarray()) if is_dense else sparse.csc_matrix(x)


def scales(path):
    x, y, signs = read(path)
    most = {"squared": float(np.abs(x.T @ y).max() / len(y))}
    if signs is not None:
        most["logistic"] = float(np.abs(x.T @ signs).max() / (2 * len(y)))
    return {"rows": len(y), "most": most}


def objective(problem, x, y, w):
    share, c = problem["share"], 1 / (len(y) * problem["alpha"])
    return share * np.abs(w).sum() + (1 - share) / 2 * w @ w + c * loss_sum(problem["loss"], y, x @ w)


def celer(problem, x, y, tolerance):
    from celer import ElasticNet, Lasso, LogisticRegression
    alpha, share = problem["alpha"], problem["share"]
    if problem["loss"] == "logistic":
        model = LogisticRegression(C=1 / (len(y) * alpha), tol=tolerance, fit_intercept=False)
    elif share == 1:
        model = Lasso(alpha=alpha, tol=tolerance, fit_intercept=False)
    else:
        model = ElasticNet(alpha=alpha, l1_ratio=share, tol=tolerance, fit_intercept=False)
    return model.fit(x, y).coef_.ravel()


def skglm(problem, x, y, tolerance):
    from skglm import ElasticNet, Lasso, SparseLogisticRegression
    alpha, share = problem["alpha"], problem["share"]
    if problem["loss"] == "logistic":
        model = SparseLogisticRegression(alpha=alpha, tol=tolerance, fit_intercept=False)
    elif share == 1:
        model = Lasso(alpha=alpha, tol=tolerance, fit_intercept=False)
    else:
        model = ElasticNet(alpha=alpha, l1_ratio=share, tol=tolerance, fit_intercept=False)
    return model.fit(x, y).coef_.ravel()


def adelie(problem, x, y, tolerance):
    import adelie as ad
    matrix = ad.matrix.sparse(x, method="naive", n_threads=1) if sparse.issparse(x) else x
    glm = ad.glm.binomial(y=(y + 1) / 2) if problem["loss"] == "logistic" else ad.glm.gaussian(y=y)
    found = ad.grpnet(matrix, glm, alpha=problem["share"], lmda_path=np.array([problem["alpha"]]), intercept=False,
                      tol=tolerance, irls_tol=tolerance, n_threads=1, early_exit=False, progress_bar=False)
    return found.betas.toarray()[-1]


PEERS = {"celer": celer, "skglm": skglm, "adelie": adelie}


def run(peer, path, seconds, problems):
    """Seconds until the objective is reached, and what was reached at last."""
    warnings.simplefilter("ignore")
    x, y, signs = read(path)
    matrix, solve, known = shaped(x), PEERS[peer], set()
    for problem in json.loads(problems):
        target = signs if problem["loss"] == "logistic" else y
        kind = (problem["loss"], problem["share"] == 1)
        if kind not in known:
            # A part of the rows that has both labels.
            some = np.unique(np.concatenate([np.flatnonzero(target == v)[:WARM_ROWS] for v in np.unique(target)[:9]]))
            solve(problem, shaped(x[some]), target[some], 1e-2)
            known.add(kind)
        found = {"seconds": None, "objective": None, "reached": False}
        for tolerance in TOLERANCES[peer]:
            begin = time.perf_counter()
            spent, w = best_of(lambda: solve(problem, matrix, target, tolerance))
            found = {"seconds": spent, "tolerance": tolerance, "objective": float(objective(problem, x, target, w))}
            found["reached"] = found["objective"] <= problem["enough"]
            if found["reached"] or time.perf_counter() - begin > float(seconds):
                break
        print("\nRESULT " + json.dumps(found), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "scales":
        print("\nRESULT " + json.dumps(scales(sys.argv[2])), flush=True)
    else:
        run(*sys.argv[1:])
