"""Probabilities of cell and class together, for decisions that do not see the cell: P(cell, class | x)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from metricfit.data.columns import frame_columns
from metricfit.estimator.pairs import CellTiltedByClass, ClassThenCell
from metricfit.messages import some
from metricfit.trust.crossfit import OutOfFold, class_proba, cross_fit, fit_clone, folds_of
from metricfit.types import FloatArray, IntArray

# A model whose log loss on the first fold is higher than another's by this many standard errors is dropped. On Adult,
# COMPAS, Law School and Default with logistic regression the two are within 1.5 standard errors of all rows.
SURE = 1.0
# Smaller probabilities are raised to this in a log loss, so that one certain mistake does not decide alone.
FLOOR = 1e-6


class JointModel:
    """A fitted model of pairs of cell and class, with the probabilities of classes and of pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, pairs = np.arange(20.0)[:, None] % 4, np.arange(20) % 4
    >>> model = JointModel(GaussianNB().fit(X, pairs), 2, np.array(["no", "yes"]), ())
    >>> model.predict_proba(X).shape, model.joint_proba(X).shape
    ((20, 2), (20, 4))
    """

    def __init__(self, model: Any, cells: int, classes: Any, dropped: Sequence[str]) -> None:
        self.model, self.cells, self.classes_, self.dropped = model, cells, classes, tuple(dropped)

    @property
    def n_features_in_(self) -> int:
        """Number of features, if the model counts them."""
        return int(self.model.n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """Names of the features, if the model keeps them."""
        return self.model.feature_names_in_

    def visible(self, X: Any) -> Any:
        """Return the features without the columns that the model must not see."""
        return without(X, self.dropped)

    def joint_proba(self, X: Any) -> FloatArray:
        """Return the probability of each pair, cell by cell."""
        pairs = np.arange(self.cells * len(self.classes_))
        return class_proba(self.model, self.visible(X), pairs)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class."""
        return np.asarray(self.joint_proba(X).reshape(-1, self.cells, len(self.classes_)).sum(axis=1))


def without(X: Any, names: Sequence[str]) -> Any:
    """Return a frame without some columns, which need not exist.

    Examples
    --------
    >>> import pandas as pd
    >>> without(pd.DataFrame({"age": [30], "sex": ["F"]}), ["sex"]).columns.tolist()
    ['age']
    """
    if not names:
        return X
    columns = frame_columns(X)
    present = [name for name in names if name in columns]
    if hasattr(X, "loc"):
        return X.drop(columns=present)
    return X.drop(present) if present else X


def joint_models(estimator: Any, n_classes: int) -> list[Any]:
    """Return the candidate models of pairs; a frozen estimator predicts the classes, but not the cells."""
    frozen = isinstance(estimator, FrozenEstimator)
    of_cell = clone(estimator.estimator) if frozen else estimator
    factors = [kind(estimator, of_cell, n_classes) for kind in (CellTiltedByClass, ClassThenCell)]
    return factors if frozen else [estimator, *factors]


def fit_joint(
    estimator: Any,
    X: Any,
    pairs: IntArray,
    cells: int,
    classes: Any,
    *,
    cv: Any,
    sample_weight: FloatArray | None,
    n_jobs: int | None,
    dropped: Sequence[str] = (),
) -> tuple[JointModel, OutOfFold]:
    """Return the model of pairs with the lowest log loss on held-out rows, fitted to all rows, and its predictions.

    Parameters
    ----------
    estimator : classifier
        Trained on the pairs as one label; or on classes, and on cells: of all rows, with a factor for each class, or
        of the rows of each class on their own.
    X : array, sparse matrix or frame with N rows
        The features.
    pairs : int ndarray of shape (N,)
        ``cell * n_classes + class`` of each row.
    cells : int
        The number of cells.
    classes : ndarray of shape (n,)
        The classes.
    cv, sample_weight, n_jobs
        As in `cross_fit`; with ``cv=None`` the log loss is that of the training rows.
    dropped : sequence of str
        Columns of X that the model must not see.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, pairs = np.arange(40.0)[:, None] % 4, np.arange(40) % 4
    >>> model, held_out = fit_joint(
    ...     GaussianNB(), X, pairs, 2, np.array([0, 1]), cv=4, sample_weight=None, n_jobs=None)
    >>> held_out.proba.shape
    (40, 4)
    """
    _check_sees_none(estimator, dropped)
    X, every = without(X, dropped), np.arange(cells * len(classes))
    candidates = joint_models(estimator, len(classes))
    if cv is None:
        models = [fit_clone(candidate, X, pairs, sample_weight) for candidate in candidates]
        told = {t: OutOfFold(np.arange(len(pairs)), class_proba(m, X, every)) for t, m in enumerate(models)}
        best = _by_loss(told, pairs, sample_weight)[0]
        return JointModel(models[best], cells, classes, dropped), told[best]
    folds = folds_of(cv, X, pairs)

    def held_out(place: int, some: Any) -> OutOfFold:
        how: dict[str, Any] = {"cv": some, "sample_weight": sample_weight, "n_jobs": n_jobs}
        return cross_fit(candidates[place], X, pairs, every, **how)

    told = {place: held_out(place, folds[:1]) for place in range(len(candidates))}
    # A model that is clearly better on the first fold is assumed to be better on all folds.
    race = _by_loss(told, pairs, sample_weight, SURE)
    if folds[1:]:
        told = {place: told[place].joined(held_out(place, folds[1:])) for place in race}
        race = _by_loss(told, pairs, sample_weight)
    best = race[0]
    model = fit_clone(candidates[best], X, pairs, sample_weight)
    return JointModel(model, cells, classes, dropped), told[best]


def _check_sees_none(estimator: Any, dropped: Sequence[str]) -> None:
    """Raise if a frozen model was trained with columns that it must not see."""
    if not isinstance(estimator, FrozenEstimator):
        return
    trained = getattr(estimator, "feature_names_in_", ())
    seen = [name for name in dropped if name in trained]
    if seen:
        raise ValueError(
            f"blind=True: the frozen model was trained with {some(seen)}, which decisions must not see. Pass an "
            "estimator that may be trained, a model that was trained without this column, or probabilities of all "
            "pairs of group and class to mf.optimize(..., blind=True)"
        )


def _by_loss(
    told: Mapping[int, OutOfFold], pairs: IntArray, sample_weight: FloatArray | None, errors: float = np.inf
) -> list[int]:
    """Return the models sorted by their log loss on the same rows, the lowest first.

    Those whose loss is higher than the lowest by more than ``errors`` standard errors of the difference are left out.
    """
    one = next(iter(told.values()))
    weights = one.weights(sample_weight)
    share = np.full(len(one.rows), 1 / len(one.rows)) if weights is None else weights / weights.sum()
    loss = {
        place: -np.log(np.maximum(said.proba[np.arange(len(said.rows)), pairs[said.rows]], FLOOR))
        for place, said in told.items()
    }
    order = sorted(told, key=lambda place: float(share @ loss[place]))
    more = {place: loss[place] - loss[order[0]] for place in order}
    error = {place: np.sqrt(share**2 @ (gap - share @ gap) ** 2) for place, gap in more.items()}
    return [p for p in order if p == order[0] or share @ more[p] <= errors * error[p]]
