"""Split Frank-Wolfe for smooth convex metrics with constraints (Algorithm 5, Theorem 16 of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from metricfit.functions.curvature import Curvature
from metricfit.methods.base import Iterate, Walk
from metricfit.methods.dual.domain import Domain
from metricfit.methods.dual.inner import ConeProgram, LinearStep
from metricfit.methods.dual.pruning import Prune, Pruned, check_prune
from metricfit.methods.master.polyhedron import Polyhedron, is_polyhedral
from metricfit.methods.parameters import positive
from metricfit.problem import Program
from metricfit.types import FloatArray

# The appendix's multiplier steps in the first, second and last third of the run.
SCHEDULE = (0.5, 0.1, 0.001)


class Pair(NamedTuple):
    """A mixture's weights and confusion vector, and the feasible vector that it is drawn to."""

    weights: FloatArray
    c: FloatArray
    f: FloatArray


class SplitFrankWolfe(Pruned):
    r"""Drive an achievable C and a feasible F together by an augmented Lagrangian.

    .. math:: \mathcal{L} = \psi(C) + \psi(F) + \langle \lambda, C - F \rangle + \frac{\zeta}{2} \|C - F\|^2

    Each step moves C towards the oracle's answer to :math:`\nabla_C \mathcal{L}`, F towards the cheapest
    feasible point for :math:`\nabla_F \mathcal{L}` (a linear program when the constraints are linear), and
    :math:`\lambda` by :math:`\eta` times their difference. The answer is the C of the second half that is
    nearest to its F, pruned.

    Line 11 of the paper divides :math:`\eta` by t as well. The appendix's schedule, which it takes from
    Gidel et al., is a schedule of the step itself; divided once more, the multipliers hardly move and C and F
    stay apart.

    Symbols: ``c``, ``f``, ``lam`` are :math:`C^t, F^t, \lambda^t`; ``eta`` and ``gamma`` the steps.

    Parameters
    ----------
    zeta : float
        Weight of the quadratic penalty.
    eta : float, optional
        Step of the multipliers; by default 0.5, 0.1 and 0.001 in the three thirds of the run.
    line_search : bool
        Choose :math:`\gamma^t` by a line search on the Lagrangian, in place of :math:`2 / (t + 2)`.
    prune : {"objective", "linear", "none"}
        With constraints: the best mixture of all rules found, the linear program of section 8.2, or the
        iterate as it is.
    as_published : bool
        Begin with one rule rather than with rules that have a feasible mixture, and return the iterate as it is.

    Examples
    --------
    >>> import numpy as np
    >>> import metricfit as mf
    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> few, y = [mf.coverage(1) <= 0.25], [0, 0, 1, 1]
    >>> result = mf.optimize(proba, y, "h_mean", few, method="split_frank_wolfe", max_calls=100)
    >>> round(result.value, 4), result.constraints[0].value <= 0.25
    (0.6667, True)
    """

    name = "split_frank_wolfe"
    reference = "Algorithm 5"
    accepts = frozenset({Curvature.LINEAR, Curvature.CONVEX})
    needs_smooth = True
    constrained = True
    step_option = "eta"
    default_calls = 10_000

    def __init__(
        self,
        zeta: float = 10.0,
        eta: float | None = None,
        line_search: bool = False,
        prune: Prune = "objective",
        as_published: bool = False,
    ) -> None:
        self.zeta = positive("zeta", zeta)
        self.eta = None if eta is None else positive("eta", eta)
        self.line_search, self.prune, self.as_published = line_search, check_prune(prune), as_published

    def steps(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield the achievable iterate; in the second half only when it is nearer to F than ever."""
        walk.expect(walk.budget.max_calls)
        yield from self.opened(program, walk)
        half, nearest = (walk.budget.left) / 2, np.inf
        for t, pair in enumerate(self.pairs(program, walk), 1):
            apart = float(np.linalg.norm(pair.c - pair.f))
            if t <= half or apart < nearest:
                nearest = apart if t > half else np.inf
                yield Iterate(pair.weights.copy(), pair.c)

    def pairs(self, program: Program, walk: Walk) -> Iterator[Pair]:
        """Yield the achievable and the feasible iterate after each call."""
        feasible = feasible_set(program, Domain.of(program, walk.oracle.margins))
        weights = np.zeros(walk.budget.max_calls + len(walk.vertices))
        weights[0] = 1.0
        c, lam = walk.vectors[0], np.zeros(program.constant.size)
        f = feasible(program.objective.gradient(program.uniform(walk.oracle.margins)))
        steps = walk.budget.left
        for t in range(1, steps + 1):
            pull = lam + self.zeta * (c - f)
            place = walk.call(program.objective.gradient(c) + pull)
            c_new = walk.vectors[place]
            f_new = feasible(program.objective.gradient(f) - pull)
            gamma = self._search(program, c, c_new, f, f_new, lam) if self.line_search else 2 / (t + 2)
            weights *= 1 - gamma
            weights[place] += gamma
            c, f = (1 - gamma) * c + gamma * c_new, (1 - gamma) * f + gamma * f_new
            eta = SCHEDULE[min(3 * (t - 1) // steps, 2)] if self.eta is None else self.eta
            lam = lam + eta * (c - f)
            yield Pair(weights[: place + 1], c, f)

    def _search(
        self,
        program: Program,
        c: FloatArray,
        c_new: FloatArray,
        f: FloatArray,
        f_new: FloatArray,
        lam: FloatArray,
    ) -> float:
        """Return the step that minimises the augmented Lagrangian along both moves (line 7)."""
        from scipy.optimize import minimize_scalar

        def lagrangian(gamma: float) -> float:
            at_c, at_f = (1 - gamma) * c + gamma * c_new, (1 - gamma) * f + gamma * f_new
            apart = at_c - at_f
            both = program.value(at_c) + program.value(at_f)
            return float(both + lam @ apart + self.zeta / 2 * apart @ apart)

        return float(minimize_scalar(lagrangian, bounds=(0.0, 1.0), method="bounded").x)


def feasible_set(program: Program, domain: Domain) -> Callable[[FloatArray], FloatArray]:
    """Return the function ``direction -> cheapest F`` of the domain where all constraints hold (line 6)."""
    nodes = program.bounds
    if not nodes:
        return domain.cheapest
    if all(is_polyhedral(node) for node in nodes):
        body = Polyhedron(domain.low.size)
        for node in nodes:
            body.limit(node, node)
        solve = LinearStep(domain, body)
        rest = np.zeros(solve.size - domain.low.size)
        return lambda direction: solve(np.concatenate([direction, rest])).u
    cone = ConeProgram(domain, None, kept=nodes)
    return lambda direction: cone(direction).u
