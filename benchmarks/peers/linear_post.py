"""LinearPost (Xian and Zhao, 2024), written from its description, because no package of it can be installed.

All randomised rules of the tuning rows are the variables of one linear program: the expected error is minimised such
that the rates of each decision differ by at most the limit over groups, as the probabilities say. The prices of its
constraints, added to the expected errors, decide new rows. The authors' optional step that calibrates the group
probabilities changes nothing here, where groups are known. Like them we add a little noise to the errors, so that ties
are rare.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

NOISE = 1e-4


@dataclass(frozen=True)
class Compared:
    """A decision whose rate is compared over groups, among all rows or those of a class."""

    decision: int
    of_class: int | None


def compared(constraint: str, classes: int) -> list[Compared]:
    # Of two decisions the rates are the complements of each other.
    decisions = range(classes) if classes > 2 else [1]
    if constraint == "parity":
        return [Compared(j, None) for j in decisions]
    if constraint == "opportunity":
        return [Compared(1, 1)]
    return [Compared(j, i) for i in range(classes) for j in decisions]


class LinearPost:
    """Rules that are best on probabilities and known groups, under a limit on the differences of their rates."""

    def __init__(self, constraint: str, limit: float, seed: int = 0) -> None:
        self.constraint, self.limit, self.rng = constraint, limit, np.random.default_rng(seed)

    def fit(self, proba: np.ndarray, group: np.ndarray) -> LinearPost:
        n, k = proba.shape
        self.groups, self.rates = np.unique(group), compared(self.constraint, k)
        member = self._member(group)
        self.shares = [(self._weights(proba, rate)[:, None] * member).mean(axis=0) for rate in self.rates]
        errors = self._errors(proba)
        rows, ours = [], np.zeros((0, len(self.rates)))
        for place, rate in enumerate(self.rates):
            weights = (self._weights(proba, rate)[:, None] * member / self.shares[place]).T / n
            which = np.zeros((1, k))
            which[0, rate.decision] = 1.0
            rows.append(kron(csr_array(weights), csr_array(which)))
            middle = np.zeros((len(self.groups), len(self.rates)))
            middle[:, place] = -1.0
            ours = np.vstack([ours, middle])
        apart = hstack([vstack(rows), csr_array(ours)])
        once = hstack([kron(eye_array(n), np.ones((1, k))), csr_array((n, len(self.rates)))])
        found = linprog(
            np.concatenate([errors.ravel() / n, np.zeros(len(self.rates))]),
            vstack([apart, -apart]),
            np.full(2 * apart.shape[0], self.limit / 2),
            once,
            np.ones(n),
            method="highs",
        )
        if found.status != 0:
            raise RuntimeError(found.message)
        above, below = found.ineqlin.marginals.reshape(2, len(self.rates), len(self.groups))
        self.prices, self.expected_error = above - below, float(found.fun)
        return self

    def predict(self, proba: np.ndarray, group: np.ndarray) -> np.ndarray:
        scores, member = self._errors(proba), self._member(group)
        for place, rate in enumerate(self.rates):
            each = self.prices[place] / self.shares[place]
            scores[:, rate.decision] -= self._weights(proba, rate) * (member @ each)
        return scores.argmin(axis=1)

    def _member(self, group: np.ndarray) -> np.ndarray:
        return (group[:, None] == self.groups).astype(float)

    def _weights(self, proba: np.ndarray, rate: Compared) -> np.ndarray:
        return np.ones(len(proba)) if rate.of_class is None else proba[:, rate.of_class]

    def _errors(self, proba: np.ndarray) -> np.ndarray:
        return 1 - proba + self.rng.uniform(-NOISE, NOISE, proba.shape)
