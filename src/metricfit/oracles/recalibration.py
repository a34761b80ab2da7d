"""How far class probabilities are off, class by class: the shift of their logarithms that the labels ask for."""

from __future__ import annotations

import numpy as np

from metricfit.oracles.rows import Rows
from metricfit.types import FloatArray, IntArray

# Newton's steps, of at most this size; the gap between shares and mean probabilities that ends them.
STEPS, LONGEST, CLOSE = 12, 2.0, 1e-5
# A shift has one number for each class, so some of the rows tell it well enough: entries that are read.
ENTRIES = 2**21
# The share of each row that scans count by its shifted probabilities, and the rows from which on they do: fewer do
# not tell the shift. A label says what one row was, a probability what rows like it are.
TRUST, TRUSTED_ROWS = 0.5, 500


def trust_in(rows: Rows) -> float:
    """Return the share of each row that scans should count by its shifted probabilities, where labels are counted.

    Examples
    --------
    >>> import numpy as np
    >>> [trust_in(Rows.of(np.full((N, 3), 1 / 3), np.arange(N) % 3)) for N in (30, 3000)]
    [0.0, 0.5]
    """
    return TRUST if len(rows) >= TRUSTED_ROWS and rows.axes.k > 2 else 0.0


def label_shift(rows: Rows, start: FloatArray) -> FloatArray:
    r"""Return the shift b that makes :math:`p_i e^{b_i}`, scaled to add up to 1, most likely given the labels.

    It is the one for which every class has a mean probability equal to its share of the rows. Newton's method
    finds it: minus the second derivative of the mean log-likelihood is ``diag(means) - mean(q q')``.

    Parameters
    ----------
    rows : Rows
        Probabilities and labels.
    start : array of shape (n,)
        Where to begin.

    Examples
    --------
    >>> import numpy as np
    >>> proba = np.array([[0.8, 0.2], [0.8, 0.2], [0.5, 0.5], [0.5, 0.5]])
    >>> shift = label_shift(Rows.of(proba, [1, 0, 1, 1]), np.zeros(2))
    >>> shifted = proba * np.exp(shift)
    >>> shifted /= shifted.sum(axis=1, keepdims=True)
    >>> shifted.mean(axis=0).round(3).tolist()  # the shares of the labels
    [0.25, 0.75]
    """
    proba, labels, weights = _some(rows)
    share = np.bincount(labels, weights, minlength=rows.axes.n)
    shift, seen = np.array(start, float), share > 0
    for _ in range(STEPS):
        q = proba * np.exp(shift)
        q /= q.sum(axis=1, keepdims=True)
        means = weights @ q
        gap = np.where(seen, share - means, 0.0)
        if np.abs(gap).max() <= CLOSE:
            break
        # The ridge gives the direction that changes nothing (all classes alike) a slope.
        curvature = np.diag(means + CLOSE) - q.T @ (weights[:, None] * q)
        shift += np.clip(np.linalg.solve(curvature, gap), -LONGEST, LONGEST)
    return shift


def off_by(rows: Rows, shift: FloatArray) -> FloatArray:
    r"""Return by how many standard errors shifted probabilities are off, class by class.

    If the probabilities q are right, :math:`\sum q_i 1[y = i]` is :math:`\sum q_i^2` but for noise: rows of class i
    are those that q says. A slope that is too steep or too flat changes one and not the other.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> proba = random.dirichlet([1, 1], 2000)
    >>> y = (random.random(2000) < proba[:, 1]).astype(int)
    >>> bool(off_by(Rows.of(proba, y), np.zeros(2)).max() < 2)
    True
    >>> steep = proba**3 / (proba**3).sum(axis=1, keepdims=True)
    >>> bool(off_by(Rows.of(steep, y), np.zeros(2)).min() > 10)
    True
    """
    proba, labels, weights = _some(rows)
    q = proba * np.exp(shift)
    q /= q.sum(axis=1, keepdims=True)
    seen = np.bincount(labels, weights * q[np.arange(labels.size), labels], minlength=q.shape[1])
    noise = np.sqrt((weights**2) @ (q**3 * (1 - q)))
    return np.divide(np.abs(seen - weights @ q**2), noise, out=np.zeros(noise.size), where=noise > 0)


def _some(rows: Rows) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return probabilities, labels and weights of as many rows as tell enough; the weights add up to 1."""
    step = max(1, rows.proba.size // ENTRIES)
    proba, labels = np.asarray(rows.proba[::step], float), rows.labels[::step]
    weights = np.ones(labels.size) if rows.weights is None else rows.weights[::step]
    return proba, labels, weights / weights.sum()
