"""Cross-validation on data of any size."""

from __future__ import annotations

import json

from sklearn.base import clone

from . import _native
from ._check import number
from ._train import PROBLEM, Fit
from .svm import LinearSVC


def cv(data, C=(0.01, 0.1, 1.0, 10.0, 100.0), *, y=None, estimator=None, folds: int = 5, stratify: bool = False, memory=None, **reading):
    """Scores values of C by cross-validation: every block that is read trains all folds and, out of core, all values of C.

    ``data`` is a store, a path, or an array with its labels ``y``. ``estimator`` has the loss and the rest, with a parameter C: a :class:`towline.LinearSVC` unless another
    one is given; ``memory`` goes before its own. The score is the accuracy, or for regression the root of the mean squared error. Rows of a group stay in one fold; ``stratify=True`` gives every fold
    its share of every class.

    Returns a table with a row for each C: ``C``, ``mean``, ``standard_error``, ``gap``, ``status``, ``best``, ``one_standard_error`` (the least C within one standard error
    of the best) and the score of each fold, ``fold0``, ``fold1`` and so on. It is a pandas ``DataFrame`` if pandas is there, else a dictionary of lists.
    """
    estimator = LinearSVC() if estimator is None else clone(estimator)
    if "C" not in estimator.get_params():
        raise TypeError(f"{type(estimator).__name__} has no parameter C to compare")
    if memory is not None:
        estimator.set_params(memory=memory)
    values = [number(estimator.set_params(C=value), "C") for value in C]
    rows, problem = estimator._prepared(data, y, None, reading)
    problems = [{**PROBLEM, **problem, "c": value} for value in values]
    limits = {**Fit(estimator).limits, "callback": getattr(estimator, "callback", None)}
    found = json.loads(_native.cross_validate(rows, problems, limits, folds, stratify))
    points = found["points"]
    table = {
        "C": [point["c"] for point in points],
        "mean": [point["mean"] for point in points],
        "standard_error": [point["standard_error"] for point in points],
        "gap": [point["relative_gap"] for point in points],
        "status": [point["status"] for point in points],
        "best": [at == found["best"] for at in range(len(points))],
        "one_standard_error": [at == found["one_standard_error"] for at in range(len(points))],
        **{f"fold{fold}": [point["scores"][fold] for point in points] for fold in range(folds)},
    }
    try:
        import pandas
    except ImportError:
        return table
    return pandas.DataFrame(table)
