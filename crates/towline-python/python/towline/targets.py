"""Regression: the label is the number to predict."""

from __future__ import annotations

import numpy as np
from sklearn.base import RegressorMixin

from ._rows import rows
from ._train import Runs
from .base import LinearEstimator
from .store import is_on_disk


class LinearRegressor(RegressorMixin, LinearEstimator):
    """Numbers by their scores."""

    #: Whether ``y`` may have several columns, each of which is fitted for itself.
    _several = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._several
        tags.target_tags.single_output = True
        return tags

    def _fit(self, X, y, sample_weight, reading: dict, problem: dict, *, factor: float = 1.0, per_row: bool = False):
        """Fits ``problem``; with ``per_row``, losses are averaged and not summed."""
        runs = self._runs()
        if is_on_disk(X):
            store = self._store(X, y, sample_weight, reading)
            if store.label_names is not None:
                raise ValueError("the labels are text, and a regression predicts numbers; use a classifier")
            if per_row:
                problem = {**problem, "c": problem["c"] / store.weight_sum()}
            runs.run(store, problem)
            self._take_models([fitted.model for fitted in runs.fitted])
            self._flat = True
        else:
            X, y, sample_weight = self._arrays(X, y, sample_weight, reading, y_numeric=True, multi_output=self._several)
            if per_row:
                total = X.shape[0] if sample_weight is None else sample_weight.sum()
                problem = {**problem, "c": problem["c"] / total}
            self._flat = y.ndim == 1
            for target in [y] if self._flat else y.T:
                runs.run(rows(X, target, sample_weight), problem)
                if runs.raised is not None and not self._flat:
                    raise runs.raised
            weights = runs.fitted[0].weights[None, :] if self._flat else np.stack([run.weights for run in runs.fitted])
            self._take_weights(weights, problem["bias"], [run.header for run in runs.fitted])
        self._flatten()
        runs.describe(factor)
        runs.finish()
        return self

    def _runs(self) -> Runs:
        return Runs(self)

    def _flatten(self) -> None:
        """One target has a vector of coefficients and a number as its intercept, as in scikit-learn."""
        if self._flat:
            self.intercept_ = float(self.intercept_[0])
            if isinstance(self.coef_, np.ndarray):
                self.coef_ = self.coef_[0]

    def predict(self, X, **reading) -> np.ndarray:
        """The number of each row of an array or of a file."""
        scores = self._scores(X, reading)
        return scores[:, 0] if self._flat else scores
