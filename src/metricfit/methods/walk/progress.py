"""Progress of a run: a line that changes on a terminal or in a notebook, a line per iteration elsewhere."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

from metricfit.methods.walk.history import Record


class Progress:
    """Tells how far a run is, on standard error.

    Parameters
    ----------
    verbose : int
        0: nothing. 1: one line that is updated in place, on a terminal or in a notebook. 2, or 1 elsewhere: a line
        per iteration.

    Examples
    --------
    >>> progress = Progress(0)
    >>> progress(Record(1, 0.1, 0.5, 0.6, 0.0))
    >>> progress.close()
    """

    def __init__(self, verbose: int) -> None:
        self.verbose = verbose
        self.live: Any = _live() if verbose == 1 else None
        if self.live is not None:
            self.live.start()

    def __call__(self, record: Record) -> None:
        """Show the newest iteration."""
        if self.live is not None:
            self.live.update(self.live.task_ids[0], description=str(record))
        elif self.verbose:
            print(record, file=sys.stderr)

    def close(self) -> None:
        """Leave the last line as it is."""
        if self.live is not None:
            self.live.stop()


def _live() -> Any:
    """Return a progress line of rich, or None where nothing would show it."""
    if importlib.util.find_spec("rich") is None:
        return None
    from rich.console import Console
    from rich.progress import Progress as Line
    from rich.progress import SpinnerColumn, TextColumn

    console = Console(stderr=True, highlight=False)
    # rich draws in a notebook with the help of ipywidgets only, and complains without it.
    shown = importlib.util.find_spec("ipywidgets") is not None if console.is_jupyter else console.is_terminal
    if not shown:
        return None
    line = Line(SpinnerColumn(), TextColumn("{task.description}", markup=False), console=console)
    line.add_task("starting", total=None)
    return line
