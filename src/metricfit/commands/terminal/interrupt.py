"""Ctrl-C: leave at once, unless there is a policy to keep or a file to clean up."""

from __future__ import annotations

# Nothing else is imported before Ctrl-C is handled.
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

INTERRUPTED = 130
_kept = False


def leave_on_interrupt() -> None:
    """Let Ctrl-C end the process without a traceback at any point, for example during an import."""
    signal.signal(signal.SIGINT, _interrupted)
    import atexit

    # What is registered first is called last. At that point the command is done and only the shutdown of the
    # interpreter is left, in which Python would remove the handler and let the signal end the process.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


class kept:
    """In this context Ctrl-C is a KeyboardInterrupt: a search keeps its best policy, a half-written file is removed."""

    def __enter__(self) -> None:
        global _kept
        self.before, _kept = _kept, True

    def __exit__(self, *raised: object) -> None:
        global _kept
        _kept = self.before


def _interrupted(number: int, frame: FrameType | None) -> None:
    if _kept:
        raise KeyboardInterrupt
    leave()


def leave() -> NoReturn:
    """End the process with the exit code of an interrupt, without running or printing anything more."""
    # A progress bar may have hidden the cursor.
    shown = b"\x1b[?25h" if sys.stderr is not None and sys.stderr.isatty() else b""
    try:  # noqa: SIM105  contextlib is not imported yet
        os.write(2, shown + b"metricfit: interrupted\n")
    except OSError:
        pass  # nobody reads
    os._exit(INTERRUPTED)
