#!/usr/bin/env python3
"""Optima of other programs, for the tests of the library.

    python benchmarks/reference.py extract FOLDER   make crates/towline/tests/data/*.svm.zst from the full data sets in FOLDER
    python benchmarks/reference.py solve            write crates/towline/tests/data/reference.json from these files
    python benchmarks/reference.py solve-penalised  the same for other penalties: reference-penalties.json

Needs numpy, scipy, scikit-learn and liblinear-official, celer and skglm for other penalties, and the program `zstd`. What is minimised:

    F(w) = 1/2 |w|^2 + C sum L(y_i, w.x_i)        no bias; values rounded to 32-bit floats, as the store keeps them

Each problem is solved by the program named as `peer` to far more digits than the tests ask for, and where a second program
knows the same objective, the two must agree to 1e-8 before anything is written. F is computed here, from its definition.
"""
import csv
import gzip
import json
import pathlib
import subprocess
import sys
import warnings

import numpy as np

DATA = pathlib.Path(__file__).resolve().parent.parent / "crates/towline/tests/data"
CLASSES = ["a9a", "covtype", "kddcup", "debian-section"]
NUMBERS = CLASSES + ["debian-size"]
EPSILON, DELTA, QUANTILE = 0.1, 1.0, 0.8
# How many of the largest weights go into the file.
WEIGHTS = 12


# ---- the extracts


def unpacked(path):
    return subprocess.run(["zstd", "-dc", path], check=True, capture_output=True, text=True).stdout


def write(name, rows):
    lines = []
    for label, features in rows:
        lines.append(label + "".join(f" {index}:{value}" for index, value in sorted(features.items())))
    text = "\n".join(lines) + "\n"
    path = DATA / f"{name}.svm.zst"
    subprocess.run(["zstd", "-19", "-q", "-f", "-o", path], input=text, check=True, text=True)
    print(f"{path.name}: {len(lines)} rows, {path.stat().st_size} bytes")


