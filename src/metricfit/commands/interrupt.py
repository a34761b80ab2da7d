"""Ctrl-C: leave at once, unless there is something to keep."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
_kept = False


def leave_on_interrupt() -> None:
    """Let Ctrl-C end the process without a traceback, wherever it is: in the import of a library, say."""
    signal.signal(signal.SIGINT, _interrupted)


@contextmanager
def kept() -> Iterator[None]:
    """Within it Ctrl-C is a KeyboardInterrupt: a search keeps its best policy, a half-written file is removed."""
    global _kept
    before, _kept = _kept, True
    try:
        yield
    finally:
        _kept = before


def _interrupted(number: int, frame: FrameType | None) -> None:
    if _kept:
        raise KeyboardInterrupt
    leave()


def leave() -> NoReturn:
    """End the process as an interrupted one, without running or printing anything more."""
    # A progress bar may have hidden the cursor.
    shown = b"\x1b[?25h" if sys.stderr is not None and sys.stderr.isatty() else b""
    with suppress(OSError):  # nobody reads
        os.write(2, shown + b"metricfit: interrupted\n")
    os._exit(INTERRUPTED)
