"""Learning from rows as they come."""

from __future__ import annotations

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from . import _native
from ._check import choice, number, seed
from ._rows import rows
from ._size import size_bytes
from .classes import LinearClassifier
from .model import Model
from .store import is_on_disk, paths, reading_options
from .svm import LOSSES

STREAM_LOSSES = {**LOSSES, "log_loss": "logistic"}
#: A batch of rows and the model fit into this many bytes, or into several times what the batch takes.
LEAST_BYTES, TIMES = 64 << 20, 8


class StreamClassifier(LinearClassifier):
    """A linear classifier that sees every row once, in a fixed amount of memory, for data that has no end.

    ``fit`` goes over an array or a file once; ``partial_fit`` goes on with more rows. Informative rows stay in memory within one call. The objective is that of
    :class:`towline.LinearSVC`, or of logistic regression for ``loss="log_loss"``; it is approached, not reached, and there is no gap: ``gap_`` is NaN. ``rows_seen_`` counts
    the rows so far.
    """

    def __init__(
        self,
        loss="squared_hinge",
        *,
        C=1.0,
        fit_intercept=True,
        intercept_scaling=1.0,
        class_weight=None,
        random_state=None,
        memory=None,
    ):
        self.loss = loss
        self.C = C
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.memory = memory

    def fit(self, X, y=None, **reading):
        """Learns from an array or a file, once, and forgets what was learnt before."""
        self._forget()
        if is_on_disk(X):
            if y is not None:
                raise ValueError("labels of a path come from it; leave y out")
            self._learn(paths(X), self._arguments([], reading, size_bytes(self.memory)), from_store=True)
            self.classes_ = self.model_.classes_
            return self
        return self._partial_fit(X, y, None, reading, is_first=True)

    def partial_fit(self, X, y, classes=None):
        """Goes on with more rows. The first call may name all ``classes``; otherwise they are those of its rows."""
        is_first = not hasattr(self, "classes_")
        return self._partial_fit(X, y, classes, {}, is_first=is_first)

    def _forget(self) -> None:
        for name in ("classes_", "_models", "_waiting"):
            self.__dict__.pop(name, None)

    def _partial_fit(self, X, y, classes, reading: dict, *, is_first: bool):
        if reading:
            raise TypeError(f"{', '.join(map(repr, reading))} is for files; arrays are taken as they are")
        checks = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C", "accept_large_sparse": True}
        X, y = validate_data(self, X, y, reset=is_first, **checks)
        check_classification_targets(y)
        if is_first:
            known = np.unique(y if classes is None else classes)
            if len(known) < 2:
                raise ValueError(
                    f"{type(self).__name__} needs samples of at least 2 classes in the data, but the data contains only one "
                    f"class: {known[0]!r}"
                )
            self.classes_ = known
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes={classes!r} is not the same as on the last call to partial_fit: {self.classes_!r}")
        codes = np.searchsorted(self.classes_, y)
        if not np.array_equal(self.classes_[np.minimum(codes, len(self.classes_) - 1)], y):
            raise ValueError(f"y has labels that are not among the classes {self.classes_!r}")
        held = sum(part.nbytes for part in ([X.data, X.indices] if hasattr(X, "indices") else [X]))
        memory = size_bytes(self.memory) or max(LEAST_BYTES, TIMES * held)
        self._learn([rows(X, codes)], self._arguments(self._class_names(), {}, memory), from_store=False)
        return self

    def _class_names(self) -> list[str]:
        """What the model calls the classes. Names are known from the first row on, numbers only when they come, so that numbers get a word."""
        names = [str(name) for name in self.classes_]
        return [f"class {name}" for name in names] if all(map(_is_number, names)) else names

    def _arguments(self, names: list[str], reading: dict, memory: int | None) -> dict:
        if self.class_weight is not None and not isinstance(self.class_weight, dict):
            raise ValueError(f"class_weight={self.class_weight!r} is neither None nor a dictionary; a stream is not known in advance")
        called = dict(zip(getattr(self, "classes_", []), names)) if names else {}
        weights = [(called.get(name, str(name)), float(weight)) for name, weight in (self.class_weight or {}).items()]
        return {
            "loss": STREAM_LOSSES[choice(self, "loss", tuple(STREAM_LOSSES))],
            "c": number(self, "C"),
            "bias": number(self, "intercept_scaling") if self.fit_intercept else 0.0,
            "classes": names,
            "class_weights": weights,
            "seed": seed(self.random_state),
            "memory": memory,
            "reading": reading_options(reading),
        }

    def _learn(self, data, arguments: dict, *, from_store: bool) -> None:
        earlier = getattr(self, "_models", [None])[0]
        model, raised = _native.learn(data, arguments, earlier)
        self._models, self._from_store, self._flat, self._dtype = [model], from_store, False, "float64"
        names = self._set_weights(None if from_store else self.n_features_in_)
        if from_store:
            self.n_features_in_ = self.coef_.shape[-1]
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        self._merge_sides()
        self.rows_seen_ = Model([model], self.coef_, self.intercept_, None).rows
        self.gap_ = self.objective_ = float("nan")
        self.passes_, self.n_iter_, self.bytes_read_, self.status_ = 1, 1, 0, "streamed"
        if raised is not None:
            raise raised

    def _merge_sides(self) -> None:
        """The model has classes by the alphabet, the estimator in their own order."""
        if self._from_store:
            return
        places = [self._class_names().index(name) for name in Model(self._models, None, None, None).class_names]
        if len(self.intercept_) == 1:
            sign = 1.0 if places[0] < places[1] else -1.0
            self.coef_, self.intercept_ = sign * self.coef_, sign * self.intercept_
        else:
            order = np.argsort(places)
            self.coef_, self.intercept_ = self.coef_[order], self.intercept_[order]


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
