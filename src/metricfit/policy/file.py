"""The policy file: versioned JSON with a checksum, read with distrust and written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import metricfit
from metricfit.calibration import Calibration
from metricfit.data.confusion import Axes
from metricfit.exceptions import PolicyFileError
from metricfit.messages import some
from metricfit.policy.mixture import Rule

FORMAT = "metricfit.policy"
# Version 2 has the calibration and where the policy comes from.
VERSION = 2
MAX_BYTES = 1 << 29
KEYS_1 = ("format", "version", "metricfit", "classes", "decisions", "attributes", "layout", "cells")
KEYS = (*KEYS_1, "calibration", "provenance")
# Characters of JSON that a policy may say about where it comes from.
MAX_PROVENANCE = 1 << 16


def document(
    axes: Axes,
    layout: str,
    rules: Sequence[Sequence[Rule]],
    single: Sequence[int],
    calibration: Calibration | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the parts of a policy as plain lists, numbers and strings; `parts` is the way back."""
    cells = [
        {"rules": [{"weight": rule.weight, "loss": rule.loss.tolist()} for rule in mixture], "single": index}
        for mixture, index in zip(rules, single, strict=True)
    ]
    names, values = list(axes.cells.names), [list(cell) for cell in axes.cells.values]
    return {
        "format": FORMAT,
        "version": VERSION,
        "metricfit": metricfit.__version__,
        "classes": list(axes.classes),
        "decisions": list(axes.decisions),
        "attributes": {"names": names, "values": values},
        "layout": layout,
        "cells": cells,
        "calibration": None if calibration is None else calibration.to_dict(),
        "provenance": dict(provenance or {}),
    }


def encode(document: Mapping[str, Any]) -> bytes:
    """Return the bytes of a policy file.

    Parameters
    ----------
    document : mapping
        What `Policy.to_dict` gives.

    Returns
    -------
    bytes

    Examples
    --------
    >>> encode({"version": 1})[:33]
    b'{"version":1,"checksum":"2430f1a2'
    """
    return _text({**document, "checksum": _checksum(document)}).encode("ascii") + b"\n"


def decode(data: bytes) -> dict[str, Any]:
    """Return the checked document in the bytes of a policy file, without its checksum.

    Raises
    ------
    PolicyFileError
        If the bytes are no intact policy file of a known version.

    Examples
    --------
    >>> decode(b"{}")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    ...
    PolicyFileError: it is no metricfit policy: "format" is None, not 'metricfit.policy'
    """
    try:
        document = json.loads(
            data.decode("utf-8"), object_pairs_hook=_no_duplicates, parse_constant=_no_constant
        )
        if not isinstance(document, dict):
            raise PolicyFileError(f"it is no metricfit policy: it holds a JSON {type(document).__name__}")
        check_version(document)
        stated = document.pop("checksum", None)
        intact = stated == _checksum(document)
    except PolicyFileError:
        raise
    except RecursionError as error:
        raise PolicyFileError("it is nested too deeply for a policy; it is damaged or hostile") from error
    except ValueError as error:
        raise PolicyFileError(f"it is not valid JSON: {error}") from error
    if not intact:
        raise PolicyFileError(
            "its checksum does not match its content: it was damaged or edited; save it again"
        )
    return document


def check_version(document: Mapping[str, Any]) -> None:
    """Refuse a document of another format, or of a version that is not known yet."""
    if document.get("format") != FORMAT:
        raise PolicyFileError(
            f'it is no metricfit policy: "format" is {_short(document.get("format"))}, not {FORMAT!r}'
        )
    version = document.get("version")
    if type(version) is not int or version < 1:
        raise PolicyFileError(f'"version" must be a positive integer; it is {_short(version)}')
    if version > VERSION:
        raise PolicyFileError(
            f"it has version {_short(version)}, saved by a newer metricfit "
            f"({_short(document.get('metricfit'))}); this one reads versions up to {VERSION}: upgrade it"
        )


