"""The input of `MetricClassifier`, read and checked before anything is fitted."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from metricfit.data.attributes import names_of
from metricfit.data.axes import Axes
from metricfit.data.columns import frame_columns, is_frame
from metricfit.data.labels import encode_labels
from metricfit.data.rows import priors, strata
from metricfit.messages import unknown
from metricfit.methods import Method, choose
from metricfit.problem import Problem
from metricfit.types import FloatArray, IntArray


def classes_of(y: Any) -> Any:
    """Return the sorted labels, at least two.

    Examples
    --------
    >>> import numpy as np
    >>> classes_of(np.array([3, 1, 3]))
    array([1, 3])
    """
    try:
        classes = np.unique(y)
    except TypeError as error:
        raise ValueError(f"y has labels of several types, which cannot be sorted: {error}") from error
    if not len(classes):
        raise ValueError("y has no rows; pass at least one row of each of two classes")
    if len(classes) == 1:
        raise ValueError(
            f"y has one class only, {classes[:1].tolist()[0]!r}, in all {len(y)} rows: there is nothing to decide; "
            f"give rows of two or more classes"
        )
    return classes


def one_kind(y: Any) -> Any:
    """Return the labels; raise if a list mixes strings with other types, which NumPy would all turn into strings.

    Examples
    --------
    >>> one_kind([1, "1", 2])
    Traceback (most recent call last):
        ...
    ValueError: y has labels of several types, such as '1' and 2; scikit-learn's classifiers take one type, so turn...
    """
    if isinstance(y, list | tuple):
        kinds = {isinstance(value, str): value for value in y}
        if len(kinds) > 1:
            raise ValueError(
                f"y has labels of several types, such as {kinds[True]!r} and {kinds[False]!r}; scikit-learn's "
                "classifiers take one type, so turn all labels into texts or all into numbers"
            )
    return y


def attribute_names(attributes: str | Iterable[str] | None, sensitive_features: Any) -> list[str]:
    """Return which columns of X are attributes of the rows; none if the attributes are passed separately.

    Examples
    --------
    >>> attribute_names("sex", None)
    ['sex']
    """
    names = names_of(attributes)
    if names and sensitive_features is not None:
        raise ValueError(
            f"sensitive_features was passed although attributes={names} names columns of X; pass one of them"
        )
    return names


def attributes_of(X: Any, attributes: str | Iterable[str] | None, sensitive_features: Any) -> Any:
    """Return the attributes of each row: the named columns of X, or the ones passed separately.

    Examples
    --------
    >>> import pandas as pd
    >>> attributes_of(pd.DataFrame({"age": [30, 50], "sex": ["F", "M"]}), "sex", None)["sex"].tolist()
    ['F', 'M']
    """
    names = attribute_names(attributes, sensitive_features)
    if not names:
        return sensitive_features
    if not is_frame(X):
        raise ValueError(
            f"attributes={names} names columns of X, but X is of type {type(X).__name__} and has no named "
            f"columns; pass a frame. If an earlier step of a pipeline took the names, move it into the "
            f"estimator: MetricClassifier(make_pipeline(step, model), attributes={names})"
        )
    columns = frame_columns(X)
    for name in names:
        if name not in columns:
            raise ValueError(unknown("column of X in attributes:", name, columns))
    return {name: X[name] for name in names}


def seed_of(random_state: Any) -> int | None:
    """Return a seed for ``random_state``, so that each prediction uses the same.

    Examples
    --------
    >>> seed_of(7)
    7
    """
    if random_state is None or isinstance(random_state, Integral):
        return None if random_state is None else int(random_state)
    try:
        drawn = check_random_state(random_state)
    except ValueError:
        raise ValueError(
            f"random_state must be a whole number >= 0, a RandomState or None, got {random_state!r}"
        ) from None
    return int(drawn.randint(2**31 - 1))


def check_problem(
    problem: Problem,
    axes: Axes,
    method: str | Method,
    y: Any,
    cells: IntArray,
    weights: FloatArray | None,
    soft: bool,
) -> None:
    """Raise if problem or method are invalid, before models are fitted.

    With ``soft`` the probabilities define which classes a cell has; until they are known, all classes are assumed.

    Examples
    --------
    >>> import numpy as np
    >>> problem = Problem.of("g_mean", ["recall('b') >= 0.9"])
    >>> check_problem(problem, Axes((0, 1)), "auto", [0, 1], np.zeros(2, int), None, False)
    Traceback (most recent call last):
    ValueError: unknown class 'b'. Known: 0, 1
    """
    counts = strata(encode_labels(y, axes.classes), cells, weights, len(axes.cells), axes.n)
    margins = np.ones(counts.shape) if soft else counts
    choose(method, problem.bind(axes, priors(margins, margins.sum())))
