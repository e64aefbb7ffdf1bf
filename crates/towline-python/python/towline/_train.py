"""A fit: what is asked for, what is said while it goes on, and what is said of its end."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from . import _native
from ._check import choice, levels_to_caller, number, seed, threads, whole
from ._size import size_bytes
from ._tasks import steps
from .progress import reporting

#: Ways to the optimum, by the names that they have on the command line.
SOLVERS = ("auto", "dual", "columns", "gram", "newton", "multipliers")

#: Losses with a slope and a curvature everywhere.
SMOOTH = ("logistic", "squared-hinge", "squared-epsilon-insensitive", "huber")
#: Tables of up to this many values are small; and no gap below this is asked for without being wanted.
SMALL, LEAST_GOAL = 1 << 20, 1e-13

#: What the library wants to know of a model, and what it takes if an estimator says nothing.
PROBLEM = {
    "loss": "squared",
    "epsilon": 0.1,
    "delta": 1.0,
    "quantile": 0.5,
    "c": 1.0,
    "bias": 0.0,
    "intercept": False,
    "penalty": "l2",
    "strength": 1.0,
    "l1_ratio": 0.5,
    "non_negative": False,
    "groups": None,
    "truncate": None,
    "classes": None,
    "multiclass": "ovr",
    "own_weight_only": False,
    "several": [],
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
            "max_passes": whole(estimator, "max_iter", 0) if max_passes is None else max_passes,
            "max_seconds": None,
            "solver": _solver(estimator),
            "seed": seed(getattr(estimator, "random_state", None)),
            "memory": size_bytes(estimator.memory),
            "threads": threads(getattr(estimator, "n_jobs", None)),
            "keep_start": bool(getattr(estimator, "warm_start", False)),
            "weights": False,
        }
        self.asked = estimator.solver
        self.fitted: list[_native.Fitted] = []
        self.sizes: list[tuple] = []
        self.certified: tuple[float, float] | None = None
        self.runs: list[_native.Fitted] | None = None

    def train(self, data, problem: dict, target: int = 0) -> None:
        """Trains on rows or a store, with ``warm_start`` from where the last fit of this target ended."""
        start = self.start(data, problem, target)
        self.take(self.run(data, problem, start, self.limits["keep_start"]), data, problem)

    def run(self, data, problem: dict, start, keep_start: bool, share: float = 1.0) -> _native.Fitted:
        """Trains to a share of the gap, and leaves it to the caller what becomes of the model."""
        problem = {**PROBLEM, **problem, "start": start}
        limits = {**self.limits, "tolerance": share * self.goal(data, problem), "keep_start": keep_start}
        with reporting(self.estimator, self.tolerance) as own, steps(self.estimator, problem, limits["max_passes"], own) as callback:
            return _native.train(data, problem, {**limits, "callback": callback, "weights": callback is not own})

    def take(self, fitted: _native.Fitted, data, problem: dict) -> None:
        """One more model."""
        self.fitted.append(fitted)
        self.sizes.append(_size(data, problem))

    def certify(self, objective: float, gap: float, runs: list[_native.Fitted]) -> None:
        """Says how good the models are together, where that is more than the sum of what is known of each, and by which runs they were found."""
        self.certified, self.runs = (objective, gap), runs

    def goal(self, data, problem: dict) -> float:
        """The gap at which training ends: ``tol``, or less where a few more digits are nearly free.

        scikit-learn's ``tol`` bounds a gradient, whose square is about the gap; programs that compare weights rely on that. Newton's method doubles
        the digits with every step, so that small tables have them for the price of a step, where neither memory nor solver is chosen.
        """
        goal = self.limits["tolerance"]
        is_small = self.limits["memory"] is None and isinstance(data, _native.Rows) and data.shape[0] * data.shape[1] <= SMALL
        is_smooth = problem["loss"] in SMOOTH and problem.get("truncate") is None and self.limits["solver"] == "auto"
        return max(min(goal, goal * goal), LEAST_GOAL) if is_small and is_smooth and goal > LEAST_GOAL else goal

    def start(self, data, problem: dict, target: int):
        """What ``warm_start`` begins with, if there is something that fits."""
        earlier = getattr(self.estimator, "_earlier", [])
        if not self.limits["keep_start"] or target >= len(earlier):
            return None
        earlier_size, start = earlier[target]
        return start if earlier_size == _size(data, problem) else None

    @property
    def raised(self) -> BaseException | None:
        """What ended training early: ``KeyboardInterrupt``, or an exception of the callback."""
        return self.fitted[-1].raised

    @property
    def models(self) -> list[_native.Model]:
        """What was learnt."""
        return [fitted.model for fitted in self.fitted]

    def finish(self, factors: list[float] | None = None) -> None:
        """Tells the estimator how it went; ``factors`` bring the library's objectives to those of the estimator.

        Then warns of an early end, or goes on with what interrupted training: the estimator is fitted by now.
        """
        estimator, fitted = self.estimator, self.fitted
        if self.limits["keep_start"]:
            estimator._earlier = [(size, run.start) for size, run in zip(self.sizes, fitted)]
        estimator.gap_ = max(model.gap for model in fitted)
        estimator.objective_ = sum(factor * model.objective for factor, model in zip(factors or [1.0] * len(fitted), fitted))
        if self.certified is not None:
            estimator.objective_, estimator.gap_ = self.certified
        most, sweeps = self.limits["max_passes"], [model.sweeps for model in fitted]
        estimator.passes_ = max(model.passes for model in fitted)
        estimator.bytes_read_ = max(model.bytes_read for model in fitted)
        if self.runs is not None:
            sweeps = [sum(run.sweeps for run in self.runs)]
            estimator.passes_ = sum(run.passes for run in self.runs)
            estimator.bytes_read_ = sum(run.bytes_read for run in self.runs)
        estimator.n_iter_ = estimator._iterations([min(max(count, 1), most) for count in sweeps])
        estimator.optimizer_ = fitted[0].solver
        estimator.solver_ = self.asked if self.asked in estimator._their_solvers else fitted[0].solver
        ends = [model.status for model in fitted if model.status != "converged"]
        if self.tolerance and estimator.gap_ <= self.tolerance and set(ends) <= {"out-of-passes"}:
            ends = []
        elif self.certified is not None and self.tolerance and not ends and not estimator.gap_ <= self.tolerance:
            ends = ["out-of-passes"]
        estimator.status_ = ends[0] if ends else "converged"
        if self.raised is not None:
            raise self.raised
        if self.tolerance and estimator.status_ in ("out-of-passes", "out-of-time"):
            # The scale of columns is all the same to other solvers.
            scale = ", or scale the features" if estimator.optimizer_ in ("dual", "columns") else ""
            warnings.warn(
                f"{type(estimator).__name__} ended after {self.limits['max_passes']} passes with a relative duality gap of "
                f"{estimator.gap_:.2e}, above tol={self.tolerance:g}: its objective is at most that part above the "
                f"optimum. Increase max_iter or tol{scale}. {_failed(estimator, self.asked, estimator.n_iter_)}",
                ConvergenceWarning,
                stacklevel=levels_to_caller(),
            )


def _solver(estimator) -> str:
    """The solver that is asked for. Names of scikit-learn's own solvers are known to some estimators, and leave the choice to the library."""
    asked = choice(estimator, "solver", SOLVERS + estimator._their_solvers)
    return asked if asked in SOLVERS else "auto"


def _size(data, problem: dict) -> tuple:
    """What has to be the same for a start: rows, features, and the classes, in the way that they are distinguished."""
    rows = data.shape if isinstance(data, _native.Rows) else (data.rows, data.features)
    bound = bool(problem.get("non_negative"))
    return rows, problem.get("multiclass"), [name for _, name, _ in problem.get("classes") or []], bound


#: How scikit-learn says that a solver of its own has not converged: programs match these words.
_FAILED = {
    "lbfgs": "lbfgs failed to converge: lbfgs solver did not converge.",
    "liblinear": "Liblinear failed to converge, increase the number of iterations.",
    "newton-cg": "newton-cg failed to converge. Increase the number of iterations.",
    "newton-cholesky": "Newton solver did not converge after {iterations} iterations.",
    "sag": "The max_iter was reached which means the coef_ did not converge.",
    "saga": "The max_iter was reached which means the coef_ did not converge.",
}


def _failed(estimator, asked: str, iterations) -> str:
    words = _FAILED.get(asked, estimator._failed_words)
    return words.format(name=type(estimator).__name__, iterations=np.max(iterations))
