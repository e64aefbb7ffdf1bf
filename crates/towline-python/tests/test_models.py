"""Models of many classes, and models as estimators of scikit-learn."""

import pickle

import numpy as np
import pytest
from sklearn import linear_model, svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

import towline


def scaled(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_crammer_singer(load):
    X, y = scaled(load)
    theirs = svm.LinearSVC(multi_class="crammer_singer", C=0.1, tol=1e-8, max_iter=1_000_000, random_state=0).fit(X, y)
    ours = towline.LinearSVC(multi_class="crammer_singer", C=0.1, tol=1e-11, max_iter=100_000).fit(X, y)
    assert ours.coef_.shape == theirs.coef_.shape
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    again = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(again.decision_function(X), ours.decision_function(X))


def test_softmax():
    X, y = scaled(load_wine)
    theirs = linear_model.LogisticRegression(C=0.3, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(X, y)
    ours = towline.LogisticRegression(C=0.3, fit_intercept=False, tol=1e-13, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


def test_one_against_the_rest():
    X, y = scaled(load_iris)
    ours = towline.LogisticRegression(multi_class="ovr", tol=1e-12, max_iter=100_000).fit(X, y)
    for number in range(3):
        theirs = linear_model.LogisticRegression(tol=1e-10, max_iter=10_000).fit(X, y == number)
        np.testing.assert_allclose(ours.coef_[number], theirs.coef_[0], atol=1e-5)
        np.testing.assert_allclose(ours.intercept_[number], theirs.intercept_[0], atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("how", [{}, {"l1_ratio": 1.0}, {"l1_ratio": 0.4}, {"C": np.inf}])
def test_softmax_has_a_free_intercept_with_every_penalty(how):
    X, y = load_iris(return_X_y=True)
    theirs = linear_model.LogisticRegression(solver="saga" if "l1_ratio" in how else "lbfgs", tol=1e-9, max_iter=100_000, **how).fit(X, y)
    ours = towline.LogisticRegression(tol=1e-9, max_iter=1000, **how).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    if "C" in how:
        np.testing.assert_allclose(ours.coef_.sum(axis=0), 0.0, atol=1e-9)
    else:
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)


def test_liblinear_penalises_the_intercept():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :3]
    how = {"solver": "liblinear", "intercept_scaling": 2.0, "C": 0.1}
    theirs = linear_model.LogisticRegression(tol=1e-10, max_iter=100_000, **how).fit(X, y)
    ours = towline.LogisticRegression(tol=1e-9, **how).fit(X, y)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-4)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4)


CLASSIFIERS = [
    towline.LinearSVC(),
    towline.LinearSVC(multi_class="crammer_singer"),
    towline.LogisticRegression(),
    towline.LogisticRegression(multi_class="ovr"),
]
REGRESSORS = [towline.Ridge(), towline.Lasso(), towline.ElasticNet(), towline.GroupLasso(2), towline.LinearSVR()]


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
def test_classifiers_for_scikit_learn(estimator, load):
    X, y = scaled(load)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    ours = estimator.set_params(max_iter=1000, tol=1e-3).fit(X, names)
    theirs = ours.to_sklearn()
    assert type(theirs).__module__.startswith("sklearn.")
    np.testing.assert_array_equal(theirs.predict(X), ours.predict(X))
    if hasattr(ours, "predict_proba"):
        np.testing.assert_allclose(theirs.predict_proba(X), ours.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("estimator", REGRESSORS, ids=str)
def test_regressors_for_scikit_learn(estimator):
    X, y = scaled(load_diabetes)
    ours = estimator.set_params(max_iter=10_000, tol=1e-2).fit(X, y)
    np.testing.assert_allclose(ours.to_sklearn().predict(X), ours.predict(X))


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
def test_models_of_many_classes_are_files(estimator, tmp_path):
    X, y = scaled(load_iris)
    lines = "".join(f"{label} " + " ".join(f"{j}:{x!r}" for j, x in enumerate(row.tolist())) + "\n" for row, label in zip(X, y))
    (tmp_path / "iris.svm").write_text(lines)
    model = estimator.set_params(max_iter=1000, tol=1e-6).fit(tmp_path / "iris.svm", precision="f64")
    model.save(tmp_path / "iris.towm")
    again = towline.read_model(tmp_path / "iris.towm")
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X))
    np.testing.assert_allclose(again.decision_function(tmp_path / "iris.svm", precision="f64"), model.decision_function(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.classes_, [0, 1, 2])
    model.export(tmp_path / "iris.txt", to="text")
    name, *weights = (tmp_path / "iris.txt").read_text().splitlines()[1].split("\t")
    np.testing.assert_array_equal(np.array(weights, dtype=float), model.coef_[:, int(name)])
    with pytest.raises(ValueError, match="counts features from 1.*use to=text or to=json"):
        model.export(tmp_path / "iris.model", to="liblinear")
