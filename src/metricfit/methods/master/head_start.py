"""A head start: nearly optimal rules are found on a sample of the rows, where oracle calls are cheap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from metricfit.exceptions import InfeasibleError
from metricfit.methods.base import Method, Walk, run
from metricfit.oracles.sampled import SampledOracle
from metricfit.problem import Program
from metricfit.types import FloatArray, IntArray


class Settings(NamedTuple):
    """Tuned on H-mean, with and without coverage limits, on 1,000,000 x 100 generated rows (benchmarks/scale).

    There are at most ``rounds`` rounds. The first is solved to ``first_tol``, since the uncorrected sample is not worth
    more digits, later ones to ``later_tol``. Rules of less weight than ``light`` are not counted on all rows.
    """

    rounds: int = 6
    first_tol: float = 1e-3
    later_tol: float = 1e-4
    light: float = 1e-6


SETTINGS = Settings()


def head_start(method: Method, program: Program, walk: Walk) -> None:
    """Start with nearly optimal rules, where passes over the rows are costly.

    Each round solves the problem on a sample, starting from the rules known so far, and counts the new rules of its
    mixture on all rows, in one pass where the oracle supports it. The sample's error about the mixture corrects its
    answers in the next round. The rounds end when the sample brings no new rule. Value and bound never come from the
    sample.
    """
    if not (walk.oracle.costly and walk.oracle.exact) or walk.oracle.sample() is None:
        return
    sampled, tol = SampledOracle(walk.oracle), SETTINGS.first_tol
    for _ in range(SETTINGS.rounds):
        trial = walk.beside(program, sampled, max(walk.tol, tol), free=True)
        for vertex in walk.vertices:
            trial.add(vertex)
        try:
            outcome = run(method, program, trial, warn=False)
        except InfeasibleError:  # the constraints may still be feasible on all rows
            return
        if outcome.status == "stopped":  # only the user can have stopped it
            raise KeyboardInterrupt
        known = len(walk.vertices)
        weights = outcome.best.table(len(program.axes.cells), len(trial.vertices))
        places, shares = _new_rules(weights, known)
        losses = [np.stack([trial.vertices[t].loss[a] for a, t in enumerate(row)]) for row in places]
        asked = walk.ask_all(losses)
        if len(asked) < len(losses) or walk.late or not asked:
            return
        sampled.correct(walk.vertices, np.concatenate([weights[:, :known], shares.T], axis=1), program.layout)
        tol = SETTINGS.later_tol


def _new_rules(weights: FloatArray, known: int) -> tuple[IntArray, FloatArray]:
    """Return places (rules, cells) of the new rules of a mixture, each cell's heaviest first, and their weights.

    A cell with fewer new rules than others repeats one with weight 0.

    Examples
    --------
    >>> import numpy as np
    >>> _new_rules(np.array([[0.5, 0.1, 0.4], [0.0, 1.0, 0.0]]), 1)
    (array([[2, 1],
           [1, 1]]), array([[0.4, 1. ],
           [0.1, 0. ]]))
    """
    shares = np.where(weights[:, known:] > SETTINGS.light, weights[:, known:], 0.0)
    count = np.count_nonzero(shares, axis=1)
    order = np.argsort(-shares, axis=1, kind="stable")[:, : count.max()]
    repeated = np.where(np.arange(order.shape[1]) < count[:, None], order, order[:, :1])
    return (known + repeated).T, np.take_along_axis(shares, order, axis=1).T
