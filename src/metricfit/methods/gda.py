"""Gradient descent-ascent for convex metrics, smooth or not (Algorithms 2 and 6, Theorems 13 and 17)."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from itertools import product
from typing import ClassVar, Literal

import numpy as np

from metricfit.functions.curvature import Curvature
from metricfit.functions.expression import Constant, Node
from metricfit.functions.sums import Stack
from metricfit.methods.base import Iterate, Walk, better
from metricfit.methods.dual.constants import Constants
from metricfit.methods.dual.domain import Domain, onto_ball, onto_corner
from metricfit.methods.dual.paper_method import Aid, PaperMethod
from metricfit.methods.dual.pruning import Prune, check_prune
from metricfit.methods.dual.rules import Merged, run_within
from metricfit.methods.parameters import positive
from metricfit.problem import Program
from metricfit.types import FloatArray

GRID = (0.001, 0.01, 0.1)


class GDA(PaperMethod):
    r"""Find a saddle point of the Lagrangian by steps down in the slack and up in the multipliers.

    .. math:: \psi(\xi) + \langle \lambda, C - \xi \rangle + \langle \mu, \phi(\xi) \rangle

    The oracle minimises over C exactly, the slack :math:`\xi` takes gradient steps down and stays in the
    box (or simplex) of all confusion vectors, the multipliers take gradient steps up and stay in
    :math:`\|\lambda\|_2 \le 2L(1 + 1/r)` and :math:`\mu \ge 0, \|\mu\|_1 \le 2/r`. The answer is the
    uniform average of the oracle's rules, pruned.

    A gradient of :math:`\psi(\xi) + \langle \mu, \phi(\xi) \rangle` that is longer than the radius of
    :math:`\Lambda` is shortened to it. Functions with the Lipschitz constant L have none; means of rates are
    steeper near a rate of 0, and one step could throw :math:`\xi` across its domain.

    Symbols: ``xi``, ``lam``, ``mu`` are :math:`\xi, \lambda, \mu`; ``down`` and ``up`` the steps
    :math:`\eta_\xi = \eta` and :math:`\eta_\lambda = \eta_\mu = \eta'`.

    Parameters
    ----------
    step : "theorem", "grid" or a pair of numbers
        The step sizes of the theorems; all pairs of the appendix's grid :math:`\{0.001, 0.01, 0.1\}^2`, each
        with its share of the calls, of which the answer with the lowest objective among those that keep the
        constraints is taken; or :math:`(\eta, \eta')`.
    prune : {"objective", "whole", "linear", "none"}, optional
        The final mixture of all rules found: the best one, cell by cell or of whole rules, that of the linear
        program of section 8.2, or none: the plain average.
    as_published : bool
        Begin with no rules, take r and L from classifiers that ignore the rows, and return the plain average.
    room : float, "mixture" or "random", optional
        r of Assumption 1, by how much some classifier keeps all constraints; or where r and L are taken from.
        "mixture" is the best mixture of the rules to start from: 1/r, which only bounds the multipliers of the
        constraints, is the sum of that mixture's multipliers, at least 1, and L the largest slope of objective
        and constraints at the uniform classifier and half-way to that mixture. "random" are the classifiers that
        ignore the rows: r is the largest margin by which one of them keeps all constraints, L the largest slope
        at the uniform one. (The theorems need worst cases: many means of rates have no finite L.)
    lipschitz : float, optional
        L, in place of an estimate.
    lambda_max, mu_max : float, optional
        The radius of :math:`\Lambda`, by default :math:`2L(1 + 1/r)`, and the largest :math:`\|\mu\|_1` in
        :math:`\Xi`, by default 2/r.
    feasible_start : bool, optional
        Begin with rules from column generation, a mixture of which keeps the constraints.

    Examples
    --------
    >>> import numpy as np
    >>> import metricfit as mf
    >>> from metricfit.methods import GDA
    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> y, method = [0, 0, 1, 1], GDA(step=(0.01, 0.1))
    >>> result = mf.optimize(proba, y, "min_recall", method=method, counting="labels", max_calls=300)
    >>> result.value > 0.95
    True
    """

    name = "gda"
    reference = "Algorithms 2 and 6"
    accepts = frozenset({Curvature.LINEAR, Curvature.CONVEX})
    constrained = True
    step_option = "step"
    default_calls = 5000
    aids: ClassVar = {
        "feasible_start": Aid(True, False),
        "room": Aid("mixture", "random"),
        "prune": Aid("objective", "none"),
    }

    def __init__(
        self,
        step: str | tuple[float, float] = "theorem",
        prune: Prune | None = None,
        as_published: bool = False,
        room: float | Literal["mixture", "random"] | None = None,
        lipschitz: float | None = None,
        lambda_max: float | None = None,
        mu_max: float | None = None,
        feasible_start: bool | None = None,
    ) -> None:
        if isinstance(step, str) and step not in ("theorem", "grid"):
            raise ValueError(f"step must be 'theorem', 'grid' or a pair of numbers, got {step!r}")
        if not isinstance(step, str):
            if np.size(np.asarray(step, dtype=object)) != 2:
                raise ValueError(f"step must be a pair (slack step, multiplier step), got {step!r}")
            step = (positive("step[0]", step[0]), positive("step[1]", step[1]))
        self.step = step
        self.publish(as_published)
        self.prune = check_prune(self.option("prune", prune))
        self.feasible_start: bool = self.option("feasible_start", feasible_start)
        self.room: float | str = self.option("room", room)
        if isinstance(self.room, str) and self.room not in ("mixture", "random"):
            raise ValueError(f"room must be a positive number, 'mixture' or 'random', got {room!r}")
        if self.room == "mixture" and not self.feasible_start:
            raise ValueError("room='mixture' needs feasible_start=True; give a number or 'random'")
        if not isinstance(self.room, str):
            self.room = positive("room", self.room)
        given = {"lipschitz": lipschitz, "lambda_max": lambda_max, "mu_max": mu_max}
        self.given = {name: positive(name, value) for name, value in given.items() if value is not None}

    def calls(self, program: Program) -> int:
        """Return the paper's budget: 5,000 calls, 10,000 with constraints, for each pair of the grid."""
        return (
            self.default_calls * (2 if program.limits else 1) * (len(GRID) ** 2 if self.step == "grid" else 1)
        )

    def steps(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield the average after each step; for a grid of step sizes, the best answer after each run."""
        walk.expect(walk.budget.max_calls)
        if self.feasible_start:
            yield from self.opened(program, walk)
        if isinstance(self.step, str) and self.step == "grid":
            yield from self._grid(program, walk)
            return
        constants = Constants.of(program, walk, self.room, self.given)
        calls = walk.budget.left
        down, up = constants.steps(calls, program) if isinstance(self.step, str) else self.step
        yield from play(program, walk, constants, calls, (down, up))

    def _grid(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield the best answer so far; every run begins with the rules that are there now, and is pruned alone."""
        best: Iterate | None = None
        known, calls, pairs = len(walk.vertices), walk.budget.left, list(product(GRID, GRID))
        for run, step in enumerate(pairs, 1):
            one = copy(self)
            one.step = step
            share = calls * run // len(pairs) - calls * (run - 1) // len(pairs)
            answer = run_within(one, program, walk, share, known) if share else None
            if answer is not None:
                best = better(program, best, answer)
                yield best

    def finish(self, program: Program, walk: Walk, best: Iterate) -> Iterate:
        """Prune the rules found; of a grid of steps, the best run has been pruned."""
        return (
            best if self.step == "grid" and self.prune != "objective" else super().finish(program, walk, best)
        )


def play(
    program: Program, walk: Walk, constants: Constants, calls: int, step: tuple[float, float]
) -> Iterator[Iterate]:
    """Yield the average rule after each round of the three players C, xi and the multipliers."""
    rules, (down, up) = Merged(walk), step
    domain, gradient = Domain.of(program, walk.oracle.margins), program.objective.gradient
    limits: Node = Stack(program.bounds) if program.limits else Constant(np.zeros(0))
    xi = domain.project(program.uniform(walk.oracle.margins))
    lam: FloatArray = onto_ball(gradient(xi), constants.lambda_max)
    mu: FloatArray = np.zeros(limits.size)
    times: FloatArray = np.zeros(len(walk.vertices))
    total: FloatArray = np.zeros(xi.size)
    for t in range(1, calls + 1):
        place = rules.call(lam)
        c = walk.vectors[place]
        fall = onto_ball(gradient(xi) + limits.slope(xi, mu), constants.lambda_max) - lam
        lam = onto_ball(lam + up * (c - xi), constants.lambda_max)
        mu = onto_corner(mu + up * limits.value(xi), constants.mu_max)
        xi = domain.project(xi - down * fall)
        total = total + c
        times = np.concatenate([times, np.zeros(len(walk.vertices) - times.size)])
        times[place] += 1
        yield Iterate(times / t, total / t)
