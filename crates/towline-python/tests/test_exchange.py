"""Estimators in other programs: skops, skl2onnx, onnxruntime; and callbacks that go with them."""

import pickle

import numpy as np
import pandas
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import towline
from towline.exchange import estimator_classes

PLAIN = [kind for kind in estimator_classes() if not kind.__name__.startswith("MultiTask")]


def rows(estimator, load=load_iris):
    X, y = (load if is_classifier(estimator) else load_diabetes)(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("kind", estimator_classes(), ids=lambda kind: kind.__name__)
def test_skops_trusts_what_the_package_names(kind):
    skops = pytest.importorskip("skops.io")
    X, y = rows(kind())
    estimator = kind().fit(X, np.column_stack([y, -y]) if kind.__name__.startswith("MultiTask") else y)
    packed = skops.dumps(estimator)
    again = skops.loads(packed, trusted=towline.trusted_types())
    np.testing.assert_array_equal(again.predict(X), estimator.predict(X))


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
@pytest.mark.parametrize("kind", PLAIN, ids=lambda kind: kind.__name__)
def test_graphs_of_onnx(kind, load):
    onnxruntime = pytest.importorskip("onnxruntime")
    if not is_classifier(kind()) and load is not load_iris:
        return
    X, y = rows(kind(), load)
    model = kind().fit(X, y)
    if kind is towline.RidgeClassifier:
        with pytest.raises(TypeError, match="register_skl2onnx"):
            model.to_onnx()
        return
    session = onnxruntime.InferenceSession(model.to_onnx(), providers=["CPUExecutionProvider"])
    found = dict(zip([output.name for output in session.get_outputs()], session.run(None, {"features": X})))
    if is_classifier(model):
        np.testing.assert_allclose(np.squeeze(np.abs(found["scores"])), np.abs(model.decision_function(X)), atol=1e-9)
    else:
        np.testing.assert_allclose(found["prediction"][:, 0], model.predict(X), atol=1e-9)


def test_a_table_in_onnx():
    onnxruntime = pytest.importorskip("onnxruntime")
    frame = pandas.DataFrame({"age": [20.0, 31.0, 42.0, 53.0] * 25, "city": ["Rome", "Oslo"] * 50})
    model = towline.LogisticRegression(max_iter=1000).fit(frame, ["no", "yes", "no", "no"] * 25)
    session = onnxruntime.InferenceSession(model.to_onnx(), providers=["CPUExecutionProvider"])
    inputs = {"age": frame[["age"]].to_numpy(), "city": frame[["city"]].to_numpy(dtype=object)}
    found = session.run(["probabilities"], inputs)[0]
    np.testing.assert_allclose(found, model.predict_proba(frame), atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", PLAIN, ids=lambda kind: kind.__name__)
def test_pipelines_in_skl2onnx(kind, dtype):
    skl2onnx = pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    towline.register_skl2onnx()
    for load in (load_iris, load_breast_cancer):
        X, y = rows(kind(), load)
        X = X.astype(dtype)
        model = make_pipeline(StandardScaler(), kind()).fit(X, y)
        options = {"zipmap": False} if is_classifier(kind()) else {}
        graph = skl2onnx.to_onnx(model, X[:1], options={kind: options} if options else None)
        session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
        found = session.run(None, {"X": X})
        if not is_classifier(model):
            np.testing.assert_allclose(found[0][:, 0], model.predict(X), rtol=1e-4, atol=1e-2)
            break
        assert (found[0] == model.predict(X)).mean() > 0.99
        if hasattr(model, "predict_proba"):
            np.testing.assert_allclose(found[1], model.predict_proba(X), atol=1e-4)


def test_names_of_classes_in_skl2onnx():
    skl2onnx = pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    towline.register_skl2onnx()
    X, y = rows(towline.LinearSVC())
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    # Dictionaries of probabilities are of single precision.
    X = X.astype(np.float32)
    model = towline.LogisticRegression().fit(X, names)
    session = onnxruntime.InferenceSession(skl2onnx.to_onnx(model, X[:1]).SerializeToString(), providers=["CPUExecutionProvider"])
    labels, chances = session.run(None, {"X": X})
    np.testing.assert_array_equal(labels, model.predict(X))
    assert set(chances[0]) == set(names)


def test_histories_go_with_estimators(tmp_path):
    X, y = rows(towline.LinearSVC(), load_breast_cancer)
    model = towline.LogisticRegression(callback=towline.History()).fit(X, y)
    steps = model.callback.steps
    assert steps and steps[-1]["gap"] <= 1e-4 and list(model.callback.table()["passes"]) == [step["passes"] for step in steps]
    assert pickle.loads(pickle.dumps(model)).callback.steps == steps
    assert clone(model).callback.steps == []
    found = cross_validate(model, X, y, cv=3, return_estimator=True, n_jobs=2)
    assert all(each.callback.steps for each in found["estimator"])
    stopped = towline.LinearSVC(solver="dual", C=0.01, tol=1e-12, callback=towline.History(stop_gap=0.1)).fit(X, y)
    assert stopped.status_ == "interrupted" and 1e-12 < stopped.gap_ <= 0.1
    trace = towline.TraceFile(tmp_path / "trace.jsonl")
    towline.LinearSVC(callback=pickle.loads(pickle.dumps(trace))).fit(X, y)
    assert len(towline.load_trace(tmp_path / "trace.jsonl")) >= 1
