"""The policy as a document of plain lists, numbers and strings: its entries, their types and its versions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import metricfit
from metricfit.calibration import Calibration
from metricfit.data.axes import Axes
from metricfit.exceptions import PolicyFileError
from metricfit.messages import brief, some
from metricfit.policy.at_fit import AtFit
from metricfit.policy.mixture import Rule

FORMAT = "metricfit.policy"


# Version 2 adds the calibration, the provenance, the policy for values not seen in fit, and whether it is blind.
# Version 3 adds what rows were like at fit.
VERSION = 3


KEYS_1 = ("format", "version", "metricfit", "classes", "decisions", "attributes", "layout", "cells")


KEYS_2 = (*KEYS_1, "calibration", "provenance", "overall", "blind")


KEYS = (*KEYS_2, "at_fit")


# The values of the entries that files of older versions lack.
ADDED: dict[str, Any] = {
    "calibration": None,
    "provenance": {},
    "overall": None,
    "blind": False,
    "at_fit": None,
}


# The largest provenance, in characters of JSON.
MAX_PROVENANCE = 1 << 16


def document_of(
    axes: Axes,
    layout: str,
    rules: Sequence[Sequence[Rule]],
    single: Sequence[int],
    calibration: Calibration | None = None,
    provenance: Mapping[str, Any] | None = None,
    overall: Mapping[str, Any] | None = None,
    at_fit: AtFit | None = None,
) -> dict[str, Any]:
    """Return the parts of a policy as plain lists, numbers and strings; `parts_of` is the way back."""
    cells = [
        {"rules": [{"weight": rule.weight, "loss": rule.loss.tolist()} for rule in mixture], "single": index}
        for mixture, index in zip(rules, single, strict=True)
    ]
    seen = axes.seen
    names, values = list(seen.cells.names), [list(cell) for cell in seen.cells.values]
    return {
        "format": FORMAT,
        "version": VERSION,
        "metricfit": metricfit.__version__,
        "classes": list(seen.classes),
        "decisions": list(axes.decisions),
        "attributes": {"names": names, "values": values},
        "layout": layout,
        "cells": cells,
        "calibration": None if calibration is None else calibration.to_dict(),
        "provenance": dict(provenance or {}),
        "overall": None if overall is None else dict(overall),
        "blind": seen is not axes,
        "at_fit": None if at_fit is None else at_fit.to_dict(),
    }


def check_version(document: Mapping[str, Any]) -> None:
    """Refuse a document of another format or of an unknown version."""
    if document.get("format") != FORMAT:
        raise PolicyFileError(
            f'it is not a metricfit policy: "format" is {brief(document.get("format"))}, not {FORMAT!r}'
        )
    version = document.get("version")
    if type(version) is not int or version < 1:
        raise PolicyFileError(f'"version" must be a positive integer; it is {brief(version)}')
    if version > VERSION:
        raise PolicyFileError(
            f"it has version {brief(version)}, saved by a newer metricfit "
            f"({brief(document.get('metricfit'))}); this one reads versions up to {VERSION}: upgrade it"
        )


class Parts(NamedTuple):
    """The entries of a document, of the right types."""

    classes: Any
    decisions: Any
    attributes: Any
    cells: Any
    layout: Any
    rules: list[list[tuple[Any, Any]]]
    single: Any
    calibration: Calibration | None
    provenance: dict[str, Any]
    overall: dict[str, Any] | None
    blind: bool
    at_fit: AtFit | None


def parts_of(document: Any) -> Parts:
    """Return the entries of a document.

    Types are checked here; shapes, sums and repeated labels are checked by the objects made from the entries.
    """
    plain = (str, int, float, bool)
    if type(document) is dict:
        check_version(document)
    if type(document) is dict and document["version"] < VERSION:
        fields(document, "the document", KEYS_1 if document["version"] == 1 else KEYS_2)
        document = {**ADDED, **document}
    *_, classes, decisions, attributes, layout, cells, entry, provenance, overall, blind, at_fit = fields(
        document, "the document", KEYS
    )
    names, values = fields(attributes, '"attributes"', ("names", "values"))
    if not isinstance(layout, str):
        raise PolicyFileError(f'"layout" must be a string; it is {brief(layout)}')
    cell_values = [
        items(cell, "the values of a cell", *plain) for cell in items(values, 'attribute "values"', list)
    ]
    rules, single = [], []
    for cell in items(cells, '"cells"', dict):
        mixture, index = fields(cell, "a cell", ("rules", "single"))
        rules.append([_rule(rule) for rule in items(mixture, '"rules"', dict)])
        single += items([index], '"single"', int)
    classes, decisions = items(classes, '"classes"', *plain), items(decisions, '"decisions"', *plain)
    names = items(names, 'attribute "names"', str)
    if not decisions:
        raise PolicyFileError('"decisions" is empty')
    try:
        calibration = None if entry is None else Calibration.from_dict(entry)
        check_provenance(provenance)
    except (ValueError, OverflowError) as error:
        raise PolicyFileError(str(error)) from error
    if type(blind) is not bool:
        raise PolicyFileError(f'"blind" must be true or false; it is {brief(blind)}')
    if overall is not None and (type(overall) is not dict or overall.get("overall") is not None):
        raise PolicyFileError(f'"overall" must be a policy without another in it; it is {brief(overall)}')
    return Parts(
        classes,
        decisions,
        names,
        cell_values,
        layout,
        rules,
        single,
        calibration,
        provenance,
        overall,
        blind,
        None if at_fit is None else AtFit.from_dict(at_fit, len(classes), len(decisions)),
    )


def check_provenance(provenance: Any) -> None:
    """Refuse anything but a flat, not too large JSON object: names with strings, numbers, bools or null.

    Examples
    --------
    >>> check_provenance({"objective": "g_mean()", "rows": 3000})
    """
    if type(provenance) is not dict or not set(map(type, provenance)) <= {str}:
        raise ValueError(f"provenance must be an object whose names are strings; it is {brief(provenance)}")
    plain = (str, int, float, bool, type(None))
    for name, value in provenance.items():
        entries = value if type(value) is list else [value]
        if not set(map(type, entries)) <= set(plain):
            raise ValueError(f"provenance {name!r} must be a string, number, bool, null or an array of these")
    if not fits(provenance):
        raise ValueError(f"provenance has more than {MAX_PROVENANCE} characters; shorten it")


def fits(provenance: Mapping[str, Any]) -> bool:
    """Return whether provenance is short enough for a policy file."""
    return len(json.dumps(provenance, separators=(",", ":"), allow_nan=False)) <= MAX_PROVENANCE


def _rule(rule: Any) -> tuple[Any, list[list[Any]]]:
    weight, loss = fields(rule, "a rule", ("weight", "loss"))
    items([weight], '"weight"', int, float)
    rows = [items(row, "a row of a loss", int, float) for row in items(loss, '"loss"', list)]
    if len(set(map(len, rows))) > 1:
        raise PolicyFileError("the rows of a loss must be equally long")
    return weight, rows


def fields(value: Any, what: str, keys: tuple[str, ...]) -> tuple[Any, ...]:
    """Return the values of exactly these keys of a JSON object."""
    if type(value) is not dict:
        raise PolicyFileError(f"{what} must be an object; it is {brief(value)}")
    if set(value) != set(keys):
        lacking, extra = [key for key in keys if key not in value], [key for key in value if key not in keys]
        raise PolicyFileError(
            f"{what} lacks {some(lacking) or 'nothing'} and has unknown {some(extra) or 'nothing'}"
        )
    return tuple(value[key] for key in keys)


def items(value: Any, what: str, *kinds: type) -> list[Any]:
    """Return a JSON array whose entries have these types, all of them if none is named."""
    if type(value) is not list:
        raise PolicyFileError(f"{what} must be an array; it is {brief(value)}")
    if kinds and not set(map(type, value)) <= set(kinds):
        wrong = next(entry for entry in value if type(entry) not in kinds)
        raise PolicyFileError(
            f"{what} holds {brief(wrong)}, which is no {' or '.join(k.__name__ for k in kinds)}"
        )
    return value
