"""Arguments of `fit` that are for the base classifier or the splitter, by scikit-learn's conventions.

With metadata routing enabled, requests decide who gets an argument; without it, the base classifier gets all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from sklearn import get_config
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, get_routing_for_object

from metricfit.messages import unknown
from metricfit.trust.crossfit import NOTHING, Passed

# What `fit` of the classifier itself takes.
OWN = ("sensitive_features", "sample_weight")


def routed(estimator: Any, cv: Any, params: Mapping[str, Any]) -> Passed:
    """Return who gets which argument; raise for one that nobody takes."""
    if not params:
        return Passed()
    if not get_config()["enable_metadata_routing"]:
        _check_taken(estimator, params)
        return Passed(params)
    router = MetadataRouter(owner="MetricClassifier")
    router.add(estimator=estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
    if hasattr(cv, "get_metadata_routing"):
        router.add(splitter=cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
    router.validate_metadata(method="fit", params=params)
    found = router.route_params(caller="fit", params=dict(params))
    return Passed(dict(found.estimator.fit), dict(found.splitter.split) if "splitter" in found else NOTHING)


def requested(estimator: Any, cv: Any) -> set[str]:
    """Return the arguments that the base classifier or the splitter requests of whoever calls ``fit``.

    Weights are not among them: the classifier itself takes these, and passes them on.
    """
    names: set[str] = set()
    for child, method in ((estimator, "fit"), (cv, "split")):
        if hasattr(child, "get_metadata_routing"):
            request = get_routing_for_object(child)
            told = request._get_param_names(method=method, return_alias=True, ignore_self_request=False)
            names |= {name for name in told if request.consumes(method, [name])}
    return names - set(OWN)


def _check_taken(estimator: Any, params: Mapping[str, Any]) -> None:
    """Raise for a misspelt argument, before anything is computed."""
    taken = inspect.signature(estimator.fit).parameters
    if any(one.kind is one.VAR_KEYWORD for one in taken.values()):
        return
    for name in params:
        if name not in taken:
            known = [*OWN, *(other for other in taken if other not in ("X", "y", *OWN))]
            raise TypeError(f"fit: {unknown('argument', name, known)}")
