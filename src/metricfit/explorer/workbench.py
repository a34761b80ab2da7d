"""Rows that many similar problems are solved on: checked, calibrated and remembered once."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from metricfit.data.confusion import Confusion
from metricfit.data.rows import Rows
from metricfit.explorer.asked import Asked
from metricfit.explorer.turns import Turn
from metricfit.metrics import Constraint
from metricfit.options import Options
from metricfit.oracles import PluginOracle
from metricfit.oracles.base import Counting
from metricfit.oracles.remembering import Remembering
from metricfit.problem import Problem
from metricfit.result import Result
from metricfit.result.most_probable import of_most_probable
from metricfit.solving import judge_of, solve, with_expected
from metricfit.tradeoff import Frontier, trace
from metricfit.tradeoff.mixer import Mixer

# Results that are kept, so that going back to a limit costs nothing and its neighbours start from its rules.
KEPT = 200
# For how many sets of metrics rules are kept for other limits, and how many new rules a mixture may ask for.
POOLS, PRICES = 20, 3
# Passes that a session is expected to ask for, which decides whether compiled kernels are worth loading.
PASSES = 10_000

Key = tuple[str, tuple[str, ...], Counting]


class Workbench:
    """Solves problems on the same rows, each starting from the rules of the most similar problem.

    Parameters
    ----------
    rows : Rows
        The checked data.
    kind : {"labels", "calibrated", "model"}
        How confusion is counted by default.
    options : Options
        How to solve.
    threads : int
        Threads that share a pass over the rows.

    Examples
    --------
    >>> import metricfit as mf
    >>> from metricfit.explorer.turns import Turns
    >>> data = mf.datasets.make_fraud_triage(n_rows=1000, random_state=0)
    >>> bench = Workbench(Rows.of(data.proba, data.y), "model")
    >>> asked = Asked.of({"objective": "g_mean"}, bench.rows.axes, bench.kind)
    >>> bench.solved(asked, Turns().next("solve")).status
    'optimal'
    """

    def __init__(
        self, rows: Rows, kind: Counting = "calibrated", options: Options | None = None, threads: int = 1
    ) -> None:
        self.rows, self.kind, self.threads = rows, kind, threads
        self.options = options or Options()
        #: The result that was asked for last.
        self.latest: Result | None = None
        self._oracles: dict[Counting, Remembering] = {}
        self._results: OrderedDict[Key, Result] = OrderedDict()
        self._notes: dict[Key, tuple[str, ...]] = {}
        self._pools: OrderedDict[Key, Mixer] = OrderedDict()
        self._baselines: dict[Counting, Confusion | None] = {}

    def solved(self, asked: Asked, turn: Turn) -> Result:
        """Return the result of a problem; with what to expect on new rows if that is asked for."""
        result = self._found(asked, turn.callback)
        if asked.expect and result.expected is None:
            turn.check()
            result = self._expected(asked, result, turn.callback)
            self._keep(asked, result)
        return result

    def frontier(self, asked: Asked, place: int, levels: int, turn: Turn) -> Frontier:
        """Return the best objective at other limits of one constraint, with the other constraints as they are."""
        traded = asked.problem.constraints[place]
        others = tuple(c for k, c in enumerate(asked.problem.constraints) if k != place)
        problem = Problem(asked.problem.objective, others)
        options = replace(self.options, callback=turn.callback, derandomise=False)
        with warnings.catch_warnings():  # warnings would be about limits that the user did not ask for
            warnings.simplefilter("ignore")
            return trace(problem, [traded], levels, self.oracle(asked.kind), options)

    def finished(self, asked: Asked, turn: Turn) -> Result:
        """Return a result that is ready to be deployed: with the rule that decides without chance."""
        found = self._found(asked, turn.callback)
        options = replace(self.options, start=found, callback=turn.callback)
        with self._noted(asked):
            result = self._solve(asked, options)
        return replace(result, expected=found.expected)

    def baseline(self, kind: Counting) -> Confusion | None:
        """Return the confusion of the most probable class; None where no class is a decision."""
        if kind not in self._baselines:
            oracle = self.oracle(kind)
            counted = oracle.calibrated() if oracle.calibrates else oracle
            self._baselines[kind] = of_most_probable(counted or oracle)
        return self._baselines[kind]

    def oracle(self, kind: Counting) -> Remembering:
        """Return the oracle of a kind, which is made when it is first asked for."""
        if kind not in self._oracles:
            self._oracles[kind] = Remembering(PluginOracle(self.rows, kind, self.threads))
            self._oracles[kind].expect(PASSES)
        return self._oracles[kind]

    def notes(self, asked: Asked) -> tuple[str, ...]:
        """Return what was warned of when a problem was solved."""
        return self._notes.get(_key(asked), ())

    def _found(self, asked: Asked, callback: Callable[[object], bool]) -> Result:
        """Return a result that is kept, or solve starting from the most similar one."""
        key = _key(asked)
        if key in self._results:
            self._results.move_to_end(key)
            self.latest = self._results[key]
            return self.latest
        near = self._nearest(asked)
        options = replace(self.options, start=near, callback=callback, derandomise=False)
        with self._noted(asked):
            result = self._mixed(asked) or self._solve(asked, options)
        self._keep(asked, result)
        return result

    def _mixed(self, asked: Asked) -> Result | None:
        """Return the best mixture of the rules found for other limits of the same metrics, if it is proven optimal."""
        mixer = self._pools.get(_metrics(asked))
        result = None if mixer is None else mixer.mix((), asked.problem, PRICES)
        return result if result is not None and result.status == "optimal" and result.feasible else None

    def _solve(self, asked: Asked, options: Options) -> Result:
        """Solve on the oracle that remembers answers; the result refers to the rows themselves."""
        oracle = self.oracle(asked.kind)
        result = solve(asked.problem, oracle, options)
        assert result.origin is not None
        counting = result.origin.counting
        if isinstance(counting, Remembering) and counting.exact:
            self._mixer(asked).keep(asked.problem, result)
        plain = counting.oracle if isinstance(counting, Remembering) else counting
        origin = replace(result.origin, oracle=oracle.oracle, counting=plain)
        return replace(result, origin=origin, _judge=judge_of(asked.problem, oracle.oracle, result.policy))

    def _mixer(self, asked: Asked) -> Mixer:
        key = _metrics(asked)
        if key not in self._pools:
            options = replace(self.options, derandomise=False)
            self._pools[key] = Mixer(self.oracle(asked.kind), (), options)
        self._pools.move_to_end(key)
        while len(self._pools) > POOLS:
            self._pools.popitem(last=False)
        return self._pools[key]

    def _expected(self, asked: Asked, result: Result, callback: Callable[[object], bool]) -> Result:
        with self._noted(asked):
            return with_expected(
                asked.problem, self.oracle(asked.kind).oracle, result, self.options, callback
            )

    def _keep(self, asked: Asked, result: Result) -> None:
        self.latest = self._results[_key(asked)] = result
        self._results.move_to_end(_key(asked))
        while len(self._results) > KEPT:
            oldest, _ = self._results.popitem(last=False)
            self._notes.pop(oldest, None)

    def _nearest(self, asked: Asked) -> Result | None:
        """Return the kept result whose limits are closest, of the same metrics if there is one."""
        metrics, limits = _shape(asked.problem.constraints)
        nearest, least = None, float("inf")
        for (objective, _, kind), result in reversed(self._results.items()):
            assert result.origin is not None
            theirs, other = _shape(result.origin.problem.constraints)
            if kind != asked.kind or objective != str(asked.problem.objective) or theirs != metrics:
                continue
            distance = sum(abs(a - b) for a, b in zip(limits, other, strict=True))
            if distance < least:
                nearest, least = result, distance
        return nearest

    @contextmanager
    def _noted(self, asked: Asked) -> Iterator[None]:
        """Keep warnings as notes for the page; this is safe because solves run one at a time."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        told = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
        self._notes[_key(asked)] = tuple(dict.fromkeys([*self.notes(asked), *told]))


def _metrics(asked: Asked) -> Key:
    """Return a key that is the same for problems that differ only in their limits."""
    metrics = tuple(f"{c.metric} {c.sense}" for c in asked.problem.constraints)
    return str(asked.problem.objective), metrics, asked.kind


def _key(asked: Asked) -> Key:
    return str(asked.problem.objective), tuple(map(str, asked.problem.constraints)), asked.kind


def _shape(constraints: tuple[Constraint, ...]) -> tuple[list[tuple[str, str]], list[float]]:
    return [(str(c.metric), c.sense) for c in constraints], [c.limit for c in constraints]
