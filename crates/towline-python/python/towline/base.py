"""What all estimators share."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import _check_sample_weight, check_array, check_is_fitted, validate_data

from . import _native
from ._tasks import CallbackSupportMixin
from ._train import Fit
from .frames import columns_of
from .model import Model, coefficients
from .reports import fragment
from .schema import Schema
from .store import is_on_disk, open_store


class LinearEstimator(CallbackSupportMixin, BaseEstimator):
    """Data, scores, models and pickles. Subclasses say what is minimised."""

    #: Solvers of scikit-learn's class of the same name, which are taken for compatibility.
    _their_solvers: tuple[str, ...] = ()
    #: How a warning begins that says that a fit has not converged.
    _failed_words = "{name} failed to converge."

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _arrays(self, X, y, sample_weight, reading: dict, **checks):
        """Arrays as the library can use them, where they lie if possible; weights are None or checked."""
        _no_reading(reading)
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=True, **checks
        )
        self._dtype = X.dtype.name if self._is_single(X) else "float64"
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            if not sample_weight.any():
                raise ValueError("sample weights are all zero; no row has a weight above 0")
        return X, y, sample_weight

    def _is_single(self, X) -> bool:
        """Whether weights are of single precision, as those of scikit-learn's class of the same name are for such rows."""
        return X.dtype == np.float32

    def _store(self, X, y, sample_weight, reading: dict) -> _native.Store:
        """The store of a path. Labels and weights come from it."""
        if y is not None or sample_weight is not None:
            raise ValueError("labels and weights of a path or a store come from it; leave y and sample_weight out")
        self._dtype = "float64"
        return open_store(X, self.memory, reading)

    def _constant(self) -> dict:
        """An intercept free of the penalty, if there is one."""
        return {"bias": 1.0, "intercept": True} if self.fit_intercept else {}

    def _new_fit(self) -> Fit:
        return Fit(self)

    def _iterations(self, counts: list[int]):
        """``n_iter_``, given that of each model."""
        return max(counts)

    def _take(self, fit: Fit, *, from_store: bool, flat: bool = False) -> None:
        """Models become ``coef_`` and ``intercept_``; with ``flat``, a vector and a number."""
        self._models, self._from_store, self._flat = fit.models, from_store, flat
        vars(self).pop("features_", None)
        names = self._set_weights(fit.fitted[0].width)
        if from_store:
            self.n_features_in_ = self.coef_.shape[-1]
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def _know_frame(self, X):
        """After a fit to a frame: what came in are its columns, and what has weights are features made of them."""
        self.features_ = self.feature_names_in_
        self.feature_names_in_ = np.array(columns_of(X), dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        return self

    def _set_weights(self, width: int | None) -> list[str] | None:
        """Sets ``coef_`` and ``intercept_`` from the models, and returns the names of features if there are any."""
        self.coef_, self.intercept_, names = coefficients(self._models, width, self._flat)
        self.coef_ = self.coef_.astype(self._dtype, copy=False)
        self.intercept_ = self.intercept_.astype(self._dtype, copy=False)
        return names

    def _scores(self, X, reading: dict) -> np.ndarray:
        """A score for each row and each class or target."""
        check_is_fitted(self)
        checks = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C", "accept_large_sparse": True}
        if not hasattr(self, "_models"):
            # Weights that somebody else has set.
            X = check_array(X, **checks)
            return safe_sparse_dot(X, np.atleast_2d(self.coef_).T, dense_output=True) + self.intercept_
        model = self.model_
        if is_on_disk(X) or model.feature_names is not None:
            return model.scores(X, memory=self.memory, **reading)
        _no_reading(reading)
        # Files have as many features as were seen in them; others weigh nothing.
        X = check_array(X, **checks) if self._from_store else validate_data(self, X, reset=False, **checks)
        return model.scores(X).astype(np.result_type(X.dtype, self._dtype), copy=False)

    @property
    def model_(self) -> Model:
        """The model apart from the estimator: to save, to export, or to score files with."""
        check_is_fitted(self, "_models")
        return Model(self._models, self.coef_, self.intercept_, getattr(self, "classes_", None))

    def save(self, path) -> None:
        """Writes the model to a file, which ``towline.read_model`` and ``towline predict`` read."""
        self.model_.save(path)

    def export(self, path, to: str = "json") -> None:
        """Writes the model as other programs read it: ``"liblinear"``, ``"json"``, ``"text"``, ``"sql"``, ``"c"`` or ``"onnx"``."""
        self.model_.export(path, to)

    def to_onnx(self) -> bytes:
        """The model as a graph of ONNX in double precision: ``onnxruntime.InferenceSession(model.to_onnx())``.

        Arrays have one input, ``features``; models of tables have one for each column. Outputs are ``label``, ``scores`` and ``probabilities``, or ``prediction``. For pipelines
        there is :func:`towline.register_skl2onnx`.
        """
        return self.model_.to_onnx()

    @property
    def schema_(self) -> Schema | None:
        """What the columns of the table are that it was fitted to; None for arrays and for rows of libsvm."""
        return self.model_.schema

    def to_sklearn(self):
        """A fitted estimator of scikit-learn with the same predictions."""
        return self.model_.to_sklearn()

    def _html_repr(self) -> str:
        """What notebooks show: scikit-learn's diagram, and of a fitted model what it has come to."""
        shown = super()._html_repr()
        if not hasattr(self, "_models"):
            return shown
        names = None if self.model_.feature_names is not None else getattr(self, "feature_names_in_", None)
        names = None if names is None else [str(name) for name in names]
        return shown + fragment(type(self).__name__, self.model_, names)

    def __getstate__(self):
        """For pickle: weights are in the bytes of the models, which are checked when they are read, and nowhere else.

        Bytes, numbers and arrays are all that there is in it: programs that store estimators need not know the compiled part.
        """
        state = super().__getstate__()
        if "_models" in state:
            state = {name: value for name, value in state.items() if name not in ("coef_", "intercept_")}
            state["_models"] = [model.to_bytes() for model in self._models]
            state["_is_sparse"] = sparse.issparse(self.coef_)
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        if "_models" in state:
            self._models = [_native.Model.from_bytes(model) for model in state["_models"]]
            self._set_weights(self.n_features_in_)
            if state.get("_is_sparse"):
                self.sparsify()


def _no_reading(reading: dict) -> None:
    if reading:
        raise TypeError(f"{', '.join(map(repr, reading))} is for files; arrays are taken as they are")
