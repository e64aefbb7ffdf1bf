"""Other programs that store or convert estimators: skops and skl2onnx."""

from __future__ import annotations

import numpy as np
from sklearn.base import is_classifier


def estimator_classes() -> list[type]:
    """All estimators of the package."""
    import towline
    from .base import LinearEstimator

    public = (getattr(towline, name) for name in towline.__all__)
    return [found for found in public if isinstance(found, type) and issubclass(found, LinearEstimator)]


def trusted_types() -> list[str]:
    """The types that a file of skops may name for an estimator of this package: ``skops.io.load(file, trusted=towline.trusted_types())``.

    Such a file holds the bytes of models, which are checked when they are read, and the parameters of the estimator; nothing in it is run.
    """
    from .callbacks import History, TraceFile
    from .schema import Schema

    return sorted(f"{kind.__module__}.{kind.__qualname__}" for kind in (*estimator_classes(), History, TraceFile, Schema))


def register_skl2onnx() -> None:
    """Lets ``skl2onnx`` convert estimators of this package, alone or as steps of a pipeline.

    Without a pipeline ``to_onnx`` of an estimator is shorter, and needs no other package. Estimators that were fitted to data frames with text, or to files with names, are
    for ``to_onnx`` alone: skl2onnx has one matrix of numbers.
    """
    from skl2onnx import update_registered_converter
    from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes, calculate_linear_regressor_output_shapes

    for kind in estimator_classes():
        alias = f"Towline{kind.__name__}"
        if is_classifier(kind()):
            options = {"zipmap": [True, False, "columns"], "raw_scores": [True, False], "nocl": [True, False], "output_class_labels": [True, False]}
            update_registered_converter(kind, alias, calculate_linear_classifier_output_shapes, _convert_classifier, options=options)
        else:
            update_registered_converter(kind, alias, calculate_linear_regressor_output_shapes, _convert_regressor)


def _scores(operator, container):
    """The scores of all rows as a node of the graph, its type, and the version of operators."""
    from skl2onnx.algebra.onnx_ops import OnnxAdd, OnnxCast, OnnxMatMul
    from skl2onnx.common.data_types import DoubleTensorType, guess_proto_type
    from skl2onnx.proto import onnx_proto

    estimator, rows, version = operator.raw_operator, operator.inputs[0], container.target_opset
    if estimator.model_.feature_names is not None:
        raise RuntimeError(f"{type(estimator).__name__} knows features by their names; use its own to_onnx()")
    kind = np.float64 if isinstance(rows.type, DoubleTensorType) else np.float32
    if guess_proto_type(rows.type) not in (onnx_proto.TensorProto.FLOAT, onnx_proto.TensorProto.DOUBLE):
        rows = OnnxCast(rows, to=onnx_proto.TensorProto.FLOAT, op_version=version)
    coef = estimator.coef_.toarray() if hasattr(estimator.coef_, "toarray") else np.atleast_2d(estimator.coef_)
    intercept = np.broadcast_to(np.atleast_1d(estimator.intercept_), len(coef))
    product = OnnxMatMul(rows, np.ascontiguousarray(coef.T, dtype=kind), op_version=version)
    return OnnxAdd(product, intercept.astype(kind), op_version=version), kind, version


def _convert_regressor(scope, operator, container) -> None:
    from skl2onnx.algebra.onnx_ops import OnnxReshape

    scores, _, version = _scores(operator, container)
    targets = np.atleast_2d(operator.raw_operator.coef_).shape[0]
    shape = np.array([-1, targets], dtype=np.int64)
    OnnxReshape(scores, shape, op_version=version, output_names=operator.outputs[:1]).add_to(scope, container)


def _convert_classifier(scope, operator, container) -> None:
    from skl2onnx.algebra.onnx_ops import OnnxArgMax, OnnxArrayFeatureExtractor, OnnxConcat, OnnxIdentity, OnnxNeg, OnnxReshape

    scores, kind, version = _scores(operator, container)
    estimator = operator.raw_operator
    if len(estimator.classes_) == 2:
        scores = OnnxConcat(OnnxNeg(scores, op_version=version), scores, axis=1, op_version=version)
    place = OnnxArgMax(scores, axis=1, keepdims=0, op_version=version)
    is_text = estimator.classes_.dtype.kind in "OSU"
    classes = estimator.classes_.astype(str if is_text else np.int64)
    label = OnnxArrayFeatureExtractor(classes, place, op_version=version)
    flat = np.array([-1], dtype=np.int64)
    OnnxReshape(label, flat, op_version=version, output_names=operator.outputs[:1]).add_to(scope, container)
    wants_scores = container.get_options(estimator, {"raw_scores": False})["raw_scores"]
    if hasattr(estimator, "predict_proba") and not wants_scores:
        scores = _chances(scores, estimator, kind, version)
    OnnxIdentity(scores, op_version=version, output_names=operator.outputs[1:2]).add_to(scope, container)


def _chances(scores, estimator, kind, version):
    """Probabilities from scores."""
    from skl2onnx.algebra.onnx_ops import OnnxDiv, OnnxReduceSumApi11, OnnxSigmoid, OnnxSoftmax

    if len(estimator.classes_) > 2 and estimator.model_.multiclass == "softmax":
        return OnnxSoftmax(scores, axis=1, op_version=version)
    each = OnnxSigmoid(scores, op_version=version)
    if len(estimator.classes_) == 2:
        return each
    return OnnxDiv(each, OnnxReduceSumApi11(each, axes=[1], keepdims=1, op_version=version), op_version=version)
