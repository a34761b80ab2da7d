"""What a `MetricClassifier` does to Dask collections: the same as to arrays, lazily and block by block."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any

import numpy as np

from metricfit.estimator.inputs import attribute_names
from metricfit.oracles.dask.partitions import aligned_blocks
from metricfit.trust.crossfit import class_proba


def proba_blocks(model: Any, X: Any, classes: Any) -> Any:
    """Return a model's probabilities as a Dask array, with one column for each class.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier(strategy="prior").fit([[0], [0]], ["b", "c"])
    >>> proba_blocks(model, da.zeros((3, 1), chunks=(2, 1)), ["b", "c"]).compute().tolist()
    [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]
    """
    import dask

    # One node of the graph, however many blocks use it.
    shared = dask.delayed(model, pure=False, traverse=False)
    parts = [
        dask.delayed(class_proba, pure=False)(shared, part, classes) for (part,) in aligned_blocks({"X": X})
    ]
    return _joined(parts, X, (len(classes),), np.float64)


def mapped(
    classifier: Any,
    method: str,
    X: Any,
    sensitive_features: Any,
    columns: tuple[int, ...],
    dtype: Any,
    key: Any = None,
) -> Any:
    """Return what a method of a fitted classifier makes of each block, as a Dask array."""
    import dask

    shared = dask.delayed(classifier, pure=False, traverse=False)
    blocks = aligned_blocks({"X": X, "sensitive_features": sensitive_features, "key": key})
    call = dask.delayed(_called, pure=False)
    parts = [call(shared, method, number, *block) for number, block in enumerate(blocks)]
    return _joined(parts, X, columns, dtype)


def attribute_blocks(X: Any, attributes: str | Iterable[str] | None, sensitive_features: Any) -> Any:
    """Return the attributes of the rows of a Dask collection: named columns of X, or what was passed."""
    names = attribute_names(attributes, sensitive_features)
    if not names:
        return sensitive_features
    missing = [name for name in names if name not in getattr(X, "columns", ())]
    if missing:
        raise ValueError(f"attributes={names} must name columns of a Dask data frame X; {missing} are none")
    return X[names]


def _called(classifier: Any, method: str, number: int, X: Any, sensitive_features: Any, key: Any) -> Any:
    if classifier.randomize == "draw" and classifier._seed is not None:
        # Blocks of one seed would all draw the same numbers.
        classifier = copy(classifier)
        classifier._seed = int(np.random.SeedSequence([classifier._seed, number]).generate_state(1)[0])
    keys = {} if key is None else {"key": key}
    return getattr(classifier, method)(X, sensitive_features=sensitive_features, **keys)


def _joined(parts: list[Any], X: Any, columns: tuple[int, ...], dtype: Any) -> Any:
    import dask.array as da

    rows = X.chunks[0] if getattr(X, "chunks", None) is not None else [np.nan] * len(parts)
    arrays = [
        da.from_delayed(part, (size, *columns), dtype=dtype) for part, size in zip(parts, rows, strict=True)
    ]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)
