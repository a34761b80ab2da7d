"""Trade-offs: the best policy at each of several limits of a constraint."""

from metricfit.tradeoff.door import frontier
from metricfit.tradeoff.expectation import with_expected
from metricfit.tradeoff.levels import traded_constraints
from metricfit.tradeoff.points import Frontier, Point
from metricfit.tradeoff.repeated import Chosen, choose_counting, solved
from metricfit.tradeoff.trace import trace

__all__ = [
    "Chosen",
    "Frontier",
    "Point",
    "choose_counting",
    "frontier",
    "solved",
    "trace",
    "traded_constraints",
    "with_expected",
]
