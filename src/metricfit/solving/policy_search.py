"""The search for an answer: calibration, walk and choice of the answer, without the evaluation afterwards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metricfit.exceptions import InfeasibleError
from metricfit.methods import Guided, Method, Outcome, Record, Walk, choose, run
from metricfit.methods.base import Budget
from metricfit.options import Options
from metricfit.oracles.base import OracleBase
from metricfit.policy import Policy
from metricfit.policy.models import ModelPolicy
from metricfit.problem import Problem, Program
from metricfit.result import Result
from metricfit.solving.answer import Answer
from metricfit.solving.indifference import told_apart
from metricfit.solving.preferred import kept_directly, preferred
from metricfit.solving.worst_value import most_useful
from metricfit.types import FloatArray


@dataclass(frozen=True, eq=False)
class Found:
    """An answer, and how it was found.

    Parameters
    ----------
    answer : Answer
        The mixture of rules or models, exact.
    outcome : Outcome
        The outcome of the method; the answer differs from it if a plain rule or a direct search is preferred.
    history : tuple of Record
        One for each iteration, and one for such an answer.
    method : Method
        The method that was run.
    asked : OracleBase
        The oracle that it used, calibrated if that was needed.
    """

    answer: Answer
    outcome: Outcome
    history: tuple[Record, ...]
    method: Method
    asked: OracleBase


def search(
    problem: Problem, given: OracleBase, options: Options, simple: bool = True, rivals: bool = True
) -> Found:
    """Return the best answer found for a problem on the rows of an oracle.

    An answer that is only evaluated, and neither shown nor deployed, need not be ``simple``, a mixture of few rules.
    For ``rivals`` see `preferred`.
    """
    program = problem.bind(given.axes, given.margins)
    _refuse_empty_limits(problem, program, given.margins)
    chosen = choose(options.method, program, guided=not given.exact and given.soft() is not None)
    asked = given
    if given.calibrates or (chosen.calibrates and not given.exact):
        asked = given.calibrated() or given
    if not np.array_equal(asked.margins, given.margins):
        program = problem.bind(asked.axes, asked.margins)
    budget = Budget(
        chosen.calls(program) if options.max_calls is None else options.max_calls,
        np.inf if options.max_seconds is None else options.max_seconds,
    )
    walk = Walk(program, asked, options.tol, budget, options.random_state, simplifies=simple)
    walk.ask_all(_start_losses(options.start, program))
    guided = chosen if isinstance(chosen, Guided) and asked is not given else None
    try:
        outcome = run(chosen, program, walk, options.callback, options.verbose)
    except InfeasibleError:
        rival = None if guided is None else kept_directly(problem, given, walk, guided.settings)
        if rival is None:
            raise
        (walk, outcome), guided = rival, None  # a rival need not be compared with itself
    answer, history = Answer(walk, outcome.best), outcome.history
    # Who has stopped a search waits for nothing more.
    if not answer.by_models and outcome.status != "stopped":
        if guided is not None:
            answer = preferred(problem, given, answer, guided.settings, rivals)
        if answer.mixture is not outcome.best:
            standing = answer.exact().standing
            history += (standing.record(answer.walk.program, budget.calls, budget.seconds, outcome.bound),)
            if options.callback is not None:
                options.callback(history[-1])
        answer = most_useful(answer)
    answer = answer.exact()
    if simple and not answer.by_models:
        gap = answer.value - outcome.bound if np.isfinite(outcome.bound) else 0.0
        told = told_apart(answer, walk.tol - gap)
        answer = answer if told is answer else told.exact()
    return Found(answer, outcome, history, chosen, asked)


def _refuse_empty_limits(problem: Problem, program: Program, margins: FloatArray) -> None:
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


def _start_losses(start: Result | Policy | None, program: Program) -> list[FloatArray]:
    """Return the rules to start from as losses of the problem's layout."""
    if start is None:
        return []
    policy = start.policy if isinstance(start, Result) else start
    if not isinstance(policy, Policy | ModelPolicy):
        raise ValueError(f"start must be a Result or a Policy, got {type(start).__name__}")
    if isinstance(policy, ModelPolicy):
        raise ValueError("start: a policy over retrained models cannot be restarted from; leave start out")
    return policy.losses_for(program.axes, program.layout)
