"""The truth on tiny data: the full convex program over all randomised classifiers, in CVXPY.

Each row's distribution over the decisions is a variable, N x k of them. The formulas of the metrics are
written out here once more, from their definitions and not from the package, so that an error in either shows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd

import metricfit as mf
from metricfit.oracles import PluginOracle, Rows
from metricfit.problem import Problem, Program


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of a tiny problem; ``groups`` is a frame of attributes or None."""

    proba: np.ndarray
    y: np.ndarray
    groups: pd.DataFrame | None = None
    weight: np.ndarray | None = None

    @classmethod
    def draw(
        cls, seed: int = 0, rows: int = 36, classes: int = 3, groups: int = 2, sharp: float = 1.0
    ) -> Sample:
        """Draw imbalanced probabilities, labels that follow them, two attributes and uneven weights."""
        random = np.random.default_rng(seed)
        prior = np.linspace(2.0, 0.7, classes) * sharp
        proba = random.dirichlet(prior, rows)
        y = np.array([random.choice(classes, p=p) for p in proba])
        y[:classes] = np.arange(classes)
        frame = pd.DataFrame({"sex": np.array(["F", "M"])[np.arange(rows) % 2]})
        frame["today"] = random.permutation(np.arange(rows) % classes)
        names = ["sex", "today"][:groups]
        return cls(proba, y, frame[names] if groups else None, random.uniform(0.5, 2.0, rows))

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `optimize` that say what the data is."""
        return dict(proba=self.proba, y=self.y, sensitive_features=self.groups, sample_weight=self.weight)


class Slice:
    """What metrics speak of, in some of the rows, as expressions of the decisions ``X`` (N x k)."""

    def __init__(self, sample: Sample, X: Any, decisions: Sequence[object], inside: Any = None) -> None:
        self.sample, self.X, self.decisions = sample, X, decisions
        weight = np.ones(len(sample.y)) if sample.weight is None else sample.weight
        self.inside = np.ones(len(weight), bool) if inside is None else inside
        self.weight = weight / weight.sum() * self.inside
        soft = sample.proba * self.weight[:, None]
        self.matrix = soft.T @ X
        self.prior, self.mass = soft.sum(axis=0), self.weight.sum()
        self.n, self.k = sample.proba.shape[1], len(decisions)

    def at(self, **where: object) -> Slice:
        """Return a slice of the slice."""
        inside = self.inside.copy()
        for name, value in where.items():
            inside &= (self.sample.groups[name] == value).to_numpy()
        return Slice(self.sample, self.X, self.decisions, inside)

    def over(self, name: str) -> list[Slice]:
        """Return the slices that an attribute makes."""
        return [self.at(**{name: value}) for value in sorted(self.sample.groups[name].unique())]

    def hit(self, c: int) -> Any:
        """Return the share of rows of class c that are decided so."""
        return self.matrix[c, self.decisions.index(c)] if c in self.decisions else cp.Constant(0.0)

    @cached_property
    def hits(self) -> Any:
        """The hits of all classes."""
        return cp.hstack([self.hit(c) for c in range(self.n)])

    def given(self, decision: object) -> Any:
        """Return the share of rows with a decision."""
        return cp.sum(self.matrix[:, self.decisions.index(decision)])

    @cached_property
    def recalls(self) -> Any:
        """The recalls of all classes."""
        return cp.multiply(1 / self.prior, self.hits)

    @cached_property
    def coverages(self) -> Any:
        """The shares of all decisions within the slice."""
        return cp.sum(self.matrix, axis=0) / self.mass


@dataclass(frozen=True, eq=False)
class Bound:
    """A constraint twice: as the package takes it, and as CVXPY constraints for any limit."""

    metric: mf.Metric
    sense: str
    limit: float
    truth: Callable[[Slice, float], list[Any]]
    ratio: bool = False
    convex: bool = True

    @property
    def constraint(self) -> mf.Constraint:
        return self.metric <= self.limit if self.sense == "<=" else self.metric >= self.limit

    def relaxed(self, slack: float) -> Bound:
        """Return the bound with some slack added to its limit."""
        limit = self.limit + (slack if self.sense == "<=" else -slack)
        return replace(self, limit=limit)


@dataclass(frozen=True, eq=False)
class Case:
    """A problem, and its truth: a concave function, or pairs (over, under) whose smallest ratio counts.

    Truths are maximised, so that of a metric where lower is better is its negative.
    """

    objective: mf.Metric
    truth: Callable[[Slice], Any]
    bounds: tuple[Bound, ...] = ()
    decisions: tuple[object, ...] | None = None
    sample: Sample = field(default_factory=Sample.draw)

    @property
    def sign(self) -> int:
        """The factor between the objective and what the truth maximises."""
        return -1 if self.objective.direction < 0 else 1

    @property
    def constraints(self) -> list[mf.Constraint]:
        return [bound.constraint for bound in self.bounds]

    def solve(self, **options: Any) -> mf.Result:
        """Solve the problem with the package, on soft labels unless asked otherwise."""
        options = {"counting": "model", "decisions": self.decisions, **options}
        return mf.optimize(
            objective=self.objective, constraints=self.constraints, **self.sample.arguments(), **options
        )

    def bind(self) -> tuple[Program, PluginOracle]:
        """Return the problem bound to an oracle with soft labels, and the oracle."""
        given = self.sample.arguments()
        rows = Rows.of(given.pop("proba"), given.pop("y"), decisions=self.decisions, **given)
        oracle = PluginOracle(rows, "model")
        return Problem.of(self.objective, self.constraints).bind(oracle.axes, oracle.margins), oracle

    def whole(self) -> tuple[Slice, list[Any]]:
        """Return all rows with free decisions, and what makes those distributions."""
        decisions = self.decisions or tuple(range(self.sample.proba.shape[1]))
        X = cp.Variable((len(self.sample.y), len(decisions)), nonneg=True)
        return Slice(self.sample, X, decisions), [cp.sum(X, axis=1) == 1]

    def best(self, slacks: Sequence[float] | None = None) -> float:
        """Return the best value that any randomised classifier has, in the natural sign of the objective."""
        bounds = (
            self.bounds
            if slacks is None
            else [b.relaxed(s) for b, s in zip(self.bounds, slacks, strict=True)]
        )
        whole, limits = self.whole()
        for bound in bounds:
            limits += bound.truth(whole, bound.limit)
        goal = self.truth(whole)
        if not isinstance(goal, list):
            return self.sign * solved(cp.Problem(cp.Maximize(cp.sum(goal)), limits))
        return self.sign * smallest_ratio(goal, limits)

    def least_violation(self, chosen: Sequence[int] | None = None) -> float:
        """Return the smallest largest violation of some of the constraints, in their own units.

        Of ratios it is found by bisection over a slack given to all.
        """
        picked = self.bounds if chosen is None else [self.bounds[k] for k in chosen]
        if not any(bound.ratio for bound in picked):
            return self.excess(picked)
        low, high = -1.0, 1.0
        while high - low > 1e-7:
            slack = (low + high) / 2
            low, high = (
                (low, slack) if self.excess([b.relaxed(slack) for b in picked]) <= 1e-10 else (slack, high)
            )
        return high

    def excess(self, bounds: Sequence[Bound]) -> float:
        """Return the smallest largest value of some constraints' functions; <= 0 when all can be kept."""
        whole, limits = self.whole()
        excess = cp.Variable()
        for bound in bounds:
            limits += [kept.expr <= excess for kept in bound.truth(whole, bound.limit)]
        return solved(cp.Problem(cp.Minimize(excess), limits))


