"""The lists that tests walk. A metric added to METRICS is checked against an independent score, differences,
midpoints, level sets and its own text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import permutations

import numpy as np
import pandas as pd
from sklearn import metrics as sk

import metricfit as mf
from metricfit.data.axes import Axes
from metricfit.data.confusion import Confusion

CLASSES = ("ant", "bee", "cow")
REVIEW = (*CLASSES, "review")


@dataclass(frozen=True)
class Rows:
    """Labels, decisions, attributes and weights of some rows, with every class in every cell."""

    y: np.ndarray
    made: np.ndarray
    attributes: pd.DataFrame
    weight: np.ndarray

    @property
    def confusion(self) -> Confusion:
        return Confusion.from_predictions(
            self.y, self.made, self.attributes, sample_weight=self.weight, classes=CLASSES
        )

    def where(self, inside: np.ndarray) -> Rows:
        return Rows(self.y[inside], self.made[inside], self.attributes[inside], self.weight[inside])

    def share(self, inside: np.ndarray) -> float:
        return float(np.average(inside, weights=self.weight))

    def groups(self, *over: str) -> Iterator[Rows]:
        group = self.attributes.groupby(list(over)).ngroup().to_numpy()
        for place in np.unique(group):
            yield self.where(group == place)


def example_rows(decisions: tuple[str, ...] = CLASSES, seed: int = 0, size: int = 400) -> Rows:
    rng = np.random.default_rng(seed)
    y = rng.choice(CLASSES, size, p=[0.5, 0.3, 0.2])
    guess = rng.choice(decisions, size)
    right = (rng.random(size) < 0.6) & np.isin(y, decisions)
    attributes = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], size),
            "region": rng.choice([1, 2, 3], size, p=[0.5, 0.3, 0.2]),
            "today": rng.choice(decisions, size),
        }
    )
    return Rows(y, np.where(right, y, guess), attributes, rng.exponential(size=size))


Score = Callable[[Rows], float]


def per_class(score: Callable[..., float], **options: object) -> Score:
    """One of scikit-learn's scores with an average, of some or all classes."""
    given = {"labels": list(CLASSES), "average": "macro", "zero_division": 0, **options}
    return lambda rows: score(rows.y, rows.made, sample_weight=rows.weight, **given)


def plain(score: Callable[..., float], **options: object) -> Score:
    return lambda rows: score(rows.y, rows.made, sample_weight=rows.weight, **options)


def recalls(rows: Rows) -> np.ndarray:
    return np.asarray(per_class(sk.recall_score, average=None)(rows))


def coverages(rows: Rows, decisions: tuple[str, ...] = REVIEW) -> np.ndarray:
    return np.array([rows.share(rows.made == d) for d in decisions])


def false_alarms(c: str) -> Score:
    return lambda rows: rows.where(rows.y != c).share(rows.where(rows.y != c).made == c)


def decided(rows: Rows) -> Rows:
    return rows.where(np.isin(rows.made, CLASSES))


def priors(rows: Rows) -> np.ndarray:
    return np.array([rows.share(rows.y == d) for d in REVIEW])


def code(labels: np.ndarray) -> np.ndarray:
    return np.array([CLASSES.index(label) for label in labels])


def divergence(target: np.ndarray, shares: np.ndarray) -> float:
    used = target > 0
    return float(np.sum(target[used] * np.log(target[used] / shares[used])))


def apart(score: Callable[[Rows], object], *over: str) -> Score:
    """The largest distance of a group's rates from those of all rows."""
    return lambda rows: max(
        float(np.max(np.abs(np.asarray(score(part)) - np.asarray(score(rows)))))
        for part in rows.groups(*over)
    )


def within(score: Callable[[Rows], float], given: str) -> Score:
    """The largest of a score over the parts that an attribute makes of the rows."""
    return lambda rows: max(score(part) for part in rows.groups(given))


def odds(rows: Rows) -> np.ndarray:
    return np.concatenate([coverages(rows.where(rows.y == c)) for c in CLASSES])


def bees_of_each(rows: Rows, over: str) -> list[list[float]]:
    """For each group and class, the share of rows decided as a bee."""
    return [
        [inside.share(inside.made == "bee") for inside in (part.where(part.y == c) for c in CLASSES)]
        for part in rows.groups(over)
    ]


def ratios(score: Score, over: str) -> Score:
    return lambda rows: min(a / b for a, b in permutations([score(part) for part in rows.groups(over)], 2))


