"""Stores: rows on disk, of which only blocks enter memory."""

from __future__ import annotations

import glob
import hashlib
import json
import os
from typing import Any

from . import _native
from ._rows import rows
from ._size import size_bytes
from .schema import Schema, options_of, products

#: How files are read unless something else is said; the words of ``towline pack``.
READING: dict[str, Any] = {
    "format": None,
    "index_base": "auto",
    "duplicates": "error",
    "label": None,
    "weight": None,
    "group": None,
    "ignore": [],
    "category": [],
    "number": [],
    "text": {},
    "column": {},
    "interact": [],
    "max_features": None,
    "schema": None,
    "absent": None,
    "columns": "strict",
    "missing": [],
    "unlabelled": "error",
    "header": None,
    "delimiter": None,
    "precision": "f32",
    "threads": None,
}


class Store(_native.Store):
    """A store that ``towline.pack`` or ``towline pack`` has made.

    >>> store = towline.Store("reviews.tow")
    >>> store.rows, store.features
    """

    @property
    def schema(self) -> Schema | None:
        """What the columns of its table are; None for arrays and for rows of libsvm."""
        return None if self.schema_json is None else Schema._from_json(self.schema_json)

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r}, rows={self.rows}, features={self.features}, values={self.values})"


def pack(
    data,
    output,
    *,
    existing: str = "refuse",
    keep_order: bool = False,
    seed: int = 0,
    renumber: bool = True,
    scale: str = "auto",
    rff: int | None = None,
    gamma: float | None = None,
    rff_seed: int = 0,
    rff_keep: str = "auto",
    min_count: int = 1,
    block_size: int | str | None = None,
    memory: int | str | None = None,
    **reading,
) -> Store:
    """Packs ``data`` into a store at the folder ``output`` and opens it.

    ``data`` is a path or a pattern such as ``"logs/*.svm.gz"``, a list of them, anything with an Arrow stream (a PyArrow table or reader, a
    Polars or pandas frame, a DuckDB relation), a Polars lazy frame, which is collected batch by batch, or an iterator of
    ``(X, y)`` or ``(X, y, sample_weight)``. Columns of arrays are features with their number, from 0 on.

    ``existing`` is ``"refuse"``, ``"replace"`` or ``"append"``. ``scale`` is ``"auto"`` (numbers of tables by mean and
    standard deviation), ``"none"``, ``"rows"``, ``"minmax"`` or ``"standard"``. Features that fewer than ``min_count`` rows have are left out, but for numbers of tables. ``rff`` maps rows to this many random
    Fourier features for the kernel ``exp(-gamma |x - y|^2)``; ``rff_keep`` says whether the store holds their ``"values"``, or the rows that they are made from with the
    ``"seed"`` whenever a block is read. Other keywords say how
    files and frames are read, with the words of ``towline pack``: ``label``, ``weight``, ``group``, ``ignore``, ``category``, ``number``, ``text`` (a column, a list of them, or a
    dictionary of columns and rules such as ``"words=1-2,min=5,max=100000"``), ``column`` (a dictionary of columns and rules such as ``"rare=5"``), ``interact`` (a list such as
    ``["user*item"]``), ``max_features``, ``schema`` (a :class:`towline.Schema`, its file, or a dictionary of columns and rules such as ``"text, words=1-2"``), ``absent``, ``columns``, ``missing``,
    ``unlabelled``, ``format``, ``index_base``, ``duplicates``, ``header``, ``delimiter``, ``precision``, ``threads``.
    """
    if (rff is None) != (gamma is None):
        raise ValueError("rff and gamma go together: how many features, and of which kernel")
    kind, data = _kind(data)
    arguments = {
        "reading": reading_options(reading),
        "existing": existing,
        "seed": None if keep_order else seed,
        "renumber": renumber,
        "scale": scale,
        "fourier": None if rff is None else (rff, gamma, rff_seed),
        "rff_keep": rff_keep,
        "min_count": min_count,
        "block_size": size_bytes(block_size),
        "memory": size_bytes(memory),
    }
    _native.pack(kind, data, os.fspath(output), arguments)
    return Store(os.fspath(output))


