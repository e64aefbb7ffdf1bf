"""What must work wherever the package is installed: a fit, a store, a model file. Needs nothing but the package's own dependencies."""
import pickle

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.datasets import load_breast_cancer

import towline


def test_a_raw_table_has_the_objective_of_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    signs = np.where(y == 1, 1.0, -1.0)

    def objective(model):
        w, b = model.coef_.ravel(), model.intercept_.item()
        return 0.5 * w @ w + np.logaddexp(0.0, -signs * (X @ w + b)).sum()

    ours = towline.LogisticRegression(tol=1e-6).fit(X, y)
    theirs = linear_model.LogisticRegression(tol=1e-8, solver="newton-cholesky").fit(X, y)
    assert objective(ours) <= objective(theirs) * (1 + 1e-6)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=0.005)
    assert np.array_equal(pickle.loads(pickle.dumps(ours)).predict(X), ours.predict(X))


def test_a_file_becomes_a_store_and_a_model(tmp_path):
    rows = tmp_path / "rows.svm"
    rows.write_text("".join(f"{1 if i % 2 else -1} {i % 2 + 1}:1 {i % 7 + 3}:0.5\n" for i in range(200)))
    store = towline.pack(str(rows), str(tmp_path / "rows.tow"), memory="64M")
    model = towline.LinearSVC().fit(store)
    expected = [1 if i % 2 else -1 for i in range(200)]
    assert model.predict(str(rows)).tolist() == expected
    model.save(tmp_path / "rows.towm")
    assert towline.read_model(tmp_path / "rows.towm").predict(str(rows)).tolist() == expected
