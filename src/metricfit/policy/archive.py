"""Archives of models: zip files with a signed list of their members; all they claim is checked before unpacking.

Everything that a file claims about itself is checked before anything of it is unpacked: the number of members, their
sizes, how they are packed. What is unpacked is compared with the SHA-256 that the signed list has for it.
"""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

from metricfit.exceptions import PolicyFileError
from metricfit.messages import brief, some
from metricfit.policy import file as policy_file
from metricfit.policy.document import fields

FORMAT = "metricfit.models"
VERSION = 1
MANIFEST = "manifest.json"
# The first bytes of the last record of a zip file, and of a record that only files of more than 4 GB need.
END, LARGE = b"PK\x05\x06", b"PK\x06\x07"
END_SIZE, LARGE_SIZE = 22, 20
# Bytes of the list of members, about 100 for each of them.
MAX_DIRECTORY = 1 << 20
# The errors that zipfile and zlib raise for a damaged archive.
BROKEN = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    KeyError,
    IndexError,
    OverflowError,
    MemoryError,
)


def pack(members: Mapping[str, bytes]) -> bytes:
    """Return an archive of some members, with the checksum of each in a signed list.

    Examples
    --------
    >>> unpack(pack({"a.txt": b"text"}), 1000)
    {'a.txt': b'text'}
    """
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    manifest = {"format": FORMAT, "version": VERSION, "members": sums}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {MANIFEST: policy_file.encode(manifest), **members}.items():
            # Without a date, so that equal policies are equal files.
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def unpack(data: bytes, max_bytes: int) -> dict[str, bytes]:
    """Return the members of an archive that `pack` made.

    Parameters
    ----------
    data : bytes
        The archive.
    max_bytes : int
        The size of all members together above which nothing is unpacked.

    Returns
    -------
    dict of str to bytes

    Raises
    ------
    PolicyFileError
        If the archive is damaged, encrypted, too large, or of another kind.
    """
    try:
        with checked(data, max_bytes) as archive:
            names = archive.namelist()
            if MANIFEST not in names:
                raise PolicyFileError(f"it is no archive of models: it has no {MANIFEST}")
            sums = _sums(archive.read(MANIFEST))
            if set(names) != {MANIFEST, *sums}:
                raise PolicyFileError(
                    f"its members are {some(sorted(names))}, and not those of its list; it is damaged or hostile"
                )
            members = {name: archive.read(name) for name in sums}
    except PolicyFileError:
        raise
    except BROKEN as error:
        raise PolicyFileError(f"it is no intact archive: {error}") from error
    for name, content in members.items():
        if hashlib.sha256(content).hexdigest() != sums[name]:
            raise PolicyFileError(f"the checksum of {brief(name)} does not match its content; save it again")
    return members


def checked(data: bytes, max_bytes: int) -> zipfile.ZipFile:
    """Return a zip file, opened, that is small enough to be unpacked; raise otherwise.

    The size that a member claims is the most that unpacking it gives, so the claims can be trusted as bounds.
    """
    tail = data[-END_SIZE - LARGE_SIZE :]
    if len(tail) < END_SIZE or tail[-END_SIZE:][:4] != END:
        raise PolicyFileError("it is no intact archive: it does not end as a zip file without a comment does")
    directory = struct.unpack("<I", tail[-10:-6])[0]
    if directory > MAX_DIRECTORY or tail[:-END_SIZE][-LARGE_SIZE:][:4] == LARGE:
        raise PolicyFileError("its list of members is too large; it is damaged or hostile")
    # Read from memory, so that an offset before the beginning of the archive is an error like any other.
    archive = zipfile.ZipFile(io.BytesIO(data))
    members = archive.infolist()
    if len({member.filename for member in members}) < len(members):
        raise PolicyFileError("it holds two members of one name; it is damaged or hostile")
    if any(member.flag_bits & 1 for member in members):
        raise PolicyFileError("it is encrypted; unpack it with the password and save the policy again")
    if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
        raise PolicyFileError("it is packed in another way than by metricfit; save the policy again")
    unpacked = sum(member.file_size for member in members)
    if unpacked > max_bytes:
        raise PolicyFileError(
            f"unpacked it would have {unpacked} bytes, more than {max_bytes}; if you trust it pass a larger max_bytes"
        )
    return archive


def _sums(manifest: bytes) -> dict[str, str]:
    """Return the checksum of each member."""
    document = policy_file.verified(manifest, _check_kind)
    *_, sums = fields(document, "the list of members", ("format", "version", "members"))
    if type(sums) is not dict or not set(map(type, sums.values())) <= {str}:
        raise PolicyFileError("the list of members must have a checksum for each of them")
    return sums


def _check_kind(document: Mapping[str, Any]) -> None:
    if document.get("format") != FORMAT:
        raise PolicyFileError(f'it is no archive of models: "format" is {brief(document.get("format"))}')
    if document.get("version") != VERSION:
        raise PolicyFileError(
            f"it has version {brief(document.get('version'))}; this metricfit reads version {VERSION}"
        )
