"""Rows that come once."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
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
