"""The warning about probability columns that seem to be in another order than the classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metricfit.exceptions import CalibrationWarning
from metricfit.messages import some, warn
from metricfit.types import FloatArray, IntArray, Label

# How many rows are checked, up to how many classes, and the fewest rows per class: the best order of many classes fits
# few rows by chance.
ROWS, CLASSES, ROWS_EACH = 20_000, 200, 20
# How much more often another order must be right: a fifth of the rows, and four times the largest standard error.
MORE, ERRORS = 0.2, 4.0


def warn_of_another_order(proba: FloatArray, labels: IntArray, classes: Sequence[Label]) -> None:
    """Warn if the most probable class is right far more often with the columns in another order.

    Nothing else would reveal the mistake: probabilities sum to 1 in any order, and a search finds some policy anyway.

    Parameters
    ----------
    proba : ndarray of shape (rows, classes)
    labels : int ndarray of shape (rows,)
        The index of each row's label among the classes.
    classes : sequence
        The classes, in the assumed order of the columns.
    """
    if len(classes) > CLASSES or len(labels) < ROWS_EACH * len(classes):
        return
    from scipy.optimize import linear_sum_assignment  # a server that only decides has no SciPy

    step = -(-len(labels) // ROWS)
    counts = np.zeros((len(classes), len(classes)))
    np.add.at(counts, (labels[::step], np.argmax(proba[::step], axis=1)), 1.0)
    counts /= counts.sum()
    place, column = linear_sum_assignment(-counts)
    given, other = np.trace(counts), counts[place, column].sum()
    if other - given > max(MORE, ERRORS * 0.5 / np.sqrt(len(labels[::step]))):
        order = [classes[i] for i in np.argsort(column)]
        warn(
            f"proba fits the labels far better with its columns in another order: the most probable class is right in "
            f"{given:.0%} of the rows if the columns are {some(classes, limit=10)}, the order that was assumed, and in "
            f"{other:.0%} if they are {some(order, limit=10)}. Pass classes= in the order of the columns",
            CalibrationWarning,
        )
