"""Start near the end: rules that are nearly the best are found where they are cheaper to find."""

from __future__ import annotations

import numpy as np

from metricfit.methods import Method, Outcome, Walk, run
from metricfit.oracles import PluginOracle
from metricfit.problem import InfeasibleError, Problem
from metricfit.types import FloatArray

# The sample's answer is forgotten but for its rules, so that more calls than these are not worth their time.
SAMPLE_CALLS = 200
MODEL_CALLS, MODEL_TOL = 60, 1e-3


def head_start(problem: Problem, walk: Walk, method: Method) -> list[FloatArray]:
    """Return the losses of rules that are nearly the best, found on a stand-in of the walk's oracle; none without one.

    Of many rows, the stand-in is a sample. Of counted labels, it is the same rows with their probabilities as
    soft labels: there the oracle is exact, so its rules are near the best ones wherever the probabilities are
    about right. Value and bound never come from the stand-in: the walk asks for these rules on its own rows and
    labels, and goes on from there.
    """
    oracle, calls = walk.oracle, SAMPLE_CALLS
    soften, draw = getattr(oracle, "as_model", None), getattr(oracle, "sample", None)
    costly = getattr(oracle, "costly", False)
    if draw is not None and costly:
        small = PluginOracle(draw(), "model" if oracle.exact else "labels", getattr(oracle, "threads", 1))
    elif soften is not None and not oracle.exact:
        small, calls = soften(), min(MODEL_CALLS, walk.max_calls // 4)
    else:
        return []
    program = problem.bind(small.axes, small.margins)
    trial = Walk(program, small, max(walk.tol, MODEL_TOL), calls, walk.max_seconds / 2, walk.seed)
    if calls < 4 or method.refusal(program) is not None:
        return []
    try:
        outcome = run(method, program, trial)
    except InfeasibleError:  # the walk's own rows and labels may still keep the constraints
        return []
    walk.interrupted = outcome.status == "stopped"  # nobody but the user stops it
    if not costly:  # these calls read all rows
        walk.calls += trial.calls
    return _heaviest_first(trial, outcome)


def _heaviest_first(walk: Walk, outcome: Outcome) -> list[FloatArray]:
    """Return losses of which the r-th takes each cell's r-th heaviest rule; a cell with fewer repeats its last."""
    weights = np.atleast_2d(outcome.best.weights)
    order = np.argsort(-weights, axis=1, kind="stable")
    cells = np.arange(len(walk.program.axes.cells))
    if len(weights) == 1:
        order = np.repeat(order, cells.size, axis=0)
    losses = np.stack([vertex.loss for vertex in walk.vertices])
    count = np.maximum(np.count_nonzero(weights > 1e-6, axis=1), 1)
    return [losses[order[cells, np.minimum(r, count - 1)], cells] for r in range(int(count.max()))]
