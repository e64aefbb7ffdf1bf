"""Frames with columns of text, categories and dates, in the estimators themselves."""

import pickle

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import towline


def table(rows=400, seed=0):
    random = np.random.default_rng(seed)
    frame = pandas.DataFrame(
        {
            "age": random.integers(18, 80, rows),
            "city": random.choice(["Rome", "Oslo", "Lima"], rows),
            "income": random.lognormal(10, 1, rows),
            "member": random.random(rows) < 0.5,
        }
    )
    signal = 0.05 * (frame.age - 45) + frame.city.map({"Rome": 1.0, "Oslo": -1.0, "Lima": 0.0}) + frame.member
    return frame, signal + 0.3 * random.normal(size=rows)


def test_a_frame_is_what_a_pipeline_makes_of_it():
    X, y = table()
    ours = towline.Ridge(alpha=1.0, tol=1e-10).fit(X, y)
    encoder = OneHotEncoder(sparse_output=False)
    columns = make_column_transformer((StandardScaler(), ["age", "income", "member"]), (encoder, ["city"]))
    theirs = make_pipeline(columns, Ridge(alpha=1.0)).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=2e-2)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-3)
    assert ours.feature_names_in_.tolist() == X.columns.tolist() and ours.n_features_in_ == 4
    assert {"city=Rome", "city=Oslo", "age"} <= set(ours.features_) and len(ours.features_) == len(ours.coef_)


@pytest.mark.parametrize("of", [lambda frame: frame, polars.from_pandas, pyarrow.Table.from_pandas])
@pytest.mark.parametrize("kind", [str, bool, int, "category"])
def test_labels_keep_their_type_whatever_the_frame(of, kind):
    X, y = table()
    y = (y > 0).astype(int)
    labels = y.map({0: "no", 1: "yes"}) if kind is str else y.astype(kind)
    model = towline.LogisticRegression().fit(of(X), labels)
    predicted = model.predict(of(X))
    assert predicted.dtype == np.asarray(labels).dtype
    assert set(predicted) <= set(labels) and model.score(of(X), labels) > 0.85
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(of(X)), predicted)


def test_an_index_is_no_column_and_order_of_columns_does_not_matter():
    X, y = table()
    y = y > 0
    train, test, y_train, _ = train_test_split(X, y, random_state=1)
    model = towline.LinearSVC().fit(train, y_train)
    assert not any("index" in name for name in model.features_)
    np.testing.assert_array_equal(model.predict(test), model.predict(test[test.columns[::-1]]))
    # A row alone has the score that it has among others.
    assert model.decision_function(test.iloc[3:4])[0] == model.decision_function(test)[3]
    assert cross_val_score(towline.LinearSVC(), X, y, cv=3).min() > 0.8


def test_weights_text_and_dates():
    random = np.random.default_rng(3)
    words = np.array(["good", "fine", "bad", "poor", "a", "the"])
    texts = [" ".join(random.choice(words, 6)) for _ in range(300)]
    y = np.array([text.count("good") + text.count("fine") > text.count("bad") + text.count("poor") for text in texts])
    X = pandas.DataFrame({"review": texts, "day": pandas.date_range("2024-01-01", periods=300)})
    model = towline.LogisticRegression(C=10.0).fit(X, y, text={"review": "words=1"}, ignore="day")
    assert model.score(X, y) > 0.85 and not any(name.startswith("day") for name in model.features_)
    assert any(name.startswith("day") for name in towline.LogisticRegression().fit(X, y).features_)
    # Rows of weight 0 might as well not be there.
    half = np.arange(300) < 150
    weighted = towline.LinearSVC(tol=1e-8).fit(X[["review"]], y, sample_weight=half.astype(float), text="review")
    alone = towline.LinearSVC(tol=1e-8).fit(X[["review"]][half], y[half], text="review")
    assert weighted.objective_ == pytest.approx(alone.objective_, rel=0.05)


def test_mistakes_are_named():
    X, y = table(50)
    with pytest.raises(ValueError, match="requires y"):
        towline.LinearSVC().fit(X)
    with pytest.raises(ValueError, match=r"y has shape \(49,\)"):
        towline.Ridge().fit(X, y[:49])
    with pytest.raises(TypeError, match="no way to read"):
        towline.Ridge().fit(X, y, colour="red")
    model = towline.Ridge().fit(X, y)
    with pytest.raises(ValueError, match="income"):
        model.predict(X.drop(columns="income"))
    with pytest.raises(ValueError, match="names"):
        model.predict(np.zeros((2, 4)))
    labelled = towline.Ridge().fit(X.assign(price=y), label="price")
    np.testing.assert_allclose(labelled.predict(X), model.predict(X), atol=1e-6)
