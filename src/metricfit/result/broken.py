"""Limits that a policy breaks: which they are, and what to do about it."""

from __future__ import annotations

from metricfit.result.result import Result

NEXT = {
    "max_seconds": "the time ended before a policy was found that keeps all limits: raise max_seconds",
    "max_calls": "the oracle calls ended before a policy was found that keeps all limits: raise max_calls",
    "stopped": "it was stopped before a policy was found that keeps all limits: let it run longer",
}


def why_broken(result: Result) -> str:
    """Return which limits the policy of a result breaks, why, and the next move; empty if it keeps all of them."""
    lost = [f"{r.name}, violated by {r.violation:.3g}" for r in result.constraints if not r.kept]
    if not lost:
        return ""
    other = "method='auto'" if result.counting != "labels" else "counting='calibrated'"
    instead = "" if result.method == "column_generation" else f", or use {other}"
    ended = (
        "the search ended by itself, so more time does not help: loosen a limit (mf.frontier shows what each level "
        "allows)"
    )
    return f"the policy does not keep {'; '.join(lost)}: {NEXT.get(result.status, ended)}{instead}"
