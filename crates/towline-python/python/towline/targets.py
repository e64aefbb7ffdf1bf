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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._several
        return tags

    def _fit(self, X, y, sample_weight, reading: dict, problem: dict, *, factor: float = 1.0, mean: bool = False, fit=None):
        """Fits ``problem``; with ``mean``, losses are averaged over the weights of rows and not summed."""
        fit = fit or Fit(self)
        if is_on_disk(X):
            store = self._store(X, y, sample_weight, reading)
            if store.label_names is not None:
                raise ValueError("the labels are text, and a regression predicts numbers; use a classifier")
            fit.train(store, _averaged(problem, store.weight_sum() if mean else 1.0))
            self._take(fit, from_store=True, flat=True)
        else:
            X, y, sample_weight = self._arrays(X, y, sample_weight, reading, y_numeric=True, multi_output=self._several)
            total = X.shape[0] if sample_weight is None else sample_weight.sum()
            problem = _averaged(problem, total if mean else 1.0)
            for number, target in enumerate(y.T if y.ndim == 2 else [y]):
                fit.train(rows(X, target, sample_weight), {**problem, "start": self._start(number, X.shape)})
                if fit.raised is not None and y.ndim == 2:
                    raise fit.raised
            self._take(fit, from_store=False, flat=y.ndim == 1)
            self._remember(fit)
        fit.finish(factor)
        return self

    def _start(self, number: int, shape: tuple[int, int]):
        """Dual variables and weights to start the given target from."""
        return None

    def _remember(self, fit: Fit) -> None:
        """Keeps what a later fit may start from."""

    def predict(self, X, **reading) -> np.ndarray:
        """The number of each row of an array or of a file."""
        scores = self._scores(X, reading)
        return scores[:, 0] if self._flat else scores


def _averaged(problem: dict, total: float) -> dict:
    return {**problem, "c": problem.get("c", 1.0) / total}
