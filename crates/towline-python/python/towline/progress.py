"""What a fit says while it goes on."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: A bar is drawn at most this often.
SECONDS = 0.1


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
    return _Tqdm(tqdm(total=100, bar_format="{percentage:3.0f}%|{bar}| {desc}"), name, tolerance)


class _Tqdm:
    """A bar that is full when the gap has reached the tolerance, in orders of magnitude."""

    def __init__(self, bar, name: str, tolerance: float):
        self.bar, self.name, self.tolerance = bar, name, tolerance
        self.worst, self.shown = 1.0, time.monotonic()
        self.facts: dict | None = None

    def show(self, facts: dict) -> None:
        self.facts = facts
        if time.monotonic() - self.shown >= SECONDS:
            self._draw(facts)

    def _draw(self, facts: dict) -> None:
        self.shown = time.monotonic()
        gap, least = facts["gap"], max(self.tolerance, 1e-16)
        if gap is not None and gap >= 0:
            self.worst = max(self.worst, gap)
            # Rounding may show a gap of 0.
            done = math.log(self.worst / max(gap, least)) / math.log(self.worst / least)
            self.bar.n = round(100 * min(1.0, max(0.0, done)))
        self.bar.set_description_str(f"{self.name}: {_words(facts)}")

    def close(self) -> None:
        if self.facts is not None:
            self._draw(self.facts)
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
