"""The plug-in oracle on Dask collections."""

from metricfit.oracles.dask.oracle import DaskOracle, DaskRows

__all__ = ["DaskOracle", "DaskRows"]