def smallest_ratio(pairs: list[tuple[Any, Any]], limits: list[Any]) -> float:
    """Maximise the smallest of several ratios by Dinkelbach's iteration."""
    level, below = cp.Parameter(value=0.0), cp.Variable()
    overs, unders = (cp.hstack(list(parts)) for parts in zip(*pairs, strict=True))
    problem = cp.Problem(cp.Maximize(below), [*limits, below <= overs - level * unders])
    for _ in range(100):
        if (
            solved(problem) <= 1e-9 or unders.value.min() < 1e-7
        ):  # nothing is better, but a precision of no rows
            return float(level.value)
        found = float(np.min(overs.value / np.maximum(unders.value, 1e-12)))
        if found - level.value <= 1e-9:
            return max(found, float(level.value))
        level.value = found
    raise AssertionError("Dinkelbach's iteration did not converge")


def solved(problem: cp.Problem) -> float:
    """Solve a convex program accurately and return its value; it must have one.

    Where scaling the rows leaves the solver short of its accuracy, the rows as they are do not.
    """
    for scaled in (True, False):
        with warnings.catch_warnings(), suppress(cp.SolverError):
            warnings.filterwarnings("ignore", "Solution may be inaccurate")
            problem.solve(
                solver=cp.CLARABEL,
                tol_gap_abs=1e-9,
                tol_gap_rel=1e-9,
                tol_feas=1e-9,
                equilibrate_enable=scaled,
            )
        if problem.status == cp.OPTIMAL:
            return float(problem.value)
    raise AssertionError(problem.status)
