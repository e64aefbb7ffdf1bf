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
from ._sklearn import to_sklearn
from .frames import without_index
from .schema import Schema
from .store import paths, reading_options

#: Weights are kept sparse where a dense array would be more than this many times as large.
SPARSE_RATIO = 64


def read_model(path) -> Model:
    """Reads a model that an estimator or ``towline train`` has written."""
    models = [_native.Model.load(os.fspath(path))]
    weights, intercepts, _ = coefficients(models, None)
    return Model(models, weights, intercepts, None)


def coefficients(models: list[_native.Model], width: int | None, flat: bool = False):
    """Weights, a row for each model (or just a vector), intercepts, and the names of the columns if features have names."""
    names = models[0].names
    columns = [np.arange(len(model.names or [])) if model.numbers is None else model.numbers.astype(np.int64) for model in models]
    if names is not None:
        width = len(names)
    elif width is None:
        width = max((int(part[-1]) + 1 for part in columns if len(part)), default=1)
    weights = [model.weights.T for model in models]
    intercepts = np.concatenate([model.intercepts for model in models])
    if width > SPARSE_RATIO * max(1024, *map(len, columns)):
        parts = [_sparse(values, at, width) for values, at in zip(weights, columns)]
        return sparse.vstack(parts, format="csr"), intercepts, names
    table = np.zeros((len(intercepts), width))
    done = 0
    for values, at in zip(weights, columns):
        table[done : done + len(values), at] = values
        done += len(values)
    return (table[0], intercepts[0], names) if flat else (table, intercepts, names)


def _sparse(values: np.ndarray, columns: np.ndarray, width: int) -> sparse.csr_matrix:
    starts = np.arange(len(values) + 1) * len(columns)
    parts = (np.ravel(values), np.tile(columns, len(values)), starts)
    return sparse.csr_matrix(parts, shape=(len(values), width))


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
        return self._models[0].names

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
        if self._classes is not None or not self.class_names:
            return self._classes
        return _numbers(np.array(self.class_names))

    @property
    def class_names(self) -> list[str]:
        """What classes are called in the model; none for regression."""
        targets = self._header["objective"]["targets"]
        if targets == "numbers" or "several" in targets:
            return []
        return (targets.get("binary") or targets["classes"]["classes"])["names"]

    @property
    def rows(self) -> int:
        """Rows that it was trained on."""
        return self._header["rows"]

    @property
    def multiclass(self) -> str | None:
        """How more than two classes are distinguished: one-vs-rest, crammer-singer or softmax."""
        targets = self._header["objective"]["targets"]
        return targets["classes"]["multiclass"] if "classes" in targets else None

    @property
    def gap_(self) -> float:
        """The relative duality gap: the objective is at most this part above the optimum. NaN for a stream."""
        sides = self._header.get("certificates") or [self._header["certificate"]]
        if sides == [None]:
            return float("nan")
        return max(max(0.0, side["objective"] - side["dual_objective"]) / max(abs(side["objective"]), 1e-300) for side in sides)

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
            return np.hstack([model.score_files(paths(X), options, size) for model in self._models])
        if self._models[0].names is not None:
            if not hasattr(X, "__arrow_c_stream__"):
                raise ValueError("this model knows features by their names; give it a data frame or a file")
            options, size = reading_options(reading), size_bytes(memory)
            X = without_index(X)
            return np.hstack([model.score_arrow(X, options, size) for model in self._models])
        if self.unit_rows:
            X = normalize(X)
        if not sparse.issparse(X):
            X = np.asarray(X)
        if sparse.issparse(self.coef_):
            known = min(X.shape[1], self.coef_.shape[1])
            return (sparse.csr_matrix(X)[:, :known] @ self.coef_[:, :known].T).toarray() + np.asarray(self.intercept_)
        # Columns that the model does not know weigh nothing; those that X does not have are 0.
        table = np.zeros((np.atleast_2d(self.coef_).shape[0], X.shape[1]))
        known = min(table.shape[1], self.coef_.shape[-1])
        table[:, :known] = np.atleast_2d(self.coef_)[:, :known]
        intercepts = np.array(np.broadcast_to(self.intercept_, len(table)), dtype=np.float64)
        return rows(X).scores(table, intercepts)

    def decision_function(self, X, **reading) -> np.ndarray:
        """The scores, in one dimension where there is one for each row."""
        scores = self.scores(X, **reading)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X, **reading) -> np.ndarray:
        """The class of each row, or the number."""
        scores, classes = self.decision_function(X, **reading), self.classes_
        return scores if classes is None else classes[winners(scores)]

    @property
    def unit_rows(self) -> bool:
        """Whether rows are scaled to unit length first."""
        return self._header["unit_rows"]

    def export(self, path, to: str = "json") -> None:
        """Writes the model as other programs read it: ``"liblinear"``, ``"json"``, ``"text"``, ``"sql"``, ``"c"`` or ``"onnx"``."""
        self._one().export(os.fspath(path), to)

    def to_onnx(self) -> bytes:
        """The same as a graph of ONNX, in bytes."""
        return self._one().export_bytes("onnx")

    @property
    def schema(self) -> Schema | None:
        """What the columns of its table are; None for arrays and for rows of libsvm."""
        text = self._models[0].schema
        return None if text is None else Schema._from_json(text)

    def _one(self) -> _native.Model:
        if len(self._models) > 1:
            raise ValueError("a file holds one target, and this model has several; fit them one by one")
        return self._models[0]

    def to_sklearn(self):
        """A fitted estimator of scikit-learn with the same predictions."""
        return to_sklearn(self)

    def _repr_html_(self) -> str:
        from .reports import fragment

        return fragment("Model", self, None)

    def save(self, path) -> None:
        """Writes the file that ``read_model`` and ``towline predict`` read."""
        self._one().save(os.fspath(path))


def winners(scores: np.ndarray) -> np.ndarray:
    """The number of the class that each row's scores speak for."""
    return (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)


def _numbers(names: np.ndarray) -> np.ndarray:
    """Classes that are whole numbers as such."""
    try:
        return names.astype(np.int64)
    except ValueError:
        return names
