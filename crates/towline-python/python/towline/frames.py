"""Data frames with columns that are no numbers: text, categories, dates.

Such a frame is packed into a store for the time of a fit, by the rules of ``towline pack``, with labels and weights as two more columns. The
model knows its columns, so that later frames are read by name. Frames of numbers alone are arrays, as in scikit-learn.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import numpy as np

from .schema import Schema
from .store import pack

LABEL, WEIGHT = "__label__", "__weight__"


def is_frame(data) -> bool:
    """Whether this is a data frame or a table: pandas, Polars, PyArrow."""
    return hasattr(data, "__arrow_c_stream__") and hasattr(data, "shape") and len(data.shape) == 2


def is_mixed(data) -> bool:
    """Whether this is one with a column that is no number."""
    return is_frame(data) and any(not _is_number(kind) for kind in _kinds(data))


def is_table(data, reading: dict) -> bool:
    """Whether this is a frame that is packed: with a column that is no number, or with words on how to read it."""
    return is_frame(data) and (bool(reading) or is_mixed(data))


def without_index(data):
    """A pandas frame without its index, which would become one more column."""
    return data.reset_index(drop=True) if hasattr(data, "reset_index") else data


def columns_of(data) -> list[str]:
    """The names of columns."""
    return [str(name) for name in (data.column_names if hasattr(data, "append_column") else data.columns)]


@contextlib.contextmanager
def packed(data, y, sample_weight, memory, reading: dict):
    """A store of a frame and its labels, gone with the context."""
    if y is None and "label" not in reading:
        raise ValueError("requires y to be passed, but the target y is None; or name a column of the frame with label=")
    added = {}
    if y is not None:
        added[LABEL] = _column(y, "y", data.shape[0])
        reading = {**reading, "label": LABEL}
        if isinstance(reading.get("schema"), (str, os.PathLike, Schema)):
            given = reading["schema"]
            reading["schema"] = (given if isinstance(given, Schema) else Schema.read(given)).without_label()
    if sample_weight is not None:
        added[WEIGHT] = _column(sample_weight, "sample_weight", data.shape[0]).astype(float)
        reading = {**reading, "weight": WEIGHT}
    with tempfile.TemporaryDirectory(prefix="towline-") as folder:
        frame = with_columns(without_index(data), added)
        yield pack(frame, Path(folder) / "frame.tow", memory=memory, **{"precision": "f64", **reading})


def _column(values, name: str, rows: int) -> np.ndarray:
    values = np.asarray(values)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or len(values) != rows:
        raise ValueError(f"{name} has shape {values.shape}; a frame of {rows} rows needs ({rows},)")
    return values


def with_columns(data, added: dict):
    """The same frame with more columns."""
    if not added:
        return data
    if hasattr(data, "assign"):
        return data.assign(**added)
    if hasattr(data, "with_columns"):
        import polars

        return data.with_columns(**{name: polars.Series(values) for name, values in added.items()})
    import pyarrow

    for name, values in added.items():
        data = data.append_column(name, pyarrow.array(values))
    return data


def _kinds(data) -> list:
    if hasattr(data, "append_column"):
        return [field.type for field in data.schema]
    return list(data.dtypes)


def _is_number(kind) -> bool:
    """Whether a type of NumPy, pandas, Polars or PyArrow is one of numbers or truth values."""
    if isinstance(kind, np.dtype):
        return kind.kind in "biuf"
    if hasattr(kind, "is_numeric"):
        return bool(kind.is_numeric() or str(kind) == "Boolean")
    name = str(kind).lower()
    return name.startswith(("int", "uint", "float", "double", "half", "bool", "boolean", "sparse[", "decimal"))
