"""Support vector machines."""

from __future__ import annotations

from ._check import choice, number
from .classes import LinearClassifier
from .targets import LinearRegressor

LOSSES = {"hinge": "hinge", "squared_hinge": "squared-hinge"}
WAYS = {"ovr": "ovr", "crammer_singer": "crammer-singer"}
TUBES = {"epsilon_insensitive": "epsilon-insensitive", "squared_epsilon_insensitive": "squared-epsilon-insensitive"}


#: As LIBLINEAR has it in scikit-learn.
FAILED = "Liblinear failed to converge, increase the number of iterations."


class DoubleWeights:
    """Weights are always of double precision, as LIBLINEAR has them."""

    def _is_single(self, X) -> bool:
        return False


class LinearSVC(DoubleWeights, LinearClassifier):
    """Linear support vector classification, with the parameters and the objective of ``sklearn.svm.LinearSVC``.

    Minimises ``½‖w‖² + C Σ loss(y_i w·x_i)``, or ``‖w‖₁`` for ``penalty="l1"``. The intercept is the weight of a constant feature of value
    ``intercept_scaling`` and is penalised like the others. ``multi_class="crammer_singer"`` has one objective for all classes, with the hinge loss. ``tol`` is the relative duality gap; with 0, all ``max_iter`` passes are made. ``dual`` is taken for compatibility: every run has both
    sides. ``solver`` is ``"auto"``, which takes what suits the data, or ``"dual"``, ``"columns"``, ``"gram"``, ``"newton"`` or ``"multipliers"``, as ``towline train --solver``
    has them; one that cannot minimise the objective is a ``ValueError``. ``solver_`` is what was used. ``memory`` bounds what Towline allocates, such as ``"512M"``; ``callback`` is called with a dictionary after each step, and stops
    training by returning true.
    """

    _failed_words = FAILED

    def __init__(
        self,
        penalty="l2",
        loss="squared_hinge",
        *,
        dual="auto",
        tol=1e-4,
        C=1.0,
        multi_class="ovr",
        fit_intercept=True,
        intercept_scaling=1,
        class_weight=None,
        verbose=0,
        random_state=None,
        max_iter=1000,
        solver="auto",
        memory=None,
        callback=None,
    ):
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.solver = solver
        self.memory = memory
        self.callback = callback

    def _problem(self) -> dict:
        choice(self, "dual", ("auto", True, False))
        problem = {
            "multiclass": WAYS[choice(self, "multi_class", tuple(WAYS))],
            "own_weight_only": True,
            "loss": LOSSES[choice(self, "loss", tuple(LOSSES))],
            "penalty": choice(self, "penalty", ("l2", "l1")),
            "c": number(self, "C"),
            "bias": number(self, "intercept_scaling") if self.fit_intercept else 0.0,
        }
        if self.multi_class == "crammer_singer":
            # As in LIBLINEAR, this is a loss and a penalty of its own.
            problem = {**problem, "loss": "hinge", "penalty": "l2"}
        return problem


class RampSVC(DoubleWeights, LinearClassifier):
    """Linear support vector classification with a loss that is cut off at ``1 + truncate``, so that rows on the wrong side, such as wrong labels, count for no more.

    Minimises ``½‖w‖² + C Σ min(loss(y_i w·x_i), 1 + truncate)`` by a series of convex problems. The objective is not convex: what is found is a stationary point, and ``gap_`` is
    the gap of the last convex problem. The rest is as for :class:`LinearSVC`; ``loss`` may also be ``"log_loss"``.
    """

    def __init__(
        self,
        loss="hinge",
        *,
        truncate=1.0,
        tol=1e-4,
        C=1.0,
        fit_intercept=True,
        intercept_scaling=1,
        class_weight=None,
        verbose=0,
        random_state=None,
        max_iter=1000,
        memory=None,
        callback=None,
    ):
        self.loss = loss
        self.truncate = truncate
        self.tol = tol
        self.C = C
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.memory = memory
        self.callback = callback

    #: The convex problems are solved by dual coordinate descent.
    solver = "auto"

    def _problem(self) -> dict:
        losses = {**LOSSES, "log_loss": "logistic"}
        return {
            "loss": losses[choice(self, "loss", tuple(losses))],
            "truncate": number(self, "truncate", above=False),
            "own_weight_only": True,
            "c": number(self, "C"),
            "bias": number(self, "intercept_scaling") if self.fit_intercept else 0.0,
        }


class LinearSVR(DoubleWeights, LinearRegressor):
    """Linear support vector regression, with the parameters and the objective of ``sklearn.svm.LinearSVR``.

    ``tol`` is the relative duality gap; see :class:`LinearSVC` for what comes on top.
    """

    _failed_words = FAILED

    def __init__(
        self,
        *,
        epsilon=0.0,
        tol=1e-4,
        C=1.0,
        loss="epsilon_insensitive",
        fit_intercept=True,
        intercept_scaling=1.0,
        dual="auto",
        verbose=0,
        random_state=None,
        max_iter=1000,
        solver="auto",
        memory=None,
        callback=None,
    ):
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.solver = solver
        self.memory = memory
        self.callback = callback

    def _problem(self, width: int) -> dict:
        choice(self, "dual", ("auto", True, False))
        return {
            "loss": TUBES[choice(self, "loss", tuple(TUBES))],
            "epsilon": number(self, "epsilon", above=False),
            "c": number(self, "C"),
            "bias": number(self, "intercept_scaling") if self.fit_intercept else 0.0,
        }
