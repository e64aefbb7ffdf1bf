"""Least squares with a penalty."""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np
from scipy import sparse

from ._check import choice, levels_to_caller, number, whole
from ._train import Fit
from .targets import FEW_FEATURES, LinearRegressor


def penalty_of(strength: float, l1_ratio: float) -> dict:
    """``strength (l1_ratio ‖w‖₁ + (1 - l1_ratio)/2 ‖w‖²)`` in the words of the library."""
    if strength == 0.0:
        return {"penalty": "none"}
    if l1_ratio == 1.0:
        return {"penalty": "l1", "strength": strength}
    if l1_ratio == 0.0:
        return {"penalty": "l2", "strength": strength}
    return {"penalty": "elastic-net", "strength": strength, "l1_ratio": l1_ratio}


class Ridge(LinearRegressor):
    """Ridge regression, with the parameters and the objective of ``sklearn.linear_model.Ridge``.

    Minimises ``‖y - Xw - b‖² + alpha ‖w‖²``, with ``positive=True`` for w ≥ 0. ``alpha`` may have a number for each target. ``tol`` is the relative duality gap. ``copy_X`` is taken for
    compatibility and changes nothing. ``solver``, ``memory`` and ``callback`` are as for :class:`towline.LinearSVC`; names of scikit-learn's solvers are taken as ``"auto"``. Where many
    weights are optimal, as for ``alpha=0`` and fewer rows than features, the shortest are found.
    """

    _several = True
    _their_solvers = ("svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        copy_X=True,
        max_iter=None,
        tol=1e-4,
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
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.verbose = verbose
        self.memory = memory
        self.callback = callback

    def _arrays(self, X, y, sample_weight, reading: dict, **checks):
        if sparse.issparse(X) and self.fit_intercept and self.solver in ("svd", "cholesky", "saga"):
            raise ValueError(
                f"solver='{self.solver}' does not support fitting the intercept on sparse data. Please set the solver to 'auto', or set "
                "`fit_intercept=False`"
            )
        return super()._arrays(X, y, sample_weight, reading, **checks)

    def _problem(self, width: int) -> dict:
        choice(self, "positive", (True, False))
        if self.positive and self.solver not in ("auto", "lbfgs", *OUR_SOLVERS):
            raise ValueError(f"solver='{self.solver}' does not support positive fitting. Please set the solver to 'auto' or 'lbfgs'")
        return {**self._constant(), "non_negative": self.positive}

    def _can_share(self, X, targets: int) -> bool:
        is_one = targets > 1 and len(set(self._alphas)) == 1 and self._alphas[0] > 0
        return is_one and not self.positive and self.solver in ("auto", *self._their_solvers) and X.shape[1] <= FEW_FEATURES

    def _for_target(self, problem: dict, target: int) -> dict:
        # The library's own penalty is ½‖w‖²: alpha goes to the other side.
        alpha = self._alphas[min(target, len(self._alphas) - 1)]
        return {**problem, "c": 1.0 / alpha} if alpha > 0 else {**problem, "penalty": "none"}

    def _new_fit(self) -> Fit:
        if isinstance(self.alpha, Real):
            self._alphas = [number(self, "alpha", above=False)]
        else:
            self._alphas = [float(alpha) for alpha in np.ravel(self.alpha)]
            if not all(np.isfinite(alpha) and alpha >= 0 for alpha in self._alphas):
                raise ValueError(f"alpha={self.alpha!r} has a number that is not from 0 on")
        return Fit(self, max_passes=10_000 if self.max_iter is None else whole(self, "max_iter", 1))

    def _check_targets(self, count: int) -> None:
        if len(self._alphas) not in (1, count):
            raise ValueError(f"Number of targets and number of penalties do not correspond: {len(self._alphas)} != {count}")

    def _factors(self, count: int) -> list[float]:
        alphas = self._alphas * count if len(self._alphas) == 1 else self._alphas
        return [2.0 * (alpha or 1.0) for alpha in alphas]


class SparseRegressor(LinearRegressor):
    """What Lasso and its relatives share: mean losses."""

    _several = True
    _mean = True
    _failed_words = "Objective did not converge. You might want to increase the number of iterations."

    def fit(self, X, y=None, sample_weight=None, check_input=True, **reading):
        """Fits to arrays, or to a path or a store, whose labels are then the numbers of the file.

        ``check_input`` is taken for compatibility: arrays are always checked. Other keywords say how a file is read: ``label="price"`` and
        the rest of ``towline.pack``.
        """
        return super().fit(X, y, sample_weight, **reading)

    def _arrays(self, X, y, sample_weight, reading: dict, **checks):
        X, y, sample_weight = super()._arrays(X, y, sample_weight, reading, **checks)
        gram = getattr(self, "precompute", False)
        if isinstance(gram, np.ndarray) and sample_weight is None:
            _check_gram(gram, X, self.fit_intercept)
        return X, y, sample_weight

    def _problem(self, width: int) -> dict:
        choice(self, "positive", (True, False))
        return {**self._constant(), **self._penalty(width), "non_negative": self.positive}

    @property
    def sparse_coef_(self) -> sparse.csr_array:
        """``coef_`` as a sparse matrix."""
        return sparse.csr_array(np.atleast_2d(self.coef_))

    def _iterations(self, counts: list[int]):
        return counts[0] if len(counts) == 1 else counts

    def _say_more(self, fit: Fit) -> None:
        gaps = np.array([run.gap * run.objective for run in fit.fitted])
        self.dual_gap_ = gaps if len(gaps) > 1 else gaps[0]

    def _one_column(self) -> None:
        super()._one_column()
        self.intercept_ = np.atleast_1d(self.intercept_)


class Lasso(SparseRegressor):
    """The Lasso, with the parameters and the objective of ``sklearn.linear_model.Lasso``.

    Minimises ``‖y - Xw - b‖² / (2n) + alpha ‖w‖₁``. ``tol`` is the relative duality gap. ``precompute``, ``copy_X`` and ``selection`` are taken for
    compatibility and change nothing. ``warm_start=True`` starts from the fit before, as along a path of ``alpha``. ``solver`` is as for :class:`towline.LinearSVC`.
    """

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        precompute=False,
        copy_X=True,
        max_iter=1000,
        tol=1e-4,
        warm_start=False,
        positive=False,
        random_state=None,
        selection="cyclic",
        verbose=0,
        solver="auto",
        memory=None,
        callback=None,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.verbose = verbose
        self.solver = solver
        self.memory = memory
        self.callback = callback

    def _penalty(self, width: int) -> dict:
        return penalty_of(number(self, "alpha", above=False), 1.0)


class ElasticNet(SparseRegressor):
    """The elastic net, with the parameters and the objective of ``sklearn.linear_model.ElasticNet``.

    Minimises ``‖y - Xw - b‖² / (2n) + alpha (l1_ratio ‖w‖₁ + (1 - l1_ratio)/2 ‖w‖²)``; the rest is as for :class:`Lasso`.
    """

    def __init__(
        self,
        alpha=1.0,
        *,
        l1_ratio=0.5,
        fit_intercept=True,
        precompute=False,
        max_iter=1000,
        copy_X=True,
        tol=1e-4,
        warm_start=False,
        positive=False,
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
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.verbose = verbose
        self.solver = solver
        self.memory = memory
        self.callback = callback

    def _penalty(self, width: int) -> dict:
        return penalty_of(number(self, "alpha", above=False), number(self, "l1_ratio", above=False, most=1.0))


class GroupLasso(SparseRegressor):
    """The group Lasso: features of a group come and go together.

    Minimises ``‖y - Xw - b‖² / (2n) + alpha Σ_g weights_g ‖w_g‖``.

    ``groups`` says which features belong together: a whole number cuts them into groups of that size, an array has the group of each feature, from
    0 on, and a list of lists has the features of each group. ``weights`` has a number above 0 for each group; without it all weigh 1.
    """

    def __init__(
        self,
        groups=1,
        alpha=1.0,
        *,
        weights=None,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-4,
        warm_start=False,
        random_state=None,
        verbose=0,
        solver="auto",
        memory=None,
        callback=None,
    ):
        self.groups = groups
        self.alpha = alpha
        self.weights = weights
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.solver = solver
        self.memory = memory
        self.callback = callback

    #: For what is shared with :class:`Lasso`.
    positive = False

    def _store(self, X, y, sample_weight, reading):
        raise TypeError("groups are of columns of arrays; for a store there is 'towline train --penalty group --groups FILE'")

    def _penalty(self, width: int) -> dict:
        groups = _groups(self.groups, self.weights, width)
        return {"penalty": "group", "strength": number(self, "alpha"), "groups": groups}


def _check_gram(gram: np.ndarray, X, fit_intercept: bool) -> None:
    """Refuses a matrix that is not XᵀX, by one of its numbers. It is not used: the library sums up its own."""
    first, last = (np.ravel(X[:, [place]].toarray() if sparse.issparse(X) else X[:, place]) for place in (0, -1))
    means = (first.mean(), last.mean()) if fit_intercept else (0.0, 0.0)
    centred, raw = (first - means[0]) @ (last - means[1]), first @ last
    given, size = float(gram[0, -1]), np.sqrt((first @ first) * (last @ last))
    is_near = [abs(given - number) <= 1e-4 * size for number in (centred, raw)]
    if gram.shape != (X.shape[1], X.shape[1]) or not any(is_near):
        raise ValueError("Gram matrix passed in via 'precompute' parameter did not pass validation: it is not that of X")
    if not is_near[0]:
        message = "Gram matrix was provided but X was centered to fit intercept: recomputing Gram matrix."
        warnings.warn(message, UserWarning, stacklevel=levels_to_caller())


#: Names that are no solver of scikit-learn.
OUR_SOLVERS = ("dual", "columns", "gram", "newton", "multipliers")


def _groups(groups, weights, width: int) -> tuple[list[int], list[float]]:
    """The group of each column and of the constant feature behind them, which no penalty touches; and what groups weigh."""
    if np.isscalar(groups):
        if not isinstance(groups, (int, np.integer)) or groups < 1:
            raise ValueError(f"groups={groups!r} is not a size of groups from 1 on")
        of_column = np.arange(width) // groups
    elif len(groups) == width and all(np.ndim(group) == 0 for group in groups):
        of_column = np.asarray(groups)
    else:
        of_column = np.full(width, -1)
        for number, columns in enumerate(groups):
            of_column[np.asarray(columns, dtype=int)] = number
        if (of_column < 0).any():
            raise ValueError(f"feature {int(np.argmin(of_column))} is in no group; name every feature once")
        if sum(map(len, groups)) != width:
            raise ValueError("a feature is in two groups; name every feature once")
    if not np.issubdtype(of_column.dtype, np.integer) or of_column.min() < 0:
        raise ValueError("groups have whole numbers from 0 on")
    count = int(of_column.max()) + 1
    sizes = np.ones(count) if weights is None else np.asarray(weights, dtype=float)
    if len(sizes) != count:
        raise ValueError(f"there are {count} groups and {len(sizes)} weights")
    # The constant feature needs a group of its own.
    return [*map(int, of_column), count], [*map(float, sizes), 1.0]