def reading_options(given: dict) -> dict:
    """All options of reading, with these ones changed."""
    unknown = sorted(set(given) - set(READING))
    if unknown:
        raise TypeError(f"{unknown[0]!r} is no way to read; use {', '.join(READING)}")
    given = _with_schema(given)
    lists = {name: [given[name]] for name in ("ignore", "category", "number", "missing") if isinstance(given.get(name), str)}
    text = given.get("text", {})
    text = [text] if isinstance(text, str) else text
    lists["text"] = list(text.items()) if isinstance(text, dict) else [(name, "") for name in text]
    lists["column"] = list(given.get("column", {}).items())
    lists["interact"] = products(given.get("interact", []))
    columns = {name: str(given[name]) for name in ("label", "weight", "group", "index_base") if given.get(name) is not None}
    return {**READING, **given, **columns, **lists}


def _with_schema(given: dict) -> dict:
    """The same without ``schema=``, which other options say as well; what it says goes with what they say."""
    if given.get("schema") is None or isinstance(given["schema"], str) and given["schema"].startswith("{"):
        return given
    said = options_of(given["schema"])
    both = sorted(name for name in said if name != "schema" and given.get(name))
    if both:
        raise TypeError(f"schema= says what {both[0]!r} says; use one of them")
    return {**given, "schema": None, **said}


def is_on_disk(data) -> bool:
    """Whether ``data`` is a path or a store, and no array."""
    return isinstance(data, (str, os.PathLike, _native.Store))


def paths(data) -> list[str]:
    """One path or several."""
    return [os.fspath(data)] if isinstance(data, (str, os.PathLike)) else [os.fspath(path) for path in data]


def open_store(data, memory, reading: dict) -> _native.Store:
    """The store itself, the store at a path, or the store of a file, which is packed beside itself once."""
    if isinstance(data, _native.Store) or os.path.isdir(data):
        if reading:
            raise TypeError(f"a store has been read already; {', '.join(map(repr, reading))} is for files")
        return data if isinstance(data, _native.Store) else Store(os.fspath(data))
    path = os.fspath(data)
    if not os.path.exists(path):
        found = glob.glob(path)
        remedy = "; pack these files with towline.pack first" if found else ""
        raise FileNotFoundError(f"{path}: there is no such file{remedy}")
    beside = _beside(path, reading)
    if not os.path.exists(beside):
        return pack(path, beside, memory=memory, **reading)
    store = Store(beside)
    status = os.stat(path)
    if [source[:3] for source in store.sources] != [(path, status.st_size, status.st_mtime_ns)]:
        return pack(path, beside, existing="replace", memory=memory, **reading)
    return store


def _beside(path: str, reading: dict) -> str:
    # Read another way, a file is another store: the way is part of the name.
    if not reading:
        return path + ".tow"
    way = hashlib.sha256(json.dumps(reading_options(reading), sort_keys=True).encode()).hexdigest()[:8]
    return f"{path}.{way}.tow"


def _kind(data) -> tuple[str, object]:
    if isinstance(data, (str, os.PathLike)):
        return "files", paths(data)
    if isinstance(data, (list, tuple)) and data and all(isinstance(part, (str, os.PathLike)) for part in data):
        return "files", paths(data)
    if hasattr(data, "collect_batches"):
        return "frames", iter(data.collect_batches())
    if hasattr(data, "__arrow_c_stream__"):
        return "arrow", data
    if hasattr(data, "__iter__"):
        return "batches", (_batch(batch) for batch in data)
    raise TypeError(f"cannot pack {type(data).__name__}; give paths, an Arrow stream, or an iterator of (X, y)")


def _batch(batch) -> _native.Rows:
    from sklearn.utils import check_X_y

    if not isinstance(batch, (tuple, list)) or len(batch) not in (2, 3):
        raise TypeError(f"a batch is (X, y) or (X, y, sample_weight), not {type(batch).__name__}")
    X, y, *weight = batch
    X, y = check_X_y(X, y, accept_sparse="csr", dtype=["float64", "float32"], order="C")
    return rows(X, y, *weight)
