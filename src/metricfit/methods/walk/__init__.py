"""The one loop, and the state of a run: rules found, calls and seconds spent, what was reached, history, progress."""

from metricfit.methods.walk.budget import NEVER, Budget, Deadline, Exhausted, Status
from metricfit.methods.walk.history import FEASIBLE, Record, Standing
from metricfit.methods.walk.interrupts import HeldBack
from metricfit.methods.walk.loop import better, run
from metricfit.methods.walk.walk import Iterate, Outcome, Walk

__all__ = [
    "FEASIBLE",
    "NEVER",
    "Budget",
    "Deadline",
    "Exhausted",
    "HeldBack",
    "Iterate",
    "Outcome",
    "Record",
    "Standing",
    "Status",
    "Walk",
    "better",
    "run",
]
