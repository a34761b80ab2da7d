"""The options of `optimize`, checked before anything is computed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, get_args

import numpy as np

from metricfit.methods import Method, Record
from metricfit.oracles.base import Counting


@dataclass(frozen=True)
class Options:
    """How to solve: what `metricfit.optimize` takes beside rows and problem, with its defaults.

    Examples
    --------
    >>> Options(method="local", max_calls=100).tol
    0.0001
    """

    method: str | Method = "auto"
    tol: float = 1e-4
    max_calls: int | None = None
    max_seconds: float | None = None
    random_state: int | None = None
    start: Any = None
    callback: Callable[[Record], object] | None = field(default=None, repr=False)
    verbose: int = 0
    #: Whether to search for the rule of ``randomize="never"``; not needed for policies that are only evaluated.
    derandomise: bool = True

    def __post_init__(self) -> None:
        """Refuse what makes no sense before anything is computed."""
        check_options(self.tol, self.max_calls, self.max_seconds)
        check_extras(self.random_state, self.callback, self.verbose)


COUNTINGS = get_args(Counting)


def check_options(
    tol: float,
    max_calls: int | None,
    max_seconds: float | None,
    counting: str = "labels",
    min_rows: int = 0,
) -> None:
    """Raise if an option makes no sense.

    Examples
    --------
    >>> check_options(1e-4, None, None, "labels")
    >>> check_options(-1, None, None, "labels")
    Traceback (most recent call last):
    ...
    ValueError: tol must be a number >= 0, got -1
    """
    if not _is(tol, Real) or not 0 <= tol < np.inf:
        raise ValueError(f"tol must be a number >= 0, got {tol!r}")
    if max_calls is not None and (not _is(max_calls, Integral) or max_calls < 1):
        raise ValueError(f"max_calls must be a whole number >= 1 or None, got {max_calls!r}")
    if max_seconds is not None and (not _is(max_seconds, Real) or not max_seconds > 0):
        raise ValueError(f"max_seconds must be a positive number or None, got {max_seconds!r}")
    if not _is(min_rows, Integral) or min_rows < 0:
        raise ValueError(f"min_rows must be a whole number >= 0, got {min_rows!r}")
    if counting not in COUNTINGS:
        raise ValueError(f"counting must be one of {', '.join(map(repr, COUNTINGS))}; got {counting!r}")


def check_extras(random_state: object, callback: object, verbose: object) -> None:
    """Raise if seed, callback or verbosity make no sense.

    Examples
    --------
    >>> check_extras(0, None, 1)
    """
    if random_state is not None and (not _is(random_state, Integral) or int(random_state) < 0):  # type: ignore[call-overload]
        raise ValueError(f"random_state must be a whole number >= 0 or None, got {random_state!r}")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be a function of a record, got {callback!r}")
    if not isinstance(verbose, Integral | np.bool_):
        raise ValueError(f"verbose must be a whole number, got {verbose!r}")


def check_switches(**switches: object) -> None:
    """Raise if something that is on or off is neither.

    Examples
    --------
    >>> check_switches(blind="yes")
    Traceback (most recent call last):
    ...
    ValueError: blind must be True or False, got 'yes'
    """
    for name, value in switches.items():
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} must be True or False, got {value!r}")


def threads(n_jobs: int | None) -> int:
    """Return the number of threads that ``n_jobs`` asks for.

    Examples
    --------
    >>> threads(None), threads(3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    if not _is(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be None, a positive number of threads, or -1 for all cores, got {n_jobs!r}"
        )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def _is(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)