def every(rows, count):
    """`count` of the rows, evenly spread."""
    return [rows[k * len(rows) // count] for k in range(count)]


def libsvm(line, label=lambda text: text):
    first, *rest = line.split()
    return label(first), {int(item.split(":")[0]): item.split(":")[1] for item in rest}


def shortest(number):
    return f"{number:.4g}"


def covtype(path):
    """Class 2 against the rest; every column scaled to [0, 1] by its range in the whole set."""
    table = list(csv.reader(unpacked(path).splitlines()))[1:]
    values = np.array(table, dtype=float)
    low, high = values.min(axis=0), values.max(axis=0)
    for row in every(values, 600):
        scaled = (row - low) / np.where(high > low, high - low, 1.0)
        features = {j + 1: shortest(x) for j, x in enumerate(scaled[:-1]) if x != 0}
        yield ("1" if row[-1] == 2 else "-1"), features


def kddcup(path):
    """normal. against the rest; text becomes one feature per category, sizes and counts become log(1 + x), rates stay."""
    with gzip.open(path, "rt") as file:
        rows = every(list(csv.reader(file)), 1500)
    text_columns = [1, 2, 3]
    categories = sorted({(j, row[j]) for row in rows for j in text_columns})
    places = {category: 100 + k for k, category in enumerate(categories)}
    for row in rows:
        features = {places[j, row[j]]: "1" for j in text_columns}
        for j, cell in enumerate(row[:-1]):
            if j not in text_columns and float(cell) != 0:
                x = float(cell)
                features[j + 1] = shortest(x if "." in cell else np.log1p(x))
        yield ("1" if row[-1] == "normal." else "-1"), features


def extract(folder):
    folder = pathlib.Path(folder)
    DATA.mkdir(exist_ok=True)
    write("a9a", [libsvm(line) for line in every(unpacked(folder / "a9a.zst").splitlines(), 1500)])
    write("covtype", covtype(folder / "covtype.csv.zst"))
    write("kddcup", kddcup(folder / "kddcup.data_10_percent.gz"))
    # Section 29 of the archive's index is its largest; sections are told apart by words of the descriptions.
    lines = every(unpacked(folder / "debian-section.train.zst").splitlines(), 700)
    write("debian-section", [libsvm(line, lambda section: "1" if section in ("29", "28") else "-1") for line in lines])
    lines = every(unpacked(folder / "debian-size.train.zst").splitlines(), 700)
    write("debian-size", [libsvm(line) for line in lines])


# ---- the optima


def load(name):
    """Rows, labels, and the feature number of each column; features that no row has are left out."""
    from io import BytesIO

    from sklearn.datasets import load_svmlight_file

    text = subprocess.run(["zstd", "-dc", DATA / f"{name}.svm.zst"], check=True, capture_output=True).stdout
    x, y = load_svmlight_file(BytesIO(text), zero_based=False)
    x.data = x.data.astype(np.float32).astype(np.float64)
    seen = np.unique(x.indices)
    x = x.tocsc()[:, seen].tocsr()
    x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
    return x, y, seen + 1


def losses(name, y, z):
    margin, residual = 1 - y * z, np.abs(z - y)
    return {
        "hinge": lambda: np.maximum(0, margin),
        "squared-hinge": lambda: np.maximum(0, margin) ** 2,
        "logistic": lambda: np.logaddexp(0, -y * z),
        "squared": lambda: 0.5 * residual**2,
        "epsilon-insensitive": lambda: np.maximum(0, residual - EPSILON),
        "squared-epsilon-insensitive": lambda: np.maximum(0, residual - EPSILON) ** 2,
        "quantile": lambda: np.maximum(QUANTILE * (y - z), (1 - QUANTILE) * (z - y)),
        "huber": lambda: np.where(residual <= DELTA, 0.5 * residual**2, DELTA * residual - 0.5 * DELTA**2),
    }[name]()


def objective(name, x, y, c, w):
    return 0.5 * w @ w + c * losses(name, y, x @ w).sum()


def liblinear(solver, x, y, c):
    from liblinear.liblinearutil import parameter, problem, train

    model = train(problem(y, x), parameter(f"-s {solver} -c {c!r} -p {EPSILON} -e 1e-12 -B -1 -q"))
    w = np.array(model.w[: x.shape[1]])
    # LIBLINEAR's positive class is the one that it meets first.
    return -w if solver < 10 and model.label[0] < 0 else w


def dual_coordinate(estimator, x, y):
    """scikit-learn's copy of LIBLINEAR, which knows no limit of iterations that matters here."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return estimator.fit(x, y).coef_.ravel()


def quasi_newton(name, slope, x, y, c):
    from scipy.optimize import minimize

    def value_and_gradient(w):
        return objective(name, x, y, c, w), w + c * (x.T @ slope(x @ w - y))

    options = {"maxiter": 100000, "maxfun": 1000000, "ftol": 0, "gtol": 1e-10, "maxcor": 50}
    return minimize(value_and_gradient, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", options=options).x


def solutions(loss, x, y, c):
    """(name of the program, w), the most exact first."""
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.svm import LinearSVC, LinearSVR

    exact = {"fit_intercept": False, "tol": 1e-11, "max_iter": 100_000_000, "dual": True, "random_state": 0}
    if loss == "hinge":
        yield "scikit-learn LinearSVC", dual_coordinate(LinearSVC(loss="hinge", C=c, **exact), x, y)
    elif loss == "squared-hinge":
        yield "LIBLINEAR -s 2", liblinear(2, x, y, c)
        yield "scikit-learn LinearSVC", dual_coordinate(LinearSVC(loss="squared_hinge", C=c, **exact), x, y)
    elif loss == "logistic":
        yield "LIBLINEAR -s 0", liblinear(0, x, y, c)
        newton = LogisticRegression(C=c, fit_intercept=False, solver="newton-cg", tol=1e-9, max_iter=10000)
        yield "scikit-learn LogisticRegression", newton.fit(x, y).coef_.ravel()
    elif loss == "squared":
        yield "scikit-learn Ridge", Ridge(alpha=1 / c, fit_intercept=False, solver="cholesky").fit(x.toarray(), y).coef_
    elif loss == "epsilon-insensitive":
        svr = LinearSVR(epsilon=EPSILON, loss="epsilon_insensitive", C=c, **exact)
        yield "scikit-learn LinearSVR", dual_coordinate(svr, x, y)
    elif loss == "squared-epsilon-insensitive":
        yield "LIBLINEAR -s 11", liblinear(11, x, y, c)
        slope = lambda r: 2 * np.sign(r) * np.maximum(0, np.abs(r) - EPSILON)
        yield "SciPy L-BFGS-B", quasi_newton(loss, slope, x, y, c)
    elif loss == "huber":
        yield "SciPy L-BFGS-B", quasi_newton(loss, lambda r: np.clip(r, -DELTA, DELTA), x, y, c)


# ---- penalties


def penalised_objective(case, x, y, w, b):
    """F(w, b) = lambda R(w) + C sum L(y, x.w + b), b free of the penalty, from its definition."""
    z = x @ w + b
    if case["penalty"] == "group":
        r = sum(np.linalg.norm(w[group]) for group in case["groups"])
    else:
        ratio = case.get("l1_ratio", 1.0)
        r = ratio * np.abs(w).sum() + (1 - ratio) / 2 * (w @ w)
    return case["lambda"] * r + case["c"] * losses(case["loss"], y, z).sum()


def linear_program(case, x, y):
    """w and b for the l1 penalty and a loss of two lines, as a linear program: w = p - m, and a slack for each row."""
    from scipy import sparse
    from scipy.optimize import linprog

    n, columns = x.shape
    ones = sparse.csr_matrix(np.ones((n, 1)))
    slack = sparse.identity(n, format="csr")
    if case["loss"] == "hinge":
        sides, bounds = [sparse.diags(-y)], [-np.ones(n)]
    else:
        sides, bounds = [sparse.identity(n), -sparse.identity(n)], [EPSILON + y, EPSILON - y]
    rows = [sparse.hstack([side @ x, -side @ x, side @ ones, -slack]) for side in sides]
    cost = np.concatenate([np.full(2 * columns, case["lambda"]), [0.0], np.full(n, case["c"])])
    free = (None, None) if case["intercept"] else (0, 0)
    limits = [(0, None)] * (2 * columns) + [free] + [(0, None)] * n
    found = linprog(cost, A_ub=sparse.vstack(rows).tocsc(), b_ub=np.concatenate(bounds), bounds=limits, method="highs")
    return found.x[:columns] - found.x[columns : 2 * columns], found.x[2 * columns]


def penalised_solutions(case, x, y):
    """(name of the program, w, b), the most exact first."""
    from celer import GroupLasso
    from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import Quadratic
    from skglm.penalties import L1, L1_plus_L2
    from skglm.solvers import AndersonCD

    loss, c, strength, intercept = case["loss"], case["c"], case["lambda"], case["intercept"]
    n, dense = len(y), np.asfortranarray(x.toarray())
    ratio = case.get("l1_ratio", 1.0)
    if loss == "quantile":
        from sklearn.linear_model import QuantileRegressor

        program = QuantileRegressor(quantile=QUANTILE, alpha=strength / (c * n), fit_intercept=intercept, solver="highs")
        found = program.fit(x, y)
        yield "scikit-learn QuantileRegressor", found.coef_, float(found.intercept_)
        return
    if loss in ("hinge", "epsilon-insensitive"):
        yield "SciPy HiGHS", *linear_program(case, x, y)
        return
    if loss == "squared":
        # Their objectives are ours over the number of rows.
        alpha = strength / (c * n)
        exact = {"fit_intercept": intercept, "tol": 1e-14, "max_iter": 1_000_000}
        if case["penalty"] == "group":
            lasso = GroupLasso(groups=case["groups"], alpha=alpha, fit_intercept=intercept, tol=1e-13, max_iter=10_000)
            found = lasso.fit(dense, y)
            yield "celer GroupLasso", found.coef_, found.intercept_
            return
        if ratio == 1.0:
            found = Lasso(alpha=alpha, **exact).fit(dense, y)
            yield "scikit-learn Lasso", found.coef_, found.intercept_
        else:
            found = ElasticNet(alpha=alpha, l1_ratio=ratio, **exact).fit(dense, y)
            yield "scikit-learn ElasticNet", found.coef_, found.intercept_
        penalty = L1(alpha) if ratio == 1.0 else L1_plus_L2(alpha, ratio)
        solver = AndersonCD(tol=1e-12, max_iter=1000, max_epochs=1_000_000, fit_intercept=intercept)
        found = GeneralizedLinearEstimator(Quadratic(), penalty, solver).fit(dense, y)
        yield "skglm", found.coef_.ravel(), float(np.ravel(found.intercept_)[0]) if intercept else 0.0
    elif not intercept:
        from liblinear.liblinearutil import parameter, problem, train

        if loss == "squared-hinge":
            # The same solver without LIBLINEAR's own limit of 1,000 iterations, at which it is up to 3 % above the optimum here.
            from sklearn.svm import LinearSVC

            svc = LinearSVC(penalty="l1", loss="squared_hinge", C=c / strength, dual=False, fit_intercept=False, tol=1e-10, max_iter=1_000_000)
            yield "scikit-learn LinearSVC", svc.fit(x, y).coef_.ravel(), 0.0
        number = {"squared-hinge": 5, "logistic": 6}[loss]
        model = train(problem(y, x), parameter(f"-s {number} -c {c / strength!r} -e 1e-10 -B -1 -q"))
        w = np.array(model.w[: x.shape[1]])
        yield f"LIBLINEAR -s {number}", (-w if model.label[0] < 0 else w), 0.0
    if loss == "logistic" and case["data"] != "debian-section":
        # With thousands of features it takes too long.
        saga = LogisticRegression(l1_ratio=1.0, C=c / strength, solver="saga", fit_intercept=intercept, tol=1e-12, max_iter=200_000)
        found = saga.fit(dense, y)
        yield "scikit-learn LogisticRegression", found.coef_.ravel(), float(np.ravel(found.intercept_)[0])


def penalised_cases():
    for data in CLASSES:
        for strength in [1.0, 10.0]:
            yield {"data": data, "loss": "squared-hinge", "penalty": "l1", "lambda": strength, "c": 1.0, "intercept": False}
            yield {"data": data, "loss": "logistic", "penalty": "l1", "lambda": strength, "c": 1.0, "intercept": False}
        if data != "debian-section":
            yield {"data": data, "loss": "logistic", "penalty": "l1", "lambda": 5.0, "c": 1.0, "intercept": True}
        for intercept in [False, True]:
            yield {"data": data, "loss": "hinge", "penalty": "l1", "lambda": 1.0, "c": 1.0, "intercept": intercept}
    for data in NUMBERS:
        for intercept in [False, True]:
            yield {"data": data, "loss": "squared", "penalty": "l1", "lambda": 3.0, "c": 1.0, "intercept": intercept}
            net = {"data": data, "loss": "squared", "penalty": "elastic-net", "l1_ratio": 0.3, "lambda": 5.0, "c": 1.0}
            yield net | {"intercept": intercept}
            yield {"data": data, "loss": "epsilon-insensitive", "penalty": "l1", "lambda": 1.0, "c": 1.0, "intercept": intercept}
            yield {"data": data, "loss": "quantile", "penalty": "l1", "lambda": 1.0, "c": 1.0, "intercept": intercept}
        yield {"data": data, "loss": "squared", "penalty": "group", "lambda": 4.0, "c": 1.0, "intercept": False}


def solve_penalised():
    from importlib.metadata import version

    cases = []
    for case in penalised_cases():
        x, y, _ = load(case["data"])
        if case["penalty"] == "group":
            # Neighbours in threes; the test makes the same groups from the feature numbers.
            case["groups"] = [list(range(k, min(k + 3, x.shape[1]))) for k in range(0, x.shape[1], 3)]
        found = [(penalised_objective(case, x, y, w, b), peer) for peer, w, b in penalised_solutions(case, x, y)]
        best = min(value for value, _ in found)
        near = [peer for value, peer in found if value - best <= 1e-7 * best]
        case.pop("groups", None)
        cases.append(case | {"objective": float(best), "peers": near})
        print(f"{case['data']} {case['loss']} {case['penalty']} {case['lambda']} {case['intercept']}: {best!r}", found, flush=True)
    names = ["scikit-learn", "celer", "skglm", "liblinear-official", "scipy"]
    text = json.dumps({"versions": {name: version(name) for name in names}, "cases": cases}, indent=1)
    (DATA / "reference-penalties.json").write_text(text + "\n")


def solve():
    import scipy
    import sklearn
    from importlib.metadata import version

    versions = {
        "scikit-learn": sklearn.__version__,
        "SciPy": scipy.__version__,
        "LIBLINEAR": version("liblinear-official"),
    }
    cases = []
    for loss in ["hinge", "squared-hinge", "logistic", "squared", "epsilon-insensitive", "squared-epsilon-insensitive", "huber"]:
        for data in CLASSES if loss in ("hinge", "squared-hinge", "logistic") else NUMBERS:
            x, y, numbers = load(data)
            for c in [0.01, 0.5]:
                found = [(objective(loss, x, y, c, w), peer, w) for peer, w in solutions(loss, x, y, c)]
                value, peer, w = float(found[0][0]), *found[0][1:]
                for other, name, _ in found[1:]:
                    assert abs(other - value) <= 1e-8 * value, (data, loss, c, peer, value, name, other)
                largest = np.argsort(-np.abs(w))[:WEIGHTS]
                weights = {str(numbers[j]): float(w[j]) for j in sorted(largest)}
                case = {"data": data, "loss": loss, "c": c, "peers": [name for _, name, _ in found]}
                cases.append(case | {"objective": value, "weights": weights})
                print(f"{data} {loss} C={c}: {value!r} by {', '.join(case['peers'])}", flush=True)
    text = json.dumps({"versions": versions, "epsilon": EPSILON, "delta": DELTA, "cases": cases}, indent=1)
    (DATA / "reference.json").write_text(text + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["extract"] and len(sys.argv) == 3:
        extract(sys.argv[2])
    elif sys.argv[1:] == ["solve"]:
        solve()
    elif sys.argv[1:] == ["solve-penalised"]:
        solve_penalised()
    else:
        sys.exit(__doc__)