COSTS = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 7.0], [5.0, 3.0, 0.0]])
TARGET = {"ant": 0.4, "cow": 0.25, "bee": 0.35}
SHARES = np.array([TARGET.get(d, 0.0) for d in REVIEW])


@dataclass(frozen=True)
class Example:
    """A metric and an independent score. ``classes_only``: every decision must be a class."""

    metric: mf.Metric
    score: Score = field(repr=False)
    classes_only: bool = False

    @property
    def name(self) -> str:
        return str(self.metric).split("(")[0]


recall_bee = per_class(sk.recall_score, labels=["bee"])
precision_bee = per_class(sk.precision_score, labels=["bee"])

METRICS = [
    Example(mf.accuracy(), plain(sk.accuracy_score)),
    Example(mf.recall("bee"), recall_bee),
    Example(mf.precision("bee"), precision_bee),
    Example(mf.specificity("cow"), lambda rows: 1 - false_alarms("cow")(rows)),
    Example(mf.false_positive_rate("cow"), false_alarms("cow")),
    Example(mf.coverage("ant"), lambda rows: rows.share(rows.made == "ant")),
    Example(mf.f_beta(0.5, "bee"), per_class(sk.fbeta_score, labels=["bee"], beta=0.5)),
    Example(mf.f_beta(2, average="macro"), per_class(sk.fbeta_score, beta=2)),
    Example(mf.f_beta(2, average="weighted"), per_class(sk.fbeta_score, beta=2, average="weighted")),
    Example(mf.jaccard("cow"), per_class(sk.jaccard_score, labels=["cow"])),
    Example(mf.jaccard(average="macro"), per_class(sk.jaccard_score)),
    Example(mf.jaccard(average="weighted"), per_class(sk.jaccard_score, average="weighted")),
    Example(mf.macro_f1(), per_class(sk.f1_score)),
    Example(mf.micro_f1("bee"), per_class(sk.f1_score, labels=["ant", "cow"], average="micro")),
    Example(mf.micro_f1(), per_class(sk.f1_score, labels=["bee", "cow"], average="micro")),
    Example(mf.selective_accuracy(), lambda rows: plain(sk.accuracy_score)(decided(rows))),
    Example(mf.selective_recall("bee"), lambda rows: recall_bee(decided(rows))),
    Example(mf.balanced_accuracy(), lambda rows: recalls(rows).mean()),
    Example(mf.balanced_accuracy(), plain(sk.balanced_accuracy_score), classes_only=True),
    Example(mf.g_mean(), lambda rows: np.prod(recalls(rows)) ** (1 / 3)),
    Example(mf.h_mean(), lambda rows: 3 / np.sum(1 / recalls(rows))),
    Example(mf.q_mean(), lambda rows: 1 - np.sqrt(np.mean((1 - recalls(rows)) ** 2))),
    Example(mf.min_recall(), lambda rows: recalls(rows).min()),
    Example(
        mf.cost(COSTS),
        lambda rows: np.average(COSTS[code(rows.y), code(rows.made)], weights=rows.weight),
        classes_only=True,
    ),
    Example(
        mf.ordinal_error(),
        lambda rows: sk.mean_absolute_error(code(rows.y), code(rows.made), sample_weight=rows.weight),
        classes_only=True,
    ),
    Example(mf.cohen_kappa(), plain(sk.cohen_kappa_score)),
    Example(mf.cohen_kappa("linear"), plain(sk.cohen_kappa_score, weights="linear"), classes_only=True),
    Example(mf.cohen_kappa("quadratic"), plain(sk.cohen_kappa_score, weights="quadratic"), classes_only=True),
    Example(mf.mcc(), plain(sk.matthews_corrcoef)),
    Example(mf.coverage_deviation(), lambda rows: np.abs(coverages(rows) - priors(rows)).max()),
    Example(mf.coverage_deviation(TARGET), lambda rows: np.abs(coverages(rows) - SHARES).max()),
    Example(mf.quantification_kld(), lambda rows: divergence(priors(rows), coverages(rows))),
    Example(mf.quantification_kld(TARGET), lambda rows: divergence(SHARES, coverages(rows))),
    Example(mf.churn("today"), lambda rows: rows.share(rows.made != rows.attributes["today"].to_numpy())),
    Example(mf.demographic_parity("sex"), apart(coverages, "sex")),
    Example(mf.demographic_parity(["sex", "region"]), apart(coverages, "sex", "region")),
    Example(mf.equal_opportunity("region", "bee"), apart(recall_bee, "region")),
    Example(mf.equalized_odds("sex"), apart(odds, "sex")),
    Example(mf.equal_error_rates("region"), apart(plain(sk.accuracy_score), "region")),
    Example(mf.predictive_parity("region", "bee"), apart(precision_bee, "region")),
    Example(
        mf.demographic_parity("region", "bee", to="pairs"),
        lambda rows: np.ptp([part.share(part.made == "bee") for part in rows.groups("region")]),
    ),
    Example(
        mf.demographic_parity("region", "bee", to="pairs", as_ratio=True),
        ratios(lambda rows: rows.share(rows.made == "bee"), "region"),
    ),
    Example(
        mf.equalized_odds("sex", "bee", to="mean"),
        lambda rows: float(np.abs((s := np.array(bees_of_each(rows, "sex"))) - s.mean(axis=0)).max()),
    ),
    Example(mf.demographic_parity("region", given="sex"), within(apart(coverages, "region"), "sex")),
    Example(mf.equal_opportunity("sex", "bee", given="region"), within(apart(recall_bee, "sex"), "region")),
    Example(mf.disparity(mf.g_mean(), "sex"), apart(lambda rows: np.prod(recalls(rows)) ** (1 / 3), "sex")),
    Example(
        mf.disparity(mf.recall("bee"), "region", to="pairs"),
        lambda rows: np.ptp([recall_bee(part) for part in rows.groups("region")]),
    ),
    Example(
        mf.disparity(mf.recall("bee"), "region", to="mean"),
        lambda rows: np.abs((s := np.array([recall_bee(p) for p in rows.groups("region")])) - s.mean()).max(),
    ),
    Example(
        mf.disparity(mf.recall("bee"), "region", to="pairs", as_ratio=True), ratios(recall_bee, "region")
    ),
    Example(
        mf.disparity(mf.recall("bee"), "region", as_ratio=True),
        lambda rows: min(
            ratio
            for part in rows.groups("region")
            for ratio in (recall_bee(part) / recall_bee(rows), recall_bee(rows) / recall_bee(part))
        ),
    ),
    Example(
        mf.worst(mf.macro_f1(), "sex"),
        lambda rows: min(per_class(sk.f1_score)(part) for part in rows.groups("sex")),
    ),
    Example(
        mf.worst(mf.false_positive_rate("cow"), ["sex", "region"]),
        lambda rows: max(false_alarms("cow")(part) for part in rows.groups("sex", "region")),
    ),
    Example(
        mf.minimum(mf.recall("bee"), mf.precision("bee")),
        lambda rows: min(recall_bee(rows), precision_bee(rows)),
    ),
    Example(
        mf.maximum(mf.recall("bee"), mf.g_mean(), 0.3),
        lambda rows: max(*[recall_bee(rows), 0.3, np.prod(recalls(rows)) ** (1 / 3)]),
    ),
    Example(mf.recall("bee").at(sex="F"), lambda rows: recall_bee(rows.where(rows.attributes["sex"] == "F"))),
    Example(mf.f1("bee"), per_class(sk.f1_score, labels=["bee"])),
    Example(mf.f1(average="weighted"), per_class(sk.f1_score, average="weighted")),
]


def decisions_of(example: Example) -> list[tuple[str, ...]]:
    """The decisions a metric is checked with: the classes, and one more that is no class."""
    return [CLASSES] if example.classes_only else [CLASSES, REVIEW]


def reordered(confusion: Confusion, decisions: tuple[str, ...]) -> Confusion:
    """The same confusion with its decisions in another order."""
    places = [confusion.axes.decision_index(d) for d in decisions]
    axes = Axes(confusion.axes.classes, decisions, confusion.axes.cells)
    return Confusion(confusion.values[:, :, places], axes)


def random_tensor(
    axes: Axes, margins: np.ndarray, rng: np.random.Generator, spread: float = 1.0
) -> Confusion:
    """A tensor with given class priors in each cell; small spreads are close to deterministic rules."""
    rates = rng.dirichlet(np.full(axes.k, spread), margins.shape)
    return Confusion(margins[:, :, None] * rates, axes)


def unweighted(rows: Rows) -> Rows:
    return replace(rows, weight=np.ones(len(rows.y)))
