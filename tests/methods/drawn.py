"""Random problems: any metric as objective, up to three others as constraints, with their truth where there is one.

Limits are taken from a classifier drawn at random, so that every problem has an answer. A metric without a truth keeps
no convex set: as an objective nothing is known of its best value, as a constraint leaving it out gives a bound.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import cvxpy as cp
import numpy as np
from methods import problems as known
from methods.truth import Bound, Case, Sample, Slice

import metricfit as mf

Truth = Callable[[Slice], Any]
Drawn = tuple[mf.Metric, Truth | None]


def gap(values: list[Any], others: list[Any]) -> Any:
    return -cp.max(cp.hstack([cp.max(cp.abs(v - o)) for v, o in zip(values, others, strict=True)]))


def apart(of: Truth, over: str) -> Truth:
    return lambda s: gap([of(g) for g in s.over(over)], [of(s)] * len(s.over(over)))


def one_of(random: np.random.Generator, *choices: Any) -> Any:
    return choices[int(random.integers(len(choices)))]


def linear(random: np.random.Generator) -> tuple[mf.Metric, Truth]:
    """A metric that is linear, in any slice, and better when higher."""
    c = int(random.integers(3))
    return one_of(
        random, (mf.accuracy(), known.accuracy), (mf.recall(c), lambda s: s.recalls[c]), specificity(c)
    )


def false_alarms(c: int) -> Truth:
    return lambda s: (s.given(c) - s.hit(c)) / (s.mass - s.prior[c])


def specificity(c: int) -> tuple[mf.Metric, Truth]:
    return mf.specificity(c), lambda s: 1 - false_alarms(c)(s)


def f_beta(beta: float, c: int) -> Truth:
    b = beta**2
    return lambda s: [((1 + b) * s.hit(c), b * s.prior[c] + s.given(c))]


def disparity(random: np.random.Generator) -> Drawn:
    metric, truth = linear(random)
    to, as_ratio = one_of(random, "overall", "pairs", "mean"), bool(random.integers(2))

    def compared(s: Slice) -> list[tuple[Any, Any]]:
        values = [truth(g) for g in s.over("sex")]
        if to == "pairs":
            return list(permutations(values, 2))
        other = truth(s) if to == "overall" else sum(values) / len(values)
        return [pair for value in values for pair in ((value, other), (other, value))]

    if as_ratio:
        return mf.disparity(metric, "sex", to=to, as_ratio=True), compared
    return mf.disparity(metric, "sex", to=to), lambda s: gap(*map(list, zip(*compared(s), strict=True)))


def worst(random: np.random.Generator) -> Drawn:
    c, beta = int(random.integers(3)), float(random.uniform(0.5, 2))
    over = one_of(random, "sex", "today")
    metric, truth = one_of(random, linear(random), (mf.g_mean(), known.g_mean), (mf.f_beta(beta, c), None))
    if truth is None:
        return mf.worst(metric, over), lambda s: [f_beta(beta, c)(g)[0] for g in s.over(over)]
    return mf.worst(metric, over), lambda s: cp.min(cp.hstack([truth(g) for g in s.over(over)]))


def target(random: np.random.Generator) -> np.ndarray:
    return random.dirichlet([8, 5, 3])


def to_target(random: np.random.Generator, make: Any, truth: Callable[[Slice, np.ndarray], Any]) -> Drawn:
    if random.integers(2):
        return make(), lambda s: truth(s, s.prior / s.mass)
    shares = target(random)
    return make(dict(enumerate(shares))), lambda s: truth(s, shares)


def average(random: np.random.Generator, make: Any, truth: Truth, c: int) -> Drawn:
    """A metric of one class, or rarely its mean over the classes, which has no truth."""
    return (make(average="macro"), None) if random.random() < 0.2 else (make(c), truth)


def draw(name: str, random: np.random.Generator) -> Drawn:
    """Return a metric of a name with arguments drawn at random, and its truth (maximised), or None."""
    c, beta, table = int(random.integers(3)), float(random.uniform(0.5, 2)), random.uniform(0, 3, (3, 3))
    np.fill_diagonal(table, 0)
    (left, left_truth), (right, right_truth) = linear(random), (mf.g_mean(), known.g_mean)
    power = one_of(random, None, 1, 2)
    distance = np.abs(np.arange(3)[:, None] - np.arange(3)[None]).astype(float)
    match name:
        case "accuracy":
            return mf.accuracy(), known.accuracy
        case "recall":
            return mf.recall(c), lambda s: s.recalls[c]
        case "precision":
            return mf.precision(c), lambda s: [(s.hit(c), s.given(c))]
        case "specificity":
            return specificity(c)
        case "false_positive_rate":
            return mf.false_positive_rate(c), lambda s: -false_alarms(c)(s)
        case "coverage":
            return mf.coverage(c), lambda s: s.coverages[c]
        case "f_beta":
            return average(random, lambda *a, **k: mf.f_beta(beta, *a, **k), f_beta(beta, c), c)
        case "f1":
            return average(random, mf.f1, f_beta(1, c), c)
        case "jaccard":
            return average(random, mf.jaccard, lambda s: [(s.hit(c), s.prior[c] + s.given(c) - s.hit(c))], c)
        case "selective_accuracy":
            return mf.selective_accuracy(), known.accuracy
        case "selective_recall":
            return mf.selective_recall(c), lambda s: s.recalls[c]
        case "balanced_accuracy":
            return mf.balanced_accuracy(), lambda s: cp.sum(s.recalls) / s.n
        case "g_mean" | "h_mean" | "q_mean":
            return getattr(mf, name)(), getattr(known, name)
        case "min_recall":
            return mf.min_recall(), lambda s: cp.min(s.recalls)
        case "micro_f1":
            return mf.micro_f1(c), known.micro_f1(c)
        case "cost":
            return mf.cost(table), known.cost(table)
        case "ordinal_error":
            return mf.ordinal_error(), known.cost(distance)
        case "cohen_kappa":
            return mf.cohen_kappa({None: None, 1: "linear", 2: "quadratic"}[power]), known.kappa(power)
        case "coverage_deviation":
            return to_target(
                random, mf.coverage_deviation, lambda s, shares: -cp.max(cp.abs(s.coverages - shares))
            )
        case "quantification_kld":
            return to_target(
                random,
                mf.quantification_kld,
                lambda s, shares: -cp.sum(cp.multiply(shares, np.log(shares) - cp.log(s.coverages))),
            )
        case "churn":
            return mf.churn("today"), lambda s: sum(s.at(today=j).given(j) for j in range(3)) / s.mass - 1
        case "demographic_parity":
            return mf.demographic_parity("sex"), apart(lambda s: s.coverages, "sex")
        case "equal_opportunity":
            return mf.equal_opportunity("sex", c), apart(lambda s: s.recalls[c], "sex")
        case "equalized_odds":
            return mf.equalized_odds("sex"), apart(known.rates, "sex")
        case "disparity":
            return disparity(random)
        case "worst":
            return worst(random)
        case "minimum":
            return mf.minimum(left, right), lambda s: cp.minimum(left_truth(s), right_truth(s))
        case "maximum":
            return (
                mf.maximum(mf.cost(table), mf.false_positive_rate(c)),
                lambda s: -cp.maximum(-known.cost(table)(s), false_alarms(c)(s)),
            )
        case "macro_f1":
            return mf.macro_f1(), None
        case "mcc":
            return mf.mcc(), None
        case "predictive_parity":
            return mf.predictive_parity("sex", c), None
        case "equal_error_rates":
            return mf.equal_error_rates("sex"), apart(known.accuracy, "sex")
    raise AssertionError(f"no problem is drawn with {name}: write its formula here")


def limits_of(metric: mf.Metric, truth: Truth) -> Callable[[Slice, float], list[Any]]:
    """Return what CVXPY must keep so that a metric is as good as a limit."""

    def kept(s: Slice, limit: float) -> list[Any]:
        found = truth(s)
        if isinstance(found, list):
            return [limit * under - over <= 0 for over, under in found]
        return [-found - limit <= 0] if metric.direction < 0 else [limit - found <= 0]

    return kept


def nothing(s: Slice, limit: float) -> list[Any]:
    return []


def problem(seed: int, names: list[str]) -> Case:
    """Return a problem whose constraints some classifier keeps; ``truth`` is None where there is none."""
    random = np.random.default_rng(seed)
    sample = Sample.draw(seed, rows=24)
    # Every objective comes up as often as the others; the constraints are drawn.
    objective, truth = draw(names[seed % len(names)], random)
    chosen = [draw(name, random) for name in random.choice(names, int(random.integers(4)))]
    if names[seed % len(names)] == "precision":  # one row decided so would have the best precision
        c = int(str(objective)[-2])
        chosen.append((mf.coverage(c), lambda s: s.coverages[c]))
    likely = np.eye(3)[np.argmax(sample.proba * random.uniform(0.5, 2, 3), axis=1)]
    share = random.uniform(0.05, 0.6)
    chances = (1 - share) * likely + share * random.dirichlet([1, 1, 1], len(likely))
    confusion = soft(sample, chances)
    bounds = []
    for metric, formula in chosen:
        sense, slack = ("<=", 1.0) if metric.direction < 0 else (">=", -1.0)
        limit = metric(confusion) + slack * float(random.choice([1e-3, 0.02, 0.1]))
        kept = nothing if formula is None else limits_of(metric, formula)
        bounds.append(Bound(metric, sense, limit, kept, convex=formula is not None))
    return Case(objective, truth, tuple(bounds), sample=sample)


def soft(sample: Sample, chances: np.ndarray) -> mf.Confusion:
    """Return the confusion of a randomised classifier, by soft labels."""
    _, oracle = Case(mf.accuracy(), known.accuracy, sample=sample).bind()
    weight = sample.weight / sample.weight.sum()
    codes = oracle.axes.cells.encode(sample.groups, len(sample.y))
    values = np.zeros(oracle.axes.shape)
    np.add.at(values, codes, weight[:, None, None] * sample.proba[:, :, None] * chances[:, None, :])
    return mf.Confusion(values, oracle.axes)
