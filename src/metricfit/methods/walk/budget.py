"""Oracle calls and time: how much may be spent, how much was, and why a run ends."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

Status = Literal["optimal", "searched", "stalled", "max_calls", "max_seconds", "stopped"]


class Exhausted(Exception):
    """The budget of calls or seconds is used up."""

    def __init__(self, status: Status) -> None:
        self.status = status


@dataclass(frozen=True)
class Deadline:
    """When a call should have ended, by the clock of `time.perf_counter`: a value that every step is given.

    Examples
    --------
    >>> Deadline().left, Deadline.after(0.0).passed, 9 < Deadline.after(20.0).share(1 / 2).left <= 10
    (inf, True, True)
    """

    at: float = np.inf

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """Return the deadline so many seconds from now; none for None."""
        return cls() if seconds is None else cls(time.perf_counter() + seconds)

    @property
    def left(self) -> float:
        """Seconds left, at least 0."""
        return max(self.at - time.perf_counter(), 0.0)

    @property
    def passed(self) -> bool:
        """Whether no time is left."""
        return time.perf_counter() >= self.at

    def share(self, part: float) -> Deadline:
        """Return an earlier deadline, after a part of the time that is left."""
        return self if self.at == np.inf else Deadline.after(part * self.left)


NEVER = Deadline()


@dataclass
class Budget:
    """Oracle calls and time that may be spent, and those that were; all walks of one solve share it."""

    max_calls: int = sys.maxsize
    deadline: Deadline = NEVER
    calls: int = 0
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.perf_counter() - self.started

    @property
    def late(self) -> bool:
        """Whether the time is used up."""
        return self.deadline.passed

    @property
    def left(self) -> int:
        """How many calls are left."""
        return max(self.max_calls - self.calls, 0)

    @property
    def spent(self) -> bool:
        """Whether calls or time are used up."""
        return self.late or not self.left

    def half(self) -> Budget:
        """Return a budget of half of what is left."""
        return Budget(self.left // 2, self.deadline.share(1 / 2))
