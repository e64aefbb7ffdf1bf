"""Sizes as people write them."""

from __future__ import annotations

import re
from numbers import Integral

_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def size_bytes(memory: int | str | None) -> int | None:
    """``512 << 20``, ``"512M"``, ``"1.5GiB"`` (powers of 1024) or ``"512MB"`` (powers of 1000) in bytes."""
    if memory is None:
        return None
    if isinstance(memory, Integral) and not isinstance(memory, bool):
        size = int(memory)
    else:
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(I?B)?\s*", str(memory), re.IGNORECASE)
        if not found or (found[3] and not found[2] and found[3].upper() != "B"):
            raise ValueError(f"memory={memory!r} is not a size; write it as '512M', '1.5G' or a number of bytes")
        base = 1000 if (found[3] or "").upper() == "B" else 1024
        size = int(float(found[1]) * base ** _UNITS[found[2].upper()])
    if size <= 0:
        raise ValueError(f"memory={memory!r} is not a size above 0")
    return size
