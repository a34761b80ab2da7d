"""How far class probabilities are off, class by class: the shift of their logarithms that the labels ask for."""

from __future__ import annotations

import numpy as np

from metricfit.types import FloatArray, IntArray

# Newton's steps, of at most this size; the gap between shares and mean probabilities that ends them.
STEPS, LONGEST, CLOSE = 12, 2.0, 1e-5


def log_ratio(labels: FloatArray, means: FloatArray) -> FloatArray:
    """Return the logarithm of the labels' weight in each class over that of the probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> log_ratio(np.array([2.0, 2.0]), np.array([2.0, 2.0]))
    array([0., 0.])
    """
    tiny = 1e-12 * labels.sum()
    return np.log(np.maximum(labels, tiny)) - np.log(np.maximum(means, tiny))


def label_shift(proba: FloatArray, labels: IntArray, weights: FloatArray) -> FloatArray:
    r"""Return the shift b that makes :math:`p_i e^{b_i}`, scaled to add up to 1, most likely given the labels.

    It is the one for which every class has a mean probability equal to its share of the rows. Newton's method
    finds it: minus the second derivative of the mean log-likelihood is ``diag(means) - mean(q q')``.

    Parameters
    ----------
    proba : array of shape (N, n)
        Class probabilities.
    labels : int array of shape (N,)
        Codes of the classes.
    weights : array of shape (N,)
        Adding up to 1.

    Examples
    --------
    >>> import numpy as np
    >>> proba = np.array([[0.8, 0.2], [0.8, 0.2], [0.5, 0.5], [0.5, 0.5]])
    >>> shift = label_shift(proba, np.array([1, 0, 1, 1]), np.full(4, 0.25))
    >>> shifted(proba, shift).mean(axis=0).round(3).tolist()  # the shares of the labels
    [0.25, 0.75]
    """
    share = np.asarray(np.bincount(labels, weights, minlength=proba.shape[1]), float)
    shift, seen = log_ratio(share, weights @ proba), share > 0
    for _ in range(STEPS):
        q = shifted(proba, shift)
        means = weights @ q
        gap = np.where(seen, share - means, 0.0)
        if np.abs(gap).max() <= CLOSE:
            break
        # The ridge gives the direction that changes nothing (all classes alike) a slope.
        curvature = np.diag(means + CLOSE) - q.T @ (weights[:, None] * q)
        shift += np.clip(np.linalg.solve(curvature, gap), -LONGEST, LONGEST)
    return shift


def shifted(proba: FloatArray, shift: FloatArray) -> FloatArray:
    """Return probabilities whose logarithms are shifted class by class, scaled to add up to 1.

    Examples
    --------
    >>> import numpy as np
    >>> shifted(np.array([[0.5, 0.5]]), np.log([1.0, 3.0]))
    array([[0.25, 0.75]])
    """
    scaled = proba * np.exp(shift)
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


def steepness(proba: FloatArray, labels: IntArray, weights: FloatArray) -> float:
    """Return by how much labels follow the probabilities: the slope of their regression, over all classes.

    Right probabilities have slope 1, too modest ones more, too sure ones less.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> proba = random.dirichlet([1, 1], 2000)
    >>> y, weights = (random.random(2000) < proba[:, 1]).astype(int), np.full(2000, 1 / 2000)
    >>> flat = 0.25 + 0.5 * proba
    >>> round(steepness(proba, y, weights), 1), round(steepness(flat, y, weights), 1)
    (1.0, 2.0)
    """
    means, share = weights @ proba, np.bincount(labels, weights, minlength=proba.shape[1])
    together = weights @ proba[np.arange(labels.size), labels] - means @ share
    spread = weights @ (proba**2).sum(axis=1) - means @ means
    return float(together / spread) if spread > 0 else 1.0
