"""The search for a policy, counted in one way: by a method on an oracle, or on labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from metricfit.exceptions import InfeasibleError
from metricfit.methods import Local, Method, Outcome, Walk, choose, run
from metricfit.methods.base import Budget, Standing, Status
from metricfit.methods.search.coordinate import is_searched
from metricfit.options import Options
from metricfit.oracles.base import OracleBase, mixed
from metricfit.policy import Policy
from metricfit.policy.models import ModelPolicy
from metricfit.problem import Problem, Program
from metricfit.result import Result
from metricfit.solving.answer import Answer
from metricfit.solving.indifference import told_apart
from metricfit.types import FloatArray


@dataclass(frozen=True, eq=False)
class Found:
    """An answer, and how it was found.

    Parameters
    ----------
    answer : Answer
        The mixture of rules or models, exact.
    outcome : Outcome
        The outcome of the method.
    method : Method
        The method that was run.
    asked : OracleBase
        The oracle that it used, calibrated if that was needed.
    calibrated : Found, optional
        For a search on labels: the answer of the calibrated problem.
    """

    answer: Answer
    outcome: Outcome
    method: Method
    asked: OracleBase
    calibrated: Found | None = None

    @property
    def stopped(self) -> bool:
        """Whether the user has stopped it."""
        return self.outcome.status == "stopped"

    def ended(self) -> Found:
        """Return it as what was found when the user stopped."""
        return replace(self, outcome=replace(self.outcome, status="stopped"))


def search(problem: Problem, given: OracleBase, options: Options, simple: bool = True) -> Found:
    """Return the best answer found for a problem, counted as the oracle counts.

    An answer that is only evaluated, and neither shown nor deployed, need not be ``simple``, a mixture of few rules.
    """
    program = problem.bind(given.axes, given.margins)
    refuse_empty_limits(problem, program, given.margins)
    budget = budget_of(program, options)
    if given.calibrates:
        return by_method(problem, given.calibrated() or given, options, budget, simple)
    asked = None if given.exact or options.method != "auto" else given.calibrated()
    if asked is None:
        return by_method(problem, given, options, budget, simple)
    soft, known = asked.soft(), None
    if soft is not None and budget.left > 1:
        # The labels have the last word, so they get at least half of a budget.
        half = budget.half()
        known = calibrated_answer(problem, soft, replace(options, callback=None, verbose=0), half, simple)
        budget.calls += half.calls
    if known is None:
        return on_labels(problem, given, None, options, budget)
    guide = partial(by_labels, problem, asked, known, budget)
    if known.stopped:
        return guide("stopped")
    try:
        found = on_labels(problem, given, known, options, budget)
    except KeyboardInterrupt:
        return guide("stopped")
    if not (budget.late or found.stopped):
        return found
    other = guide(found.outcome.status)
    return found if found.answer.standing.beats(other.answer.standing) else other


def by_labels(problem: Problem, asked: OracleBase, known: Found, budget: Budget, status: Status) -> Found:
    """Return the answer of the calibrated problem counted by labels: for when no time is left for a search on them."""
    program, mixture = problem.bind(asked.axes, asked.margins), known.answer.mixture
    walk = Walk(program, asked, known.answer.walk.tol, budget)
    for vertex in asked.many(_rules_of(known.answer), program.layout):
        walk.add(vertex)
    weights = mixture.weights[:, mixture.weights.any(axis=0)]
    u = program.vector(mixed(walk.vertices, weights))
    best = replace(mixture, weights=weights, u=u, bound=-np.inf, multipliers=None)
    last = Standing.of(program, u)
    record = last.record(program, budget.calls, budget.seconds, -np.inf)
    outcome = Outcome(best, last.value, -np.inf, status, (record,))
    return Found(Answer(walk, best), outcome, known.method, asked, known)


def calibrated_answer(
    problem: Problem, soft: OracleBase, options: Options, budget: Budget, simple: bool = True
) -> Found | None:
    """Return the answer of the calibrated problem; None if its limits are infeasible, which labels may allow."""
    try:
        return by_method(problem, soft, options, budget, simple)
    except InfeasibleError:
        return None


def budget_of(program: Program, options: Options) -> Budget:
    """Return what may be spent on all walks of a solve: by default what its methods need at most."""
    chosen = choose(options.method, program)
    most = chosen.calls(program) + (Local().calls(program) if options.method == "auto" else 0)
    return Budget(
        most if options.max_calls is None else options.max_calls,
        options.ends,
    )


def by_method(
    problem: Problem, oracle: OracleBase, options: Options, budget: Budget, simple: bool = True
) -> Found:
    """Return what a method finds on an oracle."""
    program = problem.bind(oracle.axes, oracle.margins)
    method = choose(options.method, program)
    walk = Walk(program, oracle, options.tol, budget, options.random_state, simplifies=simple)
    walk.ask_all(_start_losses(options.start, program))
    return _finished(walk, run(method, program, walk, options.callback, options.verbose), method, simple)


def on_labels(
    problem: Problem, given: OracleBase, known: Found | None, options: Options, budget: Budget
) -> Found:
    """Return what a search on counted labels finds, beside the answer of the calibrated problem.

    The plug-in rule of a loss is the cheapest rule by its probabilities, not by counted labels. So weights are scanned
    one by one, and mixtures counted by labels. Rows are decided by the model's own probabilities: a calibration raises
    the smallest ones, so that rows in the tail, on which a strict limit rests, could no longer be told from each other.
    """
    program = problem.bind(given.axes, given.margins)
    walk = Walk(program, given, options.tol, budget, options.random_state)
    walk.ask_all(_start_losses(options.start, program))
    if known is not None and known.asked.calibration is None:  # rules for the same probabilities
        walk.ask_all(_rules_of(known.answer))
    # Weights of single cells are tuned on few rows each: with many of them, rules are only mixed anew.
    method = Local(tries=1 if is_searched(walk) else 0, thorough=False, warn=False)
    outcome = run(method, program, walk, options.callback, options.verbose)
    return _finished(walk, outcome, method, True, known)


def _finished(
    walk: Walk, outcome: Outcome, method: Method, simple: bool, known: Found | None = None
) -> Found:
    answer = Answer(walk, outcome.best).exact()
    if simple and not answer.by_models:
        gap = answer.value - outcome.bound if np.isfinite(outcome.bound) else 0.0
        try:
            told = told_apart(answer, walk.tol - gap)
            answer = answer if told is answer else told.exact()
        except KeyboardInterrupt:
            outcome = replace(outcome, status="stopped")
    return Found(answer, outcome, method, walk.oracle, known)


def _rules_of(answer: Answer) -> list[FloatArray]:
    """Return the losses of the rules that an exact answer mixes."""
    return [answer.walk.vertices[t].loss for t in np.flatnonzero(answer.mixture.weights.any(axis=0))]


def refuse_empty_limits(problem: Problem, program: Program, margins: FloatArray) -> None:
    """Raise if a limit holds only where its rate has no rows, as does ``precision("a") >= 90``.

    A rule that ever decides "a" breaks it, and one that never does keeps it only in name. On rows without class "a", a
    limit of 0.5 is of this kind too, but there never to decide "a" is what it asks for: so limits are judged by what
    the metric can be on rows of all classes in all groups. Methods find other limits that cannot be kept.
    """
    if any(limit.is_empty for limit in program.limits):
        even = problem.bind(program.axes, np.full(margins.shape, 1 / margins.size))
        for limit in even.limits:
            if limit.is_empty:
                name, missed = str(limit.constraint), limit.out_of_reach
                raise InfeasibleError({name: missed}, {name: missed}, (name,), proven=True)


def _start_losses(start: Result | Policy | None, program: Program) -> Sequence[FloatArray]:
    """Return the rules to start from as losses of the problem's layout."""
    if start is None:
        return []
    policy = start.policy if isinstance(start, Result) else start
    if not isinstance(policy, Policy | ModelPolicy):
        raise ValueError(f"start must be a Result or a Policy, got {type(start).__name__}")
    if isinstance(policy, ModelPolicy):
        raise ValueError("start: a policy over retrained models cannot be restarted from; leave start out")
    return policy.losses_for(program.axes, program.layout)
