"""Several targets whose features come and go together."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import _check_sample_weight, validate_data

from ._check import number
from ._rows import rows
from .linear import SparseRegressor
from .targets import several


class MultiTaskElasticNet(SparseRegressor):
    """The elastic net for several targets, with the parameters and the objective of ``sklearn.linear_model.MultiTaskElasticNet``.

    Minimises ``‖Y - XW - b‖² / (2n) + alpha (l1_ratio Σ_j ‖W_j‖ + (1 - l1_ratio)/2 ‖W‖²)``, where W_j are the weights of feature j for all targets: a
    feature is there for all of them, or for none. The rest is as for :class:`towline.ElasticNet`; rows are dense arrays.
    """

    #: For what is shared with :class:`towline.ElasticNet`.
    positive = False

    def __init__(
        self,
        alpha=1.0,
        *,
        l1_ratio=0.5,
        fit_intercept=True,
        copy_X=True,
        max_iter=1000,
        tol=1e-4,
        warm_start=False,
        random_state=None,
        selection="cyclic",
        verbose=0,
        solver="auto",
        memory=None,
        callback=None,
    ):
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.selection = selection
        self.verbose = verbose
        self.solver = solver
        self.memory = memory
        self.callback = callback

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.target_tags.single_output = False
        return tags

    def _strengths(self) -> tuple[float, float]:
        """What the norms and the squares are multiplied by."""
        alpha, ratio = number(self, "alpha"), number(self, "l1_ratio", above=False, most=1.0)
        if ratio == 0.0:
            raise ValueError("l1_ratio=0 is Ridge for each target; use towline.Ridge")
        return alpha * ratio, alpha * (1.0 - ratio)

    def fit(self, X, y, sample_weight=None):
        """Fits to a dense array and a table of targets, a column for each."""
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], order="C", multi_output=True, y_numeric=True)
        if y.ndim == 1:
            raise ValueError(f"For mono-task outputs, use {type(self).__name__[9:]}")
        norms, squares = self._strengths()
        self._dtype, count = X.dtype.name, float(X.shape[0])
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            count = sample_weight.sum()
        problem = {"penalty": "group", "strength": norms, **several(y.shape[1]), "c": 1.0 / count}
        if y.shape[1] == 1:
            # The norm of one weight is its size.
            problem = {"penalty": "l1", "strength": norms, "c": 1.0 / count}
        self._means = None
        if squares == 0:
            problem = {**problem, **self._constant()}
        else:
            X, y, sample_weight = self._with_squares(X, y, sample_weight, count * squares)
        fit = self._new_fit()
        fit.train(rows(X, y if y.shape[1] > 1 else y[:, 0], sample_weight), problem)
        self._take(fit, from_store=False)
        self._say_more(fit)
        fit.finish()
        return self

    def _with_squares(self, X, y, sample_weight, strength: float):
        """Centred rows, and one for each feature that has nothing but it, and the target 0: its loss is the square of the weights."""
        width = X.shape[1]
        self._means = np.zeros(width), np.zeros(y.shape[1])
        if self.fit_intercept:
            X, y = X.astype(np.float64), y.astype(np.float64)
            self._means = np.average(X, axis=0, weights=sample_weight), np.average(y, axis=0, weights=sample_weight)
        table = np.vstack([X - self._means[0], np.sqrt(strength) * np.eye(width)])
        targets = np.vstack([y - self._means[1], np.zeros((width, y.shape[1]))])
        weights = None if sample_weight is None else np.concatenate([sample_weight, np.ones(width)])
        return np.ascontiguousarray(table), targets, weights

    def _set_weights(self, width: int | None) -> list[str] | None:
        names = super()._set_weights(width)
        if self._means is not None:
            self.intercept_ = (self._means[1] - self.coef_ @ self._means[0]).astype(self._dtype, copy=False)
        return names

    def save(self, path) -> None:
        """Writes the model to a file, if its intercept is in the model: not with squares in the penalty."""
        self._in_model()
        super().save(path)

    def export(self, path, to: str = "json") -> None:
        """Writes the model as other programs read it, if its intercept is in the model: not with squares in the penalty."""
        self._in_model()
        super().export(path, to)

    def to_onnx(self) -> bytes:
        """The model as a graph of ONNX, if its intercept is in the model: not with squares in the penalty."""
        self._in_model()
        return super().to_onnx()

    def _in_model(self) -> None:
        if self._means is not None:
            raise ValueError("rows were centred before training, so that the model has no intercept; use pickle, or MultiTaskLasso")

    def _iterations(self, counts: list[int]) -> int:
        return counts[0]


class MultiTaskLasso(MultiTaskElasticNet):
    """The Lasso for several targets, with the parameters and the objective of ``sklearn.linear_model.MultiTaskLasso``: ``l1_ratio=1``."""

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        copy_X=True,
        max_iter=1000,
        tol=1e-4,
        warm_start=False,
        random_state=None,
        selection="cyclic",
        verbose=0,
        solver="auto",
        memory=None,
        callback=None,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.selection = selection
        self.verbose = verbose
        self.solver = solver
        self.memory = memory
        self.callback = callback

    def _strengths(self) -> tuple[float, float]:
        return number(self, "alpha"), 0.0
