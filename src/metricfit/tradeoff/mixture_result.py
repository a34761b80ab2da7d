"""The result of a mixture that was found without a solve of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.methods import Iterate
from metricfit.options import Options
from metricfit.oracles.base import OracleBase
from metricfit.problem import Program
from metricfit.result import Origin, Result, constraint_records
from metricfit.solving import judge_of, provenance_of
from metricfit.solving.answer import policy_of
from metricfit.tradeoff.shared import Shared


def result_of(
    shared: Shared, program: Program, found: Iterate, options: Options, given: OracleBase
) -> Result:
    """Return a mixture of shared rules as the result of a level; ``given`` counts the rows as they were given."""
    problem = program.problem
    made = _plain(shared, program, found, options.tol)
    origin = Origin(problem, given, shared.counting.oracle, options)
    made = replace(made, origin=origin, _judge=judge_of(problem, given, made.policy))
    return made.with_provenance(**provenance_of(problem, given, made))


def _plain(shared: Shared, program: Program, found: Iterate, tol: float) -> Result:
    vertices, counting = shared.pool.vertices, shared.counting
    value = program.value(found.u)
    gap = max(value - found.bound, 0.0)
    return Result(
        policy=policy_of(program, vertices, found.weights, counting.calibration),
        confusion=Confusion(counting.mixed(vertices, found.weights, program.layout), program.axes),
        value=program.sign * value + 0.0,
        bound=program.sign * found.bound + 0.0,
        gap=gap,
        certified=counting.exact and bool(np.isfinite(gap)),
        status="optimal" if gap <= tol else "stalled" if counting.exact else "searched",
        constraints=constraint_records(program, found.u, found.multipliers),
        history=(),
        n_oracle_calls=0,
        seconds=0.0,
        method="column_generation",
        problem=str(program.problem),
        calibration=counting.report,
    )
