"""Start near the end: rules that are nearly the best are found on a sample, where they are cheaper to find."""

from __future__ import annotations

import numpy as np

from metricfit.exceptions import InfeasibleError
from metricfit.methods import Method, Walk, run
from metricfit.oracles.sampled import CountedSample, SampledOracle
from metricfit.problem import Program
from metricfit.types import FloatArray, IntArray

# Rounds at most, and calls in each. The sample's first answers are not worth more digits.
ROUNDS, SAMPLE_CALLS = 6, 200
FIRST_TOL, LATER_TOL = 1e-3, 1e-4
# Probabilities whose steepness is so far from 1, as a factor, are off.
RIGHT = 1.05
# Rules of less weight are not asked for.
LIGHT = 1e-6


def head_start(program: Program, walk: Walk, method: Method) -> None:
    """Ask for rules that are nearly the best, where passes over the rows are costly.

    Each round solves the problem with the answers of a sample, beside the rules that are known already, and asks for
    the new rules that it would mix: of all rows, in one pass where the oracle can. What the sample had wrong about
    the mixture corrects its answers in the next round, until it has no new rule to offer. Value and bound never come
    from the sample.

    Where labels are counted and probabilities are off, a round that scans the weights of those rules on the sample's
    labels comes last.
    """
    if not getattr(walk.oracle, "costly", False):
        return
    sampled = SampledOracle(walk.oracle)
    mixture = _rounds(program, walk, method, sampled, ROUNDS, FIRST_TOL)
    off = not walk.oracle.exact and not 1 / RIGHT <= sampled.rows.steepness <= RIGHT
    if mixture is not None and off:
        sampled = CountedSample(walk.oracle)
        sampled.correct(walk.vertices, mixture, program.layout)
        _rounds(program, walk, method, sampled, 1, LATER_TOL)


def _rounds(
    program: Program, walk: Walk, method: Method, sampled: SampledOracle, rounds: int, tol: float
) -> FloatArray | None:
    """Ask for the rules of a sample; return its last mixture (cells, rules), or None if there is no going on."""
    for _ in range(rounds):
        spare = (walk.max_seconds - walk.seconds) / 2
        trial = Walk(program, sampled, max(walk.tol, tol), SAMPLE_CALLS, spare, walk.seed)
        for vertex in walk.vertices:
            trial.add(vertex)
        try:
            outcome = run(method, program, trial)
        except InfeasibleError:  # all rows may still keep the constraints
            return None
        if outcome.status == "stopped":  # nobody but the user stops it
            walk.interrupted = True
            return None
        known, cells = len(walk.vertices), len(program.axes.cells)
        weights = np.zeros((cells, len(trial.vertices)))
        weights[:, : outcome.best.weights.shape[-1]] = np.atleast_2d(outcome.best.weights)
        places, shares = _new_rules(weights, known)
        losses = [np.stack([trial.vertices[t].loss[a] for a, t in enumerate(row)]) for row in places]
        asked = walk.ask_all(losses)
        if len(asked) < len(losses) or walk.late:
            return None
        mixture = np.concatenate([weights[:, :known], shares.T], axis=1)
        if not asked:
            return mixture
        sampled.correct(walk.vertices, mixture, program.layout)
        tol = LATER_TOL
    return mixture


def _new_rules(weights: FloatArray, known: int) -> tuple[IntArray, FloatArray]:
    """Return places (rules, cells) of the new rules of a mixture, each cell's heaviest first, and their weights.

    A cell with fewer new rules than others repeats one, with weight 0.

    Examples
    --------
    >>> import numpy as np
    >>> _new_rules(np.array([[0.5, 0.1, 0.4], [0.0, 1.0, 0.0]]), 1)
    (array([[2, 1],
           [1, 1]]), array([[0.4, 1. ],
           [0.1, 0. ]]))
    """
    shares = np.where(weights[:, known:] > LIGHT, weights[:, known:], 0.0)
    count = np.count_nonzero(shares, axis=1)
    order = np.argsort(-shares, axis=1, kind="stable")[:, : count.max()]
    repeated = np.where(np.arange(order.shape[1]) < count[:, None], order, order[:, :1])
    return (known + repeated).T, np.take_along_axis(shares, order, axis=1).T
