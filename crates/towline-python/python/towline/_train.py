"""A fit: what is asked for, what is said while it goes on, and what is said of its end."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from . import _native
from ._check import choice, number, seed, whole
from ._size import size_bytes
from .progress import reporting

#: Ways to the optimum, by the names that they have on the command line.
SOLVERS = ("auto", "dual", "columns", "gram", "newton", "multipliers")

#: What the library wants to know of a model, and what it takes if an estimator says nothing.
PROBLEM = {
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
    "truncate": None,
    "classes": None,
    "multiclass": "ovr",
    "own_weight_only": False,
    "start": None,
}


class Fit:
    """What makes up one fit: a model, or one for each target."""

    def __init__(self, estimator, *, max_passes: int | None = None):
        self.estimator = estimator
        self.tolerance = number(estimator, "tol", above=False)
        self.limits = {
            # With 0, all passes are made: rounding may show a gap of 0 before the weights have their last digits.
            "tolerance": self.tolerance or -1.0,
            "max_passes": whole(estimator, "max_iter", 1) if max_passes is None else max_passes,
            "max_seconds": None,
            "solver": _solver(estimator),
            "seed": seed(getattr(estimator, "random_state", None)),
            "memory": size_bytes(estimator.memory),
            "threads": None,
            "keep_start": bool(getattr(estimator, "warm_start", False)),
        }
        self.fitted: list[_native.Fitted] = []
        self.sizes: list[tuple] = []

    def train(self, data, problem: dict, target: int = 0) -> None:
        """Trains on rows or a store, with ``warm_start`` from where the last fit of this target ended."""
        size = _size(data, problem)
        problem = {**PROBLEM, **problem, "start": self._start(size, target)}
        with reporting(self.estimator, self.tolerance) as callback:
            self.fitted.append(_native.train(data, problem, {**self.limits, "callback": callback}))
        self.sizes.append(size)

    def _start(self, size: tuple, target: int):
        earlier = getattr(self.estimator, "_earlier", [])
        if not self.limits["keep_start"] or target >= len(earlier):
            return None
        earlier_size, start = earlier[target]
        return start if earlier_size == size else None

    @property
    def raised(self) -> BaseException | None:
        """What ended training early: ``KeyboardInterrupt``, or an exception of the callback."""
        return self.fitted[-1].raised

    @property
    def models(self) -> list[_native.Model]:
        """What was learnt."""
        return [fitted.model for fitted in self.fitted]

    def finish(self, factor: float = 1.0) -> None:
        """Tells the estimator how it went; ``factor`` brings the library's objective to that of the estimator.

        Then warns of an early end, or goes on with what interrupted training: the estimator is fitted by now.
        """
        estimator, fitted = self.estimator, self.fitted
        if self.limits["keep_start"]:
            estimator._earlier = [(size, run.start) for size, run in zip(self.sizes, fitted)]
        estimator.gap_ = max(model.gap for model in fitted)
        estimator.objective_ = factor * sum(model.objective for model in fitted)
        estimator.passes_ = max(model.passes for model in fitted)
        estimator.bytes_read_ = max(model.bytes_read for model in fitted)
        estimator.n_iter_ = max(max(model.sweeps, 1) for model in fitted)
        estimator.solver_ = fitted[0].solver
        ends = [model.status for model in fitted if model.status != "converged"]
        estimator.status_ = ends[0] if ends else "converged"
        if self.raised is not None:
            raise self.raised
        if self.tolerance and estimator.status_ in ("out-of-passes", "out-of-time"):
            # The scale of columns is all the same to other solvers.
            scale = ", or scale the features" if estimator.solver_ in ("dual", "columns") else ""
            warnings.warn(
                f"{type(estimator).__name__} ended after {self.limits['max_passes']} passes with a relative duality gap of "
                f"{estimator.gap_:.2e}, above tol={self.tolerance:g}: its objective is at most that part above the "
                f"optimum. Increase max_iter or tol{scale}.",
                ConvergenceWarning,
                stacklevel=3,
            )


def _solver(estimator) -> str:
    """The solver that is asked for. Names of scikit-learn's own solvers are known to some estimators, and leave the choice to the library."""
    asked = choice(estimator, "solver", SOLVERS + estimator._their_solvers)
    return asked if asked in SOLVERS else "auto"


def _size(data, problem: dict) -> tuple:
    """What has to be the same for a start: rows, features, and the classes, in the way that they are told apart."""
    rows = data.shape if isinstance(data, _native.Rows) else (data.rows, data.features)
    return rows, problem.get("multiclass"), [name for _, name, _ in problem.get("classes") or []]
