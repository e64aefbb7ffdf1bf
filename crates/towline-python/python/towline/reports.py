"""Pages to look at: how a model converged, what it has learnt, and where it errs."""

from __future__ import annotations

import html
import os

import numpy as np

from . import _native
from ._rows import rows
from ._size import size_bytes
from .frames import LABEL, is_frame, with_columns, without_index
from .model import Model
from .store import is_on_disk, reading_options


class Report:
    """A page of HTML that needs no other file. A notebook shows it in place; ``save`` writes it."""

    def __init__(self, page: str):
        self.html = page

    def save(self, path) -> None:
        """Writes the page, for any browser. Of files that are there, only reports are replaced."""
        _native.save_report(os.fspath(path), self.html)

    def _repr_html_(self) -> str:
        # A frame of its own: neither style nor script of the page touches the notebook, and the other way round.
        return (
            f'<iframe srcdoc="{html.escape(self.html, quote=True)}" sandbox="allow-scripts allow-modals" width="100%" height="640" '
            'style="border: 1px solid #8884; border-radius: 8px"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Report({len(self.html)} bytes; save(path) writes it)"


def report(model, X=None, y=None, *, title: str | None = None, costs=(1.0, 1.0), training: bool = False, memory=None, **reading) -> Report:
    """A page to look at, for a fitted estimator or a :class:`towline.Model`.

    ``X`` and ``y`` are labelled rows to judge it by: arrays, a data frame, or a path or a :class:`towline.Store` that has labels of its own. Without them
    the page shows the run and the weights. ``costs`` are those of a false alarm and of a miss, ``training=True`` says that the model was
    trained on these rows. Other keywords say how a file is read, as in ``towline.pack``.

    >>> towline.report(estimator, X_test, y_test).save("report.html")
    """
    name = title or (type(model).__name__ if not isinstance(model, Model) else "model")
    known = model if isinstance(model, Model) else model.model_
    if hasattr(model, "_in_model"):
        model._in_model()
    models = known._models
    names = _names(model, known)
    titles = [name] if len(models) == 1 else [f"{name}, target {number}" for number in range(len(models))]
    data = _data(model, known, X, y, len(models))
    classes = [str(name) for name in _classes(model, known)]
    shared = {"names": names, "classes": classes or None}
    parts = [{"name": title, "model": one, "rows": of, **shared} for title, one, of in zip(titles, models, data)]
    arguments = {
        "title": name,
        "reading": reading_options(_reading(X, y, reading)),
        "memory": size_bytes(memory),
        "costs": [float(cost) for cost in costs],
        "are_training": training,
    }
    return Report(_native.report(parts, arguments))


def fragment(name: str, model: Model, names: list[str] | None) -> str:
    """A few lines on a model, as HTML without a script."""
    shared = {"name": name, "rows": None, "names": names, "classes": None}
    return _native.report_fragment([{**shared, "model": one} for one in model._models])


def _names(model, known: Model) -> list[str] | None:
    """What columns of arrays are called, where a frame of numbers was fitted."""
    if known.feature_names is not None:
        return None
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _reading(X, y, reading: dict) -> dict:
    return {**reading, "label": LABEL} if is_frame(X) and y is not None else reading


def _data(model, known: Model, X, y, count: int) -> list:
    """Labelled rows for each model."""
    if X is None:
        return [None] * count
    if is_on_disk(X):
        if y is not None:
            raise ValueError("labels of a path or a store come from it; leave y out")
        return [X if isinstance(X, _native.Store) else os.fspath(X)] * count
    if y is None:
        raise ValueError("a report judges a model by labelled rows; give y as well, or leave X out")
    if known.feature_names is not None:
        if not is_frame(X):
            raise ValueError("this model knows features by their names; give it a data frame or a file")
        labels = np.asarray(y)
        return [with_columns(without_index(X), {LABEL: labels})] * count
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    from sklearn.utils import check_array

    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
    labels = _labels(model, known, y)
    if count == 1:
        return [rows(X, labels)]
    return [rows(X, np.ascontiguousarray(labels[:, number])) for number in range(count)]


def _classes(model, known: Model) -> list:
    """The classes, none for numbers."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        classes = known.classes_
    return [] if classes is None else list(classes)


def _labels(model, known: Model, y) -> np.ndarray:
    """Numbers, or the place of each row's class among the classes; one further for classes that the model does not know."""
    y, classes = np.asarray(y), _classes(model, known)
    if not classes:
        return np.asarray(y, dtype=np.float64)
    codes = np.full(len(y), float(len(classes)))
    for place, name in enumerate(classes):
        codes[y == name] = place
    return codes
