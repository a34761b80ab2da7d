"""Cross-fitted probabilities: each row's come from a model that did not see it.

A model is more confident about its training rows than about new rows. Decisions tuned on its training rows are tuned
to the wrong probabilities, and constraints that hold there fail on new rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, has_fit_parameter

from metricfit.data.features import rows_at
from metricfit.data.validation import SUM_TOLERANCE
from metricfit.messages import rows_text, some, warn
from metricfit.trust.score_models import with_proba
from metricfit.types import FloatArray, IntArray

WEIGHT = "sample_weight"
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Passed(NamedTuple):
    """More arguments of the base classifier's ``fit``, and of the splitter's ``split``."""

    fit: Mapping[str, Any] = NOTHING
    split: Mapping[str, Any] = NOTHING


NO_MORE = Passed()


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Probabilities of held-out rows, in the order of the rows.

    Parameters
    ----------
    rows : int ndarray of shape (M,)
        The row of the data that each prediction is for. A row that no fold holds out is missing; a row that
        several folds hold out is there more than once, each time predicted by another model.
    proba : ndarray of shape (M, n)
        Class probabilities.
    """

    rows: IntArray
    proba: FloatArray

    def whole(self, n_rows: int) -> bool:
        """Return whether each row is there exactly once."""
        return len(self.rows) == n_rows and bool((self.rows == np.arange(n_rows)).all())

    def weights(self, sample_weight: FloatArray | None) -> FloatArray | None:
        """Return a weight for each prediction, such that each row counts once however often it was held out.

        Examples
        --------
        >>> import numpy as np
        >>> OutOfFold(np.array([0, 2, 2]), np.full((3, 2), 0.5)).weights(np.array([1.0, 5.0, 3.0]))
        array([1. , 1.5, 1.5])
        """
        times = np.bincount(self.rows)[self.rows] if self.rows.size else self.rows
        if sample_weight is None:
            return None if (times == 1).all() else 1.0 / times
        return np.asarray(sample_weight[self.rows] / times)

    def joined(self, other: OutOfFold) -> OutOfFold:
        """Return these predictions and some others, in the order of the rows.

        Examples
        --------
        >>> import numpy as np
        >>> some = OutOfFold(np.array([0, 3]), np.zeros((2, 2)))
        >>> some.joined(OutOfFold(np.array([1, 2]), np.ones((2, 2)))).proba[:, 0].tolist()
        [0.0, 1.0, 1.0, 0.0]
        """
        rows = np.concatenate([self.rows, other.rows])
        order = np.argsort(rows, kind="stable")
        return OutOfFold(rows[order], np.concatenate([self.proba, other.proba])[order])


