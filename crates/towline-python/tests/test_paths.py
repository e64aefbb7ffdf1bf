"""Files and stores: rows that never enter memory as a whole."""

import gzip
import json
import pickle

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

import towline


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    X = sparse.random(500, 40, density=0.2, format="csr", random_state=1, dtype=np.float32)
    y = np.where(X @ random.normal(size=40) > 0, 1, -1)
    return X, y


@pytest.fixture
def file(tmp_path, data):
    X, y = data
    plain = tmp_path / "rows.svm"
    dump_svmlight_file(X, y, str(plain), zero_based=False)
    path = tmp_path / "rows.svm.gz"
    path.write_bytes(gzip.compress(plain.read_bytes()))
    return str(path)


def shifted(X):
    """Files count from 1, arrays from 0."""
    return sparse.csr_matrix(sparse.hstack([sparse.csr_matrix((X.shape[0], 1), dtype=X.dtype), X]))


def test_a_file_gives_the_same_model_as_its_rows(file, data):
    X, y = data
    by_file = towline.LinearSVC(tol=1e-10, fit_intercept=False).fit(file)
    by_rows = towline.LinearSVC(tol=1e-10, fit_intercept=False).fit(shifted(X), y)
    np.testing.assert_allclose(by_file.coef_, by_rows.coef_, atol=1e-5)
    assert list(by_file.classes_) == [-1, 1] and by_file.bytes_read_ > 0
    np.testing.assert_array_equal(by_file.predict(file), by_rows.predict(shifted(X)))
    np.testing.assert_array_equal(by_file.predict(shifted(X)), by_rows.predict(shifted(X)))


def test_a_file_is_packed_once_and_again_when_it_changes(file, tmp_path, data):
    towline.LinearSVC().fit(file)
    store = tmp_path / "rows.svm.gz.tow"
    first = (store / "manifest.json").stat().st_mtime_ns
    towline.LinearSVC().fit(file)
    assert (store / "manifest.json").stat().st_mtime_ns == first
    with gzip.open(file, "at") as more:
        more.write("1 3:1\n")
    towline.LinearSVC().fit(file)
    assert towline.Store(store).rows == len(data[1]) + 1


def test_training_out_of_core_agrees(tmp_path, data):
    random = np.random.default_rng(3)
    X = sparse.random(20_000, 300, density=0.1, format="csr", random_state=2, dtype=np.float32)
    y = np.where(X @ random.normal(size=300) > 0, "good", "bad")
    store = towline.pack([(X, np.where(y == "good", 1, 0))], tmp_path / "rows.tow", block_size="64K", memory="64M")
    small = towline.LinearSVC(tol=1e-6, memory="2500K").fit(store)
    assert small.passes_ > 1 and small.status_ == "converged"
    large = towline.LinearSVC(tol=1e-6).fit(X, y)
    np.testing.assert_allclose(small.coef_, large.coef_, atol=2e-2)
    assert small.objective_ == pytest.approx(large.objective_, rel=2e-6)
    with pytest.raises(MemoryError, match=r"use memory=\d+ or more"):
        towline.LinearSVC(memory="100K").fit(store)


def test_tables_have_names(tmp_path):
    random = np.random.default_rng(0)
    frame = polars.DataFrame(
        {
            "age": random.normal(size=300),
            "city": random.choice(["Rome", "Oslo", "Bern"], 300),
            "clicked": random.choice(["no", "yes"], 300),
        }
    )
    path = tmp_path / "table.parquet"
    frame.write_parquet(path)
    model = towline.LogisticRegression(tol=1e-8, max_iter=10_000).fit(path, label="clicked")
    assert set(model.feature_names_in_) == {"age", "city=Rome", "city=Oslo", "city=Bern"}
    assert list(model.classes_) == ["no", "yes"]
    by_file = model.predict_proba(path, label="clicked")
    features = frame.drop("clicked")
    for table in (features, features.to_arrow(), features.to_pandas()):
        np.testing.assert_allclose(model.predict_proba(table), by_file)
    with pytest.raises(ValueError, match="by their names"):
        model.predict(np.zeros((1, 4)))
    # Read another way, the file is another store.
    other = towline.LogisticRegression(max_iter=1000).fit(path, label="city")
    assert list(other.classes_) == ["Bern", "Oslo", "Rome"]
    # Pickled or not, it is the same model.
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(features), by_file)


