"""Logistic regression."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import expit, softmax
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from ._check import choice, levels_to_caller, number
from .classes import LinearClassifier
from .linear import penalty_of


class LogisticRegression(LinearClassifier):
    """Logistic regression, with the parameters and the objective of ``sklearn.linear_model.LogisticRegression``.

    Minimises ``C Σ log(1 + exp(-y_i (w·x_i + b))) + (1 - l1_ratio)/2 ‖w‖² + l1_ratio ‖w‖₁``; the intercept is free of the penalty. ``C=np.inf`` is no
    penalty at all. ``tol`` is the relative duality gap. ``dual`` is taken for compatibility and changes nothing. ``n_jobs`` is how many threads may work. ``solver`` is as for
    :class:`towline.LinearSVC`; names of scikit-learn's solvers are taken as ``"auto"``.
    ``penalty`` is the older word for ``l1_ratio`` and ``C=np.inf``. ``warm_start=True`` starts from the fit before, as along values of ``C``.

    More than two classes have one objective, softmax (``multi_class="multinomial"`` or ``"auto"``), or one for each class against the rest (``"ovr"``).
    ``solver="liblinear"`` penalises the intercept as LIBLINEAR does: it is the weight of a constant feature of value ``intercept_scaling``.
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

    def _refuse(self, l1_ratio: float, c: float) -> None:
        """Names of scikit-learn's solvers are taken with their limits: programs that look for one rely on them."""
        if self.solver not in self._their_solvers:
            return
        if self.solver not in ("liblinear", "saga") and l1_ratio > 0:
            raise ValueError(f"Solver {self.solver} supports only 'l2' or None penalties, got l1_ratio={l1_ratio:g}; solver='auto' takes any")
        if self.solver != "liblinear" and self.dual:
            raise ValueError(f"Solver {self.solver} supports only dual=False, got dual=True")
        if self.solver == "liblinear" and 0 < l1_ratio < 1:
            raise ValueError("Only 'saga' solver supports elasticnet penalty, got solver=liblinear.")
        if self.solver == "liblinear" and c == np.inf:
            raise ValueError("penalty=None is not supported for the liblinear solver")

    def _problem(self) -> dict:
        choice(self, "multi_class", ("auto", "multinomial", "ovr"))
        if self.solver == "liblinear" and self.multi_class == "multinomial":
            raise ValueError("The 'liblinear' solver does not support multiclass classification.")
        c, ratio = self._strength()
        self._refuse(ratio, c)
        problem = {"loss": "logistic", "bias": 0.0}
        return {**problem, "penalty": "none"} if c == np.inf else {**problem, "c": c, **penalty_of(1.0, ratio)}

    def _strength(self) -> tuple[float, float]:
        """C and the share of the l1 penalty, also if they are said with the older word ``penalty``."""
        penalty = choice(self, "penalty", ("deprecated", "l1", "l2", "elasticnet", None))
        if penalty is None and self.C != 1.0:
            warnings.warn("Setting penalty=None will ignore the C and l1_ratio parameters", UserWarning, stacklevel=levels_to_caller())
        c = np.inf if self.C == np.inf or penalty is None else number(self, "C")
        ratio = {"l1": 1.0, "l2": 0.0}.get(penalty)
        if penalty != "deprecated":
            message = (
                "'penalty' was deprecated in scikit-learn 1.8, which removes it in 1.10, and so will this: use l1_ratio=0 in place of 'l2', "
                "l1_ratio=1 of 'l1', a number between of 'elasticnet', and C=np.inf of None"
            )
            warnings.warn(message, FutureWarning, stacklevel=levels_to_caller())
        if self.l1_ratio is None and penalty == "elasticnet":
            raise ValueError("penalty='elasticnet' needs an l1_ratio from 0 to 1")
        if self.l1_ratio is None:
            warnings.warn("'l1_ratio=None' was deprecated in scikit-learn 1.8; use 0", FutureWarning, stacklevel=levels_to_caller())
            return c, 0.0 if ratio is None else ratio
        given = number(self, "l1_ratio", above=False, most=1.0)
        if ratio is None:
            return c, given
        if given != ratio:
            used = f"l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={penalty})"
            message = f"Inconsistent values: penalty={penalty} with l1_ratio={self.l1_ratio}. {used}"
            warnings.warn(message, UserWarning, stacklevel=levels_to_caller())
        return c, ratio

    def _for_classes(self, problem: dict) -> dict:
        if self.solver == "liblinear":
            # LIBLINEAR's intercept is the weight of a constant feature, and is penalised like the others.
            if len(self.classes_) > 2 and self.multi_class == "auto":
                raise ValueError(
                    "The 'liblinear' solver does not support multiclass classification. Use another solver, or multi_class='ovr'"
                )
            return {**problem, "bias": number(self, "intercept_scaling") if self.fit_intercept else 0.0}
        if len(self.classes_) == 2 or self.multi_class == "ovr":
            return {**problem, **self._constant()}
        return {**problem, "multiclass": "softmax", **self._constant()}

    def _arrays(self, X, y, sample_weight, reading: dict, **checks):
        X, y, sample_weight = super()._arrays(X, y, sample_weight, reading, **checks)
        if self.solver == "liblinear" and X.max() > 1e30:
            raise ValueError(
                "Using the 'liblinear' solver while X contains a maximum value > 1e30 results in a frozen fit. Please choose another solver or rescale the input X."
            )
        return X, y, sample_weight

    def _is_single(self, X) -> bool:
        return self.solver != "liblinear" and super()._is_single(X)

    def _iterations(self, counts: list[int]):
        return np.array([max(counts)], dtype=np.int32)

    def _merge_sides(self) -> None:
        super()._merge_sides()
        if len(self.classes_) > 2 and self.C == np.inf and self.model_.multiclass == "softmax":
            # Without a penalty, the same may be added to the weights of all classes: they add up to 0, as where there is one.
            self.coef_ = self.coef_ - self.coef_.mean(axis=0)
            self.intercept_ = self.intercept_ - self.intercept_.mean()

    def predict_proba(self, X, **reading) -> np.ndarray:
        """The probability of each class, for each row."""
        check_is_fitted(self)
        if len(self.classes_) > 2 and self._is_softmax():
            return softmax(self.decision_function(X, **reading), axis=1)
        return self._predict_proba_lr(X, **reading)

    def _is_softmax(self) -> bool:
        """Whether classes have one objective."""
        return self.model_.multiclass == "softmax" if hasattr(self, "_models") else self.multi_class != "ovr"

    def _predict_proba_lr(self, X, **reading) -> np.ndarray:
        """Probabilities of each class against the rest; scikit-learn has them by this name."""
        chances = expit(self.decision_function(X, **reading))
        return np.column_stack([1.0 - chances, chances]) if chances.ndim == 1 else normalize(chances, norm="l1")

    def predict_log_proba(self, X, **reading) -> np.ndarray:
        """The logarithm of each probability."""
        return np.log(self.predict_proba(X, **reading))