def parts(document: Any) -> tuple[Any, Any, Any, Any, Any, Any]:
    """Return axes, layout, rules, single rules, calibration and provenance of a document, every type checked.

    Types are checked here and sense (shapes, sums, repeated labels) by the objects that are made from them.
    """
    plain = (str, int, float, bool)
    if type(document) is dict:
        check_version(document)
    if type(document) is dict and document["version"] == 1:
        fields(document, "the document", KEYS_1)
        document = {**document, "calibration": None, "provenance": {}}
    *_, classes, decisions, attributes, layout, cells, entry, provenance = fields(
        document, "the document", KEYS
    )
    names, values = fields(attributes, '"attributes"', ("names", "values"))
    if not isinstance(layout, str):
        raise PolicyFileError(f'"layout" must be a string; it is {_short(layout)}')
    cell_values = [
        items(cell, "the values of a cell", *plain) for cell in items(values, 'attribute "values"', list)
    ]
    rules, single = [], []
    for cell in items(cells, '"cells"', dict):
        mixture, index = fields(cell, "a cell", ("rules", "single"))
        rules.append([_rule(rule) for rule in items(mixture, '"rules"', dict)])
        single += items([index], '"single"', int)
    axes = (
        items(classes, '"classes"', *plain),
        items(decisions, '"decisions"', *plain),
        (items(names, 'attribute "names"', str), cell_values),
    )
    if not axes[1]:
        raise PolicyFileError('"decisions" is empty')
    try:
        calibration = None if entry is None else Calibration.from_dict(entry)
        check_provenance(provenance)
    except (ValueError, OverflowError) as error:
        raise PolicyFileError(str(error)) from error
    return axes, layout, rules, single, calibration, provenance


def check_provenance(provenance: Any) -> None:
    """Refuse anything but a flat, not too large JSON object: names with strings, numbers, bools or null.

    Examples
    --------
    >>> check_provenance({"objective": "g_mean()", "rows": 3000})
    """
    if type(provenance) is not dict or not set(map(type, provenance)) <= {str}:
        raise ValueError(f"provenance must be an object whose names are strings; it is {_short(provenance)}")
    plain = (str, int, float, bool, type(None))
    for name, value in provenance.items():
        entries = value if type(value) is list else [value]
        if not set(map(type, entries)) <= set(plain):
            raise ValueError(f"provenance {name!r} must be a string, number, bool, null or an array of these")
    if len(_text(provenance)) > MAX_PROVENANCE:
        raise ValueError(f"provenance has more than {MAX_PROVENANCE} characters; say less")


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
        raise PolicyFileError(f"{what} must be an object; it is {_short(value)}")
    if set(value) != set(keys):
        lacking, extra = [key for key in keys if key not in value], [key for key in value if key not in keys]
        raise PolicyFileError(
            f"{what} lacks {some(lacking) or 'nothing'} and has unknown {some(extra) or 'nothing'}"
        )
    return tuple(value[key] for key in keys)


def items(value: Any, what: str, *kinds: type) -> list[Any]:
    """Return a JSON array whose entries have these types, all of them if none is named."""
    if type(value) is not list:
        raise PolicyFileError(f"{what} must be an array; it is {_short(value)}")
    if kinds and not set(map(type, value)) <= set(kinds):
        wrong = next(entry for entry in value if type(entry) not in kinds)
        raise PolicyFileError(
            f"{what} holds {_short(wrong)}, which is no {' or '.join(k.__name__ for k in kinds)}"
        )
    return value


def read(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """Return the bytes of a file unless there are too many."""
    with open(path, "rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise PolicyFileError(f"it is larger than {max_bytes} bytes; if you trust it pass a larger max_bytes")
    return data


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that it appears whole or not at all."""
    target = Path(os.path.realpath(path))
    # In the same folder, because a file can be moved into place in one step only within a file system.
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        with open(beside, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def _text(document: Mapping[str, Any], *, sort_keys: bool = False) -> str:
    return json.dumps(document, sort_keys=sort_keys, separators=(",", ":"), allow_nan=False)


def _checksum(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(_text(document, sort_keys=True).encode("ascii")).hexdigest()


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise PolicyFileError("it names the same key twice in one object; it is damaged or hostile")
    return document


def _no_constant(token: str) -> NoReturn:
    raise PolicyFileError(f"it holds {token}, which is no number a policy may have")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