def test_everything_that_can_be_packed(tmp_path, data, file):
    X, y = data
    frame = pandas.DataFrame(X.toarray(), columns=[f"f{j}" for j in range(X.shape[1])]).assign(label=y)
    table = pyarrow.Table.from_pandas(frame)
    lazy = polars.from_arrow(table).lazy()
    halves = [(X[:250], y[:250]), (X[250:].toarray(), y[250:], np.ones(250))]
    sources = {
        "path": file,
        "glob": file.replace("rows", "*"),
        "list": [file],
        "batches": iter(halves),
        "pandas": frame,
        "arrow": table,
        "reader": table.to_reader(max_chunksize=100),
        "polars": polars.from_arrow(table),
        "lazy": lazy,
    }
    expected = towline.LinearSVC(tol=1e-9, fit_intercept=False).fit(X, y)
    for name, source in sources.items():
        # Frames are tables, whose numbers would be standardized.
        store = towline.pack(source, tmp_path / f"{name}.tow", scale="none")
        assert (store.rows, store.values) == (500, X.nnz), name
        model = towline.LinearSVC(tol=1e-9, fit_intercept=False).fit(store)
        assert model.objective_ == pytest.approx(expected.objective_, rel=1e-6), name
    with pytest.raises(towline.StoreError, match="exists already"):
        towline.pack(file, tmp_path / "path.tow")
    assert towline.pack(file, tmp_path / "path.tow", existing="append").rows == 1000


def test_batches_that_fail_leave_nothing_behind(tmp_path, data):
    X, y = data

    def batches():
        yield X, y
        raise RuntimeError("the database has gone")

    with pytest.raises(RuntimeError, match="the database has gone"):
        towline.pack(batches(), tmp_path / "rows.tow")
    assert not (tmp_path / "rows.tow").exists()
    with pytest.raises(TypeError, match=r"a batch is \(X, y\)"):
        towline.pack(iter([X]), tmp_path / "rows.tow")


def test_errors_are_specific(tmp_path, file):
    with pytest.raises(FileNotFoundError):
        towline.LinearSVC().fit(str(tmp_path / "nothing.svm"))
    with pytest.raises(towline.StoreError, match="not a Towline store"):
        towline.Store(tmp_path)
    bad = tmp_path / "bad.svm"
    bad.write_text("1 1:1\n1 2:x\n")
    with pytest.raises(ValueError, match=r"bad.svm:2:5"):
        towline.LinearSVC().fit(bad)
    with pytest.raises(TypeError, match="'colour' is no way to read"):
        towline.LinearSVC().fit(file, colour="red")
    with pytest.raises(ValueError, match="leave y and sample_weight out"):
        towline.LinearSVC().fit(file, [1, 2])
    with pytest.raises(ValueError, match="memory='lots' is not a size"):
        towline.LinearSVC(memory="lots").fit(file)
    towline.LinearSVC().fit(file)
    blocks = next((tmp_path / "rows.svm.gz.tow").glob("**/*.blk"))
    damaged = bytearray(blocks.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    blocks.write_bytes(damaged)
    with pytest.raises(towline.StoreError, match="damaged"):
        towline.LinearSVC().fit(file)


def test_models_are_files(tmp_path, file, data):
    model = towline.LinearSVC(tol=1e-6).fit(file)
    model.save(tmp_path / "m.towm")
    again = towline.read_model(tmp_path / "m.towm")
    np.testing.assert_array_equal(again.decision_function(file), model.decision_function(file))
    assert again.gap_ == pytest.approx(model.gap_) and (again.loss, again.status_) == ("squared-hinge", "converged")
    with pytest.raises(ValueError, match="not a Towline model"):
        towline.read_model(file)


def test_feature_numbers_may_be_huge(tmp_path):
    path = tmp_path / "hashed.svm"
    path.write_text("".join(f"{i % 2} {7 + i % 2}:1 {2**40 + i}:0.5\n" for i in range(50)))
    model = towline.LinearSVC().fit(path)
    assert sparse.issparse(model.coef_) and model.n_features_in_ == 2**40 + 50
    np.testing.assert_array_equal(model.predict(path), [i % 2 for i in range(50)])


def test_traces_are_tables(tmp_path):
    lines = [{"seconds": 0.1, "passes": 1}, {"seconds": 0.2, "passes": 2, "relative_gap": 0.5}]
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    table = towline.load_trace(tmp_path / "run.jsonl")
    assert list(table.columns) == ["seconds", "passes", "relative_gap"] and table["passes"].tolist() == [1, 2]
