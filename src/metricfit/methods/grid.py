"""The naive plug-in search over a grid of weights (section 3.3 of the paper), a baseline."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

import numpy as np

from metricfit.data.layout import shape_of
from metricfit.functions.curvature import Curvature
from metricfit.methods.base import Iterate, Walk, better
from metricfit.methods.dual.paper_method import PaperMethod
from metricfit.problem import Program
from metricfit.types import FloatArray

MOST_FREE = 3
# Rules that are tried in one pass over the rows, where the oracle supports it.
BATCH = 64


class Grid(PaperMethod):
    r"""Try the rules :math:`\arg\max_j w_j p_j(x)` for all weights on a grid and keep the best.

    Each cell has its own weights, of which one is fixed, so that A cells and k decisions leave
    :math:`A (k - 1)` free; at most three are searched. A free weight goes through :math:`s / (1 - s)` times
    that of the balanced rule for evenly spaced s between 0 and 1; decisions that are no class have a
    constant score. The budget of calls sets the spacing. With constraints the optimum is a mixture of
    several such rules, so the answer is the best mixture of all rules tried.

    Parameters
    ----------
    mixed : bool
        Without constraints too, return the best mixture of the rules tried; False returns the best single
        one, as the paper does.

    Examples
    --------
    >>> import numpy as np
    >>> import metricfit as mf
    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> mf.optimize(proba, [0, 0, 1, 1], "g_mean", method="grid", max_calls=50).value
    1.0
    """

    name = "grid"
    reference = "section 3.3"
    accepts = frozenset(Curvature)
    constrained = True
    nonconvex = True
    counts = "labels"
    default_calls = 4096

    def __init__(self, mixed: bool = True) -> None:
        self.mixed = mixed

    def refusal(self, program: Program) -> str | None:
        """Refuse problems with too many weights, and those that need more than one weight for each decision."""
        if program.layout == "full":
            return "the problem looks at single entries of the confusion matrix; grid weighs decisions only"
        free = _free(program)
        if free > MOST_FREE:
            return (
                f"there are {free} free weights (cells x (decisions - 1)); grid searches at most {MOST_FREE}"
            )
        return super().refusal(program)

    def steps(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield the best single rule so far."""
        per_axis = max(1, int((walk.budget.left) ** (1 / _free(program)) + 1e-9))
        s = (np.arange(per_axis) + 0.5) / per_axis
        odds = product(s / (1 - s), repeat=_free(program))
        losses = (_loss(program, np.array(chosen), walk.oracle.margins) for chosen in odds)
        best: Iterate | None = None
        while batch := list(islice(losses, BATCH)):
            for place in walk.ask_all(batch):
                best = better(program, best, walk.single(place))
            if best is not None:
                yield best

    def finish(self, program: Program, walk: Walk, best: Iterate) -> Iterate:
        """Mix the rules tried if the problem is convex and either has constraints or ``mixed`` asks for it."""
        mixed = program.mixable and (program.limits or self.mixed)
        return super().finish(program, walk, best) if mixed else best


def _free(program: Program) -> int:
    return len(program.axes.cells) * (program.axes.k - 1)


def _loss(program: Program, odds: FloatArray, margins: FloatArray) -> FloatArray:
    """Return the loss whose rule weighs decisions by the balanced weights times odds (cell by cell)."""
    cells, height, k = shape_of(program.layout, program.axes)
    match, prior = program.axes.match, margins.sum(axis=0)
    weights = np.ones((cells, k))
    weights[:, 1:] = odds.reshape(cells, k - 1)
    named = match >= 0
    weights[:, named] /= np.maximum(prior[match[named]], 1e-12)
    loss = np.zeros((cells, height, k))
    loss[:, 0, named] = -weights[:, named]
    loss[:, 1, ~named] = -weights[:, ~named]
    return loss
