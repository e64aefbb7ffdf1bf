"""What a fit says while it goes on."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def reporting(estimator, tolerance: float) -> Iterator[Callable | None]:
    """The function to call after each step: the bar of ``verbose=1``, and the estimator's ``callback``."""
    own = getattr(estimator, "callback", None)
    if not getattr(estimator, "verbose", 0):
        yield own
        return
    bar = _bar(type(estimator).__name__, tolerance)

    def step(facts: dict) -> object:
        bar.show(facts)
        return own(facts) if own is not None else None

    try:
        yield step
    finally:
        bar.close()


def _bar(name: str, tolerance: float):
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Lines(name, tolerance)
    return _Tqdm(tqdm(desc=name, total=100, unit="%", bar_format="{desc}: {percentage:3.0f}%|{bar}| {postfix}"), tolerance)


class _Tqdm:
    """A bar that is full when the gap has reached the tolerance, in orders of magnitude."""

    def __init__(self, bar, tolerance: float):
        self.bar, self.tolerance, self.worst = bar, tolerance, 1.0

    def show(self, facts: dict) -> None:
        gap = facts["gap"]
        if gap is not None and gap > 0:
            self.worst = max(self.worst, gap)
            done = math.log(self.worst / gap) / math.log(self.worst / max(self.tolerance, 1e-16))
            self.bar.n = round(100 * min(1.0, max(0.0, done)))
        self.bar.set_postfix_str(_words(facts), refresh=False)
        self.bar.refresh()

    def close(self) -> None:
        self.bar.close()


class _Lines:
    """A line a second, where there is no tqdm."""

    def __init__(self, name: str, tolerance: float):
        self.name, self.tolerance, self.shown = name, tolerance, 0.0

    def show(self, facts: dict) -> None:
        if time.monotonic() - self.shown >= 1.0:
            self.shown = time.monotonic()
            print(f"{self.name}: {_words(facts)}, wanted {self.tolerance:g}", file=sys.stderr)

    def close(self) -> None:
        pass


def _words(facts: dict) -> str:
    gap = "unknown" if facts["gap"] is None else f"{facts['gap']:.1e}"
    return f"pass {facts['passes']}, sweep {facts['sweeps']}, gap {gap}"
