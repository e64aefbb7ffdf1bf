"""Models: what was learnt, apart from the estimator that learnt it."""

from __future__ import annotations

import json
import os

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from . import _native
from ._rows import rows
from ._size import size_bytes
from .store import paths, reading_options

#: Weights are kept sparse where a dense array would be more than so many times as large.
SPARSE_RATIO = 64


def read_model(path) -> Model:
    """Reads a model that an estimator or ``towline train`` has written."""
    models = [_native.Model.load(os.fspath(path))]
    weights, intercepts, _ = coefficients(models, None)
    return Model(models, weights, intercepts, None)


def coefficients(models: list[_native.Model], width: int | None, flat: bool = False):
    """Weights, a row for each model (or just a vector), intercepts, and the names of the columns if features have names."""
    names = None
    if models[0].names is not None:
        names = list(dict.fromkeys(name for model in models for name in model.names))
        place = {name: at for at, name in enumerate(names)}
        columns = [np.array([place[name] for name in model.names], dtype=np.int64) for model in models]
        width = len(names)
    else:
        columns = [model.numbers.astype(np.int64) for model in models]
        if width is None:
            width = max((int(part[-1]) + 1 for part in columns if len(part)), default=1)
    weights = [model.weights for model in models]
    intercepts = np.array([model.intercept for model in models])
    if width > SPARSE_RATIO * max(1024, *map(len, weights)):
        starts = np.cumsum([0, *map(len, weights)])
        parts = (np.concatenate(weights), np.concatenate(columns), starts)
        return sparse.csr_matrix(parts, shape=(len(models), width)), intercepts, names
    table = np.zeros((len(models), width))
    for row, at, values in zip(table, columns, weights):
        row[at] = values
    return (table[0], float(intercepts[0]), names) if flat else (table, intercepts, names)


class Model:
    """A trained model: weights by feature, classes, and how good it is.

    ``coef_`` and ``intercept_`` have a row for each class or target, or one for two classes. Column j is feature number j of the array or file
    that was trained on; features with names are listed in ``feature_names``.
    """

    def __init__(self, models: list[_native.Model], coef, intercept, classes):
        self._models = models
        self._header = json.loads(models[0].header)
        self.coef_, self.intercept_ = coef, intercept
        self._classes = classes

    @property
    def feature_names(self) -> list[str] | None:
        """What the columns of ``coef_`` are called, if features have names."""
        if self._models[0].names is None:
            return None
        return list(dict.fromkeys(name for model in self._models for name in model.names))

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
        if self._classes is not None or targets == "numbers":
            return self._classes
        return np.array(targets["binary"]["names"])

    @property
    def gap_(self) -> float:
        """The relative duality gap: the objective is at most this part above the optimum."""
        certificate = self._header["certificate"]
        gap = certificate["objective"] - certificate["dual_objective"]
        return max(0.0, gap) / max(abs(certificate["objective"]), np.finfo(float).tiny)

    @property
    def status_(self) -> str:
        """How training ended."""
        return self._header["status"]

    def scores(self, X, *, memory=None, **reading) -> np.ndarray:
        """A score for each row of ``X`` and each row of ``coef_``.

        ``X`` is an array, a path, a pattern, a list of paths or, for features with names, anything with an Arrow stream.
        """
        if isinstance(X, (str, os.PathLike)) or (isinstance(X, list) and X and isinstance(X[0], (str, os.PathLike))):
            options, size = reading_options(reading), size_bytes(memory)
            return np.column_stack([model.score_files(paths(X), options, size) for model in self._models])
        if self._models[0].names is not None:
            if not hasattr(X, "__arrow_c_stream__"):
                raise ValueError("this model knows features by their names; give it a data frame or a file")
            options, size = reading_options(reading), size_bytes(memory)
            return np.column_stack([model.score_arrow(X, options, size) for model in self._models])
        if self._header["unit_rows"]:
            X = normalize(X)
        if sparse.issparse(self.coef_):
            return np.asarray((sparse.csr_matrix(X) @ self.coef_.T).todense()) + np.asarray(self.intercept_)
        table = np.ascontiguousarray(np.atleast_2d(self.coef_), dtype=np.float64)
        intercepts = np.array(np.broadcast_to(self.intercept_, len(table)), dtype=np.float64)
        return rows(X if sparse.issparse(X) else np.asarray(X)).scores(table, intercepts)

    def decision_function(self, X, **reading) -> np.ndarray:
        """The scores, in one dimension where there is one for each row."""
        scores = self.scores(X, **reading)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X, **reading) -> np.ndarray:
        """The class of each row, or the number."""
        scores, classes = self.decision_function(X, **reading), self.classes_
        return scores if classes is None else classes[winners(scores)]

    def save(self, path) -> None:
        """Writes the file that ``read_model`` and ``towline predict`` read."""
        self._models[0].save(os.fspath(path))


def winners(scores: np.ndarray) -> np.ndarray:
    """The number of the class that each row's scores speak for."""
    return (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
