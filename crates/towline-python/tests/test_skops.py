"""Estimators go through other programs that store them."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris

import towline

ALL = [towline.LogisticRegression(), towline.LinearSVC(), towline.Ridge(), towline.Lasso(), towline.RidgeClassifier()]


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_the_state_is_bytes_numbers_and_arrays(estimator):
    X, y = load_iris(return_X_y=True)
    state = estimator.fit(X, y).__getstate__()
    assert all(isinstance(model, bytes) for model in state["_models"])
    kinds = (bool, int, float, str, list, tuple, bytes, type(None), np.generic, np.ndarray, np.dtype)
    assert all(isinstance(value, kinds) for value in state.values()), {name: type(value) for name, value in state.items()}


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_skops_needs_to_trust_the_class_alone(estimator, tmp_path):
    skops = pytest.importorskip("skops.io")
    X, y = load_iris(return_X_y=True)
    estimator.fit(X, y)
    packed = skops.dumps(estimator)
    types = skops.get_untrusted_types(data=packed)
    assert all(name.startswith("towline.") for name in types), types
    np.testing.assert_array_equal(skops.loads(packed, trusted=types).predict(X), estimator.predict(X))


class Steps:
    """A callback that pickles."""

    def __init__(self):
        self.count = 0

    def __call__(self, facts):
        self.count += 1


def test_callbacks_that_pickle_go_with_the_estimator():
    X, y = load_iris(return_X_y=True)
    model = towline.LogisticRegression(callback=Steps()).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert again.callback.count == model.callback.count > 0
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
