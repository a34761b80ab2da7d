"""Soft labels corrected by counted ones: expected hits are scaled until they agree with the labels.

Calibrated probabilities can still be wrong for the rows that get a certain decision. So the counts of a rule are
multiplied, decision by decision, by the ratio of counted to expected hits of the present mixture. The cheapest rule for
the scaled counts is the plug-in rule of the scaled loss, so the corrected problem has an exact oracle too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metricfit.data.layout import Layout
from metricfit.oracles.base import OracleBase, Vertex
from metricfit.oracles.settings import TUNED, Settings
from metricfit.types import FloatArray


class CorrectedOracle(OracleBase):
    """An exact oracle whose statistics are scaled entry by entry.

    Parameters
    ----------
    soft : oracle
        Counts rows by their probabilities.
    factor : array of the shape of a loss
        What counts are multiplied by.
    """

    exact = True

    def __init__(self, soft: OracleBase, factor: FloatArray) -> None:
        self.uncorrected, self.factor = soft, factor
        self.axes, self.margins = soft.axes, soft.margins

    def __call__(self, loss: FloatArray, layout: Layout) -> Vertex:
        """Return the cheapest rule by scaled counts; its loss is the scaled one, so that it names the rule itself."""
        vertex = self.uncorrected(loss * self.factor, layout)
        return Vertex(vertex.loss, vertex.statistic * self.factor)

    def many(self, losses: Sequence[FloatArray], layout: Layout) -> list[Vertex]:
        """Return the cheapest rules for several losses."""
        answers = self.uncorrected.many([loss * self.factor for loss in losses], layout)
        return [Vertex(vertex.loss, vertex.statistic * self.factor) for vertex in answers]

    def confusion(self, losses: FloatArray, weights: FloatArray, layout: Layout) -> FloatArray:
        """Return the full tensor of a mixture of rules, not corrected."""
        return self.uncorrected.confusion(losses, weights, layout)


def label_factor(
    counted: FloatArray, expected: FloatArray, layout: Layout, rows: float, settings: Settings = TUNED
) -> FloatArray:
    """Return by what to multiply expected counts of a mixture so that they follow the labels, shrunk by sampling error.

    ``rows`` is the (effective) number of rows. The logarithm of a ratio is moved towards 0 by the positive part of
    James and Stein's rule: a ratio within two standard errors of 1 is left at 1. With many ratios some are farther off
    by chance, so the threshold grows with their number (the universal threshold of Donoho and Johnstone).

    Examples
    --------
    >>> import numpy as np
    >>> expected = np.array([[[0.30, 0.10], [0.5, 0.5]]])
    >>> counted = np.array([[[0.24, 0.11], [0.5, 0.5]]])
    >>> label_factor(counted, expected, "diagonal", 100).round(2)  # too few rows to tell
    array([[[1., 1.],
            [1., 1.]]])
    >>> label_factor(counted, expected, "diagonal", 10_000).round(2)
    array([[[0.8 , 1.06],
            [1.  , 1.  ]]])
    """
    made = expected[:, 1:] if layout == "diagonal" else expected.sum(axis=1, keepdims=True)
    hits = np.s_[:, :1] if layout == "diagonal" else np.s_[:, :]
    share = np.divide(expected[hits], made, out=np.zeros_like(expected[hits]), where=made > 0)
    count = expected[hits] * rows
    error = np.sqrt((1 - np.clip(share, 0.0, 0.98)) / np.maximum(count, 0.5))
    ratio = np.log((counted[hits] * rows + 0.5) / (count + 0.5))
    errors = max(settings.standard_errors, np.sqrt(2 * np.log(max(ratio.size, 1))))
    kept = np.maximum(0.0, 1 - (errors * error) ** 2 / np.maximum(ratio**2, 1e-12))
    factor = np.ones_like(expected)
    most = np.log(settings.largest_ratio)
    factor[hits] = np.exp(np.clip(kept * ratio, -most, most))
    return factor
