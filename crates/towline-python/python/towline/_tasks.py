"""Callbacks of scikit-learn 1.9 (``set_callbacks``): a task for a fit, and one for each of its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9 has none

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    with_callbacks = None


def has_listeners(estimator) -> bool:
    """Whether somebody wants to know of a fit."""
    return with_callbacks is not None and bool(getattr(estimator, "_skl_callbacks", None))


def as_task(estimator, fit: Callable, X, y, sample_weight):
    """Calls ``fit``, as a task of scikit-learn's if somebody listens."""
    if not has_listeners(estimator) or hasattr(estimator, "_callback_fit_ctx"):
        return fit()
    facts = {"X": X, "y": y, "metadata": None if sample_weight is None else {"sample_weight": sample_weight}}

    def task(estimator):
        # What an earlier fit has left would go into copies.
        estimator.__dict__.pop("_models", None)
        # Several targets, or trials of a scale, have as many steps each.
        context = estimator._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=estimator, **facts)
        estimator._task_facts = facts
        try:
            found = fit()
        finally:
            del estimator._task_facts
        weights = {"coef_": estimator.coef_, "intercept_": estimator.intercept_}
        context.call_on_fit_task_end(estimator=estimator, reconstruction_attributes=weights, **facts)
        return found

    return with_callbacks(task)(estimator)


@contextmanager
def steps(estimator, problem: dict, most: int, own: Callable | None) -> Iterator[Callable | None]:
    """The function to call after each step, which is ``own`` if nobody else listens. It wants the weights then."""
    if not hasattr(estimator, "_task_facts"):
        yield own
        return
    tasks = Steps(estimator, problem, most)

    def step(facts: dict) -> bool:
        weights = facts.pop("weights")
        stops = own is not None and bool(own(facts))
        return tasks.step(facts, weights) or stops

    yield step
    tasks.close()


class Steps:
    """One task after the other. As for scikit-learn's own solvers, the last one is begun and never run."""

    def __init__(self, estimator, problem: dict, most: int):
        self.estimator, self.problem, self.most = estimator, problem, max(most, 1)
        self.current = self._begin(None)

    def _begin(self, weights: dict | None):
        task = self.estimator._callback_fit_ctx.subcontext(task_name="iteration")
        return task.call_on_fit_task_begin(estimator=self.estimator, reconstruction_attributes=weights, **self.estimator._task_facts)

    def step(self, facts: dict, weights: list[np.ndarray]) -> bool:
        """Ends a task and begins the next; whether a callback wants to stop."""
        if facts["sweeps"] > self.most:
            # Here the run sees that there are no passes left.
            return False
        now = self._attributes(weights)
        stops = self.current.call_on_fit_task_end(estimator=self.estimator, reconstruction_attributes=now, **self.estimator._task_facts)
        self.current = self._begin(now)
        return stops

    def close(self) -> None:
        """Ends the task that has been begun."""
        self.current.call_on_fit_task_end(estimator=self.estimator)

    def _attributes(self, models: list[np.ndarray]) -> dict | None:
        """``coef_`` and ``intercept_`` of weights by column, those of the constant feature last, classes of one model side by side.

        None where classes are trained one after the other: those of the others are not known then.
        """
        width = self.estimator.n_features_in_ + 1
        table = np.hstack([np.reshape(weights, (width, -1)) for weights in models]).T
        coef, intercept = table[:, :-1].copy(), self.problem["bias"] * table[:, -1]
        classes = getattr(self.estimator, "classes_", None)
        if classes is not None and len(classes) == 2 and len(coef) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        if classes is not None and len(coef) != (1 if len(classes) == 2 else len(classes)):
            return None
        if classes is None and len(coef) == 1:
            return {"coef_": coef[0], "intercept_": intercept[0]}
        return {"coef_": coef, "intercept_": intercept}