def cross_fit(
    estimator: Any,
    X: Any,
    y: Any,
    classes: Any,
    *,
    cv: Any = 5,
    sample_weight: FloatArray | None = None,
    n_jobs: int | None = None,
    passed: Passed = NO_MORE,
) -> OutOfFold:
    """Return probabilities of held-out rows; the estimator itself stays unfitted.

    Parameters
    ----------
    estimator : classifier
        A clone of it is fitted in each fold.
    X : array, sparse matrix or frame with N rows
        The features.
    y : ndarray of shape (N,)
        The labels.
    classes : ndarray of shape (n,)
        All classes, in the order of the columns to return. A class that is absent from a fold's training rows
        has probability 0 there.
    cv : int, splitter or iterable of (train, test)
        As in scikit-learn; an integer means stratified folds without shuffling.
    sample_weight : ndarray of shape (N,), optional
        Weights, for an estimator that takes them.
    n_jobs : int, optional
        The number of folds to fit in parallel.
    passed : Passed
        More arguments; those of ``fit`` with an entry for each row are cut as the rows are.

    Returns
    -------
    OutOfFold

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.arange(20.0)[:, None] % 7, np.arange(20) % 2
    >>> cross_fit(LogisticRegression(), X, y, np.array([0, 1]), cv=4).proba.shape
    (20, 2)
    """
    splits = folds_of(cv, X, y, passed.split)
    tests = [test for _, test in splits]
    parts = Parallel(n_jobs=n_jobs)(
        delayed(_held_out)(estimator, X, y, classes, sample_weight, passed.fit, train, test)
        for train, test in splits
    )
    rows: IntArray = np.concatenate(tests)
    order = np.argsort(rows, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    proba: FloatArray = np.empty((len(rows), len(classes)), dtype=np.result_type(*parts))
    start = 0
    for part in parts:
        proba[place[start : start + len(part)]] = part
        start += len(part)
    return OutOfFold(rows[order], proba)


def class_proba(model: Any, X: Any, classes: Any) -> FloatArray:
    """Return a model's probabilities with one column for each class, 0 for classes that the model does not have.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier(strategy="prior").fit([[0], [0]], ["b", "c"])
    >>> class_proba(model, [[1]], ["a", "b", "c"])
    array([[0. , 0.5, 0.5]])
    """
    proba: Any = np.asarray(model.predict_proba(X))
    wanted: list[object] = np.asarray(classes).tolist()
    known: list[object] = np.asarray(getattr(model, "classes_", classes)).tolist()
    if proba.ndim != 2 or proba.shape[1] != len(known):
        raise ValueError(
            f"predict_proba of {type(model).__name__} returned shape {proba.shape} for {len(known)} classes; "
            f"it must return one row per row of X and one column per class"
        )
    if proba.dtype == np.float32:
        off = np.flatnonzero(np.abs(proba.sum(axis=1, dtype=np.float64) - 1) > SUM_TOLERANCE)
        if off.size:  # naive Bayes adds up logarithms of many features, and rounds each sum to seven digits
            raise ValueError(
                f"predict_proba of {type(model).__name__} does not sum to 1 (within {SUM_TOLERANCE:g}) in "
                f"{rows_text(off)}; if it rounds too much in single precision, pass X in double precision, "
                f"X.astype(float); if these are scores, let predict_proba divide them by their sums"
            )
    places = {value: column for column, value in enumerate(wanted)}
    strange = [value for value in known if value not in places]
    if strange:
        raise ValueError(f"{type(model).__name__} knows classes that y does not have: {some(strange)}")
    columns = [places[value] for value in known]
    if columns == list(range(len(wanted))):
        return proba
    aligned: FloatArray = np.zeros((len(proba), len(wanted)), dtype=np.result_type(proba, np.float32))
    aligned[:, columns] = proba
    return aligned


def weight_argument(estimator: Any) -> str | None:
    """Return the name under which ``estimator.fit`` takes sample weights, or None if it takes none.

    A pipeline passes them to its last step. If scikit-learn's metadata routing is enabled, requests decide: a
    step that requests weights gets them, and one that does not request them gets none.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> weight_argument(make_pipeline(StandardScaler(), LogisticRegression()))
    'logisticregression__sample_weight'
    >>> weight_argument(KNeighborsClassifier()) is None
    True
    """
    from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
    from sklearn.pipeline import Pipeline

    routing = get_config()["enable_metadata_routing"]
    if routing and get_routing_for_object(estimator).consumes("fit", [WEIGHT]):
        return WEIGHT
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_argument(last)
        return inner if inner is None or routing else f"{name}__{inner}"
    if isinstance(estimator, GridSearchCV | RandomizedSearchCV):
        return weight_argument(estimator.estimator)
    if not has_fit_parameter(estimator, WEIGHT):
        return None
    if routing and hasattr(estimator, "get_metadata_routing"):
        request = getattr(estimator.get_metadata_routing(), "fit", None)
        if getattr(request, "requests", {}).get(WEIGHT) is not None:
            return None  # declined, or wanted under another name
    return WEIGHT


def fit_clone(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: FloatArray | None,
    params: Mapping[str, Any] = NOTHING,
) -> Any:
    """Return a fitted clone that has probabilities; weights are left out if the estimator takes none.

    ``params`` are more arguments of its ``fit``. A frozen estimator stays as it is.
    """
    name = None if sample_weight is None else weight_argument(estimator)
    weights = {} if name is None else {name: sample_weight}
    return with_proba(clone(estimator).fit(X, y, **weights, **params), X)


def _needs_groups(cv: Any) -> bool:
    """Return whether a splitter asks for groups; not all of scikit-learn's complain in ``split`` if there are none."""
    routing = getattr(cv, "get_metadata_routing", None)
    return routing is not None and routing().split.requests.get("groups") is True


def folds_of(
    cv: Any, X: Any, y: Any, split_params: Mapping[str, Any] = NOTHING
) -> list[tuple[IntArray, IntArray]]:
    """Return the folds as pairs of row numbers."""
    from sklearn.model_selection import check_cv

    if isinstance(cv, str):
        raise ValueError(
            f"cv must be a number of folds, a splitter, an iterable of (train, test) or None; got {cv!r}. "
            f"For a model that is already fitted pass sklearn.frozen.FrozenEstimator(model) as the estimator"
        )
    counted = isinstance(cv, Integral)
    if isinstance(cv, bool | np.bool_) or (counted and cv < 2):
        raise ValueError(
            "cv must be a number of folds, 2 or more, a splitter, an iterable of (train, test), or None to tune on the "
            f"training rows; got {cv!r}"
        )
    if _needs_groups(cv) and "groups" not in split_params:
        raise ValueError(
            f"cv={cv!r} needs groups; pass its folds, cv=list({cv!r}.split(X, y, groups)), or groups= to fit with "
            "scikit-learn's metadata routing enabled"
        )
    if counted:
        cv = _enough_rows(int(cv), y)
    with warnings.catch_warnings():
        if counted:
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # warned above
        pairs = list(check_cv(cv, y, classifier=True).split(X, y, **split_params))
    numbers = np.arange(len(y))  # turns masks and negative indices into row numbers
    try:
        kept = [(numbers[np.asarray(train)], numbers[np.asarray(test)]) for train, test in pairs if len(test)]
    except IndexError as error:
        raise ValueError(
            f"cv has folds of other rows than the {len(y)} of y: {error}; make them anew"
        ) from None
    kept = [(train, test) for train, test in kept if len(test)]
    if not kept:
        raise ValueError("cv holds out no rows; give it at least one test row")
    return kept


def _enough_rows(folds: int, y: Any) -> int:
    """Return the number of folds that the rows allow, and warn about classes with fewer rows than folds."""
    classes, counts = np.unique(y, return_counts=True)
    if 2 <= counts.max() < folds:
        warn(
            f"cv={folds} needs a class with at least {folds} rows but the largest of {len(y)} rows has "
            f"{counts.max()}; using {counts.max()} folds",
        )
        folds = int(counts.max())
    rare = [f"{value} ({count})" for value, count in zip(classes, counts, strict=True) if count < folds]
    if rare:
        warn(
            f"{len(rare)} of {len(classes)} classes have fewer rows than there are folds ({folds}): "
            f"{', '.join(rare[:5])}{', ...' if len(rare) > 5 else ''}. Decisions for them rest on few rows, "
            f"and a class of one row is unknown to the model that predicts it; merge classes or lower cv",
        )
    return folds


def _held_out(
    estimator: Any,
    X: Any,
    y: Any,
    classes: Any,
    sample_weight: FloatArray | None,
    params: Mapping[str, Any],
    train: IntArray,
    test: IntArray,
) -> FloatArray:
    """Fit on the rows of ``train`` and return the probabilities of the rows of ``test``."""
    seen = np.unique(y[train])
    if len(seen) == 1:  # most classifiers refuse to fit one class; its probability is 1
        return np.tile((np.asarray(classes) == seen[0]).astype(np.float64), (len(test), 1))
    if hasattr(estimator, "__sklearn_tags__") and get_tags(estimator).input_tags.pairwise:
        X_train, X_test = X[np.ix_(train, train)], X[np.ix_(test, train)]
    else:
        X_train, X_test = rows_at(X, train), rows_at(X, test)
    weights = None if sample_weight is None else sample_weight[train]
    told = _check_method_params(X, dict(params), train)
    return class_proba(fit_clone(estimator, X_train, y[train], weights, told), X_test, classes)
