"""What a solve ends with, in natural signs: value, bound, prices, history and the policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.methods.base import Record, Status
from metricfit.policy import Policy
from metricfit.result_view import html


@dataclass(frozen=True)
class ConstraintRecord:
    """How a constraint came out.

    ``violation`` <= 0 holds. ``price`` is what the objective would gain, in its own units, per unit of slack
    in the limit; 0 where the constraint does not bind, NaN where the method gives no multipliers.
    """

    name: str
    value: float
    limit: float
    violation: float
    price: float


@dataclass(frozen=True, eq=False)
class Result:
    """The answer of `optimize`.

    Attributes
    ----------
    policy : Policy
        The decision rule (a `ModelPolicy` over models, if the oracle retrains).
    confusion : Confusion
        The policy's expected confusion tensor on the rows it was fitted on.
    value, bound, gap : float
        The objective reached, what no policy can exceed, and their distance. The bound is infinite where none
        is known.
    certified : bool
        Whether the bound is a proof for all randomised classifiers on these rows (``confusion="model"``).
    status : {"optimal", "stalled", "max_calls", "max_seconds", "stopped"}
        Why the walk ended: the gap is at most ``tol``; nothing new was found; a budget was used up; somebody
        stopped it.
    constraints : tuple of ConstraintRecord
    history : tuple of Record
        One record per iteration.
    n_oracle_calls : int
    seconds : float
    method : str
    problem : str
        What was solved, in words.
    """

    policy: Policy
    confusion: Confusion
    value: float
    bound: float
    gap: float
    certified: bool
    status: Status
    constraints: tuple[ConstraintRecord, ...]
    history: tuple[Record, ...]
    n_oracle_calls: int
    seconds: float
    method: str
    problem: str

    @property
    def feasible(self) -> bool:
        """Whether all constraints hold on the fitted rows."""
        return all(record.violation <= 1e-9 for record in self.constraints)

    def to_frame(self) -> Any:
        """Return the constraints as a pandas frame, one row each."""
        import pandas as pd

        columns = ["value", "limit", "violation", "price"]
        rows = [[getattr(record, c) for c in columns] for record in self.constraints]
        names = pd.Index([record.name for record in self.constraints], name="constraint", dtype=object)
        return pd.DataFrame(rows, index=names, columns=columns, dtype=float)

    def _repr_html_(self) -> str:
        """Return the result for a notebook."""
        return html(self)

    def __repr__(self) -> str:
        known = np.isfinite(self.bound)
        bound = (
            f"{self.bound:.6f} ({'proven' if self.certified else 'estimated'}), gap {self.gap:.2e}"
            if known
            else "unknown"
        )
        lines = [
            self.problem,
            f"  value  {self.value:.6f}",
            f"  bound  {bound}",
            f"  status {self.status} after {self.n_oracle_calls} oracle calls, {self.seconds:.2f} s, "
            f"{self.method}",
        ]
        for c in self.constraints:
            holds = "holds" if c.violation <= 1e-9 else f"VIOLATED by {c.violation:.3g}"
            lines.append(f"  {c.name}: {c.value:.6f}, {holds}, price {c.price:.4g}")
        return "\n".join(lines)
