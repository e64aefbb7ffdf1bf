"""Lasso and elastic net whose strength is chosen by cross-validation."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.model_selection import check_cv

from ._folds import mean_squared_errors
from ._routing import routed, router
from ._rows import rows
from .linear import SparseRegressor, penalty_of
from .sparse_paths import alpha_grid, enet_path, lasso_path
from .store import is_on_disk


class ElasticNetCV(SparseRegressor):
    """The elastic net with ``alpha`` and ``l1_ratio`` by cross-validation, with the parameters and attributes of ``sklearn.linear_model.ElasticNetCV``.

    All folds and values are trained over the same rows: for few features, from one scan of them. The rest is as for :class:`towline.ElasticNet`.
    ``alpha_``, ``l1_ratio_``, ``alphas_`` and ``mse_path_`` are what was found. Rows are arrays; for a file or a store there is :func:`towline.cv`.
    """

    path = staticmethod(enet_path)

    def __init__(
        self,
        *,
        l1_ratio=0.5,
        eps=1e-3,
        alphas=100,
        fit_intercept=True,
        precompute="auto",
        max_iter=1000,
        tol=1e-4,
        cv=None,
        copy_X=True,
        verbose=0,
        n_jobs=None,
        positive=False,
        random_state=None,
        selection="cyclic",
        solver="auto",
        memory=None,
        callback=None,
    ):
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.solver = solver
        self.memory = memory
        self.callback = callback

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def _ratios(self) -> list[float]:
        return [float(ratio) for ratio in np.atleast_1d(self.l1_ratio)]

    def get_metadata_routing(self):
        """Where metadata goes: to the splitter."""
        return router(self, check_cv(self.cv))

    def fit(self, X, y, sample_weight=None, **params):
        """Finds the best alpha by folds, and fits to all rows with it. ``params``, such as ``groups``, go to the splitter."""
        if is_on_disk(X):
            raise TypeError("folds are of arrays; for a file or a store there is towline.cv")
        X, y, sample_weight = self._arrays(X, y, sample_weight, {}, y_numeric=True)
        folds = list(check_cv(self.cv).split(X, y, **routed(self, "fit", sample_weight, params).split))
        ratios = self._ratios()
        grids = [self._grid(X, y, sample_weight, ratio) for ratio in ratios]
        problems = [
            {**self._constant(), **penalty_of(alpha, ratio), "non_negative": self.positive}
            for ratio, grid in zip(ratios, grids)
            for alpha in grid
        ]
        errors = mean_squared_errors(self, X, y, sample_weight, folds, problems).reshape(len(folds), len(ratios), -1)
        self.mse_path_ = np.squeeze(np.moveaxis(errors, 0, -1))
        best = np.unravel_index(np.argmin(errors.mean(axis=0)), errors.shape[1:])
        self.alpha_, self.l1_ratio_ = float(grids[best[0]][best[1]]), ratios[best[0]]
        self.alphas_ = np.array(grids) if isinstance(self.alphas, Integral) and len(ratios) > 1 else grids[0]
        return self._fit_all(X, y, sample_weight)

    def _grid(self, X, y, sample_weight, ratio: float) -> np.ndarray:
        if not isinstance(self.alphas, Integral):
            return np.sort(np.asarray(self.alphas, dtype=float))[::-1]
        how = {"l1_ratio": ratio, "eps": self.eps, "count": self.alphas}
        return alpha_grid(X, y, sample_weight, fit_intercept=self.fit_intercept, positive=self.positive, **how)

    def _fit_all(self, X, y, sample_weight):
        fit = self._new_fit()
        fit.train(rows(X, y, sample_weight), self._on_arrays(X, sample_weight))
        self._take(fit, from_store=False, flat=True)
        self._say_more(fit)
        fit.finish()
        return self

    def _penalty(self, width: int) -> dict:
        return penalty_of(self.alpha_, self.l1_ratio_)


class LassoCV(ElasticNetCV):
    """The Lasso with ``alpha`` by cross-validation, with the parameters and attributes of ``sklearn.linear_model.LassoCV``; see :class:`ElasticNetCV`."""

    path = staticmethod(lasso_path)

    def __init__(
        self,
        *,
        eps=1e-3,
        alphas=100,
        fit_intercept=True,
        precompute="auto",
        max_iter=1000,
        tol=1e-4,
        copy_X=True,
        cv=None,
        verbose=False,
        n_jobs=None,
        positive=False,
        random_state=None,
        selection="cyclic",
        solver="auto",
        memory=None,
        callback=None,
    ):
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.solver = solver
        self.memory = memory
        self.callback = callback

    def _ratios(self) -> list[float]:
        return [1.0]
