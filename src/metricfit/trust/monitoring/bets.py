"""Bets against statements about a mean, batch after batch, whose wealth is evidence at any time.

Against "the rate is at most t" a bettor stakes on each row a part of the wealth on ``x - t z``. Its mean is then at
most 0, and the game is fair at best: the wealth ever reaches w with probability at most 1 / w (Ville). Nothing depends
on when, or how often, one looks. Part of the stake is kept back for bettors who begin at each later batch: without
them, a long good time would use up the wealth that has to notice a change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metricfit.trust.claims.bounded_means import BOLDEST
from metricfit.types import FloatArray

# Each bettor risks a fixed part of the wealth: one row of the largest loss takes this part of it.
BOLDNESS = BOLDEST / 2.0 ** np.arange(8)
# Values that are tested lie this close together next to the reference value, and ever further apart away from it.
NEAR, WIDENING = 0.002, 1.25


def values_around(reference: list[float], low: float, high: float) -> FloatArray:
    """Return the values of a rate between two ends that are tested, dense around the reference values.

    Examples
    --------
    >>> values = values_around([0.8], 0.0, 1.0)
    >>> values.size, 0.8 in values.tolist(), values[[0, -1]].tolist()
    (37, True, [0.0, 1.0])
    """
    scale = high - low
    count = int(np.ceil(np.log1p((WIDENING - 1) / NEAR) / np.log(WIDENING)))
    steps = scale * NEAR * np.cumsum(WIDENING ** np.arange(count))
    around = [at + side * steps for at in reference for side in (-1, 1)]
    values = np.unique(np.concatenate([[low, high], reference, *around]))
    return np.asarray(values[(values >= low) & (values <= high)])


@dataclass(frozen=True, eq=False)
class Bets:
    """The wealth of bettors against each value of a rate, from above and from below.

    Attributes
    ----------
    values : ndarray of shape (T,)
        The values of the rate.
    logs : ndarray of shape (2, bettors, T)
        The logarithm of what has been made of the stakes: of "the rate is larger", then of "it is smaller".
    batches : int
        The batches so far.
    """

    values: FloatArray
    logs: FloatArray
    batches: int = 0

    @classmethod
    def on(cls, values: FloatArray) -> Bets:
        """Return bets on values of a rate before the first batch."""
        return cls(values, np.full((2, BOLDNESS.size, values.size), -np.inf))

    def after(
        self, above: FloatArray, below: FloatArray, z: FloatArray, mass: FloatArray, reach: FloatArray
    ) -> Bets:
        """Return the bets after a batch.

        ``above`` and ``below`` are the numerators of kinds of rows, rounded down for bets on a larger rate and up for a
        smaller one; ``z`` are their denominators, ``mass`` how many rows there are of each kind, and ``reach``, of
        shape (2, T), how far below 0 the gains of each side can be.
        """
        number = self.batches + 1
        stake = -np.log(number * (number + 1.0) * BOLDNESS.size)  # these stakes sum to 1 over all batches
        logs = np.logaddexp(self.logs, stake)
        for side, (sign, x) in enumerate(((1.0, above), (-1.0, below))):
            gain = sign * (x[:, None] - self.values * z[:, None]) / reach[side]
            for place, part in enumerate(BOLDNESS):
                logs[side, place] += mass @ np.log1p(part * gain)
        return Bets(self.values, logs, number)

    @property
    def wealth(self) -> FloatArray:
        """The logarithm of the wealth against each value, (2, T): that the rate is larger, and that it is smaller."""
        kept_back = -np.log(self.batches + 1.0)
        return np.asarray(np.logaddexp(np.logaddexp.reduce(self.logs, axis=1), kept_back))

    def interval(self, error: float) -> tuple[float, float]:
        """Return values between which the rate lies, at all times, but for an error probability.

        NaN if no value fits all batches, which proves that the rate has changed. The ends are tested values, the next
        ones outside.
        """
        kept = np.flatnonzero(self.wealth.max(axis=0) < np.log(2 / error))
        if not kept.size:
            return np.nan, np.nan
        low, high = max(kept[0] - 1, 0), min(kept[-1] + 1, self.values.size - 1)
        return float(self.values[low]), float(self.values[high])

    def evidence(self, value: float) -> tuple[float, float]:
        """Return the logarithms of the wealth against one of the values: of "larger" and of "smaller"."""
        place = int(np.argmin(np.abs(self.values - value)))
        larger, smaller = self.wealth[:, place]
        return float(larger), float(smaller)
