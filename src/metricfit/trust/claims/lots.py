"""Random numbers of the tests: independent of the held-out rows, and the same again for the same rows and seed."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from metricfit.data.rows import Rows
from metricfit.oracles.samples import SEED
from metricfit.types import FloatArray

# Probabilities are hashed in millionths: a model fitted again, with other threads, differs in the last digits only.
MILLION = 1e6


@dataclass(frozen=True)
class Lots:
    """The random numbers of a test.

    Decisions of mixtures are drawn by ``each``. The p-value of a count jumps, so that a binomial test at .05 is wrong
    in only about .04 of the cases; a ``coin`` drawn uniformly from 0 to 1 makes it .05 (see `bounded_means.binomial`).
    A coin of 1, the default, changes nothing.

    What holds for a test with random numbers holds on average over these numbers. So they must not be the same for all
    users: with a fixed seed all would have the same coin, and a small one would be too bold for all of them. A random
    state is no remedy, because most users leave it at its default. The numbers therefore come from a hash of the tuning
    rows. Other data has other numbers, the same data and random state (which deals out the rows) the same ones again,
    and the held-out rows are independent of them, because they are independent of the tuning rows.
    """

    seed: int = SEED
    coin: float = 1.0

    @classmethod
    def of(cls, tuning: Rows) -> Lots:
        """Return the lots that the tuning rows determine.

        Examples
        --------
        >>> rows = Rows.of(np.array([[0.9, 0.1], [0.2, 0.8]]), [0, 1])
        >>> same, other = (Lots.of(Rows.of(rows.proba + np.array([away, -away]), [0, 1])) for away in (1e-15, 1e-5))
        >>> Lots.of(rows) == same, same.coin == other.coin, 0 < same.coin <= 1
        (True, False, True)
        """
        told = blake2b(digest_size=16)
        told.update(np.rint(tuning.proba * MILLION).astype("<i4").tobytes())
        for codes in (tuning.labels, tuning.cells):
            told.update(b"" if codes is None else np.ascontiguousarray(codes, "<i4").tobytes())
        seed = int.from_bytes(told.digest(), "little")
        return cls(seed, 1 - np.random.default_rng([seed, SEED]).random())

    def each(self, *sizes: int) -> list[FloatArray]:
        """Return numbers between 0 and 1 for the rows of samples of these sizes."""
        random = np.random.default_rng(self.seed)
        return [random.random(size) for size in sizes]
