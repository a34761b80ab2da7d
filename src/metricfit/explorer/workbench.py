"""Rows that many similar problems are solved on: checked, calibrated and remembered once."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from metricfit.data.confusion import Confusion
from metricfit.data.rows import Rows
from metricfit.explorer.asked import Asked
from metricfit.explorer.turns import Turn
from metricfit.metrics.few_rows import MIN_ROWS
from metricfit.options import Options
from metricfit.oracles import PluginOracle
from metricfit.oracles.base import Counting, OracleBase
from metricfit.oracles.remembering import Remembering
from metricfit.problem import Problem
from metricfit.result import Result
from metricfit.result.most_probable import of_most_probable
from metricfit.solving import with_expected
from metricfit.tradeoff import Chosen, Frontier, choose_counting, solved, trace

# Results that are kept, so that going back to a limit costs nothing.
KEPT = 200
# Passes that a session is expected to ask for, which decides whether compiled kernels are worth loading.
PASSES = 10_000

Key = tuple[str, tuple[str, ...], Counting]


class Workbench:
    """Solves problems on the same rows; rules that were counted once are not counted again.

    Parameters
    ----------
    rows : Rows
        The checked data.
    kind : {"auto", "labels", "calibrated", "model"}
        How confusion is counted by default. "auto" chooses when limits on the same metrics are solved first, and keeps
        to it while they move: values that are counted in different ways cannot be compared.
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
        self, rows: Rows, kind: Counting = "auto", options: Options | None = None, threads: int = 1
    ) -> None:
        self.rows, self.kind = rows, kind
        self.options = options or Options()
        #: The result that was asked for last.
        self.latest: Result | None = None
        self._oracle = Remembering(PluginOracle(rows, "auto", threads))
        self._results: OrderedDict[Key, Result] = OrderedDict()
        self._notes: dict[Key, tuple[str, ...]] = {}
        self._chosen: dict[Key, Chosen] = {}
        self._baselines: dict[Counting, Confusion | None] = {}

    def limited(self, asked: Asked) -> Asked:
        """Return what is asked without the rates of few rows, which limits over groups leave out."""
        problem = asked.problem.limited(self._oracle.axes, self._oracle.class_counts, MIN_ROWS)
        return replace(asked, problem=problem)

    def solved(self, asked: Asked, turn: Turn) -> Result:
        """Return the result of a problem; with what to expect on new rows if that is asked for."""
        result = self._found(asked, turn)
        if asked.expect and result.expected is None:
            turn.check()
            oracle = self.oracle(self.chosen(asked, turn).counting).inmost()
            with self._noted(asked):
                result = with_expected(asked.problem, oracle, result, self.options, turn.callback)
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
            return trace(problem, [traded], levels, self._oracle, options, self.chosen(asked, turn))

    def finished(self, asked: Asked, turn: Turn) -> Result:
        """Return a result that is ready to be deployed: with the rule that decides without chance."""
        found, options = self._found(asked, turn), replace(self.options, callback=turn.callback)
        with self._noted(asked):
            result = solved(asked.problem, self._oracle, self.chosen(asked, turn), options)
        return replace(result, expected=found.expected)

    def chosen(self, asked: Asked, turn: Turn) -> Chosen:
        """Return what a problem counts by; the choice is kept for all limits on the same metrics."""
        if asked.kind != "auto":
            return Chosen(asked.kind)
        metrics = tuple(f"{c.metric} {c.sense}" for c in asked.problem.constraints)
        key: Key = (str(asked.problem.objective), metrics, asked.kind)
        if key not in self._chosen:
            turn.words = "choosing what to count by"
            options = replace(self.options, callback=turn.callback)
            chosen = choose_counting([asked.problem], self._oracle, options)
            if chosen is None:  # limits that cannot be kept; the next ones may be
                return Chosen("calibrated")
            self._chosen[key] = chosen
        return self._chosen[key]

    def baseline(self, counting: Counting) -> Confusion | None:
        """Return the confusion of the most probable class; None where no class is a decision."""
        if counting not in self._baselines:
            oracle = self.oracle(counting)
            counted = oracle.calibrated() if oracle.calibrates else oracle
            self._baselines[counting] = of_most_probable(counted or oracle)
        return self._baselines[counting]

    def oracle(self, counting: Counting) -> OracleBase:
        """Return the oracle that counts in one way."""
        oracle = self._oracle.by(counting)
        oracle.expect(PASSES)
        return oracle

    def notes(self, asked: Asked) -> tuple[str, ...]:
        """Return what was warned of when a problem was solved."""
        return self._notes.get(_key(asked), ())

    def _found(self, asked: Asked, turn: Turn) -> Result:
        """Return a result that is kept, or solve."""
        key = _key(asked)
        if key in self._results:
            self._results.move_to_end(key)
            self.latest = self._results[key]
            return self.latest
        turn.words = "" if self._results else "calibrating the probabilities"
        options = replace(self.options, callback=turn.callback, derandomise=False)
        with self._noted(asked):
            result = solved(asked.problem, self._oracle, self.chosen(asked, turn), options)
        self._keep(asked, result)
        return result

    def _keep(self, asked: Asked, result: Result) -> None:
        self.latest = self._results[_key(asked)] = result
        self._results.move_to_end(_key(asked))
        while len(self._results) > KEPT:
            oldest, _ = self._results.popitem(last=False)
            self._notes.pop(oldest, None)

    @contextmanager
    def _noted(self, asked: Asked) -> Iterator[None]:
        """Keep warnings as notes for the page; this is safe because solves run one at a time."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        told = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
        self._notes[_key(asked)] = tuple(dict.fromkeys([*self.notes(asked), *told]))


def _key(asked: Asked) -> Key:
    return str(asked.problem.objective), tuple(map(str, asked.problem.constraints)), asked.kind
