"""Learning from rows as they come."""

from __future__ import annotations

import numpy as np
from scipy.special import expit
from sklearn.preprocessing import normalize
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from . import _native
from ._check import choice, number, seed, threads
from ._rows import rows
from ._size import size_bytes
from .base import LinearEstimator
from .classes import LinearClassifier
from .model import Model
from .store import is_on_disk, paths, reading_options
from .svm import LOSSES, TUBES
from .targets import LinearRegressor

STREAM_LOSSES = {**LOSSES, "log_loss": "logistic"}
NUMBER_LOSSES = {"squared_error": "squared", "huber": "huber", "quantile": "quantile", **TUBES}
#: A batch of rows and the model fit into this many bytes, or into several times what the batch takes.
LEAST_BYTES, TIMES = 64 << 20, 8


class Stream(LinearEstimator):
    """What estimators that see every row once share."""

    def _forget(self) -> None:
        if not self.warm_start:
            for name in ("classes_", "_models", "rows_seen_"):
                self.__dict__.pop(name, None)

    def _fit_files(self, X, y, sample_weight, reading: dict):
        if y is not None or sample_weight is not None:
            raise ValueError("labels and weights of a path come from it; leave y and sample_weight out")
        return self._learn(paths(X), self._arguments(reading=reading, memory=size_bytes(self.memory)), from_store=True)

    def _batch(self, X, y, sample_weight, reading: dict, *, is_first: bool, **checks):
        """Arrays that have been checked, and what they may take."""
        if reading:
            raise TypeError(f"{', '.join(map(repr, reading))} is for files; arrays are taken as they are")
        form = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C", "accept_large_sparse": True}
        X, y = validate_data(self, X, y, reset=is_first, **form, **checks)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            if not sample_weight.any():
                raise ValueError("sample weights are all zero; no row has a weight above 0")
        held = sum(part.nbytes for part in ([X.data, X.indices] if hasattr(X, "indices") else [X]))
        return X, y, sample_weight, size_bytes(self.memory) or max(LEAST_BYTES, TIMES * held)

    def _arguments(self, *, reading: dict, memory: int | None, **more) -> dict:
        return {
            "epsilon": 0.1,
            "delta": 1.0,
            "quantile": 0.5,
            "c": number(self, "C"),
            "bias": number(self, "intercept_scaling") if self.fit_intercept else 0.0,
            "classes": [],
            "class_weights": [],
            "seed": seed(self.random_state),
            "threads": threads(self.n_jobs),
            "memory": memory,
            "reading": reading_options(reading),
            **self._loss(),
            **more,
        }

    def _learn(self, data, arguments: dict, *, from_store: bool):
        earlier = getattr(self, "_models", [None])[0]
        model, raised = _native.learn(data, arguments, earlier)
        self._models, self._from_store, self._dtype = [model], from_store, "float64"
        self._flat = not arguments["classes"] and isinstance(self, LinearRegressor)
        names = self._set_weights(None if from_store else self.n_features_in_)
        if from_store:
            self.n_features_in_ = self.coef_.shape[-1]
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        self._in_own_order()
        self.rows_seen_ = Model([model], self.coef_, self.intercept_, None).rows
        self.gap_ = self.objective_ = float("nan")
        self.passes_, self.n_iter_, self.bytes_read_, self.status_ = 1, 1, 0, "streamed"
        if raised is not None:
            raise raised
        return self

    def _in_own_order(self) -> None:
        """Puts weights into the order of the estimator."""


