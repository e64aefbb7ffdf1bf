"""Exact linear models on data larger than memory, as scikit-learn estimators.

Every estimator takes arrays, sparse matrices and data frames as scikit-learn's own do, and also a path, or a :class:`Store`, of which only blocks
enter memory. ``tol`` is the relative duality gap: the objective is at most that part above the optimum. ``gap_`` is what was reached.
"""

from ._native import VERSION, StoreError
from .linear import ElasticNet, GroupLasso, Lasso, Ridge
from .logistic import LogisticRegression
from .model import Model, read_model
from .store import Store, pack
from .stream import StreamClassifier
from .svm import LinearSVC, LinearSVR, RampSVC
from .trace import load_trace
from .validation import cv

__all__ = [
    "ElasticNet",
    "GroupLasso",
    "Lasso",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "Model",
    "RampSVC",
    "Ridge",
    "Store",
    "StoreError",
    "StreamClassifier",
    "cv",
    "load_trace",
    "pack",
    "read_model",
]
__version__ = VERSION
