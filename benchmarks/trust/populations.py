"""Known populations, and what is asked for on draws from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import metricfit as mf


@dataclass
class Population:
    """Probabilities, labels and groups of all rows; ``whole`` if draws are few of them."""

    proba: np.ndarray
    y: np.ndarray
    group: np.ndarray | None
    whole: bool = True

    def draw(self, rows: int, seed: int) -> Population:
        # A data set is no larger than some draws: rows are put back, so that a draw is one of independent rows.
        places = np.random.default_rng(seed).choice(len(self.y), rows, replace=not self.whole)
        group = None if self.group is None else self.group[places]
        return Population(self.proba[places], self.y[places], group)


Case = tuple[Population, list]


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
    rest = order[half:]
    group = None if data.group is None else np.asarray(data.group)[rest]
    return Population(model.predict_proba(X[rest]), y[rest], group, whole=False)


def of_generated() -> dict[str, Case]:
    """Return the problems on generated rows."""
    one, two, five = generated(1), generated(2), generated(5)
    return {
        "recall floor": (one, [mf.recall(1) >= 0.8]),
        "precision floor": (one, [mf.precision(1) >= 0.7]),
        "coverage": (one, [mf.coverage(1) <= 0.25]),
        "two together": (one, [mf.recall(1) >= 0.6, mf.coverage(1) <= 0.35]),
        "parity, 2 groups": (two, [mf.demographic_parity(over="group") <= 0.06]),
        "parity, 5 groups": (five, [mf.demographic_parity(over="group") <= 0.15]),
        "opportunity, 2 groups": (two, [mf.equal_opportunity(over="group", c=1) <= 0.08]),
        "opportunity, 5 groups": (five, [mf.equal_opportunity(over="group", c=1) <= 0.2]),
    }


def of_data(name: str) -> dict[str, Case]:
    """Return the problems on a data set: limits a little tighter than what the best policy without them keeps."""
    whole = from_data(name)
    blind = Population(whole.proba, whole.y, None, whole=False)
    last = int(np.argmin(np.bincount(whole.y)))
    classes = range(whole.proba.shape[1])
    free = mf.optimize(whole.proba, whole.y, "g_mean", confusion="calibrated", classes=classes).confusion
    recall, coverage = mf.recall(last), mf.coverage(last)
    found: dict[str, Case] = {
        f"{name}, recall floor": (blind, [recall >= round(min(recall(free) + 0.05, 0.95), 2)]),
        f"{name}, coverage": (blind, [coverage <= round(0.8 * coverage(free), 3)]),
    }
    if whole.group is not None:
        found[f"{name}, parity"] = (whole, [mf.demographic_parity(over="group") <= 0.1])
    return found
