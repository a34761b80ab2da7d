"""Gradient descent-ascent for convex metrics, smooth or not (Algorithms 2 and 6, Theorems 13 and 17)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from metricfit.functions.curvature import Curvature
from metricfit.functions.expression import Constant, Node
from metricfit.functions.extremes import Largest
from metricfit.functions.sums import Stack
from metricfit.methods.base import Iterate, Walk, better
from metricfit.methods.dual.domain import Domain, onto_ball, onto_corner
from metricfit.methods.dual.pruning import Prune, Pruned, check_prune, mixture
from metricfit.methods.parameters import positive
from metricfit.problem import Program
from metricfit.types import FloatArray

GRID = (0.001, 0.01, 0.1)


class GDA(Pruned):
    r"""Find a saddle point of the Lagrangian by steps down in the slack and up in the multipliers.

    .. math:: \psi(\xi) + \langle \lambda, C - \xi \rangle + \langle \mu, \phi(\xi) \rangle

    The oracle minimises over C exactly, the slack :math:`\xi` takes gradient steps down and stays in the
    box (or simplex) of all confusion vectors, the multipliers take gradient steps up and stay in
    :math:`\|\lambda\|_2 \le 2L(1 + 1/r)` and :math:`\mu \ge 0, \|\mu\|_1 \le 2/r`. The answer is the
    uniform average of the oracle's rules, pruned.

    Symbols: ``xi``, ``lam``, ``mu`` are :math:`\xi, \lambda, \mu`; ``down`` and ``up`` the steps
    :math:`\eta_\xi = \eta` and :math:`\eta_\lambda = \eta_\mu = \eta'`; ``lipschitz`` is L,
    ``inverse_room`` is 1/r. The theorems need their worst-case values: many means of rates have no finite L, and
    a parity constraint makes r at most its limit, even if the constraint costs little. Here both are
    estimated from the best mixture of the first rules: L is the largest slope of the objective and the
    constraints at the uniform classifier and half-way to that mixture; 1/r, which only bounds the
    multipliers of the constraints, is the sum of that mixture's multipliers, at least 1.

    Parameters
    ----------
    step : "theorem", "grid" or a pair of numbers
        The step sizes of the theorems; all pairs of the appendix's grid :math:`\{0.001, 0.01, 0.1\}^2`,
        which share the budget of calls; or :math:`(\eta, \eta')`.
    prune : {"objective", "linear", "none"}
        Whether to return the best mixture of all rules found, that of the linear program of section 8.2, or
        the plain average.
    as_published : bool
        Begin with no rules, return the plain average, and take L and r from two classifiers that ignore the
        rows: one decides uniformly, the other by the class shares. L is the largest slope at the first, r the
        larger of the margins with which they keep all constraints.
    room : float, optional
        The r to use instead of an estimate.

    Examples
    --------
    >>> import numpy as np
    >>> import metricfit as mf
    >>> from metricfit.methods import GDA
    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> result = mf.optimize(proba, [0, 0, 1, 1], "min_recall", method=GDA(step=(0.01, 0.1)), max_calls=300)
    >>> result.value > 0.95
    True
    """

    name = "gda"
    reference = "Algorithms 2 and 6"
    accepts = frozenset({Curvature.LINEAR, Curvature.CONVEX})
    constrained = True
    step_option = "step"
    default_calls = 5000

    def __init__(
        self,
        step: str | tuple[float, float] = "theorem",
        prune: Prune = "objective",
        as_published: bool = False,
        room: float | None = None,
    ) -> None:
        if isinstance(step, str) and step not in ("theorem", "grid"):
            raise ValueError(f"step must be 'theorem', 'grid' or a pair of numbers, got {step!r}")
        if not isinstance(step, str):
            if np.size(np.asarray(step, dtype=object)) != 2:
                raise ValueError(f"step must be a pair (slack step, multiplier step), got {step!r}")
            step = (positive("step[0]", step[0]), positive("step[1]", step[1]))
        self.step, self.prune, self.as_published = step, check_prune(prune), as_published
        self.room = None if room is None else positive("room", room)

    def calls(self, program: Program) -> int:
        """Return the paper's budget: 5,000 calls, 10,000 with constraints, for each pair of the grid."""
        return (
            self.default_calls * (2 if program.limits else 1) * (len(GRID) ** 2 if self.step == "grid" else 1)
        )

    def steps(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield the average after each step."""
        walk.expect(walk.budget.max_calls)
        if not self.as_published:
            yield from self.opened(program, walk)
        yield from self.averages(program, walk, walk.budget.left)

    def averages(self, program: Program, walk: Walk, calls: int) -> Iterator[Iterate]:
        """Yield the average after each step; for a grid of step sizes, end with the last average of the best run."""
        game = Game(program, walk, self.as_published, self.room)
        if self.step != "grid":
            down, up = game.theorem_steps(calls) if isinstance(self.step, str) else self.step
            yield from game.play(calls, down, up)
            return
        best: Iterate | None = None
        for run, (down, up) in enumerate(product(GRID, GRID)):
            share = calls * (run + 1) // len(GRID) ** 2 - calls * run // len(GRID) ** 2
            for average in game.play(share, down, up):
                yield average
            best = better(program, best, average) if share else best
        if best is not None:
            yield best


class Game:
    """The three players, C, xi and the multipliers, and the sets in which they stay; ``room`` is r."""

    def __init__(self, program: Program, walk: Walk, as_published: bool, room: float | None = None) -> None:
        self.program, self.walk = program, walk
        nodes = program.bounds
        self.limits: Node = Stack(nodes) if nodes else Constant(np.zeros(0))
        self.domain = Domain.of(program, walk.oracle.margins)
        self.uniform = program.uniform(walk.oracle.margins)
        slopes, points = [self.program.objective, *(Largest(node) for node in nodes)], [self.uniform]
        if as_published:
            found = self._room() if program.limits and room is None else np.inf
        else:
            first = mixture(program, walk)
            points.append((self.uniform + first.u) / 2)
            found = 1 / max(sum(float(mu.sum()) for mu in first.multipliers or ()), 1.0)
        self.lipschitz = max(float(np.linalg.norm(s.gradient(u))) for s in slopes for u in points) or 1.0
        self.inverse_room = 1 / (room or found) if program.limits else 0.0
        self.ball = 2 * self.lipschitz * (1 + self.inverse_room)

    def _room(self) -> float:
        """Return an r for Assumption 1: the margin with which one of two classifiers that ignore rows is feasible."""
        margins, match = self.walk.oracle.margins, self.program.axes.match
        shares = np.where(match >= 0, margins.sum(axis=0)[match], 0.0)
        by_shares = self.program.at_random(margins, shares / (shares.sum() or 1.0))
        room = -min(float(self.limits.value(u).max()) for u in (self.uniform, by_shares))
        if room <= 0:
            raise ValueError(
                "as_published: no mixture of constant decisions keeps all constraints strictly, so that r of "
                "Assumption 1 is unknown; give room, by how much some classifier keeps all of them"
            )
        return room

    def theorem_steps(self, calls: int) -> tuple[float, float]:
        """Return the step sizes of Theorem 13, and with constraints of Theorem 17."""
        reach = 2 * self.ball + 2 * self.inverse_room
        length = np.sqrt(2 * max(calls, 1))
        return 1 / (reach * length), reach / ((1 + 2 * np.sqrt(self.limits.size)) * length)

    def play(self, calls: int, down: float, up: float) -> Iterator[Iterate]:
        """Yield the average rule after each round."""
        program, walk = self.program, self.walk
        first = len(walk.vertices)
        xi = self.domain.project(self.uniform)
        lam = onto_ball(program.objective.gradient(xi), self.ball)
        mu: FloatArray = np.zeros(self.limits.size)
        total = np.zeros(xi.size)
        for t in range(1, calls + 1):
            place = walk.call(lam)
            c = walk.vectors[place]
            slope = program.objective.gradient(xi) + self.limits.slope(xi, mu)
            fall = onto_ball(slope, self.ball) - lam
            lam = onto_ball(lam + up * (c - xi), self.ball)
            mu = onto_corner(mu + up * self.limits.value(xi), 2 * self.inverse_room)
            xi = self.domain.project(xi - down * fall)
            total += c
            weights = np.zeros(first + t)
            weights[first:] = 1 / t
            yield Iterate(weights, total / t)
