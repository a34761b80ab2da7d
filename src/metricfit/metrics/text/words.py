"""The text of metrics: numbers and attribute names, in a form that `metricfit.parse` reads back."""

from __future__ import annotations

import keyword
import numbers
from collections.abc import Iterable, Mapping

import numpy as np

from metricfit.data.validation import label
from metricfit.messages import brief


def finite(value: object) -> float | None:
    """Return a finite real number as a float, and None for anything else (a bool included).

    Examples
    --------
    >>> finite(3), finite(float("nan")), finite("3")
    (3.0, None, None)
    """
    if not isinstance(value, numbers.Real) or isinstance(value, bool | np.bool_):
        return None
    try:
        plain = float(value)
    except OverflowError:
        return None
    return plain + 0.0 if np.isfinite(plain) else None  # turns -0.0 into 0.0


def number(value: float) -> str:
    """Return the shortest text of a number without loss.

    Examples
    --------
    >>> number(0.5), number(2.0), number(1 / 3)
    ('0.5', '2', '0.3333333333333333')
    """
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def attributes(over: object, what: str, name: str = "over") -> str | list[str]:
    """Return attribute names as one string, or as a list of strings; raise naming the metric otherwise.

    Examples
    --------
    >>> attributes("sex", "worst"), attributes(("sex", "region"), "worst")
    ('sex', ['sex', 'region'])
    """
    if isinstance(over, str):
        return str(over)
    names = list(over) if isinstance(over, Iterable) else []
    if not names or not all(isinstance(entry, str) for entry in names):
        raise ValueError(
            f"{what}: {name} must be the name of an attribute, or a list of names; got {brief(over)}"
        )
    return [str(entry) for entry in names]


def plain_slice(where: Mapping[str, object]) -> dict[str, object]:
    """Return a slice with plain Python scalars, and lists of them, as values."""
    plain: dict[str, object] = {}
    for name, value in where.items():
        what = f"at: the value of {brief(name)}"
        if isinstance(value, Iterable) and not isinstance(value, str):
            plain[name] = [label(v, what) for v in value]
            if not plain[name]:
                raise ValueError(f"at: {brief(name)} has an empty list of values; name at least one")
        else:
            plain[name] = label(value, what)
    return plain


def slice_text(where: Mapping[str, object]) -> str:
    """Return the text of a slice; names that are not valid in Python go into a dictionary.

    Examples
    --------
    >>> slice_text({"sex": "F", "age group": [1, 2]})
    "sex='F', **{'age group': [1, 2]}"
    """
    fits = {name: name.isidentifier() and not keyword.iskeyword(name) for name in where}
    parts = [f"{name}={value!r}" for name, value in where.items() if fits[name]]
    others = {name: value for name, value in where.items() if not fits[name]}
    return ", ".join([*parts, *([f"**{others!r}"] if others else [])])
