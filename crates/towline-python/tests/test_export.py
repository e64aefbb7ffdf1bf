"""Exported models give the same predictions in the programs that they are for."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import StandardScaler

import towline


def scaled(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def session(path):
    onnxruntime = pytest.importorskip("onnxruntime")
    found = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return lambda X: dict(zip([output.name for output in found.get_outputs()], found.run(None, {"features": X})))


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
@pytest.mark.parametrize(
    "estimator",
    [towline.LinearSVC(), towline.LogisticRegression(), towline.LogisticRegression(multi_class="ovr")],
    ids=str,
)
def test_classifiers_in_onnx(estimator, load, tmp_path):
    X, y = scaled(load)
    model = estimator.set_params(max_iter=1000, tol=1e-3).fit(X, y)
    model.export(tmp_path / "m.onnx", to="onnx")
    found = session(tmp_path / "m.onnx")(X)
    np.testing.assert_allclose(np.squeeze(found["scores"]), model.decision_function(X), atol=1e-12)
    np.testing.assert_array_equal(found["label"].astype(int), model.predict(X))
    assert ("probabilities" in found) == hasattr(model, "predict_proba")
    if "probabilities" in found:
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-12)


def test_regressors_in_onnx(tmp_path):
    X, y = scaled(load_diabetes)
    model = towline.Ridge().fit(X, y)
    model.export(tmp_path / "m.onnx", to="onnx")
    np.testing.assert_allclose(session(tmp_path / "m.onnx")(X)["prediction"][:, 0], model.predict(X))


def test_sql_in_databases(tmp_path):
    X, y = scaled(load_diabetes)
    model = towline.Ridge().fit(X, y)
    model.export(tmp_path / "m.sql", to="sql")
    expression = (tmp_path / "m.sql").read_text()
    import sqlite3

    connections = [sqlite3.connect(":memory:")]
    try:
        import duckdb
    except ImportError:
        pass
    else:
        connections.append(duckdb.connect())
    for connection in connections:
        connection.execute(f"CREATE TABLE t (id INTEGER, {', '.join(f'f{j} DOUBLE' for j in range(X.shape[1]))})")
        for number, row in enumerate(X.tolist()):
            connection.execute(f"INSERT INTO t VALUES ({', '.join('?' * (len(row) + 1))})", [number, *row])
        found = connection.execute(f"SELECT {expression} FROM t ORDER BY id").fetchall()
        np.testing.assert_allclose(np.array(found)[:, 0], model.predict(X))
