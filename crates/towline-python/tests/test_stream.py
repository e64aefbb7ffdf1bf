"""Rows that come once."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.preprocessing import StandardScaler

import towline


@pytest.fixture(scope="module")
def rows():
    return make_classification(3_000, 20, n_informative=10, class_sep=2.0, random_state=0)


def test_parts_are_nearly_as_good_as_the_whole(rows):
    X, y = rows
    whole = towline.LinearSVC(C=0.01).fit(X, y)
    parts = towline.StreamClassifier(C=0.01)
    for start in range(0, len(y), 500):
        parts.partial_fit(X[start : start + 500], y[start : start + 500], classes=[0, 1])
    assert parts.rows_seen_ == len(y) and parts.status_ == "streamed" and np.isnan(parts.gap_)
    assert parts.score(X, y) > whole.score(X, y) - 0.02
    again = pickle.loads(pickle.dumps(parts))
    np.testing.assert_array_equal(again.decision_function(X), parts.decision_function(X))
    again.partial_fit(X[:100], y[:100])
    assert again.rows_seen_ == len(y) + 100


@pytest.mark.parametrize("names", [["setosa", "versicolor", "virginica"], [10, 9, -1], ["10", "9", "-1"]])
def test_classes_may_come_one_by_one(names):
    X, y = load_iris(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), np.array(names)[y]
    model = towline.StreamClassifier()
    for label in names:
        model.partial_fit(X[y == label], y[y == label], classes=names)
    for _ in range(10):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.classes_, np.unique(names))
    assert model.score(X, y) > 0.9
    with pytest.raises(ValueError, match="not among the classes"):
        model.partial_fit(X[:2], [names[0], "other"] if isinstance(names[0], str) else [names[0], 77])
    with pytest.raises(ValueError, match="not the same as on the last call"):
        model.partial_fit(X, y, classes=names[:2])


def test_files(tmp_path, rows):
    X, y = rows
    lines = (f"{label} " + " ".join(f"{j}:{x:.6g}" for j, x in enumerate(row)) + "\n" for row, label in zip(X, y))
    (tmp_path / "rows.svm").write_text("".join(lines))
    model = towline.StreamClassifier(C=0.01, memory="64M").fit(tmp_path / "rows.svm")
    np.testing.assert_array_equal(model.classes_, [0, 1])
    assert np.mean(model.predict(tmp_path / "rows.svm") == y) > 0.85 and model.score(X, y) > 0.85
    model.save(tmp_path / "m.towm")
    assert towline.read_model(tmp_path / "m.towm").status_ == "streamed"


def test_weights_of_classes(rows):
    X, y = rows
    plain = towline.StreamClassifier(C=0.01).fit(X, y).predict(X).mean()
    assert towline.StreamClassifier(C=0.01, class_weight={1: 20.0}).fit(X, y).predict(X).mean() > plain + 0.01
    with pytest.raises(ValueError, match="class_weight='balanced'"):
        towline.StreamClassifier(class_weight="balanced").fit(X, y)


LOSSES = ["squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive", "quantile"]


@pytest.mark.parametrize("loss", LOSSES)
def test_numbers_in_parts_are_nearly_as_good_as_the_whole(loss):
    X, y = make_regression(3_000, 10, noise=5.0, random_state=0)
    y /= y.std()
    model = towline.StreamRegressor(loss, epsilon=0.5 if loss == "huber" else 0.1)
    for start in range(0, len(y), 500):
        model.partial_fit(X[start : start + 500], y[start : start + 500])
    assert model.rows_seen_ == len(y) and model.status_ == "streamed" and model.score(X, y) > 0.95
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.partial_fit(X[:100], y[:100]).rows_seen_ == len(y) + 100
    assert model.coef_.shape == (10,) and np.ndim(model.intercept_) == 0


def test_quantiles_of_a_stream():
    random = np.random.default_rng(0)
    X, y = np.ones((4_000, 1)), random.exponential(size=4_000)
    model = towline.StreamRegressor("quantile", quantile=0.9, C=1.0).fit(X, y)
    assert abs((y <= model.predict(X)).mean() - 0.9) < 0.05


def test_weights_of_rows_in_streams():
    X, y = make_regression(600, 5, noise=1.0, random_state=0)
    wrong = y + 1000.0
    weight = np.r_[np.ones(600), np.full(600, 1e-6)]
    model = towline.StreamRegressor(C=1.0).fit(np.r_[X, X], np.r_[y, wrong], sample_weight=weight)
    assert model.score(X, y) > 0.9
    with pytest.raises(ValueError, match="(?i)sample weights"):
        model.fit(X, y, sample_weight=np.zeros(600))


def test_a_warm_start_goes_on(rows):
    X, y = rows
    for model, target in ((towline.StreamClassifier(warm_start=True), y), (towline.StreamRegressor(warm_start=True), X[:, 0])):
        model.fit(X[:1000], target[:1000]).fit(X[1000:], target[1000:])
        assert model.rows_seen_ == len(y)
        assert model.set_params(warm_start=False).fit(X, target).rows_seen_ == len(y)


def test_probabilities_are_those_of_the_logistic_loss(rows):
    X, y = rows
    chances = towline.StreamClassifier("log_loss", n_jobs=1).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert ((chances[:, 1] > 0.5) == y).mean() > 0.85
    assert not hasattr(towline.StreamClassifier(), "predict_proba")


def test_files_of_numbers(tmp_path):
    X, y = make_regression(500, 4, noise=1.0, random_state=0)
    lines = (f"{target} " + " ".join(f"{j + 1}:{value}" for j, value in enumerate(row)) for row, target in zip(X, y / y.std()))
    (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n")
    model = towline.StreamRegressor(C=10.0).fit(tmp_path / "rows.svm")
    assert model.rows_seen_ == 500 and model.score(np.c_[np.zeros(500), X], y / y.std()) > 0.95
