"""Random problems of group slices: floors on precisions in groups, the worst of groups, means of recalls.

Half of the floors on a precision are such that a group may keep them only by never getting the decision. Limits are
taken from a classifier drawn at random that does the same, so that every problem has an answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
from methods import problems as known
from methods.drawn import Drawn, apart, f_beta, limits_of, linear, one_of, soft, specificity
from methods.truth import Bound, Case, Sample, Slice

import metricfit as mf

MEANS = "g_mean", "h_mean", "q_mean"


def groups_of(sample: Sample, random: np.random.Generator) -> tuple[str, Any]:
    """Return an attribute and one of its values."""
    name = one_of(random, "sex", "today")
    return name, one_of(random, *sorted(sample.groups[name].unique().tolist()))


def inside(truth: Callable[[Slice], Any], name: str, value: Any) -> Callable[[Slice], Any]:
    return lambda s: truth(s.at(**{name: value}))


def precision(c: int) -> Callable[[Slice], Any]:
    return lambda s: [(s.hit(c), s.given(c))]


def mean(random: np.random.Generator) -> Drawn:
    name = one_of(random, *MEANS)
    return getattr(mf, name)(), getattr(known, name)


def objective(random: np.random.Generator, sample: Sample) -> Drawn:
    """Return a linear metric, a mean of recalls, or a ratio: of all rows, of a group, or the worst of groups."""
    c, (name, value) = int(random.integers(3)), groups_of(sample, random)
    kind = int(random.integers(5))
    if kind == 0:
        return mf.precision(c), precision(c)
    if kind == 1:
        return mf.f1(c), f_beta(1, c)
    metric, truth = one_of(random, linear(random), mean(random))
    if kind == 2:
        return metric.at(**{name: value}), inside(truth, name, value)
    if kind == 3:
        return mf.worst(metric, name), lambda s: cp.min(cp.hstack([truth(g) for g in s.over(name)]))
    return metric, truth


def precision_floor(random: np.random.Generator, sample: Sample, chances: np.ndarray) -> Bound:
    """Return a floor on the precision in a group, in the worst of groups, or in all rows.

    One that the classifier keeps only by never deciding so may be as high as one likes; another is what it reaches.
    """
    c, (name, value) = int(random.integers(3)), groups_of(sample, random)
    kind, never = one_of(random, "at", "worst", "all"), bool(random.integers(2))
    rows = np.ones(len(chances), bool) if kind == "all" else (sample.groups[name] == value).to_numpy()
    if never:
        chances[rows, c] = 0.0
        chances /= chances.sum(axis=1, keepdims=True)
    if kind == "worst":
        metric = mf.worst(mf.precision(c), name)
        truth = lambda s: [(g.hit(c), g.given(c)) for g in s.over(name)]  # noqa: E731
    else:
        metric = mf.precision(c) if kind == "all" else mf.precision(c).at(**{name: value})
        truth = precision(c) if kind == "all" else inside(precision(c), name, value)
    weight, proba = sample.weight, sample.proba[:, c]
    each = (
        [rows]
        if kind != "worst"
        else [(sample.groups[name] == v).to_numpy() for v in sample.groups[name].unique()]
    )
    given = [weight[part] * chances[part, c] for part in each]
    reached = [float(g @ proba[part] / g.sum()) for g, part in zip(given, each, strict=True) if g.sum() > 0]
    limit = min(reached, default=1.0)
    if never and kind != "worst":
        limit = float(random.uniform(0.3, 1.0))
    return Bound(
        metric, ">=", max(limit - float(random.choice([1e-3, 0.05])), 0.01), limits_of(metric, truth)
    )


def other_limit(random: np.random.Generator, sample: Sample) -> Drawn:
    """Return a mean of recalls, the worst of means, a rate in a group, or a difference between groups."""
    c, (name, value) = int(random.integers(3)), groups_of(sample, random)
    kind = int(random.integers(6))
    if kind <= 2:
        metric, truth = mean(random)
        if kind == 0:
            return metric, truth
        if kind == 1:
            return metric.at(**{name: value}), inside(truth, name, value)
        return mf.worst(metric, name), lambda s: cp.min(cp.hstack([truth(g) for g in s.over(name)]))
    if kind == 3:
        metric, truth = one_of(random, linear(random), specificity(c))
        return metric.at(**{name: value}), inside(truth, name, value)
    if kind == 4:
        return mf.demographic_parity(name), apart(lambda s: s.coverages, name)
    return mf.min_recall(), lambda s: cp.min(s.recalls)


def problem(seed: int) -> Case:
    """Return a problem that some classifier solves."""
    random = np.random.default_rng([seed, 1])
    sample = Sample.draw(seed, rows=int(random.integers(10, 30)))
    likely = np.eye(3)[np.argmax(sample.proba * random.uniform(0.5, 2, 3), axis=1)]
    share = random.uniform(0.05, 0.6)
    chances = (1 - share) * likely + share * random.dirichlet([1, 1, 1], len(likely))
    goal, truth = objective(random, sample)
    floors: list[Bound] = []
    for _ in range(int(random.integers(1, 3))):
        before = chances.copy()
        floors.append(precision_floor(random, sample, chances))
        if not _kept(floors, sample, chances):  # the second floor's classifier breaks the first
            floors.pop()
            chances = before
    confusion = soft(sample, chances)
    for metric, formula in (other_limit(random, sample) for _ in range(int(random.integers(1, 3)))):
        sense, slack = ("<=", 1.0) if metric.direction < 0 else (">=", -1.0)
        limit = metric(confusion) + slack * float(random.choice([1e-3, 0.02, 0.1]))
        if random.random() < 0.2 and sense == ">=":
            limit = 0.0
        floors.append(Bound(metric, sense, limit, limits_of(metric, formula)))
    return Case(goal, truth, tuple(floors), sample=sample)


def _kept(floors: list[Bound], sample: Sample, chances: np.ndarray) -> bool:
    """Whether a classifier keeps floors on precisions."""
    whole = Slice(sample, cp.Constant(chances), (0, 1, 2))
    return all(kept.value() for floor in floors for kept in floor.truth(whole, floor.limit))
