"""What a user meets besides numbers: warnings, interrupts, progress, pickles, memory."""

import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import towline


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return pandas.DataFrame(StandardScaler().fit_transform(X), columns=X.columns), y


def test_pipelines_and_searches(cancer):
    X, y = cancer
    pipeline = make_pipeline(StandardScaler(), towline.LinearSVC()).set_output(transform="pandas")
    search = GridSearchCV(pipeline, {"linearsvc__C": [0.01, 0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.95
    assert cross_val_score(towline.LogisticRegression(max_iter=1000), X, y, cv=3).mean() > 0.95


def test_frames_have_feature_names(cancer):
    X, y = cancer
    model = towline.LinearSVC().fit(X, y)
    np.testing.assert_array_equal(model.feature_names_in_, X.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[X.columns[::-1]])
    by_polars = towline.LinearSVC().fit(polars.from_pandas(X), y)
    np.testing.assert_array_equal(by_polars.coef_, model.coef_)
    np.testing.assert_array_equal(by_polars.feature_names_in_, X.columns)
    by_arrow = towline.LinearSVC().fit(pyarrow.Table.from_pandas(X), pyarrow.array(y))
    np.testing.assert_array_equal(by_arrow.coef_, model.coef_)
    np.testing.assert_array_equal(by_arrow.feature_names_in_, X.columns)


def test_pickles_hold_the_bytes_of_a_model(cancer):
    X, y = cancer
    model = towline.LogisticRegression(max_iter=1000).fit(X, y)
    packed = pickle.dumps(model)
    assert b"TOWMODEL" in packed
    again = pickle.loads(packed)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    at = packed.index(b"TOWMODEL") + 200
    damaged = packed[:at] + bytes([packed[at] ^ 1]) + packed[at + 1 :]
    with pytest.raises(ValueError, match="checksum mismatch"):
        pickle.loads(damaged)
    assert not hasattr(clone(model), "coef_")


def test_an_early_end_is_a_warning_with_the_gap(cancer):
    X, y = cancer
    with pytest.warns(ConvergenceWarning, match=r"ended after 1 passes with a relative duality gap of \d\.\d\de[-+]\d\d") as caught:
        model = towline.LinearSVC(C=100.0, max_iter=1, tol=1e-9).fit(X, y)
    assert caught[0].filename == __file__
    assert model.status_ == "out-of-passes" and model.gap_ > 1e-9


@pytest.mark.parametrize("name, value", [("C", 0), ("C", "1"), ("tol", -1.0), ("max_iter", -1), ("loss", "huber"), ("penalty", "l3")])
def test_bad_parameters_are_value_errors(cancer, name, value):
    with pytest.raises(ValueError, match=f"{name}="):
        towline.LinearSVC(**{name: value}).fit(*cancer)


def test_callbacks_see_each_step_and_can_stop(cancer):
    X, y = cancer
    seen = []
    towline.LinearSVC(callback=seen.append, tol=1e-6).fit(X, y)
    assert seen and seen[-1]["gap"] <= 1e-6 and {"passes", "seconds", "objective"} <= set(seen[0])
    model = towline.LinearSVC(callback=lambda step: step["sweeps"] >= 2, C=1e4, tol=1e-12).fit(X, y)
    assert model.status_ == "interrupted"

    def failing(step):
        raise RuntimeError("no more")

    model = towline.LinearSVC(callback=failing, C=1e4, tol=1e-12)
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(X, y)
    assert model.status_ == "interrupted" and model.gap_ > 0


def test_progress_is_shown(cancer, capfd):
    X, y = cancer
    towline.LinearSVC(verbose=1).fit(X, y)
    shown = capfd.readouterr().err
    assert "100%" in shown and "LinearSVC: pass 1, sweep" in shown and ", gap " in shown


@pytest.fixture
def interruptible():
    """Shells let programs in the background ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_leaves_a_model_with_its_gap(interruptible):
    X, y = make_classification(20_000, 200, n_informative=100, flip_y=0.3, random_state=0)
    # Coordinate descent never gets there; Newton's method may end before the signal comes.
    model = towline.LinearSVC(C=1e6, tol=1e-15, max_iter=10**9, solver="dual")
    started = threading.Event()
    model.callback = lambda step: started.set()

    def interrupt():
        started.wait()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    thread.join()
    assert model.status_ == "interrupted" and 0 < model.gap_ and model.score(X, y) > 0.5


def test_other_threads_run_while_it_trains():
    X, y = make_classification(5_000, 100, flip_y=0.3, random_state=0)
    ticks = 0
    done = threading.Event()

    def tick():
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    # With a lock that is never given away, a thread would have to wait for the end of the fit.
    counts = []
    thread = threading.Thread(target=tick)
    thread.start()
    towline.LinearSVC(C=1e4, tol=1e-15, max_iter=200, callback=lambda step: counts.append(ticks)).fit(X, y)
    done.set()
    thread.join()
    assert counts[-1] > counts[0]


def test_warm_starts_take_fewer_sweeps():
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    warm = towline.Lasso(alpha=1.0, tol=1e-8, warm_start=True, max_iter=10_000).fit(X, y)
    warm.set_params(alpha=0.9).fit(X, y)
    cold = towline.Lasso(alpha=0.9, tol=1e-8, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-3)
    assert warm.n_iter_ < cold.n_iter_


@pytest.mark.parametrize("multi_class", ["ovr", "multinomial"])
def test_warm_starts_of_classifiers(multi_class):
    X, y = load_iris(return_X_y=True)
    settings = {"multi_class": multi_class, "tol": 1e-8, "max_iter": 10_000}
    warm = towline.LogisticRegression(C=0.1, warm_start=True, **settings).fit(X, y)
    warm.set_params(C=0.11).fit(X, y)
    cold = towline.LogisticRegression(C=0.11, **settings).fit(X, y)
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-3)
    assert warm.n_iter_ < cold.n_iter_
    # Other classes, other rows: nothing to start from.
    warm.fit(X, y == 1).fit(X[:90], y[:90] == 1)


def test_the_budget_holds_for_what_comes_on_top_of_arrays(cancer):
    X, y = cancer
    for estimator in (towline.LinearSVC(), towline.LinearSVC(solver="dual")):
        with pytest.raises(MemoryError, match=r"use memory=\d+ or more") as caught:
            clone(estimator).set_params(memory="1K").fit(X, y)
        least = int(re.search(r"memory=(\d+)", str(caught.value))[1])
        assert least < 150 * len(y)
        assert clone(estimator).set_params(memory=least).fit(X, y).gap_ <= 1e-4
    by_rows = towline.LinearSVC(solver="dual")
    little, much = clone(by_rows).set_params(memory=least).fit(X, y), by_rows.fit(X, y)
    # The least budget has room for one vector, which is not summed anew after a certificate.
    np.testing.assert_allclose(little.coef_, much.coef_, rtol=1e-9)
    # What solver suits the data depends on the memory, and the optimum does not.
    small, large = (towline.LinearSVC(memory=memory, tol=1e-8).fit(X, y) for memory in (least, None))
    assert small.solver_ == "dual" and large.solver_ == "newton"
    np.testing.assert_allclose(small.coef_, large.coef_, atol=1e-3)


def peak_growth(code: str) -> float:
    """How far the peak memory of a fresh interpreter rises in `fit`, as a part of the data."""
    program = textwrap.dedent(
        """
        import resource, numpy as np, towline
        from scipy import sparse
        def resident():
            return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
        def peak():
            return int([line for line in open("/proc/self/status") if line.startswith("VmHWM")][0].split()[1]) * 1024
        X = np.zeros((10, 2), dtype=np.float32); X[::2] = 1
        towline.LinearSVC().fit(X, np.arange(10) % 2)
        """
    ) + textwrap.dedent(code) + textwrap.dedent(
        """
        size = sum(array.nbytes for array in arrays)
        open("/proc/self/clear_refs", "w").write("5")
        before = resident()
        model = towline.LinearSVC(max_iter=3, tol=1e-9)
        import warnings; warnings.simplefilter("ignore")
        model.fit(X, y)
        print((peak() - before) / size)
        """
    )
    return float(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dense_arrays_are_used_where_they_lie(dtype):
    growth = peak_growth(
        f"""
        X = np.random.default_rng(0).normal(size=(20_000, 2_000)).astype("{dtype}")
        y = (X[:, 0] > 0).astype(int)
        arrays = [X]
        """
    )
    assert growth < 0.1, growth


@pytest.mark.parametrize("index", ["int32", "int64"])
def test_sparse_matrices_are_used_where_they_lie(index):
    growth = peak_growth(
        f"""
        random = np.random.default_rng(0)
        rows, each = 40_000, 500
        X = sparse.csr_matrix((rows, 200_000), dtype=np.float32)
        starts = np.arange(rows + 1) * each
        columns = (np.arange(each) * 400 + random.integers(0, 400, (rows, each))).reshape(-1)
        X.data, X.indices, X.indptr = np.ones(rows * each, np.float32), columns.astype("{index}"), starts.astype("{index}")
        y = np.arange(rows) % 2
        arrays = [X.data, X.indices, X.indptr]
        """
    )
    assert growth < 0.1, growth
