"""Start small: rules that are nearly the best are found on a sample, and only then asked for on all rows."""

from __future__ import annotations

import numpy as np

from metricfit.methods import Method, Walk, run
from metricfit.oracles import Oracle, PluginOracle
from metricfit.problem import InfeasibleError, Problem
from metricfit.types import FloatArray

# The sample's answer is forgotten but for its rules, so that more calls than these are not worth their time.
SAMPLE_CALLS = 200


def rules_from_sample(
    problem: Problem, oracle: Oracle, method: Method, tol: float, max_seconds: float, seed: int | None
) -> list[FloatArray]:
    """Return the losses of the rules that are best on a sample of the oracle's rows; none where there is no sample.

    Value and bound never come from the sample: the walk asks for these rules on all rows, and goes on from there.
    """
    draw = getattr(oracle, "sample", None)
    rows = None if draw is None else draw()
    if rows is None:
        return []
    small = PluginOracle(rows, "model" if oracle.exact else "labels", getattr(oracle, "threads", 1))
    program = problem.bind(small.axes, small.margins)
    walk = Walk(program, small, tol, SAMPLE_CALLS, max_seconds, seed)
    try:
        outcome = run(method, program, walk)
    except InfeasibleError:  # all rows may still keep the constraints
        return []
    if outcome.status == "stopped":  # nobody but the user stops it
        raise KeyboardInterrupt
    weights = np.atleast_2d(outcome.best.weights)
    order = np.argsort(-weights, axis=1, kind="stable")
    cells = np.arange(len(small.axes.cells))
    if len(weights) == 1:
        order = np.repeat(order, cells.size, axis=0)
    losses = np.stack([vertex.loss for vertex in walk.vertices])
    # The r-th rule takes the r-th heaviest of each cell; a cell with fewer repeats its last.
    count = np.maximum(np.count_nonzero(weights > 1e-6, axis=1), 1)
    return [losses[order[cells, np.minimum(r, count - 1)], cells] for r in range(int(count.max()))]
