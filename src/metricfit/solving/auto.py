"""The default counting: the calibrated answer with its proof, unless rows that it did not see prefer another one.

There are two candidates: the answer of the calibrated problem, which carries a proof, and a search on labels that
begins at its rules. If the search is not clearly better even on the rows that it was tuned on, the proof is returned.
Else both are fitted again without each of some folds, and judged by the labels there (`Merit`); ties go to the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from metricfit.data.rows import Rows
from metricfit.exceptions import InfeasibleError
from metricfit.methods import Local, Record, choose
from metricfit.methods.base import Budget, Walk
from metricfit.methods.search.coordinate import is_searched
from metricfit.options import Options
from metricfit.oracles import PluginOracle
from metricfit.oracles.base import Counting, OracleBase
from metricfit.oracles.samples import thinned
from metricfit.problem import Problem, Program
from metricfit.solving.judge import Merit
from metricfit.solving.policy_search import (
    Found,
    budget_of,
    calibrated_answer,
    on_labels,
    refuse_empty_limits,
    search,
)
from metricfit.solving.provenance import judging_rows
from metricfit.trust.expected import deal, parts_of
from metricfit.types import FloatArray

# The candidates; ties go to the first.
CALIBRATED, SEARCHED = "the calibrated answer", "the search on labels"
#: A candidate must be better than the calibrated answer by more than this, in standard errors of the difference. On 650
#: problems held out, new rows with 0 to 2 differ by less than their standard errors; 0 gives the proof up in a third of
#: the problems, 1 in a twelfth.
TIE = 1.0
#: How many folds, and how many rows and probabilities are judged by at most.
FOLDS, ROWS, ENTRIES = 3, 20_000, 200_000


@dataclass(frozen=True, eq=False)
class Choice:
    """The answer that is chosen, what it counts by, and why it is."""

    found: Found
    counting: Counting
    why: str
    history: tuple[Record, ...]


def answer_of(problem: Problem, given: OracleBase, options: Options, simple: bool = True) -> Choice:
    """Return the answer to a problem; what it counts by is chosen if the oracle leaves that open."""
    if given.counting == "auto":
        return choose_answer(problem, given, options)
    found = search(problem, given, options, simple)
    return Choice(found, given.counting, "", found.outcome.history)


def choose_answer(problem: Problem, given: OracleBase, options: Options) -> Choice:
    """Return the answer that rows which were not seen prefer."""
    program = problem.bind(given.axes, given.margins)
    method = choose(options.method, program)
    if options.method != "auto":
        how = "solves the calibrated problem" if method.counts == "calibrated" else "searches on labels"
        found = search(problem, given.by(method.counts), options)
        why = f"the method {method.name} was asked for, which {how}"
        return Choice(found, method.counts, why, found.outcome.history)
    refuse_empty_limits(problem, program, given.margins)
    everything = judging_rows(given)
    if everything is None:
        raise ValueError("counting='auto' needs rows to judge by; use counting='labels'")
    if not is_searched(Walk(program, given)):
        with suppress(InfeasibleError):  # labels may allow what calibrated probabilities do not
            found = search(problem, given.by("calibrated"), options)
            why = f"{CALIBRATED}: a search on labels would have too many weights to tune"
            return Choice(found, "calibrated", why, found.outcome.history)
    rows = thinned(everything, min(ROWS, ENTRIES // given.axes.n))
    if len(rows) == given.n_rows:
        verdict = judged(Bench.of(problem, rows, given.by("labels"), options, budget_of(program, options)))
        return Choice(verdict.found, verdict.counting, verdict.why, _history(verdict, options))
    quiet = replace(options.within(1 / 2), callback=None, verbose=0, derandomise=False)
    oracle = PluginOracle(rows, "labels", given.threads)
    verdict = judged(Bench.of(problem, rows, oracle, quiet, budget_of(program, quiet)))
    asked = options
    if options.max_seconds is not None and options.start is None:  # rules for when no time is left for others
        asked = replace(asked, start=verdict.found.answer.plugin_policy())
    if verdict.found.stopped:
        asked = replace(asked, start=verdict.found.answer.plugin_policy(), callback=lambda record: True)
    found = search(problem, given.by(verdict.counting), asked)
    why = f"{verdict.why}, judged by {len(rows):,} rows"
    return Choice(found, verdict.counting, why, found.outcome.history)


def _history(verdict: Verdict, options: Options) -> tuple[Record, ...]:
    """Return the records of the calibrated problem's solve, and one for another answer that is preferred."""
    found = verdict.found
    if found.calibrated is None:
        return found.outcome.history
    last = found.outcome.history[-1]
    if options.callback is not None:
        options.callback(last)
    return (*found.calibrated.outcome.history, last)


@dataclass(frozen=True, eq=False)
class Verdict:
    """The candidate that is preferred, and why."""

    name: str
    found: Found
    why: str

    @property
    def counting(self) -> Counting:
        """What the candidate counts by."""
        return "calibrated" if self.name == CALIBRATED else "labels"


