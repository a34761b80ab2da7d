"""What to expect on new rows along a frontier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from metricfit.data.rows import Rows
from metricfit.exceptions import InfeasibleError
from metricfit.options import Options
from metricfit.oracles.base import OracleBase
from metricfit.oracles.in_memory import PluginOracle
from metricfit.policy import Policy
from metricfit.result import Result
from metricfit.solving.provenance import judging_rows
from metricfit.tradeoff.levels import problem_at
from metricfit.tradeoff.points import Frontier
from metricfit.tradeoff.trace import DEFAULTS, trace
from metricfit.trust.expected import expected


def with_expected(front: Frontier, oracle: OracleBase, options: Options = DEFAULTS) -> Frontier:
    """Return a frontier with what to expect on new rows at each level.

    The whole frontier is traced again on the other rows of each fold, which takes as long as a few frontiers; the
    policies of its levels decide the rows of the fold. A frontier on rows that are not at hand is returned as it is.
    """
    rows = judging_rows(oracle)
    if rows is None:
        return front
    folds = _Folds(front, oracle, options)
    found = {}
    for point in front.ordered:
        levels, result = point.levels, point.result
        if result is not None:
            problem = problem_at(front.problem, front.traded, levels)
            judged = expected(problem, rows, folds.refit(levels))
            result = replace(result, expected=judged)
        found[levels] = replace(point, result=result)
    return replace(front, points=tuple(found[point.levels] for point in front))


class _Folds:
    """The frontiers on the other rows of each fold, traced when the first level asks for them."""

    def __init__(self, front: Frontier, oracle: OracleBase, options: Options) -> None:
        self.front, self.oracle = front, oracle
        self.options = replace(options, start=None, callback=None, verbose=0)
        self.without: list[dict[tuple[float, ...], Result | None]] = []

    def refit(self, levels: tuple[float, ...]) -> Callable[[Rows], Policy]:
        """Return what finds the policy of a level on the rows without the first fold, then the second, and so on."""
        numbers = count()

        def policy(some: Rows) -> Policy:
            number = next(numbers)
            if number == len(self.without):
                self.without.append(self._trace(some))
            found = self.without[number][levels]
            if found is None:
                raise InfeasibleError({"the level": 0.0}, {"the level": 0.0}, ("the level",), proven=False)
            return found.policy

        return policy

    def _trace(self, some: Rows) -> dict[tuple[float, ...], Result | None]:
        front, given = self.front, self.oracle
        lists = [sorted({point.levels[i] for point in front}) for i in range(len(front.traded))]
        oracle = PluginOracle(some, front.counting, given.threads)
        again = trace(
            front.problem, front.traded, lists[0] if len(lists) == 1 else lists, oracle, self.options
        )
        return {point.levels: point.result for point in again}
