"""Models of pairs of cell and class, built from a model of the class and models of the cell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

from metricfit.data.features import rows_at
from metricfit.trust.crossfit import class_proba, fit_clone
from metricfit.types import FloatArray, IntArray

# A tilt is fitted in at most this many rounds, and until no factor changes by more than STILL.
ROUNDS = 50
STILL = 1e-4
# Shrinkage: this many pseudo-rows, which fit the cell model without a tilt, are added to the rows of each class.
ADDED_ROWS = 5.0


class ClassAndCell(ClassifierMixin, BaseEstimator, ABC):
    """P(class | x) P(cell | x, class). Labels are pairs, ``cell * n_classes + class``.

    Parameters
    ----------
    of_class, of_cell : classifiers
        What is cloned for either factor; a frozen one stays as it is.
    n_classes : int
        The number of classes.
    """

    def __init__(self, of_class: Any, of_cell: Any, n_classes: int) -> None:
        self.of_class, self.of_cell, self.n_classes = of_class, of_cell, n_classes

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit both factors to pairs."""
        cells, labels = np.divmod(np.asarray(y), self.n_classes)
        self.classes_ = np.unique(y)
        self.class_model_ = fit_clone(self.of_class, X, labels, sample_weight)
        self._fit_cells(X, cells, labels, sample_weight)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each pair that was seen."""
        frozen = isinstance(
            self.of_class, FrozenEstimator
        )  # it has labels for classes, in the order of their numbers
        classes = self.class_model_.classes_ if frozen else np.arange(self.n_classes)
        of_class = class_proba(self.class_model_, X, classes)
        joint = np.zeros((len(of_class), len(self.classes_)))
        for i, of_cell in self._cells_in_class(X).items():
            inside = self.classes_ % self.n_classes == i
            joint[:, inside] = of_class[:, [i]] * of_cell
        total = joint.sum(axis=1, keepdims=True)
        return np.divide(joint, total, out=np.full_like(joint, 1 / joint.shape[1]), where=total > 0)

    def _seen_cells(self, i: int) -> IntArray:
        """Return the cells in which a class was seen."""
        return self.classes_[self.classes_ % self.n_classes == i] // self.n_classes

    @abstractmethod
    def _fit_cells(self, X: Any, cells: IntArray, labels: IntArray, sample_weight: Any) -> None:
        """Fit the probabilities of the cells, given the class."""

    @abstractmethod
    def _cells_in_class(self, X: Any) -> Mapping[int, FloatArray]:
        """Return for each class the probabilities of the cells that it was seen in, given the class."""


class ClassThenCell(ClassAndCell):
    """P(class | x) P(cell | x, class): one model of the class, and one of the cell for the rows of each class.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, pairs = [[0.0], [1.0], [2.0], [3.0]] * 5, [0, 1, 2, 3] * 5
    >>> ClassThenCell(GaussianNB(), GaussianNB(), 2).fit(X, pairs).predict_proba(X).shape
    (20, 4)
    """

    def _fit_cells(self, X: Any, cells: IntArray, labels: IntArray, sample_weight: Any) -> None:
        self.cell_models_ = {}
        for i in np.unique(labels).tolist():
            rows = np.flatnonzero(labels == i)
            weights = None if sample_weight is None else sample_weight[rows]
            # With one cell there is nothing to learn, and classifiers refuse a single class.
            one = len(self._seen_cells(i)) == 1
            self.cell_models_[i] = (
                None if one else fit_clone(self.of_cell, rows_at(X, rows), cells[rows], weights)
            )

    def _cells_in_class(self, X: Any) -> Mapping[int, FloatArray]:
        return {
            i: np.ones((1, 1)) if model is None else class_proba(model, X, self._seen_cells(i))
            for i, model in self.cell_models_.items()
        }


class CellTiltedByClass(ClassAndCell):
    """P(class | x) P(cell | x, class), where P(cell | x, class) is P(cell | x) times a factor for each cell and class.

    One model of the cell is trained on all rows, so it needs far fewer rows than a model for each class or for each
    pair. The factors make the cells as frequent in each class as they are among its training rows.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, pairs = [[0.0], [1.0], [2.0], [3.0]] * 5, [0, 1, 2, 3] * 5
    >>> CellTiltedByClass(GaussianNB(), GaussianNB(), 2).fit(X, pairs).predict_proba(X).shape
    (20, 4)
    """

    def _fit_cells(self, X: Any, cells: IntArray, labels: IntArray, sample_weight: Any) -> None:
        self.cells_ = np.unique(cells)
        one = len(self.cells_) == 1  # nothing to learn
        self.cell_model_ = None if one else fit_clone(self.of_cell, X, cells, sample_weight)
        told = self._told(X)
        weights = np.ones(len(cells)) if sample_weight is None else np.asarray(sample_weight)
        self.tilts_ = {}
        for i in np.unique(labels).tolist():
            rows, seen = labels == i, self._seen_cells(i)
            share = weights[rows] / weights[rows].mean()
            counts = share @ (cells[rows][:, None] == seen)
            self.tilts_[i] = tilt(self._possible(told[rows], seen), share, counts)

    def _cells_in_class(self, X: Any) -> Mapping[int, FloatArray]:
        told = self._told(X)
        return {
            i: tilted(self._possible(told, self._seen_cells(i)), factors)
            for i, factors in self.tilts_.items()
        }

    def _told(self, X: Any) -> FloatArray:
        """Return P(cell | x), whatever the class."""
        if self.cell_model_ is None:
            return np.ones((len(self.class_model_.predict_proba(X)), 1))
        return class_proba(self.cell_model_, X, self.cells_)

    def _possible(self, told: FloatArray, seen: IntArray) -> FloatArray:
        """Return the columns of the cells that a class was seen in; a row without probability gets equal ones."""
        return np.asarray(told[:, np.searchsorted(self.cells_, seen)] + np.finfo(float).tiny)


def tilted(proba: FloatArray, factors: FloatArray) -> FloatArray:
    """Return probabilities times a factor for each column, summing to 1 again."""
    raised = proba * factors
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def tilt(proba: FloatArray, weights: FloatArray, counts: FloatArray) -> FloatArray:
    """Return a factor for each column of probabilities that makes the columns sum to known counts.

    This is iterative scaling: each round multiplies a factor by the counted over the expected number of rows, which
    increases the likelihood until both are equal. Pseudo-rows that fit without a tilt are added, because counts of few
    rows are noisy.

    Examples
    --------
    >>> import numpy as np
    >>> proba = np.array([[0.9, 0.1], [0.5, 0.5], [0.5, 0.5], [0.1, 0.9]] * 1000)
    >>> factors = tilt(proba, np.ones(4000), np.array([1000.0, 3000.0]))
    >>> tilted(proba, factors).sum(axis=0).round(-1)
    array([1000., 3000.])
    """
    mean = weights @ proba / weights.sum()
    factors = np.ones(len(counts))
    for _ in range(ROUNDS):
        more = mean * factors / (mean @ factors)
        expected = weights @ tilted(proba, factors) + ADDED_ROWS * more
        step = (counts + ADDED_ROWS * mean) / np.maximum(expected, np.finfo(float).tiny)
        factors = factors * step
        if np.abs(step - 1).max() < STILL:
            break
    return np.asarray(factors / factors.max())
