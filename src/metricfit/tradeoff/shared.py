"""The rules that all levels share, and the result of mixing them for one level."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.methods import Iterate
from metricfit.methods.master.pool import Pool
from metricfit.options import Options
from metricfit.oracles.base import OracleBase
from metricfit.oracles.remembering import Remembering
from metricfit.policy import Policy, Rule
from metricfit.problem import Problem, Program
from metricfit.result import ConstraintRecord, Origin, Result
from metricfit.solving import judge_of, provenance_of


@dataclass(frozen=True, eq=False)
class Shared:
    """A pool of rules on the rows that they are counted on.

    Attributes
    ----------
    program : Program
        The problem, with any limits.
    counting : Remembering
        The rows, with calibrated probabilities where the solves calibrate.
    pool : Pool
    """

    program: Program
    counting: Remembering
    pool: Pool

    @classmethod
    def of(cls, problem: Problem, result: Result) -> Shared:
        """Return the pool of a first result, which says how rows are counted; it is empty."""
        assert result.origin is not None
        counting = result.origin.counting
        assert isinstance(counting, Remembering)
        program = problem.bind(counting.axes, counting.margins)
        return cls(program, counting, Pool(program, counting))

    def keep(self, policy: Policy) -> None:
        """Take in the rules of a policy, and all that were asked for on the way to it."""
        if policy.calibration == self.counting.calibration:
            self.counting.many(policy.losses_for(self.program.axes, self.program.layout), self.program.layout)
        for vertex in self.counting.take_new(self.program.layout):
            self.pool.add(vertex)

    def mixed(self, problem: Problem, prices: int, options: Options, given: OracleBase) -> Result | None:
        """Return the result of the best mixture for a problem with other limits; None if none keeps them."""
        before, started = self.counting.passes, perf_counter()
        limits = tuple(
            replace(limit, constraint=c)
            for limit, c in zip(self.program.limits, problem.constraints, strict=True)
        )
        program = replace(self.program, problem=problem, limits=limits)
        found = self.pool.mix(program, prices, options.tol)
        if found is None:
            return None
        made = self._result(program, found, options.tol)
        origin = Origin(problem, given, self.counting.oracle, options)
        made = replace(made, origin=origin, _judge=judge_of(problem, given, made.policy))
        calls, seconds = self.counting.passes - before, perf_counter() - started
        made = made.with_provenance(**provenance_of(problem, given, made))
        return replace(made, n_oracle_calls=calls, seconds=seconds)

    def _result(self, program: Program, found: Iterate, tol: float) -> Result:
        vertices, counting = self.pool.vertices, self.counting
        used = [np.flatnonzero(row).tolist() for row in found.weights]
        rules = tuple(
            tuple(Rule(found.weights[a, t], vertices[t].loss[a]) for t in mixture)
            for a, mixture in enumerate(used)
        )
        value = program.value(found.u)
        gap = max(value - found.bound, 0.0)
        multipliers = found.multipliers or ()
        records = tuple(
            ConstraintRecord(
                str(limit.constraint),
                limit.value(found.u),
                limit.constraint.limit,
                limit.violation(found.u),
                float(mu @ limit.unit(found.u)) + 0.0,
            )
            for limit, mu in zip(program.limits, multipliers, strict=True)
        )
        return Result(
            policy=Policy(program.axes, program.layout, rules, calibration=counting.calibration),
            confusion=Confusion(counting.mixed(vertices, found.weights, program.layout), program.axes),
            value=program.sign * value + 0.0,
            bound=program.sign * found.bound + 0.0,
            gap=gap,
            certified=counting.exact and bool(np.isfinite(gap)),
            status="optimal" if gap <= tol else "stalled" if counting.exact else "searched",
            constraints=records,
            history=(),
            n_oracle_calls=0,
            seconds=0.0,
            method="column_generation",
            problem=str(program.problem),
            calibration=counting.report,
        )
