"""Problems drawn at random: any metric, up to three limits, five kinds of models, few and many rows.

    python benchmarks/worlds/drawn.py [--problems 100] [--first 0] [--limits shared]

Each problem draws its data (scikit-learn's `make_classification` with two attributes), a model, an objective, and
limits near what the most probable class reaches. Every way of counting solves it on the same cross-fitted
probabilities; rows not used judge the policies. ``--limits none`` has problems without limits, ``shared`` limits on all
rows, ``groups`` limits of which at least one tells groups apart. Printed are, for each number of tuning rows, the
value promised, value and largest violation on new rows, and the number of problems that a way calls infeasible.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

import metricfit as mf

ROWS = (150, 400, 1000, 3000)
MODELS = (
    LogisticRegression(max_iter=300),
    GaussianNB(),
    KNeighborsClassifier(15),
    RandomForestClassifier(50, random_state=0),
    HistGradientBoostingClassifier(max_iter=30, random_state=0),
)
WAYS = {"default": {}, "local": {"method": "local"}, "calibrated": {"counting": "calibrated"}}


@dataclass(frozen=True)
class Drawn:
    """A problem, with rows to tune on and rows to judge by."""

    proba: np.ndarray
    y: np.ndarray
    groups: pd.DataFrame
    new_proba: np.ndarray
    new_y: np.ndarray
    new_groups: pd.DataFrame
    objective: mf.Metric
    limits: list

    def solved(self, **options):
        """Return a result, or None where a way of counting finds no policy that keeps the limits."""
        classes = list(range(self.proba.shape[1]))
        try:
            return mf.optimize(
                self.proba, self.y, self.objective, self.limits, classes=classes,
                sensitive_features=self.groups, **options,
            )  # fmt: skip
        except mf.InfeasibleError:
            return None

    def judged(self, policy) -> tuple[float, float]:
        """Return objective and largest violation on the new rows."""
        shares = policy.decision_proba(self.new_proba, self.new_groups)
        row, decision = np.nonzero(shares)
        made = mf.Confusion.from_predictions(
            self.new_y[row], decision, sensitive_features=self.new_groups.iloc[row].reset_index(drop=True),
            sample_weight=shares[row, decision], classes=list(range(shares.shape[1])),
        )  # fmt: skip
        signs = [1 if limit.sense == "<=" else -1 for limit in self.limits]
        pairs = zip(signs, self.limits, strict=True)
        missed = [sign * (float(limit.metric(made)) - limit.limit) for sign, limit in pairs]
        return float(self.objective(made)), max([0.0, *np.nan_to_num(missed)])


def drawn(seed: int, rows: int, limits: str) -> Drawn:
    """Draw a problem with this many tuning rows, and twice as many to judge by."""
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 7))
    prior = np.maximum(random.dirichlet(np.full(n, 2.0)), 0.04)
    X, y = make_classification(
        3 * rows, n_features=12, n_informative=8, n_classes=n, n_clusters_per_class=1, flip_y=0.05,
        weights=(prior / prior.sum()).tolist(), class_sep=float(random.uniform(0.5, 1.5)), random_state=seed,
    )  # fmt: skip
    sex = np.where(X[:, 0] + random.normal(size=len(y)) > 0, "F", "M")
    groups = pd.DataFrame({"sex": sex, "region": random.choice(["north", "south", "east"], len(y))})
    model = MODELS[random.integers(len(MODELS))]
    proba = cross_val_predict(model, X[:rows], y[:rows], cv=3, method="predict_proba")
    new_proba = model.fit(X[:rows], y[:rows]).predict_proba(X[rows:])
    plain = mf.Confusion.from_predictions(
        y[:rows], proba.argmax(axis=1), sensitive_features=groups[:rows], classes=list(range(n))
    )
    c, d = (int(j) for j in random.integers(0, n, 2))
    objectives = [
        mf.g_mean(), mf.macro_f1(), mf.h_mean(), mf.accuracy(), mf.balanced_accuracy(), mf.min_recall(), mf.q_mean(),
        mf.f_beta(2, c), mf.cohen_kappa(), mf.mcc(), mf.recall(c), mf.cohen_kappa(weights="quadratic"), mf.jaccard(c),
        mf.minimum(mf.recall(c), mf.precision(d)),
    ]  # fmt: skip

    def near(metric, up: bool) -> float:
        """Return a limit near what the most probable class reaches, mostly stricter."""
        value = np.nan_to_num(float(metric(plain)), nan=0.5)
        moved = value + (1 if up else -1) * random.choice([-0.1, 0.0, 0.03, 0.1])
        return round(float(np.clip(moved, 0.03, 0.97)), 3)

    floors = [mf.precision(c), mf.recall(d), mf.specificity(d), mf.accuracy()]
    shared = [metric >= near(metric, True) for metric in floors]
    shared += [metric <= near(metric, False) for metric in (mf.coverage(c), mf.false_positive_rate(c))]
    shared += [mf.coverage_deviation() <= 0.05]
    apart = [mf.precision(c).at(sex="F"), mf.worst(mf.recall(c), over="region")]
    told_apart = [metric >= max(near(metric, True) - 0.05, 0.02) for metric in apart]
    told_apart += [
        mf.demographic_parity(over="sex") <= float(random.choice([0.02, 0.05, 0.1])),
        mf.equal_opportunity("sex", c) <= float(random.choice([0.05, 0.1])),
        mf.equalized_odds(over="sex") <= 0.1,
        mf.demographic_parity(over=["sex", "region"]) <= 0.1,
    ]
    count = int(random.choice([1, 1, 2, 3]))
    kept = [] if limits == "none" else [shared[i] for i in random.permutation(len(shared))[:count]]
    if limits == "groups":
        kept = [told_apart[random.integers(len(told_apart))], *kept[1:]]
    new = groups[rows:].reset_index(drop=True)
    objective = objectives[random.integers(len(objectives))]
    return Drawn(proba, y[:rows], groups[:rows], new_proba, y[rows:], new, objective, kept)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", type=int, default=100, help="how many for each number of rows")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--limits", choices=("none", "shared", "groups"), nargs="+", default=["shared"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = ("problems", "promised", "new rows", "violation", "infeasible")
    print(f"{'limits':7} {'rows':>5} {'way':11}", *(f"{name:>10}" for name in names))
    for limits in options.limits:
        for rows in ROWS:
            found: dict[str, list[tuple[float, ...]]] = {way: [] for way in WAYS}
            for seed in range(options.first, options.first + options.problems):
                problem = drawn(seed, rows, limits)
                for way, asked in WAYS.items():
                    result = problem.solved(**asked)
                    judged = (
                        (np.nan,) * 3 if result is None else (result.value, *problem.judged(result.policy))
                    )
                    found[way].append(judged)
            table = np.array(list(found.values()))
            everywhere = ~np.isnan(table[:, :, 0]).any(axis=0)
            for way, lines in zip(WAYS, table, strict=True):
                means = lines[everywhere].mean(axis=0)
                infeasible = int(np.isnan(lines[:, 0]).sum())
                numbers = "".join(f" {mean:10.4f}" for mean in means)
                print(
                    f"{limits:7} {rows:5d} {way:11} {everywhere.sum():10d}{numbers} {infeasible:10d}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
