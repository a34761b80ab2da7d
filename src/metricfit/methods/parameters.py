"""Checks of the numbers that methods are made with."""

from __future__ import annotations

import numbers

import numpy as np


def positive(name: str, value: object) -> float:
    """Return a positive finite number, or raise naming the parameter."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name} must be a positive number, got {value!r}")
    return float(value)
