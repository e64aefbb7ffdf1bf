"""Models: what was learnt, apart from the estimator that learnt it."""

from __future__ import annotations

import json
import os

import numpy as np
from scipy import sparse

from . import _native
from ._rows import rows
from ._size import size_bytes
from .store import is_on_disk, paths, reading_options

#: Weights are kept sparse where a dense array would be more than so many times as large.
SPARSE_RATIO = 16


def read_model(path) -> Model:
    """Reads a model that an estimator or ``towline train`` has written."""
    return Model([_native.Model.load(os.fspath(path))])


def dense_or_sparse(models: list[_native.Model]):
    """The weights of all models, a row for each, and the names of the columns if features have names."""
    if models[0].names is not None:
        names = list(dict.fromkeys(name for model in models for name in model.names))
        place = {name: at for at, name in enumerate(names)}
        numbers = [np.array([place[name] for name in model.names], dtype=np.int64) for model in models]
        width = len(names)
    else:
        names = None
        numbers = [model.numbers.astype(np.int64) for model in models]
        width = max((int(part[-1]) + 1 for part in numbers if len(part)), default=1)
    weights = [model.weights for model in models]
    if width > SPARSE_RATIO * max(1, max(map(len, weights))):
        starts = np.cumsum([0, *map(len, weights)])
        matrix = (np.concatenate(weights), np.concatenate(numbers), starts)
        return sparse.csr_matrix(matrix, shape=(len(models), width)), names
    table = np.zeros((len(models), width))
    for row, columns, values in zip(table, numbers, weights):
        row[columns] = values
    return table, names


class Model:
    """A trained model: weights by feature, classes, and how good it is.

    ``coef_`` and ``intercept_`` have a row for each class or target, or one for two classes. Column j is feature number j of the file or array
    that was trained on; features with names are listed in ``feature_names``.
    """

    def __init__(self, parts: list[_native.Model]):
        self._parts = parts
        self._header = json.loads(parts[0].header)
        self.coef_, names = dense_or_sparse(parts)
        self.intercept_ = np.array([part.intercept for part in parts])
        self.feature_names = names

    @property
    def loss(self) -> str:
        """The name of the loss."""
        return self._header["objective"]["loss"]["name"]

    @property
    def penalty(self) -> str:
        """The name of the penalty."""
        return self._header["objective"]["penalty"]["name"]

    @property
    def classes_(self) -> np.ndarray | None:
        """The classes, or None for regression."""
        targets = self._header["objective"]["targets"]
        return None if targets == "numbers" else np.array(targets["binary"]["names"])

    @property
    def gap_(self) -> float:
        """The relative duality gap."""
        certificate = self._header["certificate"]
        gap = certificate["objective"] - certificate["dual_objective"]
        return max(0.0, gap) / max(abs(certificate["objective"]), np.finfo(float).tiny)

    @property
    def status_(self) -> str:
        """How training ended."""
        return self._header["status"]

    def scores(self, X, *, memory=None, **reading) -> np.ndarray:
        """A score for each row of ``X`` (an array, a path, a pattern, or a list of paths) and each row of ``coef_``."""
        if is_on_disk(X) or isinstance(X, list) and X and isinstance(X[0], (str, os.PathLike)):
            options, size = reading_options(reading), size_bytes(memory)
            return np.column_stack([part.score_files(paths(X), options, size) for part in self._parts])
        if hasattr(X, "__arrow_c_stream__") and self.feature_names is not None:
            options, size = reading_options(reading), size_bytes(memory)
            return np.column_stack([part.score_arrow(X, options, size) for part in self._parts])
        if self.feature_names is not None:
            raise ValueError("this model knows features by their names; give it a data frame or a file")
        if self._header["unit_rows"]:
            from sklearn.preprocessing import normalize

            X = normalize(X)
        if sparse.issparse(self.coef_):
            return np.asarray((sparse.csr_matrix(X) @ self.coef_.T).todense()) + self.intercept_
        return rows(X if sparse.issparse(X) else np.asarray(X)).scores(self.coef_, self.intercept_)

    def decision_function(self, X, **reading) -> np.ndarray:
        """The scores, in one dimension where there is one for each row."""
        scores = self.scores(X, **reading)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X, **reading) -> np.ndarray:
        """The class of each row, or the number."""
        scores = self.decision_function(X, **reading)
        if self.classes_ is None:
            return scores
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def save(self, path) -> None:
        """Writes the file that ``read_model`` and ``towline predict`` read."""
        self._parts[0].save(os.fspath(path))
