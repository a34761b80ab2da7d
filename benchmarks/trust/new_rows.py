"""How policies keep their promises on the population they come from.

For each problem, draws of tuning rows from a known population: how often the population breaks a limit with
``confidence=0.95``, with ``confidence=0.5`` and without, what that costs in the objective, and how often the 95 %
intervals of ``result.expected`` hold the population's value. With METRICFIT_DATA set, ``--data NAME`` takes one of the
paper's data sets in place of the generated population: half of its rows are the population, a model of the other half
gives the probabilities.

    python benchmarks/trust/new_rows.py --draws 300
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field

import numpy as np

import metricfit as mf
from metricfit.exceptions import UnconfirmedError
from metricfit.policy.evaluation import evidence_of


@dataclass
class Population:
    proba: np.ndarray
    y: np.ndarray
    group: np.ndarray | None

    def draw(self, rows: int, seed: int) -> Population:
        places = np.random.default_rng(seed).choice(len(self.y), rows, replace=False)
        return Population(
            self.proba[places], self.y[places], None if self.group is None else self.group[places]
        )


def generated(groups: int, size: int = 100_000) -> Population:
    """Two classes, a score, groups whose base rates differ; the probabilities do not know the group."""
    rng = np.random.default_rng(groups)
    group = rng.choice(groups, size, p=np.arange(2, groups + 2) / np.arange(2, groups + 2).sum())
    score = rng.normal(size=size)
    chance = 1 / (1 + np.exp(1.0 - 1.8 * score - np.linspace(-0.4, 0.4, groups)[group]))
    y = (rng.random(size) < chance).astype(int)
    shown = 1 / (1 + np.exp(1.0 - 1.5 * score))
    return Population(np.stack([1 - shown, shown], axis=1), y, group if groups > 1 else None)


def from_data(name: str) -> Population:
    """Half of a data set with the probabilities of a model of the other half."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    data = mf.datasets.load(name)
    order = np.random.default_rng(0).permutation(len(data.y))
    half = len(order) // 2
    y = np.unique(data.y, return_inverse=True)[1]
    X = np.asarray(data.X, float)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    model.fit(X[order[:half]], y[order[:half]])
    return Population(model.predict_proba(X[order[half:]]), y[order[half:]], None)


GENERATED = {
    "recall floor": (1, [mf.recall(1) >= 0.8]),
    "precision floor": (1, [mf.precision(1) >= 0.7]),
    "coverage": (1, [mf.coverage(1) <= 0.25]),
    "two together": (1, [mf.recall(1) >= 0.6, mf.coverage(1) <= 0.35]),
    "parity, 2 groups": (2, [mf.demographic_parity(over="group") <= 0.06]),
    "parity, 5 groups": (5, [mf.demographic_parity(over="group") <= 0.15]),
    "opportunity, 2 groups": (2, [mf.equal_opportunity(over="group", c=1) <= 0.08]),
    "opportunity, 5 groups": (5, [mf.equal_opportunity(over="group", c=1) <= 0.2]),
}


@dataclass
class Tally:
    broken: dict = field(default_factory=lambda: {None: [], 0.95: [], 0.5: []})
    values: dict = field(default_factory=lambda: {None: [], 0.95: [], 0.5: []})
    none: dict = field(default_factory=lambda: {0.95: 0, 0.5: 0})
    covered: list = field(default_factory=list)
    held: list = field(default_factory=list)
    cost: list = field(default_factory=list)

    def line(self, name: str) -> str:
        def share(values: list) -> str:
            return f"{np.mean(values):.3f}" if values else "-"

        pairs = [(a, b) for a, b in zip(self.values[0.95], self.values[None], strict=True) if a is not None]
        price = np.mean([b - a for a, b in pairs]) if pairs else float("nan")
        answered = [len(self.broken[c]) for c in (0.95, 0.5)]
        noise = 2 * np.sqrt(0.05 * 0.95 / max(answered[0], 1))
        return (
            f"{name:24} broken: plain {share(self.broken[None])}, "
            f".95 {share(self.broken[0.95])} (bar {0.05 + noise:.3f}), "
            f".5 {share(self.broken[0.5])}; no answer {self.none[0.95]}/{self.none[0.5]}; price {price:+.4f}; "
            f"covered: value {share(self.covered)}, constraints {share(self.held)}; "
            f"expected costs {np.median(self.cost):.1f} solves"
        )


def judged(result, problem, whole) -> tuple[float, list]:
    """Value and constraints of a policy on the population."""
    confusion = evidence_of(result.policy, whole.proba, whole.y, whole.group).confusion
    return problem[0](confusion), [(c, c.metric(confusion)) for c in problem[1]]


def broken(found: list) -> bool:
    return any((v < c.limit - 1e-9) if c.sense == ">=" else (v > c.limit + 1e-9) for c, v in found)


def run(name: str, whole: Population, objective: mf.Metric, constraints: list, options) -> str:
    tally = Tally()
    for draw in range(options.draws):
        part = whole.draw(min(options.rows, len(whole.y) // 2), draw)
        common = {"sensitive_features": part.group, "classes": range(whole.proba.shape[1])}
        start = time.perf_counter()
        try:
            result = mf.optimize(part.proba, part.y, objective, constraints, **common)
        except mf.InfeasibleError:
            continue
        first = time.perf_counter()
        result = mf.optimize(part.proba, part.y, objective, constraints, expect=True, **common)
        tally.cost.append((time.perf_counter() - first) / (first - start) - 1)
        value, found = judged(result, (objective, constraints), whole)
        tally.broken[None].append(broken(found))
        tally.values[None].append(value)
        expected = result.expected
        if expected is not None:
            tally.covered.append(expected.low <= value <= expected.high)
            tally.held += [
                e.low <= v <= e.high for e, (_, v) in zip(expected.constraints, found, strict=True)
            ]
        for level in (0.95, 0.5):
            try:
                sure = mf.optimize(part.proba, part.y, objective, constraints, confidence=level, **common)
            except (UnconfirmedError, mf.InfeasibleError):
                tally.none[level] += 1
                tally.values[level].append(None)
                continue
            value, found = judged(sure, (objective, constraints), whole)
            tally.broken[level].append(broken(found))
            tally.values[level].append(value)
    return tally.line(name)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--only", nargs="+", default=[], help="names of problems, or parts of them")
    parser.add_argument(
        "--data", nargs="+", default=[], help="data sets of the paper, in place of generated rows"
    )
    options = parser.parse_args()
    print(f"{options.draws} draws of {options.rows} rows", flush=True)
    if not options.data:
        for name, (groups, constraints) in GENERATED.items():
            if not options.only or any(part in name for part in options.only):
                print(run(name, generated(groups), mf.g_mean(), constraints, options), flush=True)
    for name in options.data:
        whole = from_data(name)
        last = int(np.argmin(np.bincount(whole.y)))
        plain = mf.optimize(whole.proba, whole.y, "g_mean", classes=range(whole.proba.shape[1]))
        floor = mf.recall(last)(plain.confusion)
        limits = {
            "recall floor": [mf.recall(last) >= round(min(floor + 0.05, 0.95), 2)],
            "coverage": [mf.coverage(last) <= round(0.8 * mf.coverage(last)(plain.confusion), 3)],
        }
        for kind, constraints in limits.items():
            print(run(f"{name}, {kind}", whole, mf.g_mean(), constraints, options), flush=True)


if __name__ == "__main__":
    main()