class StreamClassifier(Stream, LinearClassifier):
    """A linear classifier that sees every row once, in a fixed amount of memory, for data that has no end.

    ``fit`` goes over an array or a file once; ``partial_fit`` goes on with more rows, as does ``fit`` with ``warm_start=True``. Informative rows stay in memory within one
    call. The objective is that of :class:`towline.LinearSVC`, or of logistic regression for ``loss="log_loss"``, which has probabilities; it is approached, not reached, and
    there is no gap: ``gap_`` is NaN. ``rows_seen_`` counts the rows so far. ``n_jobs`` is how many threads may work.
    """

    def __init__(
        self,
        loss="squared_hinge",
        *,
        C=1.0,
        fit_intercept=True,
        intercept_scaling=1.0,
        class_weight=None,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        memory=None,
    ):
        self.loss = loss
        self.C = C
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.memory = memory

    def fit(self, X, y=None, sample_weight=None, **reading):
        """Learns from an array or a file, once, and forgets what was learnt before."""
        self._forget()
        if is_on_disk(X):
            self._fit_files(X, y, sample_weight, reading)
            self.classes_ = self.model_.classes_
            return self
        is_first = not hasattr(self, "classes_")
        return self._partial_fit(X, y, None, sample_weight, reading, is_first=is_first)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Goes on with more rows. The first call may name all ``classes``; otherwise they are those of its rows."""
        is_first = not hasattr(self, "classes_")
        return self._partial_fit(X, y, classes, sample_weight, {}, is_first=is_first)

    def _partial_fit(self, X, y, classes, sample_weight, reading: dict, *, is_first: bool):
        X, y, sample_weight, memory = self._batch(X, y, sample_weight, reading, is_first=is_first)
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
        arguments = self._arguments(reading={}, memory=memory, classes=self._class_names())
        return self._learn([rows(X, codes, sample_weight)], arguments, from_store=False)

    def _class_names(self) -> list[str]:
        """What the model calls the classes. Names are known from the first row on, numbers only when they come, so that numbers get a word."""
        names = [str(name) for name in self.classes_]
        return [f"class {name}" for name in names] if all(map(_is_number, names)) else names

    def _loss(self) -> dict:
        if self.class_weight is not None and not isinstance(self.class_weight, dict):
            raise ValueError(f"class_weight={self.class_weight!r} is neither None nor a dictionary; a stream is not known in advance")
        called = dict(zip(self.classes_, self._class_names())) if hasattr(self, "classes_") else {}
        weights = [(called.get(name, str(name)), float(weight)) for name, weight in (self.class_weight or {}).items()]
        return {"loss": STREAM_LOSSES[choice(self, "loss", tuple(STREAM_LOSSES))], "class_weights": weights}

    def _merge_sides(self) -> None:
        """Weights are put into order by :meth:`_in_own_order`."""

    def __setstate__(self, state):
        super().__setstate__(state)
        if "_models" in state:
            self._in_own_order()

    def _in_own_order(self) -> None:
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

    def _is_logistic(self) -> bool:
        if self.loss != "log_loss":
            raise AttributeError(f"probabilities are those of loss='log_loss', and this has loss={self.loss!r}")
        return True

    @available_if(_is_logistic)
    def predict_proba(self, X, **reading) -> np.ndarray:
        """The probability of each class, for each row."""
        chances = expit(self.decision_function(X, **reading))
        return np.column_stack([1.0 - chances, chances]) if chances.ndim == 1 else normalize(chances, norm="l1")

    @available_if(_is_logistic)
    def predict_log_proba(self, X, **reading) -> np.ndarray:
        """The logarithm of each probability."""
        return np.log(self.predict_proba(X, **reading))


class StreamRegressor(Stream, LinearRegressor):
    """A linear regression that sees every row once, in a fixed amount of memory, for data that has no end.

    It is to :class:`StreamClassifier` what ``SGDRegressor`` is to ``SGDClassifier``: ``partial_fit`` goes on with more rows, and there is no learning rate. Minimises
    ``½‖w‖² + C Σ loss``, where ``loss`` is ``"squared_error"``, ``"huber"`` or ``"epsilon_insensitive"``, both with ``epsilon``, ``"squared_epsilon_insensitive"`` or
    ``"quantile"``. The objective is approached, not reached: ``gap_`` is NaN.
    """

    def __init__(
        self,
        loss="squared_error",
        *,
        C=1.0,
        epsilon=0.1,
        quantile=0.5,
        fit_intercept=True,
        intercept_scaling=1.0,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        memory=None,
    ):
        self.loss = loss
        self.C = C
        self.epsilon = epsilon
        self.quantile = quantile
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.memory = memory

    def fit(self, X, y=None, sample_weight=None, **reading):
        """Learns from an array or a file, once, and forgets what was learnt before."""
        self._forget()
        if is_on_disk(X):
            return self._fit_files(X, y, sample_weight, reading)
        return self._partial_fit(X, y, sample_weight, reading)

    def partial_fit(self, X, y, sample_weight=None):
        """Goes on with more rows."""
        return self._partial_fit(X, y, sample_weight, {})

    def _partial_fit(self, X, y, sample_weight, reading: dict):
        is_first = not hasattr(self, "_models")
        X, y, sample_weight, memory = self._batch(X, y, sample_weight, reading, is_first=is_first, y_numeric=True)
        return self._learn([rows(X, y, sample_weight)], self._arguments(reading={}, memory=memory), from_store=False)

    def _loss(self) -> dict:
        loss = NUMBER_LOSSES[choice(self, "loss", tuple(NUMBER_LOSSES))]
        size = number(self, "epsilon", above=loss == "huber")
        return {"loss": loss, "epsilon": size, "delta": size or 1.0, "quantile": number(self, "quantile", most=1.0)}


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
