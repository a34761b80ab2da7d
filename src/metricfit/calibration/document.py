"""A calibration as an entry of the policy file; every type and size is checked on reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metricfit.calibration.model import Calibration

KEYS = ("family", "bias", "matrix", "steepness", "floor", "curves")


def write(calibration: Calibration) -> dict[str, Any]:
    """Return the parts of a calibration as plain lists, numbers and strings."""
    c = calibration
    return {
        "family": c.family,
        "bias": c.bias.tolist(),
        "matrix": None if c.matrix is None else c.matrix.tolist(),
        "steepness": c.steepness.tolist(),
        "floor": c.floor,
        "curves": None if c.curves is None else [[x.tolist(), y.tolist()] for x, y in c.curves],
        # Only where there is one: files of older versions have no such entry.
        **({} if c.before is None else {"before": write(c.before)}),
    }


def read(entry: Any, first: bool = False) -> dict[str, Any]:
    """Return the arguments of a calibration, with every type checked; the class checks their values.

    The calibration ``before`` another one (``first``) has none before it, however deep a hostile file is nested.
    """
    if type(entry) is not dict or set(entry) - {"before"} != set(KEYS) or (first and "before" in entry):
        raise ValueError(f"a calibration must be an object with the keys {', '.join(KEYS)}")
    if type(entry["family"]) is not str:
        raise ValueError("the family of a calibration must be a string")
    if type(entry["floor"]) is not float:
        raise ValueError("the floor of a calibration must be a number between 0 and 1")
    nested = isinstance(entry["matrix"], list) and bool(entry["matrix"]) and type(entry["matrix"][0]) is list
    depths = {"matrix": 2 if nested else 1, "bias": 2, "steepness": 1, "curves": 3}
    for name, depth in depths.items():
        if entry[name] is not None or name in ("bias", "steepness"):
            _numbers(entry[name], name, depth)
    if entry["curves"] is not None and any(len(curve) != 2 for curve in entry["curves"]):
        raise ValueError("a curve of a calibration must be two arrays")
    before = read(entry["before"], first=True) if "before" in entry else None
    return dict(entry) if first else {**entry, "before": before}


def _numbers(value: Any, name: str, depth: int) -> None:
    """Refuse anything but nested arrays of numbers of the given depth; the rows of a table must be equally long."""
    if type(value) is not list:
        raise ValueError(f"the {name} of a calibration must be {depth} levels of arrays of numbers")
    if depth == 1:
        if not set(map(type, value)) <= {int, float}:
            raise ValueError(f"the {name} of a calibration must hold numbers only")
        return
    for part in value:
        _numbers(part, name, depth - 1)
    if depth == 2 and len(set(map(len, value))) > 1:
        raise ValueError(f"the rows of the {name} of a calibration must be equally long")
