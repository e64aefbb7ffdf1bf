"""Arrays become rows, without a copy where that is possible."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from . import _native


def rows(X, y=None, sample_weight=None) -> _native.Rows:
    """The rows of a C-contiguous array or a CSR matrix of float32 or float64, where they lie. A table ``y`` has several targets for each.

    Everything else is converted once: other formats, other orders, other types, matrices with unsorted or repeated columns.
    """
    labels, further = _targets(y)
    weights = None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float64)
    if not sparse.issparse(X):
        table = np.require(X, _float(X.dtype), ["C", "A"])
        return _native.Rows.dense(table.reshape(-1), table.shape[1], labels, weights, further)
    matrix = X if X.format == "csr" else X.tocsr()
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    values = np.require(matrix.data, _float(matrix.dtype), ["C", "A"])
    wide = matrix.indices.dtype.itemsize > 4
    columns = np.require(matrix.indices, np.int64 if wide else np.int32, ["C", "A"])
    used = int(matrix.indptr[-1])  # a matrix may have room behind its last value
    return _native.Rows.sparse(values[:used], columns[:used], matrix.indptr, matrix.shape[1], labels, weights, further)


def _targets(y):
    """The first target of each row, and those behind it."""
    if y is None:
        return None, None
    y = np.ascontiguousarray(y, dtype=np.float64)
    if y.ndim == 1:
        return y, None
    return np.ascontiguousarray(y[:, 0]), np.ascontiguousarray(y[:, 1:]).reshape(-1)


def _float(dtype) -> type:
    return np.float32 if dtype == np.float32 else np.float64

