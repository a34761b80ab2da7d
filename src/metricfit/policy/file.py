"""The policy file: versioned JSON with a checksum, read with distrust and written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import metricfit
from metricfit.calibration import Calibration
from metricfit.data.confusion import Axes
from metricfit.exceptions import PolicyFileError
from metricfit.messages import brief, some
from metricfit.policy.mixture import Rule

FORMAT = "metricfit.policy"
# Version 2 has the calibration, where the policy comes from, the policy for values not seen in fit, and whether it sees
# the attributes.
VERSION = 2
# A rule of 1,000 classes takes 40 kB, or 20 MB where each pair of class and decision has a loss of its own.
MAX_BYTES = 1 << 26
# Every array or object of a policy has at least so many bytes on average; `[],[],[]` would need 20 times its size.
BYTES_EACH = 8
KEYS_1 = ("format", "version", "metricfit", "classes", "decisions", "attributes", "layout", "cells")
KEYS = (*KEYS_1, "calibration", "provenance", "overall", "blind")
# What a file of version 1 has in place of the entries of version 2.
ADDED: dict[str, Any] = {"calibration": None, "provenance": {}, "overall": None, "blind": False}
# Characters of JSON that a policy may say about where it comes from.
MAX_PROVENANCE = 1 << 16


def document(
    axes: Axes,
    layout: str,
    rules: Sequence[Sequence[Rule]],
    single: Sequence[int],
    calibration: Calibration | None = None,
    provenance: Mapping[str, Any] | None = None,
    overall: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the parts of a policy as plain lists, numbers and strings; `parts` is the way back."""
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
    return verified(data, check_version)


def verified(data: bytes, check: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    """Return the document in the bytes that `encode` made, without its checksum.

    ``check`` raises for a document of another kind; after it comes the checksum. Memory is bounded by about ten times
    the bytes, whatever they are.
    """
    try:
        if data.count(b"[") + data.count(b"{") > len(data) // BYTES_EACH + 1000:
            raise PolicyFileError("it has too many arrays for its size; it is damaged or hostile")
        document = json.loads(
            data.decode("utf-8"), object_pairs_hook=_no_duplicates, parse_constant=_no_constant
        )
        if not isinstance(document, dict):
            raise PolicyFileError(f"it is no metricfit policy: it holds a JSON {type(document).__name__}")
        check(document)
        stated = document.pop("checksum", None)
        intact = stated == _checksum(document)
    except PolicyFileError:
        raise
    except RecursionError as error:
        raise PolicyFileError("it is nested too deeply for a policy; it is damaged or hostile") from error
    except MemoryError as error:
        raise PolicyFileError("it needs more memory than there is; it is damaged or hostile") from error
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
            f'it is no metricfit policy: "format" is {brief(document.get("format"))}, not {FORMAT!r}'
        )
    version = document.get("version")
    if type(version) is not int or version < 1:
        raise PolicyFileError(f'"version" must be a positive integer; it is {brief(version)}')
    if version > VERSION:
        raise PolicyFileError(
            f"it has version {brief(version)}, saved by a newer metricfit "
            f"({brief(document.get('metricfit'))}); this one reads versions up to {VERSION}: upgrade it"
        )


def parts(document: Any) -> tuple[Any, ...]:
    """Return axes, layout, rules, single rules, calibration, provenance, overall policy and blindness, types checked.

    Types are checked here and sense (shapes, sums, repeated labels) by the objects that are made from them.
    """
    plain = (str, int, float, bool)
    if type(document) is dict:
        check_version(document)
    if type(document) is dict and document["version"] == 1:
        fields(document, "the document", KEYS_1)
        document = {**document, **ADDED}
    *_, classes, decisions, attributes, layout, cells, entry, provenance, overall, blind = fields(
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
    if type(blind) is not bool:
        raise PolicyFileError(f'"blind" must be true or false; it is {brief(blind)}')
    if overall is not None and (type(overall) is not dict or overall.get("overall") is not None):
        raise PolicyFileError(f'"overall" must be a policy without another in it; it is {brief(overall)}')
    return axes, layout, rules, single, calibration, provenance, overall, blind


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


def read(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """Return the bytes of a file unless there are too many."""
    data = bytearray()
    with open(path, "rb") as file:
        # Piece by piece: a device or a pipe has no size, and Python makes room for all that is asked for.
        while piece := file.read(1 << 20):
            data += piece
            if len(data) > max_bytes:
                raise PolicyFileError(
                    f"it is larger than {max_bytes} bytes; if you trust it pass a larger max_bytes"
                )
    return bytes(data)


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that it appears whole or not at all."""
    target = Path(os.path.realpath(path))
    # In the same folder, because a file can be moved into place in one step only within a file system.
    beside = target.with_name(f".metricfit-{secrets.token_hex(8)}.tmp")
    try:
        with open(beside, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def _text(document: Any, *, sort_keys: bool = False) -> str:
    return json.dumps(document, sort_keys=sort_keys, separators=(",", ":"), allow_nan=False)


def _checksum(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the compact text with sorted keys, which is made piece by piece: it may be large."""
    digest = hashlib.sha256()
    for piece in _pieces(document):
        digest.update(piece.encode("ascii"))
    return digest.hexdigest()


def _pieces(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the parts of ``_text(document, sort_keys=True)``: a value, or an entry of an array, at a time."""
    before = "{"
    for name in sorted(document):
        value = document[name]
        yield f"{before}{json.dumps(name)}:"
        before = ","
        if type(value) is not list:
            yield _text(value, sort_keys=True)
            continue
        yield "["
        for place, entry in enumerate(value):
            yield ("," if place else "") + _text(entry, sort_keys=True)
        yield "]"
    yield "{}" if before == "{" else "}"


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise PolicyFileError("it names the same key twice in one object; it is damaged or hostile")
    return document


def _no_constant(token: str) -> NoReturn:
    raise PolicyFileError(f"it holds {token}, which is no number a policy may have")
