"""Labels become classes, and classes become problems to train."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from . import _native
from ._rows import rows
from ._tasks import as_task
from ._train import Fit
from .base import LinearEstimator
from .frames import is_table, packed
from .model import winners
from .store import is_on_disk


class LinearClassifier(ClassifierMixin, LinearEstimator):
    """Classes by the sign or the largest of their scores."""

    def fit(self, X, y=None, sample_weight=None, **reading):
        """Fits to arrays, to a data frame, or to a path or a store, whose labels are then those of the file.

        A frame with columns of text, categories or dates is packed as ``towline.pack`` does it.
        Other keywords say how a file is read: ``label="clicked"`` and the rest of ``towline.pack``.
        """
        if is_table(X, reading):
            with packed(X, y, sample_weight, self.memory, reading) as store:
                self.fit(store)
            self._know_frame(X)
            if y is not None:
                self.classes_ = self.classes_.astype(np.asarray(y).dtype)
            return self
        return as_task(self, lambda: self._fit(X, y, sample_weight, reading), X, y, sample_weight)

    def _fit(self, X, y, sample_weight, reading: dict):
        fit = self._new_fit()
        data, problem = self._prepared(X, y, sample_weight, reading)
        fit.train(data, problem)
        self._take(fit, from_store=isinstance(data, _native.Store))
        fit.finish()
        return self

    def _prepared(self, X, y, sample_weight, reading: dict):
        """Rows or a store, and what is to be minimised on them."""
        problem = self._problem()
        data: _native.Rows | _native.Store
        if is_on_disk(X):
            data = self._store(X, y, sample_weight, reading)
            labels, counts = self._classes_of(data)
        else:
            X, y, sample_weight = self._arrays(X, y, sample_weight, reading)
            check_classification_targets(y)
            self.classes_, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
            labels = np.arange(len(self.classes_), dtype=float)
            data = rows(X, codes, sample_weight)
        if len(self.classes_) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data contains only one "
                f"class: {self.classes_[0]!r}"
            )
        weights = self._class_weights(counts)
        classes = [(float(label), str(name), float(weight)) for label, name, weight in zip(labels, self.classes_, weights)]
        return data, {**self._for_classes(problem), "classes": classes}

    def _classes_of(self, store: _native.Store):
        """Labels of a store in the order of the classes, and how many rows have them."""
        if store.label_counts is None:
            raise ValueError("the labels are numbers with very many values; use a regression")
        labels = np.array([label for label, _ in store.label_counts])
        counts = np.array([count for _, count in store.label_counts])
        if store.label_names is None:
            self.classes_ = labels.astype(np.int64) if np.all(labels == np.floor(labels)) else labels
            return labels, counts
        names = np.array([store.label_names[int(label)] for label in labels])
        order = np.argsort(names)
        self.classes_ = names[order]
        return labels[order], counts[order]

    def _class_weights(self, counts: np.ndarray) -> np.ndarray:
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            return counts.sum() / (len(counts) * counts)
        return compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_)

    def _for_classes(self, problem: dict) -> dict:
        """The problem, once the classes are known."""
        return problem

    def _take(self, fit: Fit, **how) -> None:
        super()._take(fit, **how)
        self._merge_sides()

    def __setstate__(self, state):
        super().__setstate__(state)
        if "_models" in state:
            self._merge_sides()

    def _merge_sides(self) -> None:
        """Two classes with weights each have the difference as their one score, as in scikit-learn."""
        if len(self.classes_) == 2 and self.coef_.shape[0] == 2:
            self.coef_ = self.coef_[1:] - self.coef_[:1]
            self.intercept_ = self.intercept_[1:] - self.intercept_[:1]

    def sparsify(self):
        """Keeps ``coef_`` as a sparse matrix, which is smaller where most weights are 0."""
        check_is_fitted(self)
        self.coef_ = sparse.csr_matrix(self.coef_)
        return self

    def densify(self):
        """Keeps ``coef_`` as an array again."""
        check_is_fitted(self)
        if sparse.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

    def decision_function(self, X, **reading) -> np.ndarray:
        """The score of each row: of the second of two classes, or of every class. ``X`` may be a path, as in ``fit``."""
        scores = self._scores(X, reading)
        if len(self.classes_) > 2:
            return scores
        return scores[:, 0] if scores.shape[1] == 1 else scores[:, 1] - scores[:, 0]

    def predict(self, X, **reading) -> np.ndarray:
        """The class of each row of an array or of a file."""
        scores = self.decision_function(X, **reading)
        return self.classes_[winners(scores)]
