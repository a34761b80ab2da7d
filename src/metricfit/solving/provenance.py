"""The provenance of a result, and its evaluation by counted labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import metricfit
from metricfit.data.rows import Rows
from metricfit.oracles import PluginOracle
from metricfit.oracles.base import OracleBase
from metricfit.policy.models import ModelPolicy
from metricfit.policy.provenance import left_out
from metricfit.problem import Problem
from metricfit.result import Result
from metricfit.trust.decided import Decided
from metricfit.trust.judgement import Judgement, judge


def judging_rows(oracle: OracleBase) -> Rows | None:
    """Return the rows to evaluate a policy on: all if they are in memory, else a sample; None if there are none."""
    return oracle.rows if isinstance(oracle, PluginOracle) else oracle.sample()


def judge_of(problem: Problem, oracle: OracleBase, policy: Any) -> Callable[[], Judgement | None] | None:
    """Return a function that evaluates a policy by counted labels when called; None without rows."""
    if isinstance(policy, ModelPolicy) or oracle.n_rows is None:
        return None

    def judged() -> Judgement | None:
        rows = judging_rows(oracle)
        if rows is None:
            return None
        note = "" if len(rows) == oracle.n_rows else f"judged by a sample of {len(rows):,} rows"
        return judge(problem, Decided.by(policy, rows).evidence(), len(rows), note)

    return judged


def provenance_of(problem: Problem, oracle: OracleBase, result: Result) -> dict[str, Any]:
    """Return what a policy file records about the solve that its policy comes from."""
    return {
        "objective": str(problem.objective),
        "direction": "maximize" if problem.sign < 0 else "minimize",
        "constraints": [str(constraint) for constraint in problem.constraints],
        "counting": result.counting,
        **({"choice": result.choice} if result.choice else {}),
        **({"left_out": left_out(problem.left_out)} if problem.left_out else {}),
        "calibration": "none" if result.calibration is None else result.calibration.family,
        "method": result.method,
        "status": result.status,
        "rows": oracle.n_rows,
        "classes": list(oracle.axes.classes),
        "metricfit": metricfit.__version__,
        "alone": None
        if result.deterministic is None
        else [result.deterministic.value, *result.deterministic.constraints],
        "reached": [result.value, *(record.value for record in result.constraints)],
    }
