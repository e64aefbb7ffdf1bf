"""Quantile regression."""

from __future__ import annotations

from ._check import number
from .linear import penalty_of
from .targets import LinearRegressor


class QuantileRegressor(LinearRegressor):
    """Quantile regression, with the parameters and the objective of ``sklearn.linear_model.QuantileRegressor``.

    Minimises ``Σ pinball(y - Xw - b) / n + alpha ‖w‖₁``, where the pinball loss of a residual r is ``quantile r`` above 0 and ``(quantile - 1) r``
    below. scikit-learn solves a linear program with all rows in memory; this takes stores that are larger, too. ``solver_options`` is taken for
    compatibility and changes nothing, and so are its names of solvers. ``tol`` is the relative duality gap.
    """

    _mean = True
    _their_solvers = ("highs", "highs-ds", "highs-ipm", "interior-point", "revised simplex")

    def __init__(
        self,
        *,
        quantile=0.5,
        alpha=1.0,
        fit_intercept=True,
        solver="auto",
        solver_options=None,
        max_iter=1000,
        tol=1e-6,
        random_state=None,
        verbose=0,
        memory=None,
        callback=None,
    ):
        self.quantile = quantile
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.solver_options = solver_options
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.memory = memory
        self.callback = callback

    def _problem(self, width: int) -> dict:
        strength = penalty_of(number(self, "alpha", above=False), 1.0)
        return {"loss": "quantile", "quantile": number(self, "quantile", most=1.0), **strength, **self._constant()}
