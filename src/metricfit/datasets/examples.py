"""The paper's named example distributions, and rows drawn from its 3-class Gaussian problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricfit.datasets.distributions import Distribution, Floats, Seed
from metricfit.datasets.gaussians import Gaussians
from metricfit.datasets.uniforms import Uniforms
from metricfit.messages import unknown


def _on_a_line(priors: list[float], means: list[float]) -> Gaussians:
    return Gaussians(np.array(priors), np.array(means)[:, None], np.eye(1))


#: Unif, NormBal and NormImbal are the two-class examples of section 3; Norm3 is the one-dimensional 3-class
#: example of the same section; Gauss3 is the two-dimensional problem of section 8.3. The paper gives no
#: variance for NormBal and NormImbal: it is 1 here, as it is for Norm3 in the paper.
EXAMPLES: Mapping[str, Distribution] = MappingProxyType(
    {
        "Unif": Uniforms(np.array([2 / 3, 1 / 3]), np.array([[-1.0, 1.0], [0.0, 2.0]])),
        "NormBal": _on_a_line([0.5, 0.5], [-0.5, 0.5]),
        "NormImbal": _on_a_line([0.8, 0.2], [-0.5, 0.5]),
        "Norm3": _on_a_line([1 / 3, 1 / 3, 1 / 3], [-1.0, 0.0, 1.0]),
        "Gauss3": Gaussians(
            np.array([0.85, 0.1, 0.05]),
            np.array([[1.0, 1.0], [0.0, 0.0], [-1.0, -1.0]]),
            np.array([[5.0, 1.0], [1.0, 5.0]]),
        ),
    }
)


def example(name: str) -> Distribution:
    """Return one of the paper's example distributions.

    Parameters
    ----------
    name : {"Unif", "NormBal", "NormImbal", "Norm3", "Gauss3"}
        The first three have two classes, and `boundary` and `upper` give their achievable sets exactly.

    Returns
    -------
    Distribution
        With `priors`, `class_probabilities`, `sample`, `confusion`, and for two classes `boundary`, `upper`
        and `lower`.

    Examples
    --------
    The achievable set of Unif is a hexagon:

    >>> from metricfit.datasets import example
    >>> example("Unif").boundary().round(3)[:4]
    array([[0.   , 0.333],
           [0.333, 0.333],
           [0.667, 0.167],
           [0.667, 0.   ]])

    The most probable class is nearly always class 0 of Gauss3; weighting by 1 / prior balances the recalls:

    >>> gauss = example("Gauss3")
    >>> (gauss.confusion([1, 1, 1]).diagonal() / gauss.priors).round(3)
    array([0.999, 0.   , 0.03 ])
    >>> (gauss.confusion(1 / gauss.priors).diagonal() / gauss.priors).round(3)
    array([0.614, 0.227, 0.614])
    """
    if name not in EXAMPLES:
        raise ValueError(unknown("example distribution", name, EXAMPLES))
    return EXAMPLES[name]


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows drawn from a known distribution.

    Attributes
    ----------
    X : ndarray, shape (n_rows, d)
        The rows.
    y : ndarray of int, shape (n_rows,)
        Their labels, counted from 0.
    distribution : Distribution
        Where they come from.

    Examples
    --------
    >>> from metricfit.datasets import make_gaussians
    >>> make_gaussians(n_rows=5).X.shape
    (5, 2)
    """

    X: Floats
    y: NDArray[np.intp]
    distribution: Distribution

    def class_probabilities(self, X: ArrayLike) -> Floats:
        """Return the true class probabilities of any rows, of shape (N, n)."""
        return self.distribution.class_probabilities(X)


def make_gaussians(n_rows: int = 10_000, random_state: Seed = 0) -> Sample:
    """Draw rows of the paper's 3-class Gaussian problem (section 8.3).

    The priors are 0.85, 0.1 and 0.05, the means (1, 1), (0, 0) and (-1, -1), and every class has the
    covariance [[5, 1], [1, 5]], so the class probabilities are a softmax of linear functions.

    Parameters
    ----------
    n_rows : int, default 10000
        How many rows.
    random_state : int, numpy.random.Generator or None, default 0
        The seed; None draws a fresh one.

    Returns
    -------
    Sample
        Rows `X`, labels `y`, and `class_probabilities(X)` in closed form.

    Examples
    --------
    >>> from metricfit.datasets import make_gaussians
    >>> data = make_gaussians(n_rows=1000, random_state=0)
    >>> data.class_probabilities([[1.0, 1.0]]).round(3)
    array([[0.885, 0.088, 0.027]])
    """
    distribution = example("Gauss3")
    return Sample(*distribution.sample(n_rows, random_state), distribution)
