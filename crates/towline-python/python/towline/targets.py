"""Regression: the label is the number to predict."""

from __future__ import annotations

import numpy as np
from sklearn.base import RegressorMixin

from ._rows import rows
from ._train import Fit
from .base import LinearEstimator
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
        """Fits to arrays, or to a path or a store, whose labels are then the numbers of the file.

        Other keywords say how a file is read: ``label="price"`` and the rest of ``towline.pack``.
        """
        fit = self._new_fit()
        if is_on_disk(X):
            fit.train(*self._prepared(X, y, sample_weight, reading))
            self._take(fit, from_store=True, flat=True)
        else:
            checks = {"y_numeric": True, "multi_output": self._several}
            X, y, sample_weight = self._arrays(X, y, sample_weight, reading, **checks)
            problem = self._on_arrays(X, sample_weight)
            for number, target in enumerate(y.T if y.ndim == 2 else [y]):
                fit.train(rows(X, target, sample_weight), problem, number)
                if fit.raised is not None and y.ndim == 2:
                    raise fit.raised
            self._take(fit, from_store=False, flat=y.ndim == 1)
        fit.finish(self._factor())
        return self

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

    def _new_fit(self) -> Fit:
        return Fit(self)

    def _factor(self) -> float:
        """What brings the library's objective to that of the estimator."""
        return 1.0

    def predict(self, X, **reading) -> np.ndarray:
        """The number of each row of an array or of a file."""
        scores = self._scores(X, reading)
        return scores[:, 0] if self._flat else scores


def _averaged(problem: dict, total: float) -> dict:
    return {**problem, "c": problem.get("c", 1.0) / total}
