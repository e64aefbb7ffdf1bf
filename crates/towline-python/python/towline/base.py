"""What all estimators share."""

from __future__ import annotations

import json

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.preprocessing import normalize
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import _native
from ._rows import rows
from ._size import size_bytes
from .model import Model, dense_or_sparse
from .store import Store, is_on_disk, open_store, paths, reading_options


class LinearEstimator(BaseEstimator):
    """Scores, models and pickles. Subclasses say what is minimised."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _arrays(self, X, y, sample_weight, reading: dict, **checks):
        """Arrays as the library can use them, where they lie if possible; weights are None or checked."""
        if reading:
            raise TypeError(f"{', '.join(map(repr, reading))} is for files; arrays are taken as they are")
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=True, **checks
        )
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            if not sample_weight.any():
                raise ValueError("all sample weights are zero; no row has a weight above 0")
        return X, y, sample_weight

    def _store(self, X, y, sample_weight, reading: dict) -> _native.Store:
        """The store of a path. Labels and weights come from it."""
        if y is not None or sample_weight is not None:
            raise ValueError("labels and weights of a path or a store come from it; leave y and sample_weight out")
        return open_store(X, self.memory, reading)

    def _take_weights(self, weights: np.ndarray, bias: float, headers: list[str]) -> None:
        """Weights by column, the constant feature last, become ``coef_`` and ``intercept_``."""
        self.coef_ = weights[:, :-1]
        self.intercept_ = weights[:, -1] * bias
        self._headers = headers
        self._names = None

    def _take_models(self, models: list[_native.Model]) -> None:
        """Weights in the feature numbers or names of a store become ``coef_`` and ``intercept_``."""
        self.coef_, self._names = dense_or_sparse(models)
        self.intercept_ = np.array([model.intercept for model in models])
        self._headers = [model.header for model in models]
        self.n_features_in_ = self.coef_.shape[1]
        if self._names is not None:
            self.feature_names_in_ = np.array(self._names, dtype=object)

    def _scores(self, X, reading: dict) -> np.ndarray:
        """A score for each row and class or target."""
        check_is_fitted(self)
        if is_on_disk(X) or self._names is not None:
            return self.model_.scores(X, memory=self.memory, **reading)
        if reading:
            raise TypeError(f"{', '.join(map(repr, reading))} is for files; arrays are taken as they are")
        X = validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=True
        )
        if json.loads(self._headers[0])["unit_rows"]:
            X = normalize(X)
        return scores(X, self.coef_, self.intercept_)

    @property
    def model_(self) -> Model:
        """The model apart from the estimator: to save, to export, or to score files with."""
        check_is_fitted(self)
        return Model(self._parts(), classes=getattr(self, "classes_", None), flat=getattr(self, "_flat", False))

    def _parts(self) -> list[_native.Model]:
        table = self.coef_.toarray() if sparse.issparse(self.coef_) else np.atleast_2d(self.coef_)
        intercepts = np.atleast_1d(self.intercept_)
        if self._names is not None:
            return [_native.Model.of_names(*part) for part in zip(self._headers, repeat(self._names), table, intercepts)]
        return [_native.Model.of_columns(*part) for part in zip(self._headers, table, intercepts)]

    def save(self, path) -> None:
        """Writes the model to a file, which ``towline.read_model`` and ``towline predict`` read."""
        self.model_.save(path)

    def __getstate__(self):
        """For pickle: weights as the bytes of a model, which are checked when they are read."""
        state = super().__getstate__()
        if "_headers" in state:
            state = {**state, "_model_bytes": [part.to_bytes() for part in self._parts()]}
            del state["coef_"], state["intercept_"], state["_headers"]
        return state

    def __setstate__(self, state):
        parts = state.pop("_model_bytes", None) if "_model_bytes" in state else None
        super().__setstate__(state)
        if parts is not None:
            self._take_parts([_native.Model.from_bytes(part) for part in parts])
