"""The policy file: JSON with a checksum, checked on reading, and written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from metricfit.exceptions import PolicyFileError
from metricfit.policy.document import check_version
from metricfit.tables.whole_file import whole_file

# A rule of 1,000 classes takes 40 kB, or 20 MB where each pair of class and decision has a loss of its own.
MAX_BYTES = 1 << 26
# Arrays and objects of a policy take at least this many bytes on average; `[],[],[]` needs 20 times its size in memory.
BYTES_EACH = 8
# The same for keys: a rule of two classes has 36 bytes and two keys; `"a":1,"b":1` needs 40 times its size in memory.
BYTES_PER_KEY = 14
# Texts may hold brackets and colons too, such as classes' names and the objective.
FREE = 2000


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
        If the bytes are not an intact policy file of a known version.

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

    ``check`` raises for a document of another kind, and is called before the checksum is compared. Memory is bounded by
    about fifteen times the bytes, whatever they are.
    """
    try:
        if data.count(b"[") + data.count(b"{") > len(data) // BYTES_EACH + FREE:
            raise PolicyFileError("it has too many arrays for its size; it is damaged or hostile")
        if data.count(b":") > len(data) // BYTES_PER_KEY + FREE:
            raise PolicyFileError("it has too many keys for its size; it is damaged or hostile")
        document = json.loads(
            data.decode("utf-8"), object_pairs_hook=_no_duplicates, parse_constant=_no_constant
        )
        if not isinstance(document, dict):
            raise PolicyFileError(f"it is not a metricfit policy: it holds a JSON {type(document).__name__}")
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


def read(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """Return the bytes of a file unless there are too many."""
    data = bytearray()
    with open(path, "rb") as file:
        # Piece by piece, because a device or a pipe has no size, and Python allocates all that is asked for.
        while piece := file.read(1 << 20):
            data += piece
            if len(data) > max_bytes:
                raise PolicyFileError(
                    f"it is larger than {max_bytes} bytes; if you trust it pass a larger max_bytes"
                )
    return bytes(data)


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file completely or not at all."""
    with whole_file(path) as file:
        file.write(data)


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
        raise PolicyFileError("it has the same key twice in one object; it is damaged or hostile")
    return document


def _no_constant(token: str) -> NoReturn:
    raise PolicyFileError(f"it holds {token}, a number that a policy may not have")
