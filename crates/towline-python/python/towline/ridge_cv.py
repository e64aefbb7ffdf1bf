"""Ridge regression whose strength is chosen by cross-validation."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, check_cv

from ._check import choice
from ._folds import summed_squared_errors
from ._routing import is_enabled, routed, router
from .linear import Ridge
from .store import is_on_disk


class RidgeCV(Ridge):
    """Ridge regression with ``alpha`` by cross-validation, with the parameters and attributes of ``sklearn.linear_model.RidgeCV``.

    Without ``cv``, each row is left out once, by a formula, and alphas are compared by the mean squared error, or by ``scoring``; ``alpha_per_target=True`` chooses one for
    each target. With ``cv``, they are compared by R², or by ``scoring``, over the folds, for one target all over the same rows. ``alpha_``, ``best_score_`` and, with
    ``store_cv_results=True``, ``cv_results_`` are what was found. ``gcv_mode`` is taken for compatibility and changes nothing.
    """

    def __init__(
        self,
        alphas=(0.1, 1.0, 10.0),
        *,
        fit_intercept=True,
        scoring=None,
        cv=None,
        gcv_mode=None,
        store_cv_results=False,
        alpha_per_target=False,
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
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.verbose = verbose
        self.memory = memory
        self.callback = callback

    @property
    def alpha(self):
        """What :class:`towline.Ridge` is fitted with."""
        return getattr(self, "alpha_", 1.0)

    def get_metadata_routing(self):
        """Where metadata goes: to the splitter and to the scorer."""
        scorer = None if self.scoring is None else check_scoring(self, scoring=self.scoring)
        return router(self, check_cv(self.cv), scorer)

    def fit(self, X, y, sample_weight=None, **params):
        """Finds the best alpha by folds, and fits to all rows with it. ``params``, such as ``groups``, go to the splitter."""
        if is_on_disk(X):
            raise TypeError("folds are of arrays; for a file or a store there is towline.cv")
        choice(self, "gcv_mode", (None, "auto", "svd", "eigen"))
        X, y, sample_weight = self._arrays(X, y, sample_weight, {}, y_numeric=True, multi_output=True)
        alphas = [float(alpha) for alpha in np.atleast_1d(self.alphas)]
        if not alphas or not all(np.isfinite(alpha) and alpha >= 0 for alpha in alphas):
            raise ValueError(f"alphas={self.alphas!r} has a number that is not above 0")
        self.__dict__.pop("cv_results_", None)
        if self.cv is None:
            if min(alphas) == 0:
                raise ValueError(f"alphas={self.alphas!r} has a 0, for which rows cannot be left out by a formula; give cv=5")
            self._leave_one_out(X, y, sample_weight, alphas)
        else:
            self._by_folds(X, y, sample_weight, alphas, params)
        return super().fit(X, y, sample_weight)

    def _by_folds(self, X, y, sample_weight, alphas: list[float], params: dict) -> None:
        if self.store_cv_results:
            raise ValueError("cv!=None and store_cv_results=True are incompatible")
        if self.alpha_per_target:
            raise ValueError("cv!=None and alpha_per_target=True are incompatible")
        where = routed(self, "fit", sample_weight, params)
        if y.ndim == 1 and self.scoring is None:
            scores = self._scores_of_folds(X, y, sample_weight, alphas, where.split)
            best = int(np.argmax(scores))
            self.alpha_, self.best_score_ = alphas[best], float(scores[best])
            return
        names = ("fit_intercept", "max_iter", "tol", "solver", "positive", "random_state", "memory")
        ridge = Ridge(**{name: getattr(self, name) for name in names})
        if is_enabled():
            ridge.set_fit_request(sample_weight=True)
        search = GridSearchCV(ridge, {"alpha": alphas}, cv=check_cv(self.cv), scoring=self.scoring, refit=False)
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
        search.fit(X, y, **weighted, **where.split)
        self.alpha_, self.best_score_ = search.best_params_["alpha"], float(search.best_score_)

    def _scores_of_folds(self, X, y, sample_weight, alphas: list[float], split_params: dict) -> np.ndarray:
        """Mean R² of each alpha, of all folds together."""
        folds = list(check_cv(self.cv).split(X, y, **split_params))
        penalties = [{"strength": alpha} if alpha > 0 else {"penalty": "none"} for alpha in alphas]
        problems = [{**self._constant(), **penalty, "non_negative": self.positive} for penalty in penalties]
        errors = summed_squared_errors(self, X, y, sample_weight, folds, problems)
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        spread = [np.average((y[test] - np.average(y[test], weights=weight[test])) ** 2, weights=weight[test]) for _, test in folds]
        return (1.0 - errors / np.array(spread)[:, None]).mean(axis=0)

    def _leave_one_out(self, X, y, sample_weight, alphas: list[float]) -> None:
        """``r_i / (1 - h_i)`` is the error of row i by a model that has not seen it, for all alphas by one decomposition."""
        if self.positive:
            raise ValueError("positive=True needs folds: there is no formula for leaving rows out one by one; give cv=5")
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        targets = y[:, None] if y.ndim == 1 else y
        # Rows, targets, alphas.
        errors = left_out_errors(X, targets, weight, alphas, self.fit_intercept)
        if self.scoring is None:
            results = weight[:, None, None] * errors**2
            scores = -results.mean(axis=0)
        else:
            results = targets[:, :, None] - errors
            scores = self._scored(results, targets, sample_weight)
        if self.alpha_per_target and y.ndim == 2:
            best = scores.argmax(axis=1)
            self.alpha_, self.best_score_ = np.array(alphas)[best], scores[np.arange(len(best)), best]
        else:
            scores = scores.mean(axis=0)
            best = int(scores.argmax())
            self.alpha_, self.best_score_ = alphas[best], float(scores[best])
        if self.store_cv_results:
            self.cv_results_ = results[:, 0, :] if y.ndim == 1 else results

    def _scored(self, predictions, targets, sample_weight) -> np.ndarray:
        """The score of each target, or of all of them together, by each alpha."""
        scorer = check_scoring(self, scoring=self.scoring)
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
        known = Known().fit()

        def score(columns, alpha: int) -> float:
            return scorer(known, predictions[:, columns, alpha].squeeze(), targets[:, columns].squeeze(), **weighted)

        parts = [[place] for place in range(targets.shape[1])] if self.alpha_per_target else [list(range(targets.shape[1]))]
        return np.array([[score(columns, alpha) for alpha in range(predictions.shape[2])] for columns in parts])


class Known(RegressorMixin, BaseEstimator):
    """Predictions that are there already, for scorers, which ask an estimator."""

    def fit(self, X=None, y=None):
        """Nothing is learnt."""
        self.fitted_ = True
        return self

    def predict(self, X):
        """The predictions themselves."""
        return X


def left_out_errors(X, targets, weight, alphas: list[float], fit_intercept: bool) -> np.ndarray:
    """What the model of all other rows is wrong by, for each row, target and alpha."""
    table = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=np.float64)
    root = np.sqrt(weight)[:, None]
    if fit_intercept:
        table = table - np.average(table, axis=0, weights=weight)
        targets = targets - np.average(targets, axis=0, weights=weight)
    left, values, _ = np.linalg.svd(root * table, full_matrices=False)
    squares, along = values**2, left.T @ (root * targets)
    constant = weight / weight.sum() if fit_intercept else 0.0
    errors = np.empty((*targets.shape, len(alphas)))
    # A row of weight 0 is left out anyway: 1 - h is 1 there, and the root cancels.
    inverse = 1.0 / np.where(root > 0, root, 1.0)
    for place, alpha in enumerate(alphas):
        shrink = squares / (squares + alpha)
        residual = root * targets - left @ (shrink[:, None] * along)
        errors[:, :, place] = inverse * residual / (1.0 - (left**2) @ shrink - constant)[:, None]
    return errors
