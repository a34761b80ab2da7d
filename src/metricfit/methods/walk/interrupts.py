"""Ctrl-C while a result is being put together: the last steps are short and have to be done."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class HeldBack:
    """In this context Ctrl-C only sets ``came``; a second one is not held back.

    Only the main thread gets signals, so elsewhere there is nothing to hold back.

    Examples
    --------
    >>> with HeldBack() as ctrl_c:
    ...     signal.raise_signal(signal.SIGINT)
    >>> ctrl_c.came
    True
    """

    def __init__(self) -> None:
        self.came = False
        self._before: Any = None

    def __enter__(self) -> HeldBack:
        if threading.current_thread() is threading.main_thread() and callable(
            signal.getsignal(signal.SIGINT)
        ):
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *raised: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.came:
            self._before(number, frame)
        self.came = True
