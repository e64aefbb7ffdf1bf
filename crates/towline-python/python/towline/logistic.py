"""Logistic regression."""

from __future__ import annotations

import numpy as np

from ._check import choice, number
from .classes import LinearClassifier
from .linear import _constant, _penalty

SOLVERS = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")


class LogisticRegression(LinearClassifier):
    """Logistic regression, with the parameters and the objective of ``sklearn.linear_model.LogisticRegression``.

    Minimises ``C Σ log(1 + exp(-y_i (w·x_i + b))) + (1 - l1_ratio)/2 ‖w‖² + l1_ratio ‖w‖₁``; the intercept is free of the penalty. More than two
    classes stand one against the rest. ``C=np.inf`` is no penalty at all. ``tol`` is the relative duality gap. ``solver``, ``dual``, ``n_jobs`` and
    ``intercept_scaling`` are taken for compatibility and change nothing.
    """

    def __init__(
        self,
        *,
        C=1.0,
        l1_ratio=0.0,
        dual=False,
        tol=1e-4,
        fit_intercept=True,
        intercept_scaling=1,
        class_weight=None,
        random_state=None,
        solver="lbfgs",
        max_iter=100,
        verbose=0,
        n_jobs=None,
        memory=None,
        callback=None,
    ):
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.memory = memory
        self.callback = callback

    def fit(self, X, y=None, sample_weight=None, **reading):
        """Fits to arrays, or to a path or a store, whose labels are then those of the file."""
        choice(self, "solver", SOLVERS)
        ratio = number(self, "l1_ratio", above=False, most=1.0)
        problem = {"loss": "logistic", "penalty": "none"}
        if self.C != np.inf:
            problem = {"loss": "logistic", "c": number(self, "C"), **_penalty(1.0, ratio)}
        problem = {"bias": 0.0, **problem, **_constant(self)}
        return self._fit(X, y, sample_weight, reading, problem)

    def predict_proba(self, X, **reading) -> np.ndarray:
        """The probability of each class, for each row."""
        scores = self._scores(X, reading)
        chances = 1.0 / (1.0 + np.exp(-np.clip(scores, -700, 700)))
        if chances.shape[1] == 1:
            return np.hstack([1.0 - chances, chances])
        return chances / chances.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X, **reading) -> np.ndarray:
        """The logarithm of each probability."""
        return np.log(self.predict_proba(X, **reading))
