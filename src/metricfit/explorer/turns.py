"""One solve at a time, and the newest request wins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, Literal

from metricfit.methods import Record

#: A slider's solve ends all others that can be asked for again, a curve ends older curves, a download ends nothing.
Job = Literal["solve", "frontier", "download"]
ENDS: dict[Job, tuple[Job, ...]] = {
    "solve": ("solve", "frontier"),
    "frontier": ("frontier",),
    "download": (),
}


class Superseded(Exception):
    """A newer request has come, or nobody waits for the answer any more."""


class Turn:
    """The right to solve, until something newer comes.

    Examples
    --------
    >>> turn, record = Turns().next("solve"), Record(calls=3, seconds=0.1, value=0.5, bound=0.6, violation=0.0)
    >>> turn.callback(record), turn.words
    (False, '0.5000 after 3 calls')
    >>> turn.end()
    >>> turn.callback(record)
    Traceback (most recent call last):
        ...
    metricfit.explorer.turns.Superseded
    """

    def __init__(self, kind: Job, lock: Any) -> None:
        self.kind, self._lock, self._ended = kind, lock, False
        #: How far the solve is, in words.
        self.words = ""

    def end(self) -> None:
        """Let the solve stop at its next step: its answer is not wanted any more."""
        self._ended = True

    def check(self) -> None:
        """Raise if the answer is not wanted any more."""
        if self._ended:
            raise Superseded

    @property
    def callback(self) -> Callable[[Record], bool]:
        """What a solve calls after each step."""

        def step(record: Record) -> bool:
            self.words = f"{record.value:.4f} after {record.calls} calls"
            self.check()
            return False

        return step

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait until no other solve runs; raise if the answer is not wanted any more by then."""
        with self._lock:
            self.check()
            yield


class Turns:
    """Gives out turns; each new one ends the older ones that it makes obsolete.

    Examples
    --------
    >>> turns = Turns()
    >>> old, new = turns.next("solve"), turns.next("solve")
    >>> new.check()
    >>> old.check()
    Traceback (most recent call last):
        ...
    metricfit.explorer.turns.Superseded
    """

    def __init__(self) -> None:
        self._solving, self._giving = Lock(), Lock()
        self._waiting: list[Turn] = []

    def next(self, kind: Job) -> Turn:
        """Return a new turn, and end the older ones that it makes obsolete."""
        turn = Turn(kind, self._solving)
        with self._giving:
            for other in self._waiting:
                if other.kind in ENDS[kind]:
                    other.end()
            self._waiting = [*(other for other in self._waiting if other.kind not in ENDS[kind]), turn]
        return turn

    @property
    def progress(self) -> str:
        """How far the newest slider's solve is, in words."""
        with self._giving:
            solving = [turn for turn in self._waiting if turn.kind == "solve"]
        return solving[-1].words if solving else ""

    def done(self, turn: Turn) -> None:
        """Forget a turn whose answer was given."""
        with self._giving:
            self._waiting = [other for other in self._waiting if other is not turn]

    def end_all(self) -> None:
        """Stop whatever runs: the server closes."""
        with self._giving:
            for turn in self._waiting:
                turn.end()
