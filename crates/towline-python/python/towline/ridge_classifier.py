"""Classification by least squares."""

from __future__ import annotations

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ._check import choice, number, whole
from ._rows import rows
from ._train import Fit
from .classes import LinearClassifier
from .store import is_on_disk
from .targets import FEW_FEATURES, several


class RidgeClassifier(LinearClassifier):
    """Ridge regression of ±1, with the parameters and the objective of ``sklearn.linear_model.RidgeClassifier``.

    Each class, or the second of two, has the target 1, and all others -1. The rest is as for :class:`towline.Ridge`; rows are arrays.
    """

    _their_solvers = ("svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        copy_X=True,
        max_iter=None,
        tol=1e-4,
        class_weight=None,
        solver="auto",
        positive=False,
        random_state=None,
        verbose=0,
        memory=None,
        callback=None,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.verbose = verbose
        self.memory = memory
        self.callback = callback

    def _new_fit(self) -> Fit:
        return Fit(self, max_passes=10_000 if self.max_iter is None else whole(self, "max_iter", 1))

    def fit(self, X, y, sample_weight=None):
        """Fits to arrays."""
        if is_on_disk(X):
            raise TypeError("RidgeClassifier takes arrays; for a file or a store there is LogisticRegression")
        fit = self._new_fit()
        choice(self, "positive", (True, False))
        alpha = number(self, "alpha", above=False)
        X, y, sample_weight = self._arrays(X, y, sample_weight, {})
        check_classification_targets(y)
        self.classes_, codes, counts = np.unique(column_or_1d(y), return_inverse=True, return_counts=True)
        if len(self.classes_) < 2:
            raise ValueError(f"RidgeClassifier needs at least 2 classes; all labels are of one class, {self.classes_[0]}")
        weights = self._class_weights(counts)
        if not np.all(weights == 1.0):
            sample_weight = weights[codes] if sample_weight is None else weights[codes] * sample_weight
        penalty = {"c": 1.0 / alpha} if alpha > 0 else {"penalty": "none"}
        problem = {**self._constant(), **penalty, "non_negative": self.positive}
        places = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        sides = [np.where(codes == place, 1.0, -1.0) for place in places]
        if self._can_share(X, alpha, len(sides)):
            problem, sides = {**problem, **several(len(sides))}, [np.column_stack(sides)]
        for target, side in enumerate(sides):
            fit.train(rows(X, side, sample_weight), problem, target)
            if fit.raised is not None:
                raise fit.raised
        self._take(fit, from_store=False)
        fit.finish([2.0 * (alpha or 1.0)] * len(fit.fitted))
        return self

    def _can_share(self, X, alpha: float, targets: int) -> bool:
        """Whether normal equations serve all classes."""
        is_plain = targets > 1 and alpha > 0 and not self.positive and self.solver in ("auto", *self._their_solvers)
        return is_plain and X.shape[1] <= FEW_FEATURES

    def to_onnx(self) -> bytes:
        """A model file has no words for a regression of each class; skl2onnx has."""
        raise TypeError("RidgeClassifier is a regression for each class; towline.register_skl2onnx() lets skl2onnx convert it")
