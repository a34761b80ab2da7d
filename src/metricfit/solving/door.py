"""`solve`, the single entry point: from a problem, an oracle and options to a result."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import cast

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.exceptions import BrokenLimitWarning
from metricfit.messages import warn
from metricfit.methods.base import HeldBack
from metricfit.options import Options
from metricfit.oracles import Oracle
from metricfit.oracles.base import OracleBase, adapted
from metricfit.policy import Policy
from metricfit.policy.models import ModelPolicy
from metricfit.problem import Problem
from metricfit.result import Calibrated, Origin, Result, constraint_records
from metricfit.result.broken import why_broken
from metricfit.solving.at_fit import with_at_fit
from metricfit.solving.auto import Choice, answer_of
from metricfit.solving.provenance import judge_of, provenance_of
from metricfit.solving.single_rule import alone_of, seen_by, with_single
from metricfit.trust.disagreement import warn_if_labels_disagree, warn_if_refuted
from metricfit.types import FloatArray

DEFAULTS = Options()


def solve(problem: Problem, oracle: Oracle, options: Options = DEFAULTS) -> Result:
    """Solve a problem with an oracle and return the result in natural signs; `optimize` and all others call this.

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
    started, given, options = perf_counter(), adapted(oracle), options.begun()
    if given.counting == "model":
        warn_if_refuted(given)
    choice = answer_of(problem, given, options)
    given, found = given.by(choice.counting), choice.found
    answer, walk = found.answer, found.answer.walk
    policy: Policy | ModelPolicy = answer.model_policy() if answer.by_models else answer.plugin_policy()
    alone, interrupted = None, False
    if options.derandomise and not options.ends.passed and isinstance(policy, Policy):
        try:
            policy, alone = with_single(walk.program, walk.oracle, policy, seen_by(answer), options.ends)
        except KeyboardInterrupt:
            interrupted = True
    with HeldBack() as ctrl_c:
        result = _result(problem, given, options, choice, policy, alone)
    interrupted = interrupted or ctrl_c.came
    if given.calibrates and not (choice.why or interrupted or options.ends.passed):
        try:
            warn_if_labels_disagree(result)
        except KeyboardInterrupt:
            interrupted = True
    result = replace(result, status="stopped") if interrupted else result
    result = replace(result, seconds=perf_counter() - started)
    if why := why_broken(result):
        warn(why, BrokenLimitWarning)
    return result


def _result(
    problem: Problem,
    given: OracleBase,
    options: Options,
    choice: Choice,
    policy: Policy | ModelPolicy,
    alone: FloatArray | None,
) -> Result:
    """Return the answer that was chosen as a result in natural signs."""
    found, answer, walk = choice.found, choice.found.answer, choice.found.answer.walk
    program, value, bound = walk.program, answer.value, found.outcome.bound
    tensor, known = answer.tensor(), bool(np.isfinite(bound))
    result = Result(
        policy=cast(Policy, policy),  # a ModelPolicy has the same interface, on features
        confusion=Confusion((tensor / tensor.sum()).reshape(program.axes.seen.shape), program.axes.seen),
        value=program.sign * value + 0.0,
        bound=program.sign * bound + 0.0,
        gap=max(value - bound, 0.0) if known else float("inf"),
        certified=given.exact and known,
        status=found.outcome.status,
        constraints=constraint_records(program, answer.mixture.u, found.outcome.best.multipliers),
        history=choice.history,
        n_oracle_calls=walk.budget.calls,
        seconds=walk.budget.seconds,
        method=found.method.name,
        problem=str(problem),
        left_out=problem.left_out,
        calibration=(found.calibrated or found).asked.report,
        counting=given.counting,
        choice=choice.why,
        calibrated=None
        if found.calibrated is None
        else Calibrated.of(program.sign, found.calibrated.outcome),
        deterministic=None if alone is None else alone_of(program, alone, value),
        origin=Origin(problem, given, found.asked, options.again()),
        _judge=judge_of(problem, given, policy),
    )
    result = with_at_fit(result)
    return result.with_provenance(**provenance_of(problem, given, result))
