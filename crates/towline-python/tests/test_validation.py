"""Cross-validation over shared blocks."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import StandardScaler

import towline


def test_a_table_of_scores(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    store = towline.pack([(X, y)], tmp_path / "cancer.tow")
    table = towline.cv(store, C=[1e-6, 0.1, 1.0], folds=4, stratify=True)
    assert list(table["C"]) == [1e-6, 0.1, 1.0] and table["best"].sum() == table["one_standard_error"].sum() == 1
    assert table["mean"].idxmax() == table["best"].idxmax() > 0 and table["mean"].max() > 0.95
    np.testing.assert_allclose(table[[f"fold{fold}" for fold in range(4)]].mean(axis=1), table["mean"])
    assert (table["gap"] <= 1e-4).all() and set(table["status"]) == {"converged"}
    # Arrays give the same folds and so the same scores, up to the precision of the store.
    by_array = towline.cv(X, C=[1e-6, 0.1, 1.0], y=y, folds=4, stratify=True)
    np.testing.assert_allclose(by_array["mean"], table["mean"], atol=0.02)


def test_other_estimators():
    X, y = load_iris(return_X_y=True)
    table = towline.cv(X, C=[1.0], y=y, folds=3, estimator=towline.LogisticRegression(max_iter=1000))
    assert table["mean"][0] > 0.9
    X, y = load_diabetes(return_X_y=True)
    table = towline.cv(StandardScaler().fit_transform(X), C=[1e-6, 1.0], y=y, estimator=towline.LinearSVR(max_iter=100_000))
    assert table["best"].tolist() == [False, True] and table["mean"][1] < table["mean"][0]
    with pytest.raises(TypeError, match="no parameter C"):
        towline.cv(X, y=y, estimator=towline.Ridge())
    with pytest.raises(ValueError, match="cannot be divided into 1 folds"):
        towline.cv(X, y=y > 100, folds=1)
    with pytest.raises(ValueError, match="C=-1"):
        towline.cv(X, C=[-1], y=y > 100)
