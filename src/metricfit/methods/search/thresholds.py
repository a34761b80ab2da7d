"""Two classes: every rule is a threshold on one probability, so those that a mixture can need are found in one sort."""

from __future__ import annotations

import numpy as np

from metricfit.data.rows import Rows
from metricfit.methods.base import Walk
from metricfit.methods.starts import diagonal_loss
from metricfit.problem import Program
from metricfit.types import FloatArray


def ask_for_thresholds(program: Program, walk: Walk) -> None:
    """Ask for the thresholds at the corners of the set of counts that mixtures of thresholds reach on the labels.

    A search weight by weight stops at one good threshold. Where only a mixture keeps a limit, or keeps it well, it may
    have to mix this threshold with one that is poor alone.
    """
    axes, rows = program.axes, walk.oracle.sample()
    two = axes.n == axes.k == 2 and sorted(axes.match.tolist()) == [0, 1]
    if two and rows is not None and not (walk.oracle.exact or program.by_cell or program.alike.any()):
        odds = corner_thresholds(rows)
        walk.ask_all([diagonal_loss(program, np.array([at, 1 - at])) for at in odds])


def corner_thresholds(rows: Rows) -> FloatArray:
    """Return the thresholds on the probability of class 1 whose counts are corners of the convex hull of all counts.

    Examples
    --------
    >>> proba = np.array([0.9, 0.8, 0.7, 0.4, 0.3])
    >>> corner_thresholds(Rows.of(np.column_stack([1 - proba, proba]), [1, 1, 0, 1, 0])).round(2)
    array([0.35, 0.75])
    """
    from scipy.spatial import ConvexHull, QhullError  # takes a while, and only two classes need it

    score = np.asarray(rows.proba[:, 1], float)
    order = np.argsort(-score, kind="stable")
    score, labels = score[order], rows.labels[order]
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights[order]
    counts = np.stack([np.cumsum(weights * (labels == c)) for c in (0, 1)], axis=1)
    ends = np.flatnonzero(score[1:] < score[:-1])
    if not ends.size or not counts[-1].all():
        return np.zeros(0)
    points = np.vstack([[0.0, 0.0], counts[ends] / counts[-1], [1.0, 1.0]])
    try:
        corners = ConvexHull(points).vertices
    except QhullError:  # all on one line: thresholds are no better than deciding by chance
        return np.zeros(0)
    inner = np.sort(corners[(corners > 0) & (corners <= ends.size)]) - 1
    return np.sort((score[ends[inner]] + score[ends[inner] + 1]) / 2)
