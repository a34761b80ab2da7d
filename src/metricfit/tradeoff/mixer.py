"""Levels without a solve of their own: mixed of the rules, or of the mixtures, that other levels have found."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from metricfit.methods import Iterate
from metricfit.metrics import Constraint
from metricfit.options import Options
from metricfit.oracles.remembering import Remembering
from metricfit.problem import Problem
from metricfit.result import Result
from metricfit.tradeoff.between import between
from metricfit.tradeoff.levels import looser
from metricfit.tradeoff.mixture_result import result_of
from metricfit.tradeoff.shared import Shared

Levels = tuple[float, ...]


class Mixer:
    """Mixes the rules that solves have found, on the rows that they are counted on.

    Parameters
    ----------
    oracle : Remembering
        The rows as they were given.
    traded : tuple of Constraint
        Whose limits are the levels.
    options : Options
    """

    def __init__(self, oracle: Remembering, traded: tuple[Constraint, ...], options: Options) -> None:
        self.oracle, self.traded, self.options = oracle, traded, options
        self.shared: list[Shared] = []
        self.mixtures: dict[Levels, tuple[Shared, Iterate]] = {}

    def keep(self, problem: Problem, result: Result) -> None:
        """Take in the rules of a result, and all that were asked for on the way to it."""
        assert result.origin is not None
        if not self.shared:
            ways = [result.origin.counting]
            # Where labels are counted, a solve may prefer rules on the model's own probabilities to calibrated ones.
            if not self.oracle.calibrates and ways[0].calibration is not None:
                ways.append(self.oracle)
            self.shared = [Shared.of(problem, way) for way in ways if isinstance(way, Remembering)]
        for shared in self.shared:
            shared.keep(result.policy)

    def settle(self, levels: Levels, result: Result) -> None:
        """Take the policy of a level's own solve as its mixture."""
        found = ((shared, shared.mixture_of(result.policy)) for shared in self.shared)
        for shared, mixture in found:
            if mixture is not None:
                self.mixtures[levels] = shared, mixture

    def mix(self, levels: Levels, problem: Problem, prices: int) -> Result | None:
        """Return the best mixture of the rules there are and of those asked for; None if none keeps the limits."""
        before, started, tol = self.oracle.all_passes, perf_counter(), self.options.tol
        found = [(shared, shared.mixed(shared.at(problem), prices, tol)) for shared in self.shared]
        kept = [(shared, mixture) for shared, mixture in found if mixture is not None]
        if not kept:
            return None
        shared, mixture = min(kept, key=lambda one: one[0].at(problem).value(one[1].u))
        self.mixtures[levels] = shared, mixture
        return self._result(shared, problem, mixture, before, started)

    def between(self, levels: Levels, problem: Problem) -> Result | None:
        """Return a mixture of the nearest looser and stricter levels'; None without such, or if they share no rules."""
        started = perf_counter()
        loose = [known for known in self.mixtures if looser(self.traded, known, levels)]
        strict = [known for known in self.mixtures if looser(self.traded, levels, known)]
        if not loose or not strict:
            return None
        (shared, looser_one), (other, stricter_one) = (
            self.mixtures[min(some, key=lambda known: abs(known[0] - levels[0]))] for some in (loose, strict)
        )
        found = between(shared.at(problem), looser_one, stricter_one) if shared is other else None
        if found is None:
            return None
        return self._result(shared, problem, found, self.oracle.all_passes, started)

    def _result(
        self, shared: Shared, problem: Problem, found: Iterate, before: int, started: float
    ) -> Result:
        result = result_of(shared, shared.at(problem), found, self.options, self.oracle.oracle)
        calls, seconds = self.oracle.all_passes - before, perf_counter() - started
        return replace(result, n_oracle_calls=calls, seconds=seconds)
