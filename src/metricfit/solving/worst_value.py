"""Limits that leave only policies of the worst value: of these take a sensible one, and warn.

A floor that the rows hardly allow is kept by never deciding its class. Then a geometric mean of recalls is 0 whatever
else is decided, so that a search may end with one decision for all rows. All such policies are equally good by the
objective; the one with the highest mean recall is the most useful of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metricfit.exceptions import WorstValueWarning
from metricfit.messages import warn
from metricfit.methods.base import Exhausted, Walk
from metricfit.methods.starts import diagonal_loss
from metricfit.oracles.base import OracleBase
from metricfit.problem import Limit, Problem
from metricfit.result import Result
from metricfit.solving.answer import Answer
from metricfit.types import FloatArray

# Values that differ by less are equal.
ROUNDING = 1e-9
# With more classes than this, none is left out to see what that does to the limits: each takes two passes.
MOST_CLASSES = 64


def most_useful(answer: Answer) -> Answer:
    """Return the answer, or where its value is worst the rule within the limits that has the highest mean recall.

    That is done only if the answer recalls no more than one decision for all rows does. Others may be good on new
    rows: they may decide there for a class that no row has here. Rules are argmax and the balanced rule, without each
    class in turn, then without all classes that a limit forbids.
    """
    walk, program, n = answer.walk, answer.walk.program, answer.walk.program.axes.n
    vain = [limit for limit in program.limits if _any_undefined([limit], answer.mixture.u)]
    named = np.count_nonzero(program.axes.match >= 0)
    if not vain or not named or n > MOST_CLASSES or answer.value < program.highest_value - ROUNDING:
        return answer
    recalled = _mean_recall(answer)
    if recalled > 1 / named + ROUNDING:
        return answer
    prior = walk.oracle.margins.sum(axis=0)
    gains = np.stack([np.ones(n), np.divide(1.0, prior, out=np.zeros(n), where=prior > 0)])
    try:
        without = [_asked(walk, gains, [i]) for i in range(n)]
        forbidden = [i for i, places in enumerate(without) if _any_undefined(vain, walk.vectors[places[0]])]
        places = sum(without, _asked(walk, gains, forbidden))
    except Exhausted:
        return answer
    rules = [Answer(walk, walk.single(place)) for place in places]
    useful = max((rule for rule in rules if rule.standing.kept), key=_mean_recall, default=answer)
    return useful if _mean_recall(useful) > recalled else answer


def _any_undefined(limits: Sequence[Limit], u: FloatArray) -> bool:
    return any(np.isnan(limit.value(u)) for limit in limits)


def _asked(walk: Walk, gains: FloatArray, left_out: list[int]) -> list[int]:
    """Ask for the rules of some gains of each class, without some classes; return their places."""
    gains = gains.copy()
    gains[:, left_out] = 0.0
    walk.check(len(gains))
    return walk.ask_all([diagonal_loss(walk.program, gain) for gain in gains])


def _mean_recall(answer: Answer) -> float:
    """Return the mean recall of the classes that can be decided."""
    walk, axes = answer.walk, answer.walk.program.axes
    made, prior = walk.statistic(answer.mixture).sum(axis=0), walk.oracle.margins.sum(axis=0)
    named = np.flatnonzero(axes.match >= 0)
    hits = made[0, named] if walk.program.layout == "diagonal" else made[axes.match[named], named]
    share = prior[axes.match[named]]
    return float(np.mean(np.divide(hits, share, out=np.zeros(named.size), where=share > 0)))


def warn_if_worst(problem: Problem, oracle: OracleBase, result: Result) -> None:
    """Warn if limits hold only for want of rows and the objective could not be worse.

    A value that is worst for another reason, because the few rows of a class are missed, may be good on new rows.
    """
    empty = [record.name for record in result.constraints if np.isnan(record.value)]
    if not empty:
        return
    if problem.sign * result.value < problem.bind(oracle.axes, oracle.margins).highest_value - ROUNDING:
        return
    other = result.calibrated
    told = ""
    if other is not None and not np.isclose(other.value, result.value):
        told = f", or use counting='calibrated' ({other.value:.3f} if the calibrated probabilities are right)"
    warn(
        f"the objective is {result.value:g}, and could not be worse: the only policies found that keep "
        f"{' and '.join(empty)} leave the rate without rows, such as the precision of a class that is never decided. "
        f"Loosen the limit (mf.frontier shows what each level allows), give more rows{told}",
        WorstValueWarning,
    )
