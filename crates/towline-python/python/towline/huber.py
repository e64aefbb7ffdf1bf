"""Robust regression."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from . import _native
from ._check import number
from ._train import Fit
from .frames import is_table
from .store import is_on_disk
from .targets import LinearRegressor

#: Scales that are tried at most, and by which factor they change at most, and beyond what seems right, where that is not yet enclosed.
TRIALS, STRIDE, BEYOND = 100, 100.0, 1.05
#: The part of the way to an end of the interval by which a trial is set aside from where the zero seems to be.
ASIDE = 0.02
#: The part of the gap that is left to the training with one scale.
PART = 0.25
#: No scale is smaller, as in scikit-learn.
LEAST_SCALE = 10 * np.finfo(np.float64).eps


class HuberRegressor(LinearRegressor):
    """Regression that outliers hardly touch, with the parameters and the objective of ``sklearn.linear_model.HuberRegressor``.

    Minimises ``Σ (σ + σ H((y - Xw - b)/σ)) + alpha ‖w‖²`` over w, b and the scale σ > 0, where H(z) is z² up to ``epsilon`` and ``2 epsilon |z| - epsilon²`` beyond.
    ``scale_`` is σ, and ``outliers_`` says of each row of an array whether it is beyond. ``tol`` is the relative duality gap of all of it. The rest is as for
    :class:`towline.Ridge`.
    """

    def __init__(
        self,
        *,
        epsilon=1.35,
        max_iter=100,
        alpha=0.0001,
        warm_start=False,
        fit_intercept=True,
        tol=1e-05,
        solver="auto",
        random_state=None,
        verbose=0,
        memory=None,
        callback=None,
    ):
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.alpha = alpha
        self.warm_start = warm_start
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.solver = solver
        self.random_state = random_state
        self.verbose = verbose
        self.memory = memory
        self.callback = callback

    def fit(self, X, y=None, sample_weight=None, **reading):
        """Fits to arrays, to a data frame, or to a path or a store, whose labels are then the numbers of the file."""
        super().fit(X, y, sample_weight, **reading)
        for name in ("outliers_", "_spread"):
            self.__dict__.pop(name, None)
        if not is_on_disk(X) and not is_table(X, reading):
            residuals = np.abs(np.asarray(y, dtype=np.float64).ravel() - self.predict(X))
            self.outliers_ = residuals > self.scale_ * self.epsilon
        return self

    def _arrays(self, X, y, sample_weight, reading: dict, **checks):
        X, y, sample_weight = super()._arrays(X, y, sample_weight, reading, **checks)
        self._spread = float(np.sqrt(np.average((y - np.average(y, weights=sample_weight)) ** 2, weights=sample_weight)))
        return X, y, sample_weight

    #: A scale to begin with: the deviation of the targets, where it is known.
    _spread = 1.0

    def _problem(self, width: int) -> dict:
        number(self, "epsilon", 1.0, above=False)
        number(self, "alpha", above=False)
        return self._constant()

    def _minimise(self, fit: Fit, data, problem: dict, target: int, weights) -> None:
        search = Search(self, fit, data, problem, weights)
        search.start = fit.start(data, problem, target)
        best = search.run(self.scale_ if search.start is not None and hasattr(self, "scale_") else self._spread)
        self.scale_ = best.scale
        fit.take(best.fitted, data, problem)
        fit.certify(search.value, search.gap, search.runs)


class Trial(NamedTuple):
    """What was found for a scale."""

    scale: float
    #: Σ u²/4, over the number of rows: below 1 where the scale is too large.
    spread: float
    #: The objective, and what its dual is for the dual variables that were found.
    value: float
    dual: float
    #: How large residuals are, at most, by their mean.
    size: float
    fitted: _native.Fitted


class Search:
    """The least objective over scales.

    With σ fixed, it is the Huber loss of the library with ``delta = epsilon σ``. As ``σ H(r/σ)`` is the largest ``u r - σ u²/4`` with ``|u| ≤ 2 epsilon``, what is left of σ is
    ``σ (n - Σ u²/4)`` (Owen, "A robust hybrid of lasso and ridge regression", 2007, section 5): the objective is convex in σ and its slope is ``n - Σ u²/4``, whose zero is
    searched for. Dual variables with ``Σ u²/4 ≤ n`` bound the least objective of all scales from below by a concave function, which is 0 at 0.
    """

    def __init__(self, estimator: HuberRegressor, fit: Fit, data, problem: dict, weights):
        self.estimator, self.fit, self.data, self.problem = estimator, fit, data, problem
        is_store = isinstance(data, _native.Store)
        count, weights = (data.rows, data.weights()) if is_store else (data.shape[0], weights)
        self.weights = np.ones(count) if weights is None else weights[weights > 0]
        self.total = float(self.weights.sum())
        self.start = None
        self.runs: list[_native.Fitted] = []
        self.value, self.bound = math.inf, -math.inf
        #: Trials whose scale is too small, and too large.
        self.below: Trial | None = None
        self.above: Trial | None = None

    @property
    def gap(self) -> float:
        """How far the value is above the least one, as a part of it, at most."""
        return max(0.0, self.value - max(self.bound, 0.0)) / max(abs(self.value), 1e-300)

    def run(self, scale: float) -> Trial:
        """Tries scales until the gap is closed, and returns the best."""
        goal = max(self.fit.goal(self.data, self._at(1.0)), 1e-12)
        best = last = self._try(max(scale, LEAST_SCALE))
        for _ in range(TRIALS):
            is_least = self.above is not None and self.above.scale <= LEAST_SCALE
            if self.gap <= goal or is_least or last.fitted.raised is not None or last.fitted.status == "interrupted":
                break
            guess = self._next(last)
            if guess in (last.scale, getattr(self.below, "scale", None), getattr(self.above, "scale", None)):
                break
            last = self._try(guess)
            best = min(best, last, key=lambda trial: trial.value)
        return best

    def _next(self, last: Trial) -> float:
        """A scale whose spread is likely to be 1."""
        # As long as few rows are outliers, the spread falls like 1/σ²; a little more encloses the zero, and then more and more.
        beyond = BEYOND ** min(2.0 ** len(self.runs), 100.0)
        if self.below is None:
            return max(LEAST_SCALE, last.scale * max(1.0 / STRIDE, math.sqrt(last.spread) / beyond))
        if self.above is None:
            return last.scale * min(STRIDE, max(beyond * math.sqrt(last.spread), last.size / last.scale))
        a, b = math.log(self.below.scale), math.log(self.above.scale)
        high, low = math.log(self.below.spread), math.log(max(self.above.spread, 1e-300))
        zero = a + (b - a) * min(0.99, max(0.01, high / (high - low)))
        # A little towards the end that is farther off, so that it comes nearer, too.
        far = b if b - zero > zero - a else a
        return math.exp(zero + ASIDE * (far - zero))

    def _at(self, scale: float) -> dict:
        """The problem with this scale."""
        alpha = float(self.estimator.alpha)
        strength = {"c": 1.0 / (alpha * scale)} if alpha > 0 else {"c": 2.0 / scale, "penalty": "none"}
        return {**self.problem, "loss": "huber", "delta": self.estimator.epsilon * scale, **strength}

    def _try(self, scale: float) -> Trial:
        problem = self._at(scale)
        found = self.fit.run(self.data, problem, self.start, keep_start=True, share=PART)
        self.start = found.start
        self.runs.append(found)
        # Dual variables are c · weight · clipped residual.
        clipped = found.start[0][0] / (problem["c"] * scale)
        spread = float((clipped**2 / self.weights).sum()) / self.total
        losses = (2.0 * self.estimator.alpha or 1.0) * found.objective
        dual = losses * (1.0 - found.gap) + scale * spread * self.total
        delta = problem["delta"]
        trial = Trial(scale, spread, self.total * scale + losses, dual, 0.5 * (losses * scale / (self.total * delta) + delta), found)
        self._learn(trial)
        return trial

    def _learn(self, trial: Trial) -> None:
        """Takes what a trial says of value, bound and the right scale."""
        if trial.spread > 1.0:
            self.below = trial
        else:
            self.above = trial
        self.value = min(self.value, trial.value)
        # Shorter dual variables are possible ones.
        self.bound = max(self.bound, trial.dual / max(1.0, math.sqrt(trial.spread)))
        if self.below is not None and self.above is not None:
            # Means of both are, too, and their length is at most the mean of both.
            longer, shorter = math.sqrt(self.below.spread), math.sqrt(self.above.spread)
            share = (1.0 - shorter) / (longer - shorter)
            self.bound = max(self.bound, share * self.below.dual + (1.0 - share) * self.above.dual)
