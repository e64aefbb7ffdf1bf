"""Callbacks that go with an estimator wherever it is sent: they pickle, and clones have their own."""

from __future__ import annotations

import json
import os


class History:
    """Keeps what an estimator says after each step.

    >>> model = towline.LinearSVC(callback=towline.History()).fit(X, y)
    >>> model.callback.steps[-1]["gap"]

    ``stop_gap`` ends training where the gap is below it, as ``tol`` does, and ``stop_seconds`` where it has taken that long. A clone begins with no steps.
    """

    def __init__(self, *, stop_gap: float | None = None, stop_seconds: float | None = None):
        self.stop_gap, self.stop_seconds = stop_gap, stop_seconds
        #: A dictionary for each step.
        self.steps: list[dict] = []

    def __call__(self, facts: dict) -> bool:
        self.steps.append(dict(facts))
        gap = facts["gap"]
        is_close = self.stop_gap is not None and gap is not None and gap <= self.stop_gap
        return is_close or (self.stop_seconds is not None and facts["seconds"] >= self.stop_seconds)

    def __deepcopy__(self, memo) -> History:
        """scikit-learn's ``clone`` copies parameters: what another fit has said is no part of them."""
        return History(stop_gap=self.stop_gap, stop_seconds=self.stop_seconds)

    def __repr__(self) -> str:
        given = {"stop_gap": self.stop_gap, "stop_seconds": self.stop_seconds}
        return f"History({', '.join(f'{name}={value!r}' for name, value in given.items() if value is not None)})"

    def table(self):
        """The steps as a table, a column for each fact: a pandas ``DataFrame`` if pandas is there, else a dictionary of lists."""
        from .trace import as_table

        return as_table(self.steps)


class TraceFile:
    """Writes a line of JSON after each step, as ``towline train --trace`` does; :func:`towline.load_trace` and ``towline report`` read them."""

    def __init__(self, path):
        self.path = os.fspath(path)

    def __call__(self, facts: dict) -> None:
        with open(self.path, "a", encoding="utf-8") as lines:
            lines.write(json.dumps(facts) + "\n")

    def __repr__(self) -> str:
        return f"TraceFile({self.path!r})"
