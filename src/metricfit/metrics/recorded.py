"""Metrics are pickled and copied as the call that made them, because the functions they contain cannot be pickled."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from metricfit.metrics.base import Metric

F = TypeVar("F", bound=Callable[..., "Metric"])


def recorded(function: F) -> F:
    """Make the metrics of a function remember the call that made them.

    Examples
    --------
    >>> import pickle
    >>> import metricfit as mf
    >>> print(pickle.loads(pickle.dumps(mf.recall("fraud"))))
    recall('fraud')
    """

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Metric:
        metric = function(*args, **kwargs)
        object.__setattr__(metric, "_made", (remake, (called, *deepcopy((args, kwargs)))))
        return metric

    return cast(F, called)


def remake(function: Callable[..., Metric], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Metric:
    """Return the metric that a function makes of these arguments."""
    return function(*args, **kwargs)