@dataclass(frozen=True, eq=False)
class Bench:
    """A problem on rows in memory, to which candidates are fitted and by which they are judged."""

    problem: Problem
    rows: Rows
    oracle: OracleBase
    soft: OracleBase
    options: Options
    budget: Budget

    @classmethod
    def of(cls, problem: Problem, rows: Rows, oracle: OracleBase, options: Options, budget: Budget) -> Bench:
        """Return the bench of rows that an oracle counts by their labels."""
        soft = (oracle.calibrated() or oracle).soft()
        assert soft is not None, "counting='auto' is for oracles of probabilities"
        return cls(problem, rows, oracle, soft, options, budget)

    def fitted(self, searched: bool = True) -> dict[str, Found]:
        """Return the candidates that meet all limits, each counted in its own way."""
        known = calibrated_answer(self.problem, self.soft, self.options, self.budget)
        if known is not None and (known.stopped or self.budget.late):
            return {CALIBRATED: known}
        found = {} if known is None else {CALIBRATED: known}
        if searched and (known is None or not self.budget.spent):
            with suppress(InfeasibleError):
                try:
                    one = on_labels(self.problem, self.oracle, known, self.options.quiet(), self.budget)
                except KeyboardInterrupt:
                    if known is None:
                        raise
                    return {CALIBRATED: known.ended()}
                if one.stopped and known is not None:
                    return {CALIBRATED: known.ended()}
                found[SEARCHED] = one
        return {name: one for name, one in found.items() if one.stopped or one.answer.standing.kept}

    def seen(self, found: dict[str, Found], program: Program) -> dict[str, Merit]:
        """Return the merits of candidates on the rows that they were fitted to."""
        policies = {name: one.answer.plugin_policy() for name, one in found.items()}
        return {
            name: Merit.of(program, [self.rows], [policy.chances(self.rows)])
            for name, policy in policies.items()
        }

    def unseen(self, found: dict[str, Found], program: Program) -> dict[str, Merit]:
        """Return the merits of candidates on rows that they were not fitted to; none for one that a fold lacks.

        Folds are decided by probabilities that were calibrated without each row, so no calibration is fitted again.
        """
        rows = held_out = self.rows
        if self.soft.report is not None:
            places, proba = self.soft.report.held_out
            rows = self.rows.take(places)
            held_out = replace(rows, proba=proba.astype(rows.proba.dtype))
        start = found[CALIBRATED].answer.plugin_policy() if CALIBRATED in found else None
        again = replace(self.options, start=start, callback=None, verbose=0, derandomise=False)
        if CALIBRATED in found and isinstance(found[CALIBRATED].method, Local):
            again = replace(again, method=Local(tries=1, thorough=False, warn=False))
        parts: dict[str, list[FloatArray]] = {name: [] for name in found}
        folds = parts_of(deal(rows.labels, rows.cells, FOLDS))
        for fitted, left_out in folds:
            some = rows.take(fitted)
            oracle = PluginOracle(some, "labels", self.oracle.threads)
            soft = PluginOracle(held_out.take(fitted), "model", self.oracle.threads)
            budget = Budget(deadline=self.budget.deadline)
            bench = Bench(self.problem, some, oracle, soft, again, budget)
            for name, one in bench.fitted(searched=SEARCHED in found).items():
                if name in found:
                    judged = held_out if name == CALIBRATED else rows
                    parts[name].append(one.answer.plugin_policy().chances(judged[left_out]))
        judges = [rows[left_out] for _, left_out in folds]
        return {
            name: Merit.of(program, judges, chances)
            for name, chances in parts.items()
            if chances and len(chances) == len(folds)
        }

    @property
    def program(self) -> Program:
        """The problem, counted by labels."""
        return self.problem.bind(self.oracle.axes, self.oracle.margins)


def judged(bench: Bench) -> Verdict:
    """Return the candidate that the rows of a bench prefer."""
    found = bench.fitted()
    if not found:
        # The calibrated problem says by how much limits are missed, and which of them conflict.
        nearest = search(bench.problem, bench.oracle.by("calibrated"), bench.options)
        return Verdict(CALIBRATED, nearest, f"{CALIBRATED}: nothing found meets the limits")
    first = next(iter(found))
    if bench.budget.late:
        return Verdict(first, found[first], f"{first}: no time was left for another one")
    try:
        return compared(bench, found)
    except KeyboardInterrupt:
        return Verdict(first, found[first].ended(), f"{first}: it was stopped")


def compared(bench: Bench, found: dict[str, Found]) -> Verdict:
    """Return the candidate that the rows prefer among those that meet all limits; ties go to the first."""
    program, (first, *others) = bench.program, list(found)
    seen = bench.seen(found, program)
    if (
        others and found[first].outcome.status == "stalled"
    ):  # an answer without its proof, which deserves no ties
        first, others = others[0], [first]
    rivals = [name for name in others if seen[name].beats(seen[first], TIE)]
    if not rivals:
        return Verdict(first, found[first], _unrivalled(first, others))
    held = bench.unseen({name: found[name] for name in (first, *rivals)}, program)
    best = min(held, key=lambda name: held[name].cost, default=first)
    if first in held and not held[best].beats(held[first], TIE):
        best = first
    return Verdict(best, found[best], _preferred(bench.problem, best, held))


def _unrivalled(first: str, others: Sequence[str]) -> str:
    if not others:
        return f"{first}: no other candidate meets the limits"
    return f"{first}: {others[0]} is not clearly better, even on the rows that were tuned on"


def _preferred(problem: Problem, best: str, held: dict[str, Merit]) -> str:
    """Return in words how the candidates did on rows that they had not seen."""
    told = []
    for name, merit in held.items():
        margins = "".join(
            f", {constraint.metric} {constraint.limit + constraint.inward * margin:.3f}"
            for constraint, margin in zip(problem.constraints, merit.margins, strict=True)
        )
        told.append(f"{name} {problem.sign * merit.value:.3f}{margins}")
    return f"{best}; on rows not seen: {'; '.join(told)}"
