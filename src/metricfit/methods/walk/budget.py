"""Oracle calls and seconds: how many may be spent, how many were, and why a run ends."""

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


@dataclass
class Budget:
    """Oracle calls and seconds that may be spent, and those that were; all walks of one solve share it."""

    max_calls: int = sys.maxsize
    max_seconds: float = np.inf
    calls: int = 0
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.perf_counter() - self.started

    @property
    def late(self) -> bool:
        """Whether the time is used up."""
        return self.seconds >= self.max_seconds

    @property
    def left(self) -> int:
        """How many calls are left."""
        return max(self.max_calls - self.calls, 0)

    def half(self) -> Budget:
        """Return a budget of half of what is left."""
        return Budget(self.left // 2, (self.max_seconds - self.seconds) / 2)
