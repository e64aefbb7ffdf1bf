"""Lasso, elastic net and ridge regression whose strength is chosen by cross-validation."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.model_selection import check_cv

from ._folds import mean_squared_errors, summed_squared_errors
from ._rows import rows
from .linear import Ridge, SparseRegressor, penalty_of
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

    def fit(self, X, y, sample_weight=None, **split_params):
        """Finds the best alpha by folds, and fits to all rows with it. ``split_params``, such as ``groups``, go to the splitter."""
        if is_on_disk(X):
            raise TypeError("folds are of arrays; for a file or a store there is towline.cv")
        X, y, sample_weight = self._arrays(X, y, sample_weight, {}, y_numeric=True)
        folds = list(check_cv(self.cv).split(X, y, **split_params))
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


class RidgeCV(Ridge):
    """Ridge regression with ``alpha`` by cross-validation, with the parameters and attributes of ``sklearn.linear_model.RidgeCV``.

    Without ``cv``, each row is left out once, by a formula; the score is the mean squared error. With ``cv``, alphas are compared by R² over the folds, all over the same rows.
    ``alpha_``, ``best_score_`` and, with ``store_cv_results=True``, ``cv_results_`` are what was found. There is one target.
    """

    _several = False

    def __init__(
        self,
        alphas=(0.1, 1.0, 10.0),
        *,
        fit_intercept=True,
        cv=None,
        store_cv_results=False,
        max_iter=None,
        tol=1e-4,
        solver="auto",
        positive=False,
        random_state=None,
        verbose=0,
        memory=None,
        callback=None,
    ):
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.store_cv_results = store_cv_results
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.verbose = verbose
        self.memory = memory
        self.callback = callback

    @property
    def alpha(self) -> float:
        """What :class:`Ridge` is fitted with."""
        return getattr(self, "alpha_", 1.0)

    def fit(self, X, y, sample_weight=None, **split_params):
        """Finds the best alpha by folds, and fits to all rows with it. ``split_params``, such as ``groups``, go to the splitter."""
        if is_on_disk(X):
            raise TypeError("folds are of arrays; for a file or a store there is towline.cv")
        X, y, sample_weight = self._arrays(X, y, sample_weight, {}, y_numeric=True)
        alphas = [float(alpha) for alpha in np.atleast_1d(self.alphas)]
        if not alphas or not all(np.isfinite(alpha) and alpha > 0 for alpha in alphas):
            raise ValueError(f"alphas={self.alphas!r} has a number that is not above 0")
        if self.cv is None:
            scores = self._leave_one_out(X, y, sample_weight, alphas)
        else:
            scores = self._by_folds(X, y, sample_weight, alphas, split_params)
        best = int(np.argmax(scores))
        self.alpha_, self.best_score_ = alphas[best], float(scores[best])
        return super().fit(X, y, sample_weight)

    def _by_folds(self, X, y, sample_weight, alphas: list[float], split_params: dict) -> np.ndarray:
        """Mean R² of each alpha."""
        folds = list(check_cv(self.cv).split(X, y, **split_params))
        problems = [{**self._constant(), "strength": alpha, "non_negative": self.positive} for alpha in alphas]
        errors = summed_squared_errors(self, X, y, sample_weight, folds, problems)
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        spread = [np.average((y[test] - np.average(y[test], weights=weight[test])) ** 2, weights=weight[test]) for _, test in folds]
        return (1.0 - errors / np.array(spread)[:, None]).mean(axis=0)

    def _leave_one_out(self, X, y, sample_weight, alphas: list[float]) -> np.ndarray:
        """The negative mean squared error of each alpha: ``r_i / (1 - h_i)`` is the error of row i by a model that has not seen it."""
        if self.positive:
            raise ValueError("positive=True needs folds: there is no formula for leaving rows out one by one; give cv=5")
        table = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        root = np.sqrt(weight)
        if self.fit_intercept:
            table, centred = table - np.average(table, axis=0, weights=weight), y - np.average(y, weights=weight)
        else:
            centred = y
        left, values, _ = np.linalg.svd(root[:, None] * table, full_matrices=False)
        squares, along = values**2, left.T @ (root * centred)
        constant = weight / weight.sum() if self.fit_intercept else 0.0
        errors = np.empty((len(y), len(alphas)))
        for place, alpha in enumerate(alphas):
            shrink = squares / (squares + alpha)
            residual = root * centred - left @ (shrink * along)
            errors[:, place] = (residual / (1.0 - (left**2) @ shrink - constant)) ** 2
        if self.store_cv_results:
            self.cv_results_ = errors
        return -errors.mean(axis=0)
