"""One training run: what is asked for, what is said while it goes on, and what is said of its end."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from . import _native
from ._check import number, seed, whole
from ._size import size_bytes
from .progress import reporting

#: What the library wants to know, and what it takes if an estimator says nothing.
DEFAULTS = {
    "loss": "squared",
    "epsilon": 0.1,
    "delta": 1.0,
    "c": 1.0,
    "bias": 0.0,
    "intercept": False,
    "penalty": "l2",
    "strength": 1.0,
    "l1_ratio": 0.5,
    "groups": None,
    "positive": None,
    "sides": ("-1", "1"),
    "side_weights": (1.0, 1.0),
    "start": None,
    "max_seconds": None,
}


class Runs:
    """The runs that make up one fit: one for each class or target."""

    def __init__(self, estimator, *, max_passes: int | None = None):
        self.estimator = estimator
        self.tolerance = number(estimator, "tol")
        self.limits = {
            "tolerance": self.tolerance,
            "max_passes": whole(estimator, "max_iter", 1) if max_passes is None else max_passes,
            "seed": seed(getattr(estimator, "random_state", None)),
            "memory": size_bytes(estimator.memory),
        }
        self.fitted: list[_native.Fitted] = []

    def run(self, data, problem: dict, *, keep_duals: bool = False) -> _native.Fitted:
        """Trains once more. Afterwards ``raised`` says whether somebody wants to stop here."""
        with reporting(self.estimator, self.tolerance) as callback:
            arguments = {**DEFAULTS, **problem, **self.limits, "callback": callback}
            fitted = _native.train(data, arguments, keep_duals)
        self.fitted.append(fitted)
        return fitted

    @property
    def raised(self) -> BaseException | None:
        """What ended the last run early: ``KeyboardInterrupt``, or an exception of the callback."""
        return self.fitted[-1].raised

    def describe(self, factor: float = 1.0) -> None:
        """Tells the estimator how it went. ``factor`` brings the library's objective to that of the estimator."""
        estimator, fitted = self.estimator, self.fitted
        estimator.gap_ = max(run.gap for run in fitted)
        estimator.objective_ = factor * sum(run.objective for run in fitted)
        estimator.passes_ = sum(run.passes for run in fitted)
        estimator.bytes_read_ = sum(run.bytes_read for run in fitted)
        estimator.n_iter_ = max(max(run.sweeps, 1) for run in fitted)
        ends = [run.status for run in fitted if run.status != "converged"]
        estimator.status_ = ends[0] if ends else "converged"

    def finish(self) -> None:
        """Warns of a run that ended early, and goes on with what interrupted it: the estimator is fitted by now."""
        estimator = self.estimator
        if self.raised is not None:
            raise self.raised
        if estimator.status_ in ("out-of-passes", "out-of-time"):
            warnings.warn(
                f"{type(estimator).__name__} ended after {self.limits['max_passes']} passes with a relative duality gap of "
                f"{estimator.gap_:.2e}, above tol={self.tolerance:g}: its objective is at most that part above the "
                "optimum. Increase max_iter or tol, or scale the features.",
                ConvergenceWarning,
                stacklevel=4,
            )
