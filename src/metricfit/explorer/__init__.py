"""The explorer: a page on this machine where limits are moved and what they cost is seen at once."""

from metricfit.explorer.door import explore

__all__ = ["explore"]
