"""What the tuning rows were like, added to a policy so that new rows can be compared with them."""

from __future__ import annotations

from dataclasses import replace

from metricfit.policy import Policy
from metricfit.policy.at_fit import AtFit
from metricfit.result import Result


def with_at_fit(result: Result) -> Result:
    """Return a result whose policy knows the shares on its tuning rows; unchanged if they cannot be compared."""
    policy = result.policy
    rows = None if result.origin is None else result.origin.oracle.sample()
    # A policy that does not see its attributes decides by pairs of group and class, which a new table may not have.
    if rows is None or not isinstance(policy, Policy) or rows.axes.seen is not rows.axes:
        return result
    calibrated = policy.calibrated(rows.proba, rows.attributes)
    known = AtFit.of(calibrated, rows.labels, policy.chances(rows), rows.weights)
    return replace(result, policy=replace(policy, at_fit=known))
