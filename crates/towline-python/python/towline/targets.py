"""Regression: the label is the number to predict."""

from __future__ import annotations

import numpy as np
from sklearn.base import RegressorMixin

from ._rows import rows
from ._tasks import as_task
from ._train import Fit
from .base import LinearEstimator
from .frames import is_table, packed
from .store import is_on_disk


class LinearRegressor(RegressorMixin, LinearEstimator):
    """Numbers by their scores."""

    #: Whether ``y`` may have several columns, each of which is fitted for itself.
    _several = False
    #: Whether losses are averaged over the weights of rows, and not summed.
    _mean = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._several
        return tags

    def fit(self, X, y=None, sample_weight=None, **reading):
        """Fits to arrays, to a data frame, or to a path or a store, whose labels are then the numbers of the file.

        A frame with columns of text, categories or dates is packed as ``towline.pack`` does it.
        Other keywords say how a file is read: ``label="price"`` and the rest of ``towline.pack``.
        """
        if is_table(X, reading):
            with packed(X, y, sample_weight, self.memory, reading) as store:
                self.fit(store)
            return self._know_frame(X)
        return as_task(self, lambda: self._fit(X, y, sample_weight, reading), X, y, sample_weight)

    def _fit(self, X, y, sample_weight, reading: dict):
        fit = self._new_fit()
        if is_on_disk(X):
            data, problem = self._prepared(X, y, sample_weight, reading)
            self._minimise(fit, data, self._for_target(problem, 0), 0, None)
            self._take(fit, from_store=True, flat=True)
        else:
            checks = {"y_numeric": True, "multi_output": self._several}
            X, y, sample_weight = self._arrays(X, y, sample_weight, reading, **checks)
            problem = self._on_arrays(X, sample_weight)
            self._check_targets(y.shape[1] if y.ndim == 2 else 1)
            together = y.ndim == 2 and self._can_share(X, y.shape[1])
            if together:
                self._minimise(fit, rows(X, y, sample_weight), {**self._for_target(problem, 0), **several(y.shape[1])}, 0, sample_weight)
            for number, target in enumerate([] if together else y.T if y.ndim == 2 else [y]):
                one = self._for_target(problem, number)
                self._minimise(fit, rows(X, target, sample_weight), one, number, sample_weight)
                if fit.raised is not None and y.ndim == 2:
                    raise fit.raised
            _refuse_overflow(fit, X)
            self._take(fit, from_store=False, flat=y.ndim == 1)
            if y.ndim == 2 and y.shape[1] == 1:
                self._one_column()
        self._say_more(fit)
        fit.finish(self._factors(len(fit.fitted)))
        return self

    def _minimise(self, fit: Fit, data, problem: dict, target: int, weights) -> None:
        """Trains one target; ``weights`` are those of the rows of an array."""
        fit.train(data, problem, target)

    def _prepared(self, X, y, sample_weight, reading: dict):
        """Rows or a store, and what is to be minimised on them."""
        if not is_on_disk(X):
            X, y, sample_weight = self._arrays(X, y, sample_weight, reading, y_numeric=True)
            return rows(X, y, sample_weight), self._on_arrays(X, sample_weight)
        store = self._store(X, y, sample_weight, reading)
        if store.label_names is not None:
            raise ValueError("the labels are text, and a regression predicts numbers; use a classifier")
        return store, _averaged(self._problem(store.features), store.weight_sum() if self._mean else 1.0)

    def _on_arrays(self, X, sample_weight) -> dict:
        total = X.shape[0] if sample_weight is None else sample_weight.sum()
        return _averaged(self._problem(X.shape[1]), total if self._mean else 1.0)

    def _can_share(self, X, targets: int) -> bool:
        """Whether all targets are one problem, which takes one scan of the rows."""
        return False

    def _for_target(self, problem: dict, number: int) -> dict:
        """The problem of one of several targets."""
        return problem

    def _one_column(self) -> None:
        """One target in a table has a vector of weights, as in scikit-learn."""
        self.coef_ = self.coef_[0]

    def _check_targets(self, count: int) -> None:
        """Refuses parameters that are not for this many targets."""

    def _say_more(self, fit: Fit) -> None:
        """Attributes of some estimators only."""

    def _factors(self, count: int) -> list[float]:
        """What brings the library's objective of each target to that of the estimator."""
        return [1.0] * count

    def predict(self, X, **reading) -> np.ndarray:
        """The number of each row of an array or of a file."""
        scores = self._scores(X, reading)
        return scores[:, 0] if np.ndim(self.coef_) == 1 or self._flat else scores


#: Features up to which normal equations serve all targets.
FEW_FEATURES = 1000


def several(targets: int) -> dict:
    """The part of a problem that says that rows have several targets."""
    return {"several": [f"target {place}" for place in range(targets)]}


def _refuse_overflow(fit: Fit, X) -> None:
    """Refuses rows whose squares are not finite, where what came of them looks like it."""
    if all(np.isfinite(run.objective) and run.objective != 0.0 for run in fit.fitted):
        return
    values = X.data if hasattr(X, "indices") else X.ravel()
    with np.errstate(over="ignore"):
        if not np.isfinite(values @ values):
            # In scikit-learn's words, which programs match.
            reason = "the squares of X are not finite; scale the features"
            raise ValueError(f"Coordinate descent iterations resulted in non-finite parameter values: {reason}")


def _averaged(problem: dict, total: float) -> dict:
    return {**problem, "c": problem.get("c", 1.0) / total}
