"""Start near the end: rules that are nearly the best are found on a sample, where they are cheaper to find."""

from __future__ import annotations

from typing import Literal

import numpy as np

from metricfit.methods import Method, Outcome, Walk, run
from metricfit.oracles import PluginOracle
from metricfit.problem import InfeasibleError, Problem
from metricfit.types import FloatArray

# The sample's answer is forgotten but for its rules, so that more calls or digits are not worth their time.
SAMPLE_CALLS, SAMPLE_TOL = 200, 1e-3


def head_start(problem: Problem, walk: Walk, method: Method) -> list[FloatArray]:
    """Return the losses of rules that are nearly the best, found on a sample of the rows; none if they are few.

    Value and bound never come from the sample: the walk asks for these rules on its own rows, all in one pass where
    the oracle can, and goes on from there.
    """
    draw, costly = getattr(walk.oracle, "sample", None), getattr(walk.oracle, "costly", False)
    if draw is None or not costly:
        return []
    counted: Literal["labels", "model"] = "model" if walk.oracle.exact else "labels"
    small = PluginOracle(draw(), counted, getattr(walk.oracle, "threads", 1))
    program = problem.bind(small.axes, small.margins)
    trial = Walk(program, small, max(walk.tol, SAMPLE_TOL), SAMPLE_CALLS, walk.max_seconds / 2, walk.seed)
    if method.refusal(program) is not None:
        return []
    try:
        outcome = run(method, program, trial)
    except InfeasibleError:  # the walk's own rows and labels may still keep the constraints
        return []
    walk.interrupted = outcome.status == "stopped"  # nobody but the user stops it
    return _heaviest_first(trial, outcome)


def _heaviest_first(walk: Walk, outcome: Outcome) -> list[FloatArray]:
    """Return losses, the r-th of each cell's r-th heaviest rule; a cell with fewer repeats its last."""
    weights = np.atleast_2d(outcome.best.weights)
    order = np.argsort(-weights, axis=1, kind="stable")
    cells = np.arange(len(walk.program.axes.cells))
    if len(weights) == 1:
        order = np.repeat(order, cells.size, axis=0)
    losses = np.stack([vertex.loss for vertex in walk.vertices])
    count = np.maximum(np.count_nonzero(weights > 1e-6, axis=1), 1)
    return [losses[order[cells, np.minimum(r, count - 1)], cells] for r in range(int(count.max()))]
