"""`solve`, the one door: a problem, an oracle and options in, a result out."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.methods import Guided, Walk, choose, run
from metricfit.methods.base import Budget, Standing
from metricfit.options import Options
from metricfit.oracles import Oracle
from metricfit.oracles.base import adapted
from metricfit.policy import Policy
from metricfit.policy.models import ModelPolicy
from metricfit.problem import Problem, Program
from metricfit.result import Calibrated, Origin, Result, constraint_records
from metricfit.solving.answer import alone_of, policy_of, tensor_of, with_single
from metricfit.solving.provenance import judge_of, provenance_of
from metricfit.trust.disagreement import warn_if_labels_disagree, warn_if_refuted
from metricfit.trust.preferred import preferred
from metricfit.types import FloatArray

DEFAULTS = Options()


def solve(problem: Problem, oracle: Oracle, options: Options = DEFAULTS) -> Result:
    """Solve a problem with an oracle and put the answer into natural signs: the one door of `optimize` and all others.

    Parameters
    ----------
    problem : Problem
        Objective and constraints.
    oracle : Oracle
        Counts the rows; a `metricfit.oracles.PluginOracle`, or one of your own.
    options : Options
        Method, tolerance, budgets, seed, start, callback, verbosity.

    Returns
    -------
    Result

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.oracles import PluginOracle, Rows
    >>> rows = Rows.of(np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]]), [0, 0, 1, 1])
    >>> solve(Problem.of("g_mean"), PluginOracle(rows)).value
    1.0
    """
    given = adapted(oracle)
    program = problem.bind(given.axes, given.margins)
    for limit in program.limits:
        limit.refuse_if_empty()
    chosen = choose(options.method, program, guided=not given.exact and given.soft() is not None)
    asked = given
    if given.calibrates or (chosen.calibrates and not given.exact):
        asked = given.calibrated() or given
    elif given.exact:
        warn_if_refuted(given)
    if not np.array_equal(asked.margins, given.margins):
        program = problem.bind(asked.axes, asked.margins)
    budget = Budget(
        chosen.calls(program) if options.max_calls is None else options.max_calls,
        np.inf if options.max_seconds is None else options.max_seconds,
    )
    walk = Walk(program, asked, options.tol, budget, options.random_state)
    walk.ask_all(_start_losses(options.start, program))
    outcome = run(chosen, program, walk, options.callback, options.verbose)
    policy, weights, u = policy_of(program, walk, outcome.best)
    alone, history = None, outcome.history
    if asked is not given and isinstance(chosen, Guided) and isinstance(policy, Policy):
        walk, best = preferred(problem, given, walk, policy, outcome.best, chosen.settings)
        if best is not outcome.best:
            program = walk.program
            policy, weights, u = policy_of(program, walk, best)
            history += (Standing.of(program, u).record(program, budget.calls, budget.seconds, outcome.bound),)
    if options.derandomise and isinstance(policy, Policy):
        policy, alone = with_single(program, walk.oracle, policy)
    tensor = tensor_of(walk, weights, program)
    known = bool(np.isfinite(outcome.bound))
    value = program.value(u)
    result = Result(
        policy=cast(Policy, policy),  # a ModelPolicy has the same interface, on features
        confusion=Confusion((tensor / tensor.sum()).reshape(program.axes.seen.shape), program.axes.seen),
        value=program.sign * value + 0.0,
        bound=program.sign * outcome.bound + 0.0,
        gap=max(value - outcome.bound, 0.0) if known else float("inf"),
        certified=given.exact and known,
        status=outcome.status,
        constraints=constraint_records(program, u, outcome.best.multipliers),
        history=history,
        n_oracle_calls=budget.calls,
        seconds=budget.seconds,
        method=chosen.name,
        problem=str(problem),
        calibration=asked.report,
        calibrated=None if walk.guide is None else Calibrated.of(program.sign, walk.guide),
        deterministic=None if alone is None else alone_of(program, alone, value),
        origin=Origin(problem, given, asked, replace(options, start=None, callback=None, verbose=0)),
        _judge=judge_of(problem, given, policy),
    )
    if given.calibrates:
        warn_if_labels_disagree(result)
    return result.with_provenance(**provenance_of(problem, given, result))


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
