"""Files that appear whole or not at all. It imports nothing but Python's own library."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file to write; it takes the place of ``path`` at the end, or nothing changes if something goes wrong.

    Raises
    ------
    ValueError
        If there is a folder, a device or a pipe of that name.
    FileNotFoundError
        If there is no folder to write it in.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(f"{folder}/a.txt") as file:
    ...         _ = file.write(b"all of it")
    ...     Path(folder, "a.txt").read_text()
    'all of it'
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        # A device such as /dev/null would be replaced by a plain file, for the whole system.
        raise ValueError(f"{os.fspath(path)!r} is not a regular file; give the name of a file to write")
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder; create it first", os.fspath(target.parent))
    # In the same folder, because a file can be moved into place in one step only within a file system.
    beside = target.with_name(f".metricfit-{secrets.token_hex(8)}.tmp")
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)
