"""Estimators that choose their strength by folds, paths, and several targets: the results of scikit-learn."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import log_loss, make_scorer
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, TimeSeriesSplit
from sklearn.preprocessing import scale

import towline


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return scale(X), y


def weights(count, seed=0):
    drawn = np.random.default_rng(seed).uniform(0.1, 3.0, count)
    drawn[::17] = 0.0
    return drawn


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("cv", [None, KFold(3, shuffle=True, random_state=1), ShuffleSplit(3, random_state=0), TimeSeriesSplit(3)])
def test_lasso_cv_has_the_path_of_scikit_learn(diabetes, kind, cv, positive):
    X, y = diabetes
    theirs = linear_model.LassoCV(alphas=12, cv=cv, tol=1e-8, max_iter=100_000, positive=positive).fit(kind(X), y)
    ours = towline.LassoCV(alphas=12, cv=cv, tol=1e-9, positive=positive).fit(kind(X), y)
    np.testing.assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-9)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-5)
    assert ours.alpha_ == pytest.approx(theirs.alpha_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6)
    assert ours.dual_gap_ >= 0


def test_elastic_net_cv_compares_shares_of_l1_and_weighs_rows(diabetes):
    X, y = diabetes
    how = {"l1_ratio": [0.2, 0.9], "alphas": 8, "cv": 4}
    theirs = linear_model.ElasticNetCV(tol=1e-8, max_iter=100_000, **how).fit(X, y, sample_weight=weights(len(y)))
    ours = towline.ElasticNetCV(tol=1e-9, **how).fit(X, y, sample_weight=weights(len(y)))
    np.testing.assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-9)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-5)
    assert (ours.alpha_, ours.l1_ratio_) == (pytest.approx(theirs.alpha_), theirs.l1_ratio_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-3)


def test_folds_of_groups_go_to_the_splitter(diabetes):
    X, y = diabetes
    groups = np.arange(len(y)) // 40
    ours = towline.LassoCV(alphas=[0.1, 1.0], cv=GroupKFold(3), tol=1e-9).fit(X, y, groups=groups)
    folds = list(GroupKFold(3).split(X, y, groups))
    theirs = linear_model.LassoCV(alphas=[0.1, 1.0], cv=folds, tol=1e-9, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("cv", [None, 5])
def test_ridge_cv_finds_the_alpha_of_scikit_learn(diabetes, cv, fit_intercept, weighted):
    X, y = diabetes
    weight = weights(len(y)) + 0.01 if weighted else None
    how = {"alphas": [0.1, 1.0, 10.0, 100.0], "cv": cv, "fit_intercept": fit_intercept}
    how["store_cv_results"] = cv is None
    theirs, ours = linear_model.RidgeCV(**how).fit(X, y, weight), towline.RidgeCV(tol=1e-12, **how).fit(X, y, weight)
    assert ours.alpha_ == theirs.alpha_
    # Folds are scored with the weights of their rows here, and without them there.
    if cv is None or not weighted:
        assert ours.best_score_ == pytest.approx(theirs.best_score_)
    if cv is None:
        np.testing.assert_allclose(ours.cv_results_, theirs.cv_results_, rtol=1e-6)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)


@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error", "r2"])
@pytest.mark.parametrize("how", [{}, {"alpha_per_target": True}, {"cv": 3}], ids=str)
def test_ridge_cv_of_several_targets(diabetes, how, scoring):
    X, y = diabetes
    targets = np.column_stack([y, -y + 50 * X[:, 0], X[:, 1]])
    how = {"alphas": [0.1, 1.0, 10.0, 100.0], "scoring": scoring, "store_cv_results": "cv" not in how, **how}
    theirs, ours = (kind(**how).fit(X, targets) for kind in (linear_model.RidgeCV, towline.RidgeCV))
    np.testing.assert_array_equal(ours.alpha_, theirs.alpha_)
    np.testing.assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-6)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-6)
    if "cv" not in how:
        np.testing.assert_allclose(ours.cv_results_, theirs.cv_results_, rtol=1e-5, atol=1e-8)


def test_multitask_weights_count_like_copies(diabetes):
    X, y = diabetes
    targets, count = np.column_stack([y, X[:, 0] - y]), np.arange(len(y)) % 3
    for kind in (towline.MultiTaskLasso, towline.MultiTaskElasticNet):
        weighted = kind(tol=1e-10, max_iter=10_000).fit(X, targets, sample_weight=count)
        copied = kind(tol=1e-10, max_iter=10_000).fit(np.repeat(X, count, axis=0), np.repeat(targets, count, axis=0))
        np.testing.assert_allclose(weighted.coef_, copied.coef_, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(weighted.intercept_, copied.intercept_, rtol=1e-4)


@pytest.mark.parametrize("scoring", ["balanced_accuracy", make_scorer(log_loss, greater_is_better=False, response_method="predict_proba")])
def test_logistic_regression_cv_by_any_score(scoring):
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)[:, :8]
    how = {"Cs": [0.01, 1.0, 100.0], "cv": 3, "scoring": scoring}
    theirs = linear_model.LogisticRegressionCV(use_legacy_attributes=False, l1_ratios=(0.0,), tol=1e-8, max_iter=1000, **how).fit(X, y)
    ours = towline.LogisticRegressionCV(**how).fit(X, y)
    np.testing.assert_allclose(ours.scores_, theirs.scores_, rtol=1e-4)
    assert ours.C_ == theirs.C_ and ours.score(X, y) == pytest.approx(theirs.score(X, y), rel=1e-4)


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "roc_auc"])
def test_logistic_regression_cv_has_the_scores_of_scikit_learn(scoring):
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)[:, :8]
    how = {"Cs": [0.01, 1.0, 100.0], "cv": 3, "scoring": scoring}
    theirs = linear_model.LogisticRegressionCV(use_legacy_attributes=False, l1_ratios=(0.0,), tol=1e-8, max_iter=1000, **how).fit(X, y)
    ours = towline.LogisticRegressionCV(tol=1e-9, **how).fit(X, y)
    np.testing.assert_allclose(ours.scores_, theirs.scores_, rtol=1e-4)
    assert (ours.C_, ours.l1_ratio_) == (theirs.C_, theirs.l1_ratio_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), rel=1e-4)


def test_logistic_regression_cv_of_three_classes_and_two_penalties():
    X, y = load_iris(return_X_y=True)
    ours = towline.LogisticRegressionCV(Cs=3, l1_ratios=(0.0, 1.0), cv=3, scoring="neg_log_loss", tol=1e-6).fit(X, y)
    assert ours.scores_.shape == (3, 2, 3)
    best = towline.LogisticRegression(C=ours.C_, l1_ratio=ours.l1_ratio_, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(ours.coef_, best.coef_, rtol=1e-6)
    with pytest.raises(ValueError, match="'fast'"):
        towline.LogisticRegressionCV(scoring="fast").fit(X, y)


@pytest.mark.parametrize("positive", [False, True])
def test_paths_are_those_of_scikit_learn(diabetes, positive):
    X, y = diabetes
    y = y - y.mean()
    for ours, theirs, ratio in [
        (towline.lasso_path, linear_model.lasso_path, {}),
        (towline.enet_path, linear_model.enet_path, {"l1_ratio": 0.4}),
    ]:
        expected = theirs(X, y, alphas=10, positive=positive, tol=1e-10, max_iter=100_000, **ratio)
        alphas, coefs, gaps = ours(X, y, alphas=10, positive=positive, tol=1e-10, **ratio)
        np.testing.assert_allclose(alphas, expected[0])
        np.testing.assert_allclose(coefs, expected[1], rtol=1e-4, atol=1e-4)
        assert gaps.shape == (10,) and (gaps >= 0).all()
    both = towline.lasso_path(X, np.column_stack([y, -y]), alphas=[1.0, 10.0], tol=1e-10, return_n_iter=True)
    assert both[1].shape == (2, X.shape[1], 2) and list(both[0]) == [10.0, 1.0]
    np.testing.assert_allclose(both[1][0], -both[1][1], atol=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_several_targets_share_their_features(diabetes, fit_intercept):
    X, y = diabetes
    Y = np.column_stack([y, y + 40 * X[:, 0], np.random.default_rng(0).normal(size=len(y))])
    for ours, theirs in [
        (towline.MultiTaskLasso(alpha=5.0), linear_model.MultiTaskLasso(alpha=5.0)),
        (towline.MultiTaskElasticNet(alpha=2.0, l1_ratio=0.3), linear_model.MultiTaskElasticNet(alpha=2.0, l1_ratio=0.3)),
    ]:
        ours.set_params(fit_intercept=fit_intercept, tol=1e-9).fit(X + 2, Y)
        theirs.set_params(fit_intercept=fit_intercept, tol=1e-9, max_iter=100_000).fit(X + 2, Y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-3, atol=1e-2)
        again = pickle.loads(pickle.dumps(ours))
        np.testing.assert_array_equal(again.predict(X), ours.predict(X))
    assert (ours.coef_ == 0).all(axis=0).sum() == (theirs.coef_ == 0).all(axis=0).sum()
    with pytest.raises(ValueError, match="mono-task"):
        ours.fit(X, y)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_ridge_classifiers_agree(classes, class_weight):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], np.array(["a", "b", "c"])[y[y < classes]]
    how = {"alpha": 0.5, "class_weight": class_weight}
    weight = weights(len(y)) + 0.1
    theirs = linear_model.RidgeClassifier(**how).fit(X, y, weight)
    ours = towline.RidgeClassifier(tol=1e-12, **how).fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, np.atleast_2d(theirs.coef_), rtol=1e-6)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-6, atol=1e-9)
    assert (ours.predict(X) == theirs.predict(X)).all()


@pytest.mark.parametrize("name", ["Lasso", "ElasticNet", "Ridge"])
def test_weights_may_not_be_below_zero(diabetes, name):
    X, y = diabetes
    ours, theirs = getattr(towline, name), getattr(linear_model, name)
    for alpha in (0.01, 5.0):
        a = ours(alpha=alpha, positive=True, tol=1e-10).fit(X, y)
        b = theirs(alpha=alpha, positive=True, tol=1e-10, max_iter=100_000).fit(X, y)
        assert (a.coef_ >= 0).all() and (a.coef_ == 0).any()
        np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-4, atol=1e-4)
        assert a.gap_ <= 1e-10
