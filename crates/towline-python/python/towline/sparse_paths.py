"""Paths of Lasso and elastic net: a model for each strength of the penalty."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_array

from . import _native
from ._rows import rows
from ._train import PROBLEM, Fit
from .linear import ElasticNet, penalty_of
from .model import coefficients


def lasso_path(X, y, *, eps=1e-3, alphas=100, positive=False, return_n_iter=False, **params):
    """:func:`enet_path` for the Lasso: ``l1_ratio=1``."""
    return enet_path(X, y, l1_ratio=1.0, eps=eps, alphas=alphas, positive=positive, return_n_iter=return_n_iter, **params)


def enet_path(X, y, *, l1_ratio=0.5, eps=1e-3, alphas=100, positive=False, return_n_iter=False, **params):
    """Weights of the elastic net for each of ``alphas``, as ``sklearn.linear_model.enet_path`` has them: there is no intercept.

    ``alphas`` are numbers, or how many there are from the least for which all weights are 0 down to ``eps`` of it. ``params`` are those of
    :class:`towline.ElasticNet`, such as ``tol`` and ``max_iter``; ``precompute``, ``Xy``, ``copy_X``, ``coef_init`` and ``check_input`` are taken for
    compatibility and change nothing.

    Returns the values of alpha, from the largest on; the weights, a row for each feature and a column for each alpha, below the targets if there are several;
    and the duality gaps; with ``return_n_iter=True`` also the sweeps of each.
    """
    for name in ("precompute", "Xy", "copy_X", "coef_init", "check_input", "verbose"):
        params.pop(name, None)
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
    y = check_array(y, dtype=np.float64, ensure_2d=False)
    estimator = ElasticNet(l1_ratio=l1_ratio, positive=positive, fit_intercept=False, **params)
    if np.ndim(alphas) == 0:
        alphas = alpha_grid(X, y, None, l1_ratio=l1_ratio, eps=eps, count=alphas, positive=positive)
    alphas = np.sort(np.asarray(alphas, dtype=float))[::-1]
    found = [_path(estimator, X, target, alphas) for target in (y.T if y.ndim == 2 else [y])]
    parts = [np.array([one[place] for one in found]) for place in range(3)]
    weights, gaps, sweeps = parts if y.ndim == 2 else [part[0] for part in parts]
    return (alphas, weights, gaps, list(sweeps)) if return_n_iter else (alphas, weights, gaps)


def _path(estimator, X, y, alphas: np.ndarray):
    """Weights, gaps and sweeps along ``alphas``, each from where the one before has ended."""
    problem = {**PROBLEM, **penalty_of(1.0, estimator.l1_ratio), "non_negative": estimator.positive, "c": 1.0 / X.shape[0]}
    limits = {**Fit(estimator).limits, "callback": None}
    if (alphas <= 0).any():
        raise ValueError("a path goes down to an alpha above 0; fit Ridge with alpha=0 for none")
    runs = _native.path(rows(X, y), problem, limits, [float(alpha) for alpha in alphas])
    weights = np.array([coefficients([run.model], X.shape[1], flat=True)[0] for run in runs]).T
    return weights, np.array([run.gap * run.objective for run in runs]), [max(run.sweeps, 1) for run in runs]


def alpha_grid(X, y, sample_weight, *, l1_ratio, eps, count, fit_intercept=False, positive=False) -> np.ndarray:
    """Values of alpha from the least for which all weights are 0 down to ``eps`` of it, evenly on a logarithmic scale."""
    if l1_ratio == 0:
        raise ValueError(
            "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid by providing your estimator with the "
            "appropriate `alphas=` argument."
        )
    weight = np.full(X.shape[0], 1.0 / X.shape[0]) if sample_weight is None else sample_weight / sample_weight.sum()
    centred = y - (weight @ y if fit_intercept else 0.0)
    pulls = X.T @ (centred.T * weight).T
    if fit_intercept:
        # Σ weight · centred is 0, so that the means of X do not count.
        pulls = np.asarray(pulls)
    most = np.max(pulls if positive else np.abs(pulls)) if pulls.ndim == 1 else np.sqrt((pulls**2).sum(axis=1)).max()
    largest = most / l1_ratio
    if largest <= np.finfo(np.float64).resolution:
        return np.full(count, np.finfo(np.float64).resolution)
    return np.geomspace(largest, largest * eps, num=count)
