"""Folds of scikit-learn, scored by the library: all folds and values over the same rows."""

from __future__ import annotations

import json

import numpy as np

from . import _native
from ._rows import rows
from ._train import PROBLEM


def without_unweighted(X, y, sample_weight, folds):
    """The same without rows of weight 0, which the library leaves out."""
    if sample_weight is None or sample_weight.all():
        return X, y, sample_weight, folds
    keep = sample_weight > 0
    number = np.cumsum(keep) - 1
    folds = [tuple(number[part[keep[part]]] for part in map(np.asarray, fold)) for fold in folds]
    return X[keep], y[keep], sample_weight[keep], folds


def fold_scores(estimator, data: _native.Rows, problems: list[dict], folds, metric: str | None = None) -> np.ndarray:
    """The score of each fold, a row for each, by each problem. ``folds`` are pairs of row numbers, to train on and to test by."""
    limits = {**estimator._new_fit().limits, "keep_start": False, "callback": None}
    pairs = [tuple(np.ascontiguousarray(part, dtype=np.uint64) for part in fold) for fold in folds]
    whole = [{**PROBLEM, **problem} for problem in problems]
    found = json.loads(_native.cross_validate(data, whole, limits, pairs, metric=metric))
    return np.array([[np.nan if score is None else score for score in point["scores"]] for point in found["points"]]).T


def mean_squared_errors(estimator, X, y, sample_weight, folds, problems: list[dict]) -> np.ndarray:
    """The same for mean losses, as Lasso has them: they are means over the rows of each fold."""
    X, y, sample_weight, folds = without_unweighted(X, y, sample_weight, folds)
    data = rows(X, y, sample_weight)
    totals = [float(len(train) if sample_weight is None else sample_weight[train].sum()) for train, _ in folds]
    errors = np.empty((len(folds), len(problems)))
    # Folds of the same size have the same objectives, and are trained together.
    for total in sorted(set(totals)):
        same = [number for number, other in enumerate(totals) if other == total]
        averaged = [{**problem, "c": problem.get("c", 1.0) / total} for problem in problems]
        errors[same] = fold_scores(estimator, data, averaged, [folds[number] for number in same], "rmse") ** 2
    return errors


def summed_squared_errors(estimator, X, y, sample_weight, folds, problems: list[dict]) -> np.ndarray:
    """The same for losses that are summed, as Ridge has them: all folds have the same objectives."""
    X, y, sample_weight, folds = without_unweighted(X, y, sample_weight, folds)
    return fold_scores(estimator, rows(X, y, sample_weight), problems, folds, "rmse") ** 2
