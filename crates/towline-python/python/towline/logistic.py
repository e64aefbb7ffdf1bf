"""Logistic regression."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, softmax
from sklearn.preprocessing import normalize

from ._check import choice, number
from .classes import LinearClassifier
from .linear import _constant, _penalty

class LogisticRegression(LinearClassifier):
    """Logistic regression, with the parameters and the objective of ``sklearn.linear_model.LogisticRegression``.

    Minimises ``C Σ log(1 + exp(-y_i (w·x_i + b))) + (1 - l1_ratio)/2 ‖w‖² + l1_ratio ‖w‖₁``; the intercept is free of the penalty. ``C=np.inf`` is no
    penalty at all. ``tol`` is the relative duality gap. ``dual`` and ``n_jobs`` are taken for compatibility and change nothing. ``solver`` is as for
    :class:`towline.LinearSVC`; names of scikit-learn's solvers are taken as ``"auto"``.
    ``penalty`` is the older word for ``l1_ratio`` and ``C=np.inf``. ``warm_start=True`` starts from the fit before, as along values of ``C``.

    More than two classes have one objective, softmax (``multi_class="multinomial"``), or one for each class against the rest (``"ovr"``). Softmax
    needs the l2 penalty, which its intercepts share, as the weights of a constant feature of value ``intercept_scaling``. ``"auto"`` is softmax where
    that is possible.
    """

    _their_solvers = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")

    def __init__(
        self,
        penalty="deprecated",
        *,
        C=1.0,
        l1_ratio=0.0,
        multi_class="auto",
        dual=False,
        tol=1e-4,
        fit_intercept=True,
        intercept_scaling=1,
        class_weight=None,
        random_state=None,
        solver="auto",
        max_iter=100,
        verbose=0,
        warm_start=False,
        n_jobs=None,
        memory=None,
        callback=None,
    ):
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.multi_class = multi_class
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.memory = memory
        self.callback = callback

    def _problem(self) -> dict:
        choice(self, "multi_class", ("auto", "multinomial", "ovr"))
        c, ratio = self._strength()
        if self.multi_class == "multinomial" and not self._is_l2():
            raise ValueError("multi_class='multinomial' needs the l2 penalty: l1_ratio=0 and a finite C; use 'ovr'")
        problem = {"loss": "logistic", "bias": 0.0}
        return {**problem, "penalty": "none"} if c == np.inf else {**problem, "c": c, **_penalty(1.0, ratio)}

    def _strength(self) -> tuple[float, float]:
        """C and the share of the l1 penalty, also if they are said with the older word ``penalty``."""
        penalty = choice(self, "penalty", ("deprecated", "l1", "l2", "elasticnet", None))
        c = np.inf if self.C == np.inf or penalty is None else number(self, "C")
        ratio = {"l1": 1.0, "l2": 0.0}.get(penalty)
        return c, number(self, "l1_ratio", above=False, most=1.0) if ratio is None else ratio

    def _is_l2(self) -> bool:
        c, ratio = self._strength()
        return ratio == 0.0 and c != np.inf

    def _for_classes(self, problem: dict) -> dict:
        if len(self.classes_) == 2 or self.multi_class == "ovr" or not self._is_l2():
            return {**problem, **_constant(self)}
        return {**problem, "multiclass": "softmax", "bias": number(self, "intercept_scaling") if self.fit_intercept else 0.0}

    def predict_proba(self, X, **reading) -> np.ndarray:
        """The probability of each class, for each row."""
        scores = self.decision_function(X, **reading)
        if scores.ndim == 1:
            chances = expit(scores)
            return np.column_stack([1.0 - chances, chances])
        if self.model_.multiclass == "softmax":
            return softmax(scores, axis=1)
        return normalize(expit(scores), norm="l1")

    def predict_log_proba(self, X, **reading) -> np.ndarray:
        """The logarithm of each probability."""
        return np.log(self.predict_proba(X, **reading))
