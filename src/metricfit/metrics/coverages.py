"""Shares of decisions: their distance from target shares, and the change from present decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from metricfit.data.validation import label
from metricfit.functions.atoms import CrossEntropyExcess
from metricfit.functions.binding import Binding
from metricfit.functions.curvature import Curvature
from metricfit.functions.expression import Node
from metricfit.functions.linear import Linear
from metricfit.functions.sums import Sum
from metricfit.messages import brief
from metricfit.metrics.base import Metric
from metricfit.metrics.rates import COVERAGES, Composed, Distance
from metricfit.metrics.recorded import recorded
from metricfit.metrics.text.words import finite
from metricfit.types import FloatArray, Label

Target = str | Sequence[float] | Mapping[Label, float]

TARGET_TOLERANCE = 1e-6


@recorded
def coverage_deviation(target: Target = "prior") -> Metric:
    r"""Largest distance of a decision's share from its target, :math:`\max_j |\sum_i C_{ij} - \tau_j|`.

    Parameters
    ----------
    target : "prior", list of float or mapping
        The target share of each decision: the prior of its class, numbers in the order of the decisions, or numbers by
        decision. Shares sum to 1.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.coverage_deviation()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.25
    """
    shares = _checked(target, "coverage_deviation")
    return Distance(f"coverage_deviation({_text(shares)})", COVERAGES, lambda b: _wanted(shares, b))


@recorded
def quantification_kld(target: Target = "prior") -> Metric:
    r"""Divergence of the decisions' shares from a target, :math:`\sum_j \tau_j \log(\tau_j / \sum_i C_{ij})`.

    Parameters
    ----------
    target : "prior", list of float or mapping
        As in `coverage_deviation`.

    Examples
    --------
    >>> import metricfit as mf
    >>> round(mf.quantification_kld()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0])), 4)
    0.1438
    """
    shares = _checked(target, "quantification_kld")
    return Composed(
        f"quantification_kld({_text(shares)})",
        lambda b: CrossEntropyExcess(_wanted(shares, b)),
        CrossEntropyExcess,
        COVERAGES,
        direction=-1,
    )


def _checked(target: object, what: str) -> list[float] | dict[Label, float] | None:
    """Return target shares as plain numbers, None for the class priors."""
    if isinstance(target, str):
        if target == "prior":
            return None
        raise ValueError(
            f"{what}: target must be 'prior', numbers, or a mapping of decisions to numbers, got {brief(target)}"
        )
    given = list(target.values()) if isinstance(target, Mapping) else target
    shares = [finite(share) for share in given] if isinstance(given, Sequence | np.ndarray) else []
    good = [share for share in shares if share is not None and share >= 0]
    if not shares or len(good) < len(shares) or abs(sum(good) - 1) > TARGET_TOLERANCE:
        raise ValueError(f"{what}: target must be shares >= 0 that sum to 1, got {brief(target)}")
    if isinstance(target, Mapping):
        return {label(d, f"{what}: decision"): s for d, s in zip(target, good, strict=True)}
    return good


def _wanted(shares: list[float] | dict[Label, float] | None, b: Binding) -> FloatArray:
    """Return the target share of each decision; decisions that a mapping leaves out have the target 0."""
    if shares is None:
        return np.where(b.axes.match >= 0, b.prior[b.axes.match] / b.mass, 0.0)
    wanted = np.zeros(b.axes.k)
    if isinstance(shares, dict):
        for decision, share in shares.items():
            wanted[b.axes.decision_index(decision)] = share
    elif len(shares) != b.axes.k:
        raise ValueError(
            f"target has {len(shares)} shares, but there are {b.axes.k} decisions; give one for each"
        )
    else:
        wanted[:] = shares
    return wanted


def _text(shares: object) -> str:
    return "" if shares is None else repr(shares)


@dataclass(frozen=True, repr=False, eq=False)
class Churn(Metric):
    """The share of rows whose decision differs from the one in an attribute column."""

    baseline: str
    direction = -1
    curvature = Curvature.LINEAR

    def bind(self, binding: Binding) -> Node:
        terms = []
        for (current,), group in binding.groups(self.baseline).items():
            changed = np.full((1, binding.axes.k), 1 / binding.mass)
            changed[0, binding.axes.decision_index(current)] = 0.0
            terms.append((1.0, group.bind(Linear(column=sp.csr_array(changed)))))
        return Sum(tuple(terms))

    def __str__(self) -> str:
        return f"churn({self.baseline!r})"


@recorded
def churn(baseline: str) -> Metric:
    """Return the share of rows whose decision differs from today's, which is in an attribute column.

    Parameters
    ----------
    baseline : str
        Name of the attribute column with each row's present decision. The policy also reads this column.

    Examples
    --------
    >>> import metricfit as mf, pandas as pd
    >>> today = pd.DataFrame({"today": [0, 0, 1, 1]})
    >>> mf.churn("today")(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0], sensitive_features=today))
    0.25
    """
    if not isinstance(baseline, str):
        raise ValueError(
            "churn: baseline is the name of the attribute column that holds the present decisions, got "
            f"{type(baseline).__name__}; add them as a column of sensitive_features"
        )
    return Churn(baseline)
