"""Labels become classes, and classes become runs of training."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from . import _native
from ._rows import rows
from ._train import Runs
from .base import LinearEstimator
from .store import is_on_disk


class LinearClassifier(ClassifierMixin, LinearEstimator):
    """Classes by the sign or the largest of their scores."""

    def _fit(self, X, y, sample_weight, reading: dict, problem: dict, *, factor: float = 1.0, weigh_both: bool = True):
        """Fits ``problem``, the keywords of a binary run, for two classes or for each class against the rest."""
        if is_on_disk(X):
            data = self._store(X, y, sample_weight, reading)
            labels, counts = self._classes_of_store(data)
        else:
            X, y, sample_weight = self._arrays(X, y, sample_weight, reading)
            check_classification_targets(y)
            self.classes_, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
            labels = np.arange(len(self.classes_), dtype=float)
            data = None
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data, but the data contains only one "
                f"class: {self.classes_[0]!r}"
            )
        class_weight = self._class_weights(counts)
        if data is None:
            data = rows(X, codes, sample_weight)
        runs = Runs(self)
        for side in self._sides(labels, class_weight):
            runs.run(data, {**problem, **side}, keep_duals=False)
            if runs.raised is not None and len(self.classes_) > 2:
                raise runs.raised
        if isinstance(data, _native.Store):
            self._take_models([fitted.model for fitted in runs.fitted])
        else:
            weights = runs.fitted[0].weights[None, :]
            if len(runs.fitted) > 1:
                weights = np.stack([fitted.weights for fitted in runs.fitted])
            self._take_weights(weights, problem["bias"], [fitted.header for fitted in runs.fitted])
        runs.describe(factor)
        runs.finish()
        return self

    def _classes_of_store(self, store: _native.Store):
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
        if self.class_weight == "balanced":
            return counts.sum() / (len(counts) * counts)
        return compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_)

    def _sides(self, labels: np.ndarray, class_weight: np.ndarray):
        """Which label is positive in each run, and what both sides are called and weigh.

        For more than two classes each one stands against the rest; as in LIBLINEAR, its weight counts where it is the positive one.
        """
        names = [str(name) for name in self.classes_]
        if len(labels) == 2:
            yield {"positive": labels[1], "sides": tuple(names), "side_weights": tuple(map(float, class_weight))}
            return
        for label, name, weight in zip(labels, names, class_weight):
            yield {"positive": label, "sides": (f"not {name}", name), "side_weights": (1.0, float(weight))}

    def decision_function(self, X, **reading) -> np.ndarray:
        """The score of each row: of the second of two classes, or of every class.

        ``X`` may be a path, as in ``fit``.
        """
        scores = self._scores(X, reading)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X, **reading) -> np.ndarray:
        """The class of each row of an array or of a file."""
        scores = self.decision_function(X, **reading)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]
