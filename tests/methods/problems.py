"""Problems on tiny data whose truth is known: every objective and every kind of constraint at least once."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
from methods.truth import Bound, Case, Sample, Slice

import metricfit as mf

# Asymmetric on purpose: a transposed table would give other optima.
COST = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 1.5], [7.0, 0.5, 0.0]])
TRIAGE = np.array([[0.0, 1.0, 3.0, 0.4], [2.0, 0.0, 1.0, 0.4], [9.0, 2.0, 0.0, 0.4]])
REVIEW = (0, 1, 2, "review")


def accuracy(s: Slice) -> Any:
    return cp.sum(s.hits) / s.mass


def cost(table: np.ndarray) -> Any:
    return lambda s: -cp.sum(cp.multiply(table, s.matrix)) / s.mass


def g_mean(s: Slice) -> Any:
    return cp.geo_mean(s.recalls)


def h_mean(s: Slice) -> Any:
    return cp.harmonic_mean(s.recalls)


def q_mean(s: Slice) -> Any:
    return 1 - cp.norm(1 - s.recalls, 2) / np.sqrt(s.n)


def kappa(power: int | None) -> Any:
    """One less the ratio of disagreement observed and expected: the negative is maximised, 1 is added."""

    def truth(s: Slice) -> list[tuple[Any, Any]]:
        i, j = np.arange(s.n)[:, None], np.array(s.decisions)[None, :]
        table = (i != j).astype(float) if power is None else np.abs(i - j).astype(float) ** power
        observed = cp.sum(cp.multiply(table, s.matrix)) / s.mass
        expected = (s.prior / s.mass) @ table @ s.coverages
        return [(expected - observed, expected)]

    return truth


def micro_f1(default: int) -> Any:
    def truth(s: Slice) -> list[tuple[Any, Any]]:
        others = [c for c in range(s.n) if c != default]
        return [(2 * sum(s.hit(c) for c in others), sum(s.prior[c] + s.given(c) for c in others))]

    return truth


def kld(s: Slice) -> Any:
    target = s.prior / s.mass
    return -cp.sum(cp.multiply(target, np.log(target) - cp.log(s.coverages)))


def deviation(s: Slice) -> Any:
    return cp.max(cp.abs(s.coverages - s.prior / s.mass))


def rates(s: Slice) -> Any:
    return cp.multiply(s.matrix, np.repeat(1 / s.prior[:, None], s.k, axis=1))


def floor_precision(c: int, limit: float) -> Bound:
    return Bound(mf.precision(c), ">=", limit, lambda s, t: [t * s.given(c) - s.hit(c) <= 0], ratio=True)


def cap_coverage(c: object, limit: float) -> Bound:
    return Bound(mf.coverage(c), "<=", limit, lambda s, t: [s.given(c) / s.mass - t <= 0])


def cap_deviation(limit: float) -> Bound:
    return Bound(mf.coverage_deviation(), "<=", limit, lambda s, t: [deviation(s) - t <= 0])


def parity(limit: float) -> Bound:
    return Bound(
        mf.demographic_parity(over="sex"),
        "<=",
        limit,
        lambda s, t: [cp.abs(g.coverages - s.coverages) - t <= 0 for g in s.over("sex")],
    )


def opportunity(c: int, limit: float) -> Bound:
    return Bound(
        mf.equal_opportunity(over="sex", c=c),
        "<=",
        limit,
        lambda s, t: [cp.abs(g.recalls[c] - s.recalls[c]) - t <= 0 for g in s.over("sex")],
    )


def odds(limit: float) -> Bound:
    return Bound(
        mf.equalized_odds(over="sex"),
        "<=",
        limit,
        lambda s, t: [cp.max(cp.abs(rates(g) - rates(s))) - t <= 0 for g in s.over("sex")],
    )


def pairs(limit: float) -> Bound:
    def truth(s: Slice, t: float) -> list[Any]:
        first, second = s.over("sex")
        return [cp.abs(accuracy(first) - accuracy(second)) - t <= 0]

    return Bound(mf.disparity(mf.accuracy(), over="sex", to="pairs"), "<=", limit, truth)


def mean_of_groups(limit: float) -> Bound:
    def truth(s: Slice, t: float) -> list[Any]:
        groups = [accuracy(g) for g in s.over("today")]
        return [cp.abs(group - sum(groups) / len(groups)) - t <= 0 for group in groups]

    return Bound(mf.disparity(mf.accuracy(), over="today", to="mean"), "<=", limit, truth)


def ratio_of_pairs(limit: float) -> Bound:
    def truth(s: Slice, t: float) -> list[Any]:
        first, second = (g.recalls[2] for g in s.over("sex"))
        return [t * second - first <= 0, t * first - second <= 0]

    return Bound(
        mf.disparity(mf.recall(2), over="sex", to="pairs", as_ratio=True), ">=", limit, truth, ratio=True
    )


def churn(limit: float) -> Bound:
    def truth(s: Slice, t: float) -> list[Any]:
        kept = sum(s.at(today=c).given(c) for c in range(s.n))
        return [1 - kept / s.mass - t <= 0]

    return Bound(mf.churn("today"), "<=", limit, truth)


def floor_recall(c: int, limit: float, **where: object) -> Bound:
    metric = mf.recall(c).at(**where) if where else mf.recall(c)
    return Bound(metric, ">=", limit, lambda s, t: [t - s.at(**where).recalls[c] <= 0])


def floor_g_mean(limit: float) -> Bound:
    return Bound(mf.g_mean(), ">=", limit, lambda s, t: [t - g_mean(s) <= 0])


def floor_q_mean(limit: float) -> Bound:
    return Bound(mf.q_mean(), ">=", limit, lambda s, t: [t - q_mean(s) <= 0])


def cap_kld(limit: float) -> Bound:
    return Bound(mf.quantification_kld(), "<=", limit, lambda s, t: [-kld(s) - t <= 0])


def cap_cost(limit: float) -> Bound:
    return Bound(mf.cost(COST), "<=", limit, lambda s, t: [-cost(COST)(s) - t <= 0])


UNCONSTRAINED = {
    "accuracy": Case(mf.accuracy(), accuracy),
    "cost": Case(mf.cost(COST), cost(COST)),
    "balanced_accuracy": Case(mf.balanced_accuracy(), lambda s: cp.sum(s.recalls) / s.n),
    "g_mean": Case(mf.g_mean(), g_mean),
    "h_mean": Case(mf.h_mean(), h_mean),
    "q_mean": Case(mf.q_mean(), q_mean),
    "min_recall": Case(mf.min_recall(), lambda s: cp.min(s.recalls)),
    "micro_f1": Case(mf.micro_f1(), micro_f1(0)),
    "micro_f1 default": Case(mf.micro_f1(default=2), micro_f1(2)),
    "f_beta": Case(mf.f_beta(2, 1), lambda s: [(5 * s.hit(1), 4 * s.prior[1] + s.given(1))]),
    "jaccard": Case(mf.jaccard(2), lambda s: [(s.hit(2), s.prior[2] + s.given(2) - s.hit(2))]),
    "precision": Case(
        mf.precision(1),
        lambda s: [(s.hit(1), s.given(1))],
        (Bound(mf.coverage(1), ">=", 0.1, lambda s, t: [t - s.given(1) <= 0]),),
    ),
    "kappa": Case(mf.cohen_kappa(), kappa(None)),
    "linear kappa": Case(mf.cohen_kappa("linear"), kappa(1)),
    "quadratic kappa": Case(mf.cohen_kappa("quadratic"), kappa(2)),
    "ordinal_error": Case(
        mf.ordinal_error(), cost(np.abs(np.arange(3)[:, None] - np.arange(3)[None, :]).astype(float))
    ),
    "kld": Case(mf.quantification_kld(), kld),
    "coverage_deviation": Case(mf.coverage_deviation(), lambda s: -deviation(s)),
    "sum of means": Case(
        0.3 * mf.recall(1) + 0.7 * mf.g_mean(), lambda s: 0.3 * s.recalls[1] + 0.7 * g_mean(s)
    ),
    "mean less deviation": Case(
        mf.g_mean() - 0.5 * mf.coverage_deviation(), lambda s: g_mean(s) - 0.5 * deviation(s)
    ),
    "two means": Case(mf.h_mean() + mf.q_mean(), lambda s: h_mean(s) + q_mean(s)),
    "accuracy less parity": Case(
        mf.accuracy() - mf.demographic_parity(over="sex"),
        lambda s: (
            accuracy(s)
            - cp.max(cp.hstack([cp.max(cp.abs(g.coverages - s.coverages)) for g in s.over("sex")]))
        ),
    ),
    "disparity": Case(
        mf.disparity(mf.recall(2), over="sex", to="pairs") + mf.cost(COST),
        lambda s: cost(COST)(s) - cp.abs(s.at(sex="F").recalls[2] - s.at(sex="M").recalls[2]),
    ),
    "worst g_mean": Case(
        mf.worst(mf.g_mean(), over="sex"), lambda s: cp.min(cp.hstack([g_mean(g) for g in s.over("sex")]))
    ),
    "worst cost": Case(
        mf.worst(mf.cost(COST), over="today"),
        lambda s: cp.min(cp.hstack([cost(COST)(g) for g in s.over("today")])),
    ),
    "worst f_beta": Case(
        mf.worst(mf.f_beta(1, 1), over="sex"),
        lambda s: [(2 * g.hit(1), g.prior[1] + g.given(1)) for g in s.over("sex")],
    ),
    "worst precision": Case(
        mf.worst(mf.precision(1), over="sex"),
        lambda s: [(g.hit(1), g.given(1)) for g in s.over("sex")],
        (
            Bound(
                mf.worst(mf.recall(1), over="sex"),
                ">=",
                0.4,
                lambda s, t: [t - g.recalls[1] <= 0 for g in s.over("sex")],
            ),
        ),
    ),
    "rate or ratio": Case(
        mf.minimum(mf.recall(0), mf.f_beta(1, 2)),
        lambda s: [(s.hit(0), s.prior[0]), (2 * s.hit(2), s.prior[2] + s.given(2))],
    ),
    "slice": Case(mf.g_mean().at(sex="F") + mf.accuracy(), lambda s: g_mean(s.at(sex="F")) + accuracy(s)),
}

CONSTRAINED = {
    "g_mean, precision": Case(mf.g_mean(), g_mean, (floor_precision(1, 0.6),)),
    "g_mean, coverage": Case(mf.g_mean(), g_mean, (cap_coverage(2, 0.15),)),
    "h_mean, deviation": Case(mf.h_mean(), h_mean, (cap_deviation(0.02),)),
    "g_mean, parity": Case(mf.g_mean(), g_mean, (parity(0.02),)),
    "accuracy, opportunity": Case(mf.accuracy(), accuracy, (opportunity(2, 0.01),)),
    "cost, odds": Case(mf.cost(COST), cost(COST), (odds(0.03),)),
    "g_mean, pairs": Case(mf.g_mean(), g_mean, (pairs(0.01),)),
    "cost, mean of groups": Case(mf.cost(COST), cost(COST), (mean_of_groups(0.01),)),
    "q_mean, ratio": Case(mf.q_mean(), q_mean, (ratio_of_pairs(0.99),)),
    "min_recall, churn": Case(mf.min_recall(), lambda s: cp.min(s.recalls), (churn(0.4),)),
    "accuracy, recall in slices": Case(
        mf.accuracy(), accuracy, (floor_recall(2, 0.6, sex="F"), floor_recall(2, 0.5, sex="M"))
    ),
    "cost, g_mean": Case(mf.cost(COST), cost(COST), (floor_g_mean(0.56),)),
    "accuracy, q_mean": Case(mf.accuracy(), accuracy, (floor_q_mean(0.565),)),
    "min_recall, kld": Case(mf.min_recall(), lambda s: cp.min(s.recalls), (cap_kld(0.002),)),
    "micro_f1, kld": Case(mf.micro_f1(), micro_f1(0), (cap_kld(0.003),)),
    "micro_f1, parity": Case(mf.micro_f1(), micro_f1(0), (parity(0.02),)),
    "jaccard, precision": Case(
        mf.jaccard(2), lambda s: [(s.hit(2), s.prior[2] + s.given(2) - s.hit(2))], (floor_precision(0, 0.75),)
    ),
    "quadratic kappa, several": Case(
        mf.cohen_kappa("quadratic"), kappa(2), (cap_deviation(0.05), floor_recall(1, 0.6))
    ),
    "kld, recalls": Case(mf.quantification_kld(), kld, (floor_recall(2, 0.8), floor_recall(1, 0.6))),
    "several": Case(
        mf.g_mean(), g_mean, (floor_precision(1, 0.4), cap_coverage(2, 0.18), parity(0.05), cap_cost(0.9))
    ),
    "worst g_mean, precision": Case(
        mf.worst(mf.g_mean(), over="sex"),
        lambda s: cp.min(cp.hstack([g_mean(g) for g in s.over("sex")])),
        (floor_precision(1, 0.6),),
    ),
    "slack only": Case(mf.g_mean(), g_mean, (floor_recall(0, 0.01), cap_cost(6.0))),
}

# Decisions that are no class, and classes that no decision names.
OTHER_DECISIONS = {
    "review": Case(mf.cost(TRIAGE), cost(TRIAGE), (cap_coverage("review", 0.1),), REVIEW),
    "review, g_mean": Case(
        mf.g_mean() - 0.5 * mf.cost(TRIAGE),
        lambda s: g_mean(s) + 0.5 * cost(TRIAGE)(s),
        (cap_coverage("review", 0.1), floor_precision(2, 0.6)),
        REVIEW,
    ),
    "selective": Case(
        mf.selective_accuracy(),
        lambda s: [(cp.sum(s.hits), s.given(0) + s.given(1) + s.given(2))],
        (cap_coverage("review", 0.2), floor_recall(1, 0.4)),
        REVIEW,
    ),
    "fewer decisions": Case(mf.cost(COST[:, [0, 2]]), cost(COST[:, [0, 2]]), (cap_coverage(2, 0.2),), (0, 2)),
    "fewer, balanced": Case(mf.balanced_accuracy(), lambda s: cp.sum(s.recalls) / s.n, (), (2, 0)),
    "no class": Case(
        mf.cost(COST[:, :2]), cost(COST[:, :2]), (cap_coverage("block", 0.4),), ("pass", "block")
    ),
    "turned round": Case(
        mf.g_mean() - mf.cost(COST[:, ::-1]), lambda s: g_mean(s) + cost(COST[:, ::-1])(s), (), (2, 1, 0)
    ),
}

PROBLEMS = UNCONSTRAINED | CONSTRAINED | OTHER_DECISIONS

__all__ = ["CONSTRAINED", "COST", "OTHER_DECISIONS", "PROBLEMS", "UNCONSTRAINED", "Sample"]
