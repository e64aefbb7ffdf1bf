"""Models as fitted estimators of scikit-learn, for programs that know no other."""

from __future__ import annotations

import numpy as np
from sklearn import linear_model, svm
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelBinarizer, Normalizer

_LOSSES = {
    "hinge": svm.LinearSVC,
    "squared-hinge": svm.LinearSVC,
    "logistic": linear_model.LogisticRegression,
    "squared": linear_model.LinearRegression,
    "epsilon-insensitive": svm.LinearSVR,
    "squared-epsilon-insensitive": svm.LinearSVR,
    "huber": linear_model.HuberRegressor,
    "quantile": linear_model.QuantileRegressor,
}


def to_sklearn(model):
    """An estimator of scikit-learn with the same predictions."""
    coef, intercept = model.coef_, model.intercept_
    if model.loss == "logistic" and model.multiclass == "one-vs-rest":
        estimator = _one_vs_rest(model)
    else:
        estimator = _fitted(_LOSSES[model.loss](), coef, intercept, model.classes_)
    if model.feature_names is not None:
        estimator.feature_names_in_ = np.array(model.feature_names, dtype=object)
    if model.unit_rows:
        return make_pipeline(Normalizer(), estimator)
    return estimator


def _fitted(estimator, coef, intercept, classes):
    estimator.coef_, estimator.intercept_ = coef, intercept
    estimator.n_features_in_ = coef.shape[-1]
    estimator.n_iter_ = 1
    if classes is not None:
        estimator.classes_ = classes
    return estimator


def _one_vs_rest(model):
    """scikit-learn's own estimator has softmax for many classes."""
    estimator = OneVsRestClassifier(linear_model.LogisticRegression())
    sides = np.array([0, 1])
    estimator.estimators_ = [
        _fitted(linear_model.LogisticRegression(), coef[None, :], intercept[None], sides)
        for coef, intercept in zip(model.coef_, model.intercept_)
    ]
    estimator.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(model.classes_)
    estimator.classes_ = estimator.label_binarizer_.classes_
    estimator.n_features_in_ = model.coef_.shape[-1]
    return estimator
