"""Reports: pages of models with rows of every kind, and what notebooks show."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import towline

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(0)) / X.std(0), y


def sections(page: str) -> set:
    return {name for name in ("head", "convergence", "memory", "model", "rows", "data") if f'<section id="{name}">' in page}


def test_arrays(cancer, tmp_path):
    X, y = cancer
    model = towline.LogisticRegression().fit(X, y)
    page = towline.report(model, X, y, costs=(1, 7)).html
    assert sections(page) == {"head", "convergence", "memory", "model", "rows", "data"}
    assert "Calibration" in page and "7 for a miss" in page
    # The measures are those of predictions.
    assert f"{100 * np.mean(model.predict(X) == y):.2f} %" in page
    assert sections(towline.report(model).html) >= {"head", "convergence", "model"}
    report = towline.report(model.model_, sparse.csr_matrix(X), y)
    assert f"{100 * np.mean(model.predict(X) == y):.2f} %" in report.html
    report.save(tmp_path / "r.html")
    report.save(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == report.html
    (tmp_path / "mine.html").write_text("mine")
    with pytest.raises(Exception, match="a report of ours"):
        report.save(tmp_path / "mine.html")


def test_classes_that_are_words_and_unknown_ones():
    X, y = load_iris(return_X_y=True)
    words = np.array(["setosa", HOSTILE, "virginica"])[y]
    model = towline.LinearSVC().fit(X, words)
    page = towline.report(model, X, words).html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page and "<script>alert" not in page
    assert "Features by class" in page and "Confusion matrix" in page
    words[:10] = "other"
    assert "10 rows have labels that the model does not know" in towline.report(model, X, words).html


def test_names_of_frames(cancer):
    X, y = cancer
    frame = pd.DataFrame(X[:, :3], columns=["size", HOSTILE, "عربى"])
    model = towline.LogisticRegression().fit(frame, y)
    page = towline.report(model, frame, y).html
    assert "عربى" in page and "&lt;script&gt;alert(1)&lt;/script&gt;" in page and "<script>alert" not in page
    mixed = frame.assign(color=np.where(y, "red", "blue"))
    model = towline.LogisticRegression().fit(mixed, y)
    page = towline.report(model, mixed, y, training=True).html
    # A column that follows from the label is named.
    assert "tells" in page and "color=" in page and "AUC 1.0000" in page


def test_numbers_files_and_stores(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    model = towline.Ridge().fit(X, y)
    assert "Residuals against predictions" in towline.report(model, X, y).html
    both = np.column_stack([y, -y])
    # Targets that are solved together are one model; those of Lasso are one each.
    page = towline.report(towline.Ridge().fit(X, both), X, both).html
    assert "2 numbers: target 0, target 1" in page and "RMSE" in page
    page = towline.report(towline.Lasso().fit(X, both), X, both).html
    assert "Lasso, target 0" in page and "Lasso, target 1" in page
    lines = [f"{1 if k % 3 else -1} 1:{k % 7} 2:{k % 3}" for k in range(200)]
    (tmp_path / "a.svm").write_text("\n".join(lines) + "\n")
    model = towline.LinearSVC().fit(str(tmp_path / "a.svm"))
    page = towline.report(model, tmp_path / "a.svm").html
    assert "200 rows of" in page
    store = towline.Store(str(tmp_path / "a.svm") + ".tow")
    assert "200 rows of" in towline.report(model, store, training=True).html


def test_what_is_refused(cancer):
    X, y = cancer
    model = towline.LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="labelled rows"):
        towline.report(model, X)
    with pytest.raises(ValueError, match="leave y out"):
        towline.report(model, "a.svm", y)


def test_notebooks(cancer):
    X, y = cancer
    model = towline.LogisticRegression()
    assert "It is proven" not in model._repr_html_()
    frame = pd.DataFrame(X[:, :2], columns=["size", HOSTILE])
    model.fit(frame, y)
    for shown in (model._repr_html_(), model._repr_mimebundle_()["text/html"], model.model_._repr_html_()):
        assert "It is proven that no weights whatever do" in shown
        assert "<script>alert" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in model._repr_html_()
    shown = towline.report(model, frame, y)._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and "<script" not in shown
    assert "save" in repr(towline.report(model))
