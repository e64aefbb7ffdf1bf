"""Metadata goes where scikit-learn's own estimators let it go."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import towline

CLASSIFIERS = [towline.LinearSVC(), towline.LogisticRegression(), towline.RidgeClassifier(), towline.RampSVC(), towline.StreamClassifier()]
REGRESSORS = [
    towline.Ridge(),
    towline.Lasso(),
    towline.ElasticNet(),
    towline.LinearSVR(),
    towline.HuberRegressor(),
    towline.QuantileRegressor(),
    towline.StreamRegressor(),
]


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def rows(estimator):
    load = load_breast_cancer if sklearn.base.is_classifier(estimator) else load_diabetes
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X)[:200], y[:200]


@pytest.mark.parametrize("estimator", CLASSIFIERS + REGRESSORS, ids=lambda each: type(each).__name__)
def test_weights_reach_the_last_step_of_a_pipeline_in_a_search(estimator):
    X, y = rows(estimator)
    weight = 1.0 + np.arange(len(y)) % 3
    estimator = clone(estimator).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), estimator)
    name = next(each for each in ("C", "alpha") if each in estimator.get_params())
    grid = {f"{type(estimator).__name__.lower()}__{name}": [0.1, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, y, sample_weight=weight)
    alone = clone(search.best_estimator_).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(search.best_estimator_[-1].coef_, alone[-1].coef_)
    plain = clone(alone)
    plain[-1].set_fit_request(sample_weight=False)
    assert not np.array_equal(plain.fit(X, y)[-1].coef_, alone[-1].coef_)


@pytest.mark.parametrize("estimator", [towline.LogisticRegression(), towline.Ridge()], ids=repr)
def test_weights_that_nobody_asked_for_are_refused(estimator):
    X, y = rows(estimator)
    with pytest.raises(ValueError, match="sample_weight"):
        cross_validate(estimator, X, y, params={"sample_weight": np.ones(len(y))}, error_score="raise")


@pytest.mark.parametrize("estimator", [towline.LassoCV(), towline.ElasticNetCV(), towline.RidgeCV(), towline.LogisticRegressionCV(Cs=2)], ids=repr)
def test_groups_reach_the_splitter(estimator):
    X, y = rows(estimator)
    groups = np.arange(len(y)) % 5
    estimator = estimator.set_params(cv=GroupKFold(n_splits=5))
    by_group = clone(estimator).fit(X, y, groups=groups)
    folds = list(GroupKFold(n_splits=5).split(X, y, groups))
    by_hand = clone(estimator).set_params(cv=folds).fit(X, y)
    np.testing.assert_array_equal(by_group.coef_, by_hand.coef_)


def test_weights_reach_the_scorer():
    X, y = rows(towline.Ridge())
    weight = np.where(np.arange(len(y)) % 2, 1.0, 1e-3)
    scorer = make_scorer(mean_absolute_error, greater_is_better=False).set_score_request(sample_weight=True)
    ridge = towline.Ridge().set_fit_request(sample_weight=True)
    weighted = cross_validate(ridge, X, y, scoring=scorer, cv=3, params={"sample_weight": weight}, error_score="raise")
    plain = cross_validate(ridge, X, y, scoring="neg_mean_absolute_error", cv=3)
    assert not np.allclose(weighted["test_score"], plain["test_score"])


def test_streams_take_weights_of_parts():
    X, y = rows(towline.LinearSVC())
    weight = np.where(y == 1, 5.0, 1.0)
    stream = towline.StreamClassifier(C=0.01).set_partial_fit_request(classes=True, sample_weight=True)
    weighted = clone(stream).partial_fit(X, y, classes=[0, 1], sample_weight=weight)
    plain = clone(stream).partial_fit(X, y, classes=[0, 1])
    assert (weighted.predict(X) == 1).sum() > (plain.predict(X) == 1).sum()
