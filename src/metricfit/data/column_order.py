"""The warning of probabilities whose columns are the classes in another order than the labels suppose."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from metricfit.exceptions import CalibrationWarning
from metricfit.messages import some
from metricfit.types import FloatArray, IntArray, Label

# Rows looked at, the most classes that orders are compared for, and the fewest rows for each: the best order of many
# classes fits few rows by chance.
ROWS, CLASSES, ROWS_EACH = 20_000, 200, 20
# How much more often another order must be right: a fifth of the rows, and four times the largest standard error.
MORE, ERRORS = 0.2, 4.0


def warn_of_another_order(proba: FloatArray, labels: IntArray, classes: Sequence[Label]) -> None:
    """Warn where the most probable class is right far more often if the columns are taken in another order.

    Nothing else tells: probabilities sum to 1 in any order, and a search finds the best of what there is.

    Parameters
    ----------
    proba : ndarray of shape (rows, classes)
    labels : int ndarray of shape (rows,)
        The place of each row's label among the classes.
    classes : sequence
        The classes, in the order that the columns are taken in.
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
        warnings.warn(
            f"proba fits the labels far better with its columns in another order: the most probable class is right in "
            f"{given:.0%} of the rows if the columns are {some(classes, limit=10)}, the order that was taken, and in "
            f"{other:.0%} if they are {some(order, limit=10)}. Pass classes= in the order of the columns",
            CalibrationWarning,
            stacklevel=2,
        )
