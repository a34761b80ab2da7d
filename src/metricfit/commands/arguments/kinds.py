"""Kinds of numbers that arguments take."""

from __future__ import annotations

import math
from argparse import ArgumentTypeError


def tolerance(text: str) -> float:
    """Return a number >= 0."""
    return _real(text, at_least=0.0)


def share(text: str) -> float:
    """Return a number between 0 and 1.

    Examples
    --------
    >>> share("0.95")
    0.95
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise ArgumentTypeError(f"{text!r} is not a number between 0 and 1, such as 0.95")
    return value


def seconds(text: str) -> float:
    """Return a number > 0."""
    return _real(text, at_least=math.ulp(0.0))


def _real(text: str, at_least: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not at_least <= value < math.inf:
        raise ArgumentTypeError(f"{text!r} is not a number {'> 0' if at_least else '>= 0'}")
    return value


def count(text: str) -> int:
    """Return a whole number >= 1."""
    return _whole(text, at_least=1)


def natural(text: str) -> int:
    """Return a whole number >= 0."""
    return _whole(text, at_least=0)


def port(text: str) -> int:
    """Return the number of a port.

    Examples
    --------
    >>> port("8080")
    8080
    """
    number = _whole(text, at_least=0)
    if number > 65535:
        raise ArgumentTypeError(f"{text!r} is no port: ports are whole numbers from 0 to 65535")
    return number


def _whole(text: str, at_least: int) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) < at_least:
        raise ArgumentTypeError(f"{text!r} is not a whole number >= {at_least}")
    return int(text)
