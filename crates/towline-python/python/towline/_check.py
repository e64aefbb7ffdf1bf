"""Parameters are looked at when an estimator is fitted, as scikit-learn does."""

from __future__ import annotations

import math
import os
import sys
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def number(estimator, name: str, least: float = 0.0, *, above: bool = True, most: float = math.inf) -> float:
    """The parameter, a number above ``least`` (or from it on) and up to ``most``."""
    value = getattr(estimator, name)
    good = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not good or value < least or (above and value == least) or value > most:
        bound = f"above {least:g}" if above else f"from {least:g} on"
        upper = "" if most == math.inf else f", at most {most:g}"
        raise ValueError(f"{name}={value!r} is not a number {bound}{upper}")
    return float(value)


def whole(estimator, name: str, least: int) -> int:
    """The parameter, a whole number from ``least`` on."""
    value = getattr(estimator, name)
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name}={value!r} is not a whole number from {least} on")
    return int(value)


def choice(estimator, name: str, choices: tuple) -> Any:
    """The parameter, one of ``choices``."""
    value = getattr(estimator, name)
    if not any(value is known or (type(value) is type(known) and value == known) for known in choices):
        known = f"not one of {', '.join(map(repr, choices))}" if len(choices) > 1 else f"not supported; leave it at {choices[0]!r}"
        raise ValueError(f"{name}={value!r} is {known}")
    return value


def threads(n_jobs) -> int | None:
    """How many threads ``n_jobs`` means: below 0, all but this many; without it, the library's choice."""
    if n_jobs is None:
        return None
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(f"n_jobs={n_jobs!r} is neither None nor a whole number other than 0")
    return int(n_jobs) if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))


def seed(random_state) -> int:
    """A seed from scikit-learn's ``random_state``; without one, always the same."""
    if random_state is None:
        return 0
    if isinstance(random_state, (Integral, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def levels_to_caller() -> int:
    """How far above the caller of this function the first one is that is not of this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(__package__ + "."):
        level, frame = level + 1, frame.f_back
    return level
