"""Which oracle suits the data: rows in memory, rows in files, or rows on a cluster."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from metricfit.data.rows import Rows
from metricfit.oracles.base import Counting, OracleBase
from metricfit.oracles.dask.partitions import is_dask
from metricfit.oracles.files.chunked import ChunkedOracle, ChunkedRows
from metricfit.oracles.files.scores import ScoreFiles
from metricfit.oracles.files.sources import MappedArray, mapping_of
from metricfit.oracles.in_memory import PluginOracle
from metricfit.oracles.settings import TUNED, Settings


def oracle_for(
    proba: Any,
    y: Any,
    *,
    classes: Iterable[object] | None = None,
    decisions: Iterable[object] | None = None,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    counting: Counting = "labels",
    threads: int = 1,
    blind: bool = False,
    missing: str = "error",
    settings: Settings = TUNED,
) -> OracleBase:
    """Return the plug-in oracle on the given rows, wherever they are.

    Parameters
    ----------
    proba, y, classes, decisions, sensitive_features, sample_weight, counting, blind, missing
        As in `metricfit.optimize`.
    threads : int
        Number of threads that share a pass.
    settings : Settings
        When rows are read in blocks instead of being loaded, and in which sizes.

    Returns
    -------
    OracleBase

    Examples
    --------
    >>> import numpy as np
    >>> oracle_for(np.array([[0.9, 0.1], [0.4, 0.6]]), [0, 1]).margins
    array([[0.5, 0.5]])
    """
    stored = isinstance(proba, ScoreFiles) or mapping_of(proba) is not None
    far = stored and is_large(proba.nbytes, settings)
    if far or is_dask(proba):
        if blind:
            raise ValueError(
                "blind=True needs rows in memory; pass an array of a sample of the rows as proba"
            )
        if missing != "error":
            raise ValueError(
                "missing='cell' needs rows in memory; replace missing values by a separate value first"
            )
    if isinstance(proba, ScoreFiles):
        given = {
            "y": y,
            "classes": classes,
            "sensitive_features": sensitive_features,
            "sample_weight": sample_weight,
        }
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{name} must be None: mf.scores(...) names the columns; pass them there")
        if far:
            return ChunkedOracle(ChunkedRows(proba, decisions, settings), counting, threads)
        classes = proba.classes
        proba, y, sensitive_features, sample_weight, *_ = proba.arrays(missing)
    if y is None:
        raise ValueError("y is None; pass the labels of the rows, or a table that has them: mf.scores(...)")
    if is_dask(proba):
        from metricfit.oracles.dask import DaskOracle, DaskRows

        return DaskOracle(
            DaskRows.of(
                proba,
                y,
                classes=classes,
                decisions=decisions,
                sensitive_features=sensitive_features,
                sample_weight=sample_weight,
                settings=settings,
            ),
            counting,
        )
    if far:
        source = MappedArray(proba, y, sensitive_features, sample_weight, classes)
        return ChunkedOracle(ChunkedRows(source, decisions, settings), counting, threads)
    rows = Rows.of(
        proba,
        y,
        classes=classes,
        decisions=decisions,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        blind=blind,
        missing=missing,
    )
    return PluginOracle(rows, counting, threads, settings=settings)


def is_large(nbytes: int, settings: Settings = TUNED) -> bool:
    """Return whether probabilities of this size are left where they are and read block by block.

    Examples
    --------
    >>> is_large(10**6), is_large(10**9)
    (False, True)
    """
    return nbytes > settings.in_memory
