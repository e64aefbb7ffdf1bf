"""Regression with outliers, against scikit-learn."""

import pickle

import numpy as np
import pandas
import pytest
from sklearn import linear_model
from sklearn.datasets import load_diabetes, make_regression

import towline


def objective(model, X, y, sample_weight=None, *, epsilon=1.35, alpha=1e-4):
    """By the definition in scikit-learn's guide."""
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    z = np.abs(y - X @ model.coef_ - model.intercept_) / model.scale_
    loss = np.where(z < epsilon, z**2, 2 * epsilon * z - epsilon**2)
    return float((weight * (model.scale_ + loss * model.scale_)).sum() + alpha * (model.coef_**2).sum())


def outliers(rows=300, features=8, seed=0):
    X, y = make_regression(rows, features, noise=3.0, random_state=seed)
    y[::10] += np.random.default_rng(seed).normal(scale=300, size=len(y[::10]))
    return X, y


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("epsilon, alpha", [(1.35, 1e-4), (1.0, 1.0), (5.0, 0.0), (1.1, 100.0)])
def test_the_objective_is_at_most_that_of_scikit_learn(epsilon, alpha, fit_intercept):
    X, y = outliers()
    settings = {"epsilon": epsilon, "alpha": alpha, "fit_intercept": fit_intercept}
    ours = towline.HuberRegressor(**settings).fit(X, y)
    theirs = linear_model.HuberRegressor(max_iter=10_000, tol=1e-10, **settings).fit(X, y)
    found, known = (objective(model, X, y, epsilon=epsilon, alpha=alpha) for model in (ours, theirs))
    assert found <= known * (1 + 1e-9)
    assert ours.status_ == "converged" and ours.gap_ <= 1e-5
    np.testing.assert_allclose(ours.objective_, found, rtol=1e-9)
    if epsilon == 1.0:
        # All rows may be outliers then, and the smaller the scale the better.
        assert max(ours.scale_, theirs.scale_) < 1e-2
        return
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(ours.scale_, theirs.scale_, rtol=1e-3)
    assert (ours.outliers_ != theirs.outliers_).sum() <= 1


def test_weights_of_rows_count_like_copies():
    X, y = outliers(120, 5)
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = towline.HuberRegressor(tol=1e-8).fit(X, y, weight)
    copied = towline.HuberRegressor(tol=1e-8).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, copied.coef_, rtol=1e-6)
    np.testing.assert_allclose(weighted.scale_, copied.scale_, rtol=1e-6)
    np.testing.assert_allclose(weighted.objective_, objective(weighted, X, y, weight), rtol=1e-9)
    assert weighted.outliers_.shape == y.shape


def test_a_perfect_fit_has_no_scale():
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = towline.HuberRegressor().fit(X, X @ [1.0, 2.0, 3.0] + 4.0)
    assert model.status_ == "converged" and model.scale_ < 1e-6
    np.testing.assert_allclose(model.coef_, [1.0, 2.0, 3.0], rtol=1e-4)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_the_unit_of_the_targets_does_not_matter(factor):
    X, y = outliers()
    plain, scaled = (towline.HuberRegressor(alpha=0.0).fit(X, unit * y) for unit in (1.0, factor))
    np.testing.assert_allclose(scaled.coef_, factor * plain.coef_, rtol=1e-4)
    np.testing.assert_array_equal(scaled.outliers_, plain.outliers_)


def test_warm_starts_pickles_frames_and_stores(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    model = towline.HuberRegressor(warm_start=True).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ <= first
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.scale_ == model.scale_
    weight = 1.0 + np.arange(len(y)) % 3
    by_array = towline.HuberRegressor().fit(X, y, weight)
    store = towline.pack(iter([(X, y, weight)]), tmp_path / "rows.tow", precision="f64")
    by_store = towline.HuberRegressor().fit(store)
    np.testing.assert_allclose(by_store.scale_, by_array.scale_, rtol=1e-2)
    np.testing.assert_allclose(by_store.objective_, by_array.objective_, rtol=1e-5)
    frame = pandas.DataFrame(X[:, :3], columns=["a", "b", "c"]).assign(city=np.where(y > 150, "Rome", "Oslo"))
    assert towline.HuberRegressor().fit(frame, y).score(frame, y) > 0.4


@pytest.mark.parametrize("name, value", [("epsilon", 0.9), ("alpha", -1.0), ("tol", -1.0)])
def test_bad_parameters(name, value):
    with pytest.raises(ValueError, match=f"{name}="):
        towline.HuberRegressor(**{name: value}).fit(*outliers())
