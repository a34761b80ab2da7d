"""How every solver is called: one exception for whatever goes wrong, one way to try again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from metricfit.exceptions import UnsolvedError
from metricfit.types import FloatArray

Form = TypeVar("Form")
Answer = TypeVar("Answer")

# Solvers are asked for this accuracy; it costs them an iteration or two more than their defaults.
TOLERANCE = 1e-10


@contextmanager
def solving() -> Iterator[None]:
    """Turn whatever a solver raises into `UnsolvedError`; an interrupt gets through.

    Clarabel is written in Rust, whose panics reach Python as a BaseException of a class that cannot be imported.

    Examples
    --------
    >>> with solving():
    ...     raise ArithmeticError("no pivot")
    Traceback (most recent call last):
    ...
    metricfit.exceptions.UnsolvedError: ArithmeticError: no pivot
    """
    try:
        yield
    except UnsolvedError:
        raise
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise UnsolvedError(f"{type(error).__name__}: {error}") from None
        raise


def read(solved: bool, status: object, *numbers: FloatArray | None) -> None:
    """Raise `UnsolvedError` unless a solver has succeeded and all its numbers are there and finite."""
    if not solved or not all(found is not None and np.isfinite(found).all() for found in numbers):
        raise UnsolvedError(str(status))


def first_solved(solve: Callable[[Form], Answer], forms: Iterable[Form]) -> Answer:
    """Return the answer to the first form of a problem that is solved; if none is, raise the last `UnsolvedError`.

    Examples
    --------
    >>> def solve(room):
    ...     if room > 0:
    ...         raise UnsolvedError("infeasible")
    ...     return "without room"
    >>> first_solved(solve, (1e-9, 0.0))
    'without room'
    """
    failed = UnsolvedError("nothing to solve")
    for form in forms:
        try:
            return solve(form)
        except UnsolvedError as error:
            failed = error
    raise failed
