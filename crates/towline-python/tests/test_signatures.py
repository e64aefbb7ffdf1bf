"""The parameters of scikit-learn's estimators are ours."""

import inspect

import pytest
from sklearn import linear_model, svm

import towline
from towline.exchange import estimator_classes

#: Defaults that differ on purpose: solvers, and what scikit-learn is about to change or drop.
OTHERWISE = {"solver", "l1_ratios", "scoring", "use_legacy_attributes"}


def theirs(kind: type):
    return getattr(svm, kind.__name__, None) or getattr(linear_model, kind.__name__, None)


PAIRS = [(kind, theirs(kind)) for kind in estimator_classes() if theirs(kind)]


def test_all_are_compared():
    assert len(PAIRS) >= 15


@pytest.mark.parametrize("ours, peer", PAIRS, ids=lambda kind: kind.__name__)
def test_parameters_and_defaults(ours, peer):
    known, given = (inspect.signature(kind).parameters for kind in (peer, ours))
    assert set(known) <= set(given)
    differ = {name for name in known if known[name].default != given[name].default}
    assert differ <= OTHERWISE, {name: (known[name].default, given[name].default) for name in differ}
    assert [name for name, one in known.items() if one.kind == one.POSITIONAL_OR_KEYWORD] == [
        name for name, one in given.items() if one.kind == one.POSITIONAL_OR_KEYWORD
    ]


@pytest.mark.parametrize("ours, peer", PAIRS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("method", ["fit", "score", "predict", "decision_function", "predict_proba"])
def test_arguments_of_methods(ours, peer, method):
    if not hasattr(peer, method):
        return
    known, given = (inspect.signature(getattr(kind, method)).parameters for kind in (peer, ours))
    named = [name for name, one in known.items() if one.kind != one.VAR_KEYWORD]
    assert [name for name in given if name in named] == named


def test_sgd_has_nothing_that_streams_lack():
    for stream, sgd in ((towline.StreamClassifier, linear_model.SGDClassifier), (towline.StreamRegressor, linear_model.SGDRegressor)):
        for method in ("partial_fit",):
            known = set(inspect.signature(getattr(sgd, method)).parameters)
            assert known <= set(inspect.signature(getattr(stream, method)).parameters)
        assert {"warm_start", "fit_intercept", "random_state", "loss"} <= set(inspect.signature(stream).parameters)
