"""Callbacks by the interface of scikit-learn 1.9."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

import towline

pytest.importorskip("sklearn.callback")


class Steps:
    """Keeps what it is told, and stops after some steps."""

    def __init__(self, stop_after=None):
        self.stop_after, self.estimators, self.begun, self.ended = stop_after, [], 0, 0

    def setup(self, estimator, context):
        self.begun = self.ended = 0

    def teardown(self, estimator, context):
        self.is_over = True

    def on_fit_task_begin(self, estimator, context):
        self.begun += 1

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.ended += 1
        if context.task_name == "iteration" and fitted_estimator is not None:
            self.estimators.append(fitted_estimator)
            return self.stop_after is not None and len(self.estimators) >= self.stop_after


class Handed(Steps):
    """One that goes from searches to the estimators that they fit."""

    max_propagation_depth = None


CASES = [
    (towline.LogisticRegression(), load_breast_cancer),
    (towline.LogisticRegression(fit_intercept=False), load_iris),
    (towline.LogisticRegression(multi_class="ovr"), load_iris),
    (towline.LinearSVC(), load_breast_cancer),
    (towline.LinearSVC(loss="hinge"), load_iris),
    (towline.LinearSVR(), load_diabetes),
    (towline.HuberRegressor(), load_diabetes),
]


@pytest.mark.parametrize("estimator, load", CASES, ids=str)
def test_every_step_has_an_estimator(estimator, load):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    steps = Steps()
    model = estimator.set_callbacks(steps).fit(X, y)
    assert steps.is_over and steps.begun == steps.ended >= 3
    again = type(model)(**model.get_params()).fit(X, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    if len(np.unique(y)) == 3 and getattr(model, "multi_class", "ovr") == "ovr":
        # One class after the other: nobody knows the weights of all of them on the way.
        assert not steps.estimators
        return
    last = steps.estimators[-1]
    assert last.predict(X).shape == y.shape and last.coef_.shape == model.coef_.shape
    if not isinstance(model, towline.HuberRegressor):
        np.testing.assert_allclose(last.coef_, model.coef_, rtol=0.05, atol=0.05 * np.abs(model.coef_).max())


def test_a_callback_can_stop():
    X, y = load_breast_cancer(return_X_y=True)
    model = towline.LogisticRegression(tol=1e-12).set_callbacks(Steps(stop_after=2)).fit(X, y)
    assert model.status_ == "interrupted"


def test_searches_hand_their_callbacks_on():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(towline.LogisticRegression(), {"C": [0.1, 1.0]}, cv=2)
    if not hasattr(search, "set_callbacks"):
        pytest.skip("searches have no callbacks")
    steps = Handed()
    search.set_callbacks(steps).fit(X, y)
    assert search.best_score_ > 0.8 and steps.begun == steps.ended and len(steps.estimators) > 4
