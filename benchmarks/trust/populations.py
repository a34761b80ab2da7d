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
    free = mf.optimize(whole.proba, whole.y, "g_mean", counting="calibrated", classes=classes).confusion
    recall, coverage = mf.recall(last), mf.coverage(last)
    found: dict[str, Case] = {
        f"{name}, recall floor": (blind, [recall >= round(min(recall(free) + 0.05, 0.95), 2)]),
        f"{name}, coverage": (blind, [coverage <= round(0.8 * coverage(free), 3)]),
    }
    if whole.group is not None:
        found[f"{name}, parity"] = (whole, [mf.demographic_parity(over="group") <= 0.1])
    return found


def several_classes(classes: int = 5, size: int = 100_000) -> Population:
    """Classes of a softmax, the last the rarest; the probabilities are too sure of themselves."""
    rng = np.random.default_rng(105)
    scores = rng.normal(size=(size, 4)) @ (1.2 * rng.normal(size=(4, classes))) - 0.3 * np.arange(classes)
    chance = _softmax(scores)
    y = (chance.cumsum(axis=1) < rng.random((size, 1))).sum(axis=1)
    return Population(_softmax(1.4 * scores + 0.2 * rng.normal(size=classes)), y, None)


def with_ties(size: int = 100_000) -> Population:
    """Two classes, heavy tails, probabilities of three digits that are too sure of themselves."""
    rng = np.random.default_rng(301)
    score = rng.standard_t(4, size=size)
    y = (rng.random(size) < 1 / (1 + np.exp(1.5 - 1.4 * score))).astype(int)
    shown = np.clip(np.round(1 / (1 + np.exp(1.2 - 1.9 * score)), 3), 0.001, 0.999)
    return Population(np.stack([1 - shown, shown], axis=1), y, None)


def shifted_groups(groups: int, rare: float, slope: float, shift: float, size: int = 100_000) -> Population:
    """Two classes, groups of one size whose scores differ."""
    rng = np.random.default_rng(200 + groups)
    group = rng.choice(groups, size)
    score = rng.normal(size=size) + shift * np.linspace(-0.5, 0.5, groups)[group]
    y = (rng.random(size) < 1 / (1 + np.exp(rare - slope * score))).astype(int)
    shown = 1 / (1 + np.exp(0.8 * rare - 1.2 * slope * score))
    return Population(np.stack([1 - shown, shown], axis=1), y, group)


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def of_others() -> dict[str, Case]:
    """Return problems on other generated rows, with limits that bind: what `confidence=0.5` is judged by."""
    populations = {
        "five classes": several_classes(),
        "ties": with_ties(),
        "three groups": shifted_groups(3, 1.0, 2.2, 1.0),
        "two groups": shifted_groups(2, 0.3, 1.1, 0.6),
    }
    found: dict[str, Case] = {}
    for name, whole in populations.items():
        last = int(np.argmin(np.bincount(whole.y)))
        given = {"classes": range(whole.proba.shape[1]), "sensitive_features": whole.group}
        free = mf.optimize(whole.proba, whole.y, "g_mean", counting="calibrated", **given).confusion
        recall, precision, coverage = mf.recall(last), mf.precision(last), mf.coverage(last)
        found[f"{name}, recall floor"] = (whole, [recall >= round(recall(free) + 0.06, 3)])
        if whole.group is not None:
            parity = mf.demographic_parity(over="group")
            found[f"{name}, parity"] = (whole, [parity <= round(max(0.3 * parity(free), 0.03), 3)])
            continue
        found[f"{name}, precision floor"] = (
            whole,
            [precision >= round(0.7 * precision(free) + 0.3, 3)],
        )
        found[f"{name}, coverage"] = (whole, [coverage <= round(0.75 * coverage(free), 4)])
    return found
