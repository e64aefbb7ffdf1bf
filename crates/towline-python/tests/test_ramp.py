"""Losses that are cut off."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import towline


@pytest.fixture(scope="module")
def wrong():
    """Rows of which a quarter of one class has wrong labels, and the true labels."""
    X, truth = load_breast_cancer(return_X_y=True)
    random = np.random.default_rng(0)
    y = np.where((truth == 1) & (random.uniform(size=len(truth)) < 0.25), 0, truth)
    return StandardScaler().fit_transform(X), y, truth


def objective(model, X, y, C):
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    return (model.coef_**2).sum() / 2 + C * np.minimum(np.maximum(0, 1 - margins), 2).sum()


def test_wrong_labels_count_for_no_more(wrong):
    X, y, truth = wrong
    ramp = towline.RampSVC(C=1.0, fit_intercept=False, tol=1e-6).fit(X, y)
    convex = towline.LinearSVC(loss="hinge", C=1.0, fit_intercept=False, tol=1e-6).fit(X, y)
    assert ramp.objective_ == pytest.approx(objective(ramp, X, y, 1.0), rel=1e-6)
    assert ramp.objective_ < objective(convex, X, y, 1.0)
    assert ramp.score(X, truth) > convex.score(X, truth)


def test_without_outliers_it_is_convex(wrong):
    X, _, truth = wrong
    settings = {"C": 1e-3, "fit_intercept": False, "tol": 1e-8}
    ramp = towline.RampSVC(truncate=100.0, **settings).fit(X, truth)
    convex = towline.LinearSVC(loss="hinge", **settings).fit(X, truth)
    assert ramp.objective_ == pytest.approx(convex.objective_, rel=1e-7)
    with pytest.raises(ValueError, match="truncate=-1"):
        towline.RampSVC(truncate=-1).fit(X, truth)
