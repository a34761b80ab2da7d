"""Dask arrays and data frames, and what goes with them, cut into the same blocks of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from metricfit.data.attributes import read_attributes
from metricfit.data.columns import some_rows
from metricfit.data.row_order import check_row_order
from metricfit.data.validation import check_lengths


def is_dask(data: object) -> bool:
    """Return whether the data is a Dask collection.

    Examples
    --------
    >>> import dask.array as da
    >>> is_dask(da.zeros(3)), is_dask([0.0])
    (True, False)
    """
    return hasattr(data, "__dask_graph__")


def width(proba: Any) -> int:
    """Return the number of columns of a Dask array or data frame.

    Examples
    --------
    >>> import dask.array as da
    >>> width(da.zeros((4, 3)))
    3
    """
    from dask.delayed import Delayed

    shape = None if isinstance(proba, Delayed) else getattr(proba, "shape", None)
    if shape is None:
        raise ValueError(f"proba must be a Dask array or data frame; got a Dask {type(proba).__name__}")
    if len(shape) != 2:
        raise ValueError(f"proba must have two dimensions, rows and classes; got {len(shape)}")
    if shape[1] != shape[1]:
        raise ValueError("proba has an unknown number of columns; call compute_chunk_sizes() on it first")
    return int(shape[1])


def aligned_blocks(named: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return the blocks of rows of several arguments, cut as the first is; None stays None.

    Parameters
    ----------
    named : mapping
        The arguments by name. The first is a Dask collection; others are Dask collections with the same partitions,
        or arrays and frames in memory if the lengths of the first one's blocks are known.

    Returns
    -------
    list of tuples
        For each block its delayed or plain part of each argument.

    Examples
    --------
    >>> import dask.array as da
    >>> blocks = aligned_blocks({"proba": da.zeros((5, 2), chunks=(3, 2)), "y": [0, 1, 0, 1, 1], "w": None})
    >>> [(y, w) for _, y, w in blocks]
    [(array([0, 1, 0]), None), (array([1, 1]), None)]
    """
    check_row_order(**named)
    (first, leader), *others = named.items()
    if getattr(leader, "chunks", None) is not None:
        leader = leader.rechunk({1: -1})
    rows = _lengths(leader)
    columns = [_delayed(leader)]
    for name, data in others:
        if data is None:
            columns.append([None] * len(columns[0]))
        elif is_dask(data):
            columns.append(_matched(name, data, first, rows, len(columns[0])))
        else:
            columns.append(_sliced(name, data, first, rows))
    return list(zip(*columns, strict=True))


def _lengths(collection: Any) -> list[int] | None:
    """Return the number of rows of each block, or None if unknown, as for data frames."""
    sizes = collection.chunks[0] if getattr(collection, "chunks", None) is not None else (np.nan,)
    return None if any(size != size for size in sizes) else [int(size) for size in sizes]


def _delayed(collection: Any) -> list[Any]:
    return list(np.ravel(np.array(collection.to_delayed(), dtype=object)))


def _matched(name: str, data: Any, first: str, rows: list[int] | None, count: int) -> list[Any]:
    own = _lengths(data)
    if rows is not None and own is not None:
        check_lengths(**{first: sum(rows), name: sum(own)})
        data = data.rechunk({0: tuple(rows)}) if own != rows else data
    parts = _delayed(data)
    if len(parts) != count:
        raise ValueError(
            f"{name} has {len(parts)} blocks of rows but {first} has {count}; cut both alike, with repartition "
            f"or rechunk"
        )
    return parts


def _sliced(name: str, data: Any, first: str, rows: list[int] | None) -> list[Any]:
    if rows is None:
        raise ValueError(
            f"{name} is in memory but the lengths of the blocks of {first} are not known; pass {name} as a Dask "
            f"collection with the same partitions, or call compute_chunk_sizes() on the array"
        )
    stops = np.cumsum(rows)
    cuts = [slice(stop - size, stop) for stop, size in zip(stops.tolist(), rows, strict=True)]
    if name == "sensitive_features":
        columns = {key: _array(column) for key, column in read_attributes(data).items()}
        check_lengths(**{first: sum(rows)}, **{f"{name} column {key!r}": c for key, c in columns.items()})
        return [{key: some_rows(column, cut) for key, column in columns.items()} for cut in cuts]
    data = _array(data)
    check_lengths(**{first: sum(rows), name: data})
    return [some_rows(data, cut) for cut in cuts]


def _array(column: Any) -> Any:
    return np.asarray(column) if isinstance(column, list | tuple) else column
