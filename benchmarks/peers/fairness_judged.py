"""How fairness tools are judged: by hand, so that none is judged by the code of one of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

import metricfit as mf

CONSTRAINTS = {
    "parity": lambda c, to: mf.demographic_parity("group", c, to=to),
    "opportunity": lambda c, to: mf.equal_opportunity("group", 1, to=to),
    "odds": lambda c, to: mf.equalized_odds("group", c, to=to),
}
DRAWS = 400


@dataclass(frozen=True)
class Asked:
    """A constraint, what its bound means, and of how many classes."""

    constraint: str
    to: str
    classes: int

    @property
    def metric(self) -> mf.Metric:
        # Of two decisions one says it all.
        return CONSTRAINTS[self.constraint](1 if self.classes == 2 else None, self.to)

    def violations(self, tensors: np.ndarray) -> np.ndarray:
        """Return by how much groups differ under each of some tensors (tensors, groups, classes, decisions)."""
        rates = self._rates(tensors)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a group without rows has no rate
            if self.to == "pairs":
                apart = np.nanmax(rates, axis=1) - np.nanmin(rates, axis=1)
            else:
                apart = np.nanmax(np.abs(rates - self._rates(tensors.sum(axis=1, keepdims=True))), axis=1)
        return np.nanmax(apart, axis=1)

    def _rates(self, tensors: np.ndarray) -> np.ndarray:
        """Return the shares of decisions in each group, of all its rows or of those of a class."""
        if self.constraint == "parity":
            tensors = tensors.sum(axis=2, keepdims=True)
        elif self.constraint == "opportunity":
            tensors = tensors[:, :, 1:2]
        with np.errstate(invalid="ignore"):
            shares = tensors / tensors.sum(axis=3, keepdims=True)
        return (shares[..., 1:2] if self.constraint == "opportunity" else shares).reshape(
            *shares.shape[:2], -1
        )


@dataclass(frozen=True)
class Judged:
    """A decision rule on the rows it was tuned on and on new ones."""

    accuracy: float
    tuned: float
    new: float
    low: float
    high: float

    @classmethod
    def of(cls, asked: Asked, tuned: mf.Confusion, new: mf.Confusion, rows: int) -> Judged:
        """Compare, with a 95 % interval of the violation from redrawn new rows."""
        rng = np.random.default_rng(0)
        draws = rng.multinomial(rows, new.values.ravel() / new.values.sum(), DRAWS)
        low, high = np.quantile(asked.violations(draws.reshape(-1, *new.values.shape)), [0.025, 0.975])
        seen, met = (float(asked.violations(made.values[None])[0]) for made in (tuned, new))
        return cls(mf.accuracy()(new), seen, met, float(low), float(high))


def counted(y: np.ndarray, made: np.ndarray, group: np.ndarray) -> mf.Confusion:
    return mf.Confusion.from_predictions(y, made, {"group": group}, classes=sorted(set(y.tolist())))


def difference_with_error(gains: list[float]) -> str:
    text = f"{np.mean(gains):+.4f}"
    return text if len(gains) < 2 else f"{text} (s.e. {np.std(gains, ddof=1) / np.sqrt(len(gains)):.4f})"


def at_equal_violation(ours: list[list[Judged]], theirs: list[Judged]) -> str:
    """Return our accuracy minus theirs on new rows, at the violation that they have on new rows.

    Parameters
    ----------
    ours : a list for each split, of what we do at each of some limits
    theirs : what the other tool does in each split

    Our accuracy is read from the curve of means over the splits, since the violations of one split are mostly luck; its
    standard error is that of the jackknife.
    """
    curves = np.array([[(one.new, one.accuracy) for one in split] for split in ours])
    points = np.array([(one.new, one.accuracy) for one in theirs])

    def gain(splits: np.ndarray) -> float:
        curve, (violation, accuracy) = curves[splits].mean(axis=0), points[splits].mean(axis=0)
        order = np.argsort(curve[:, 0])
        return float(np.interp(violation, *curve[order].T) - accuracy)

    every = np.arange(len(points))
    text = f"{gain(every):+.4f}"
    if len(every) < 2:
        return text
    left = np.array([gain(np.delete(every, k)) for k in every])
    error = np.sqrt((len(every) - 1) * left.var())
    return f"{text} (s.e. {error:.4f})"
