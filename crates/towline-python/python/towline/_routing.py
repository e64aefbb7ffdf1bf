"""Metadata that goes to splitters and scores, as scikit-learn routes it."""

from __future__ import annotations

from sklearn import get_config
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing


def is_enabled() -> bool:
    """Whether ``enable_metadata_routing`` is set."""
    return bool(get_config().get("enable_metadata_routing", False))


def router(estimator, splitter, scorer=None, callers=("fit",)) -> MetadataRouter:
    """What goes where when ``estimator`` is fitted by folds of ``splitter`` and, if there is a scorer, scored."""
    route = MetadataRouter(owner=estimator).add_self_request(estimator)
    route.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))
    if scorer is not None:
        mapping = MethodMapping()
        for caller in callers:
            mapping.add(caller=caller, callee="score")
        route.add(scorer=scorer, method_mapping=mapping)
    return route


def routed(estimator, method: str, sample_weight, params: dict) -> Bunch:
    """What ``params`` mean to the splitter and to the scorer. Without routing all are for the splitter, such as ``groups``."""
    weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
    if is_enabled():
        found = process_routing(estimator, method, **weighted, **params)
        return Bunch(split=found.splitter.split, score=found.get("scorer", Bunch(score={})).score)
    return Bunch(split=params, score=weighted)
