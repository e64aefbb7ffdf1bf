"""The same coefficients as scikit-learn's own estimators, on its own data."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model, svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

import towline

TIGHT = {"tol": 1e-12, "max_iter": 100_000}


def scaled(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def assert_same(ours, theirs, tolerance=1e-5):
    scale = max(1.0, np.abs(theirs.coef_).max())
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=tolerance * scale)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=tolerance * scale)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine])
def test_linear_svc(load, loss):
    X, y = scaled(load)
    theirs = svm.LinearSVC(loss=loss, C=0.5, tol=1e-9, max_iter=1_000_000, dual=True, random_state=0).fit(X, y)
    ours = towline.LinearSVC(loss=loss, C=0.5, **TIGHT).fit(X, y)
    assert_same(ours, theirs, 1e-5 if loss == "squared_hinge" else 1e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 1: 0.5}])
def test_class_weights(class_weight):
    X, y = scaled(load_breast_cancer)
    theirs = svm.LinearSVC(class_weight=class_weight, tol=1e-9, max_iter=1_000_000, random_state=0).fit(X, y)
    assert_same(towline.LinearSVC(class_weight=class_weight, **TIGHT).fit(X, y), theirs)


def test_class_weights_of_three_classes():
    X, y = scaled(load_wine)
    weights = {0: 2.0, 1: 0.5, 2: 1.5}
    theirs = svm.LinearSVC(class_weight=weights, tol=1e-10, max_iter=1_000_000, random_state=0).fit(X, y)
    assert_same(towline.LinearSVC(class_weight=weights, **TIGHT).fit(X, y), theirs)


def test_l1_svc():
    X, y = scaled(load_breast_cancer)
    theirs = svm.LinearSVC(penalty="l1", dual=False, C=0.1, tol=1e-10, max_iter=100_000, random_state=0).fit(X, y)
    assert_same(towline.LinearSVC(penalty="l1", C=0.1, **TIGHT).fit(X, y), theirs)


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
def test_logistic_regression(l1_ratio):
    X, y = scaled(load_breast_cancer)
    theirs = linear_model.LogisticRegression(C=0.2, l1_ratio=l1_ratio, solver="saga", tol=1e-10, max_iter=100_000).fit(X, y)
    ours = towline.LogisticRegression(C=0.2, l1_ratio=l1_ratio, **TIGHT).fit(X, y)
    assert_same(ours, theirs)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


def test_the_older_word_for_penalties():
    X, y = scaled(load_breast_cancer)
    for penalty, ratio in [("l1", 1.0), ("l2", 0.0), ("elasticnet", 0.3)]:
        by_word = towline.LogisticRegression(penalty, l1_ratio=0.3, C=0.1, max_iter=1000).fit(X, y)
        np.testing.assert_array_equal(by_word.coef_, towline.LogisticRegression(l1_ratio=ratio, C=0.1, max_iter=1000).fit(X, y).coef_)


def test_logistic_regression_without_penalty():
    X, y = scaled(load_iris)
    X, y = X[y != 0][:, :2], y[y != 0]
    theirs = linear_model.LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(X, y)
    assert_same(towline.LogisticRegression(C=np.inf, **TIGHT).fit(X, y), theirs)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.01, 1.0, 100.0])
def test_ridge(alpha, fit_intercept):
    X, y = scaled(load_diabetes)
    theirs = linear_model.Ridge(alpha=alpha, fit_intercept=fit_intercept).fit(X, y)
    assert_same(towline.Ridge(alpha=alpha, fit_intercept=fit_intercept, **TIGHT).fit(X, y), theirs)


def test_ridge_with_several_targets():
    X, y = scaled(load_diabetes)
    both = np.column_stack([y, y[::-1]])
    theirs = linear_model.Ridge().fit(X, both)
    ours = towline.Ridge(**TIGHT).fit(X, both)
    assert_same(ours, theirs)
    assert ours.predict(X).shape == both.shape


@pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0])
def test_lasso(alpha):
    X, y = scaled(load_diabetes)
    theirs = linear_model.Lasso(alpha=alpha, tol=1e-12, max_iter=100_000).fit(X, y)
    ours = towline.Lasso(alpha=alpha, **TIGHT).fit(X, y)
    assert_same(ours, theirs)
    np.testing.assert_array_equal(ours.coef_ == 0, np.abs(theirs.coef_) == 0)


def test_elastic_net_with_weights():
    X, y = scaled(load_diabetes)
    weights = np.random.default_rng(0).uniform(0.1, 2.0, len(y))
    theirs = linear_model.ElasticNet(alpha=0.3, l1_ratio=0.7, tol=1e-12, max_iter=100_000).fit(X, y, weights)
    assert_same(towline.ElasticNet(alpha=0.3, l1_ratio=0.7, **TIGHT).fit(X, y, weights), theirs)


def test_group_lasso_with_groups_of_one_is_the_lasso():
    X, y = scaled(load_diabetes)
    lasso = towline.Lasso(alpha=2.0, **TIGHT).fit(X, y)
    assert_same(towline.GroupLasso(1, alpha=2.0, **TIGHT).fit(X, y), lasso)


def test_features_of_a_group_come_and_go_together():
    X, y = scaled(load_diabetes)
    groups = [[0, 4, 5, 6, 7], [1, 2, 3], [8, 9]]
    model = towline.GroupLasso(groups, alpha=40.0, **TIGHT).fit(X, y)
    kept = [np.any(model.coef_[group]) for group in groups]
    assert kept == [np.all(model.coef_[group]) for group in groups] and any(kept) and not all(kept)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_linear_svr(loss):
    X, y = scaled(load_diabetes)
    theirs = svm.LinearSVR(loss=loss, epsilon=1.0, C=0.05, tol=1e-9, max_iter=10_000_000, dual=True, random_state=0).fit(X, y)
    assert_same(towline.LinearSVR(loss=loss, epsilon=1.0, C=0.05, **TIGHT).fit(X, y), theirs, 1e-4)


def test_the_objective_is_that_of_scikit_learn():
    X, y = scaled(load_diabetes)
    lasso = towline.Lasso(alpha=1.0, tol=1e-8).fit(X, y)
    by_hand = ((y - lasso.predict(X)) ** 2).mean() / 2 + np.abs(lasso.coef_).sum()
    assert lasso.objective_ == pytest.approx(by_hand, rel=1e-9)
    ridge = towline.Ridge(alpha=3.0, tol=1e-8).fit(X, y)
    by_hand = ((y - ridge.predict(X)) ** 2).sum() + 3.0 * (ridge.coef_**2).sum()
    assert ridge.objective_ == pytest.approx(by_hand, rel=1e-9)
    assert 0.0 <= ridge.gap_ <= 1e-8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("container", ["csr", "csc", "coo", "dense", "fortran"])
def test_every_kind_of_matrix_gives_the_same_model(container, index, dtype):
    X, y = scaled(load_breast_cancer)
    X = X.astype(np.float32)
    expected = towline.LinearSVC(tol=1e-10).fit(X.astype(np.float64), y).coef_
    matrix = sparse.csr_matrix(X.astype(dtype)).asformat(container) if len(container) == 3 else X.astype(dtype)
    if container == "fortran":
        matrix = np.asfortranarray(matrix)
    if container in ("csr", "csc"):
        matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    model = towline.LinearSVC(tol=1e-10).fit(matrix, y)
    np.testing.assert_allclose(model.coef_, expected, atol=1e-5)
    np.testing.assert_array_equal(model.predict(matrix), towline.LinearSVC(tol=1e-10).fit(X, y).predict(X))


def test_repeated_and_unsorted_columns_are_added_up():
    X = sparse.csr_matrix(([1.0, 2.0, 3.0, 4.0], [2, 0, 1, 1], [0, 2, 4]), shape=(2, 3))
    before = X.copy()
    ours = towline.Ridge(tol=1e-10).fit(X, [1.0, 2.0]).coef_
    np.testing.assert_allclose(ours, towline.Ridge(tol=1e-10).fit(X.toarray(), [1.0, 2.0]).coef_, atol=1e-6)
    np.testing.assert_array_equal(X.indices, before.indices)


@pytest.mark.parametrize("size", [1e160, np.finfo(np.float64).max])
@pytest.mark.parametrize("estimator", [towline.Ridge(), towline.Lasso(), towline.ElasticNet()], ids=repr)
def test_squares_that_are_not_finite_are_refused(estimator, size):
    random = np.random.RandomState(0)
    X, y = size * random.uniform(size=(10, 2)), random.randint(0, 2, size=10)
    try:
        model = estimator.fit(X, y)
    except ValueError as error:
        assert "non-finite parameter values" in str(error)
    else:
        # What is found is what it says it is.
        assert np.isfinite(model.coef_).all() and model.objective_ > 0
