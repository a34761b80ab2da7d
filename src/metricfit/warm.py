"""Start near the end: rules that are nearly the best are found on a sample, where they are cheaper to find."""

from __future__ import annotations

import numpy as np

from metricfit.methods import Method, Walk, run
from metricfit.oracles.sampled import SampledOracle
from metricfit.problem import InfeasibleError, Program
from metricfit.types import FloatArray, IntArray

# Rounds at most, and calls in each. The sample's first answers are not worth more digits.
ROUNDS, SAMPLE_CALLS = 6, 200
FIRST_TOL, LATER_TOL = 1e-3, 1e-4
# Rules of less weight are not asked for.
LIGHT = 1e-6


def head_start(program: Program, walk: Walk, method: Method) -> None:
    """Ask for rules that are nearly the best, where passes over the rows are costly.

    Each round solves the problem with the answers of a sample, beside the rules that are known already, and asks for
    the new rules that it would mix: of all rows, in one pass where the oracle can. What the sample had wrong about
    them corrects its answers in the next round, until it has no new rule to offer. Value and bound never come from
    the sample.
    """
    if not getattr(walk.oracle, "costly", False):
        return
    sampled = SampledOracle(walk.oracle)
    for attempt in range(ROUNDS):
        tol, known = max(walk.tol, LATER_TOL if attempt else FIRST_TOL), len(walk.vertices)
        trial = Walk(program, sampled, tol, SAMPLE_CALLS, (walk.max_seconds - walk.seconds) / 2, walk.seed)
        for vertex in walk.vertices:
            trial.add(vertex)
        try:
            outcome = run(method, program, trial)
        except InfeasibleError:  # all rows may still keep the constraints
            return
        if outcome.status == "stopped":  # nobody but the user stops it
            walk.interrupted = True
            return
        places, shares = _new_rules(np.atleast_2d(outcome.best.weights), known, len(program.axes.cells))
        if not len(places):
            return
        cells = np.arange(places.shape[1])
        losses = np.stack([vertex.loss for vertex in trial.vertices])[places, cells]
        guessed = np.stack([vertex.statistic for vertex in trial.vertices])[places, cells]
        asked = walk.ask_all(list(losses))
        found = np.stack([walk.vertices[place].statistic for place in asked])
        if len(asked) < len(losses) or walk.late:
            return
        sampled.correct(np.einsum("ra,ra...->a...", shares, found - guessed))


def _new_rules(weights: FloatArray, known: int, cells: int) -> tuple[IntArray, FloatArray]:
    """Return places (rules, cells) of the new rules of a mixture, each cell's heaviest first, and their shares.

    The shares of a cell add up to 1. A cell with fewer rules than others repeats one, with share 0.

    Examples
    --------
    >>> import numpy as np
    >>> _new_rules(np.array([[0.5, 0.1, 0.4], [0.0, 1.0, 0.0]]), 1, 2)
    (array([[2, 1],
           [1, 1]]), array([[0.8, 1. ],
           [0.2, 0. ]]))
    """
    new = np.broadcast_to(weights, (cells, weights.shape[1]))[:, known:]
    shares = np.where(new > LIGHT, new, 0.0)
    count = np.count_nonzero(shares, axis=1)
    most = int(count.max(initial=0))
    order = np.argsort(-shares, axis=1, kind="stable")[:, :most]
    ranked = np.take_along_axis(shares, order, axis=1)
    total = ranked.sum(axis=1, keepdims=True)
    ranked = np.divide(ranked, total, out=np.zeros_like(ranked), where=total > 0)
    first = np.where(np.arange(most) < count[:, None], order, order[:, :1])
    return (known + first).T, ranked.T
