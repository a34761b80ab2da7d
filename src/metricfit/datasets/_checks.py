"""The check of sizes shared by the data sets."""

from __future__ import annotations

import operator
from typing import SupportsIndex


def positive_int(name: str, value: SupportsIndex) -> int:
    """Return `value` as a positive Python int, or say which argument is not one."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name}={value!r} is not an integer; give a whole number of at least 1.") from None
    if number < 1:
        raise ValueError(f"{name}={number} is too small; give a whole number of at least 1.")
    return number
