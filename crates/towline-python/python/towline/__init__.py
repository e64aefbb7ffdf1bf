"""Exact linear models on data larger than memory, as scikit-learn estimators.

Every estimator takes arrays, sparse matrices and data frames as scikit-learn's own do, and also a path, or a :class:`Store`, of which only blocks
enter memory. ``tol`` is the relative duality gap: the objective is at most that part above the optimum. ``gap_`` is what was reached.
"""

from ._native import VERSION, StoreError
from .callbacks import History, TraceFile
from .exchange import register_skl2onnx, trusted_types
from .huber import HuberRegressor
from .linear import ElasticNet, GroupLasso, Lasso, Ridge
from .linear_cv import ElasticNetCV, LassoCV
from .logistic import LogisticRegression
from .logistic_cv import LogisticRegressionCV
from .model import Model, read_model
from .multitask import MultiTaskElasticNet, MultiTaskLasso
from .quantile import QuantileRegressor
from .reports import Report, report
from .ridge_classifier import RidgeClassifier
from .ridge_cv import RidgeCV
from .schema import Schema
from .sparse_paths import enet_path, lasso_path
from .store import Store, pack
from .stream import StreamClassifier, StreamRegressor
from .svm import LinearSVC, LinearSVR, RampSVC
from .trace import load_trace
from .validation import cv

__all__ = [
    "ElasticNet",
    "ElasticNetCV",
    "GroupLasso",
    "History",
    "HuberRegressor",
    "Lasso",
    "LassoCV",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "LogisticRegressionCV",
    "Model",
    "MultiTaskElasticNet",
    "MultiTaskLasso",
    "QuantileRegressor",
    "RampSVC",
    "Report",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "Schema",
    "Store",
    "StoreError",
    "StreamClassifier",
    "StreamRegressor",
    "TraceFile",
    "cv",
    "enet_path",
    "lasso_path",
    "load_trace",
    "pack",
    "read_model",
    "register_skl2onnx",
    "report",
    "trusted_types",
]
__version__ = VERSION
