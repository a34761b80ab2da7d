"""`solve`, the single entry point: from a problem, an oracle and options to a result."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.options import Options
from metricfit.oracles import Oracle
from metricfit.oracles.base import adapted
from metricfit.policy import Policy
from metricfit.policy.models import ModelPolicy
from metricfit.problem import Problem
from metricfit.result import Calibrated, Origin, Result, constraint_records
from metricfit.solving.answer import alone_of, with_single
from metricfit.solving.at_fit import with_at_fit
from metricfit.solving.auto import answer_of
from metricfit.solving.provenance import judge_of, provenance_of
from metricfit.trust.disagreement import warn_if_labels_disagree, warn_if_refuted

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
    given = adapted(oracle)
    if given.counting == "model":
        warn_if_refuted(given)
    choice = answer_of(problem, given, options)
    given, found = given.by(choice.counting), choice.found
    answer, walk, bound = found.answer, found.answer.walk, found.outcome.bound
    program, value, known = walk.program, answer.value, bool(np.isfinite(bound))
    policy: Policy | ModelPolicy = answer.model_policy() if answer.by_models else answer.plugin_policy()
    alone = None
    if options.derandomise and isinstance(policy, Policy):
        policy, alone = with_single(program, walk.oracle, policy)
    tensor = answer.tensor()
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
        calibration=found.asked.report,
        counting=given.counting,
        choice=choice.why,
        calibrated=None
        if found.calibrated is None
        else Calibrated.of(program.sign, found.calibrated.outcome),
        deterministic=None if alone is None else alone_of(program, alone, value),
        origin=Origin(problem, given, found.asked, replace(options, start=None, callback=None, verbose=0)),
        _judge=judge_of(problem, given, policy),
    )
    result = with_at_fit(result)
    if given.calibrates and not choice.why:
        warn_if_labels_disagree(result)
    return result.with_provenance(**provenance_of(problem, given, result))
