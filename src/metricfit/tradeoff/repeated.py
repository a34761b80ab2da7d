"""Many solves on the same rows: what was counted or calibrated once is not counted or calibrated again."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import cast

from metricfit.exceptions import CalibrationWarning, InfeasibleError
from metricfit.messages import warn
from metricfit.options import Options
from metricfit.oracles.base import Counting
from metricfit.oracles.remembering import Remembering
from metricfit.problem import Problem
from metricfit.result import Result
from metricfit.solving import judge_of, solve


@dataclass(frozen=True)
class Chosen:
    """What all results of a curve or a page count by, and why; without a reason the user has asked for it."""

    counting: Counting
    why: str = ""


def choose_counting(problems: Sequence[Problem], oracle: Remembering, options: Options) -> Chosen | None:
    """Return what the default chooses to count by for most of the problems whose limits can be kept; None if none can.

    It is one choice for all of them, because values that are counted in different ways cannot be compared.
    """
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for problem in problems:
            try:
                found.append(solve(problem, oracle, replace(options, derandomise=False)))
            except InfeasibleError:
                continue
    if not found:
        return None
    counting = Counter(result.counting for result in found).most_common(1)[0][0]
    return Chosen(
        cast(Counting, counting), next(result.choice for result in found if result.counting == counting)
    )


def solved(problem: Problem, oracle: Remembering, chosen: Chosen, options: Options) -> Result:
    """Return the result of a problem in the chosen counting; it refers to the rows, not to what remembers them."""
    given = oracle.by(chosen.counting)
    with warnings.catch_warnings():
        if chosen.why:  # whether labels disagree with the calibrated probabilities has been judged
            warnings.simplefilter("ignore", CalibrationWarning)
        result = solve(problem, given, options)
    assert result.origin is not None
    inner = given.inmost()
    origin = replace(result.origin, oracle=inner, counting=result.origin.counting.inmost())
    result = replace(result, origin=origin, _judge=judge_of(problem, inner, result.policy))
    if not chosen.why:
        return result
    return replace(result, choice=chosen.why).with_provenance(choice=chosen.why)


@contextmanager
def told_once() -> Iterator[None]:
    """Give each category of warnings of similar solves once, with how many more there were."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    counts = Counter(one.category for one in caught)
    for category in counts:
        first = next(str(one.message) for one in caught if one.category is category)
        more = counts[category] - 1
        warn(f"{first} (and {more} more of this kind)" if more else first, category)
