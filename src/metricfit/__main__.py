"""``python -m metricfit`` is the command ``metricfit``, which begins here."""

from __future__ import annotations

from metricfit.commands.terminal.interrupt import leave_on_interrupt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def entry() -> NoReturn:
    """Run the command line as a process: Ctrl-C has to end it quietly from here on, imports included."""
    leave_on_interrupt()
    import sys

    from metricfit.cli import main

    if sys.stdout is not None:
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # names of files may be any bytes
    sys.exit(main())


if __name__ == "__main__":
    entry()
