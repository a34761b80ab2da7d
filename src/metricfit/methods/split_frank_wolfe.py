"""Split Frank-Wolfe for smooth convex metrics with constraints (Algorithm 5, Theorem 16 of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar, NamedTuple

import numpy as np

from metricfit.functions.curvature import Curvature
from metricfit.methods.base import Iterate, Walk
from metricfit.methods.dual.domain import Domain
from metricfit.methods.dual.inner import ConeProgram, LinearStep
from metricfit.methods.dual.paper_method import Aid, PaperMethod
from metricfit.methods.dual.pruning import Prune, check_prune
from metricfit.methods.dual.rules import Merged, stepped
from metricfit.methods.master.polyhedron import Polyhedron, is_polyhedral
from metricfit.methods.parameters import positive
from metricfit.methods.starts import balanced_loss
from metricfit.problem import Program
from metricfit.types import FloatArray

# The appendix's multiplier steps in the first, second and last third of the run.
SCHEDULE = (0.5, 0.1, 0.001)


class Pair(NamedTuple):
    """A mixture's weights and confusion vector, and the feasible vector that it is drawn to."""

    weights: FloatArray
    c: FloatArray
    f: FloatArray


class SplitFrankWolfe(PaperMethod):
    r"""Drive an achievable C and a feasible F together by an augmented Lagrangian.

    .. math:: \mathcal{L} = \psi(C) + \psi(F) + \langle \lambda, C - F \rangle + \frac{\zeta}{2} \|C - F\|^2

    Each step moves C towards the oracle's answer to :math:`\nabla_C \mathcal{L}`, F towards the cheapest
    feasible point for :math:`\nabla_F \mathcal{L}` (a linear program when the constraints are linear), and
    :math:`\lambda` by :math:`\eta` times their difference. The answer is the C of the second half that is
    nearest to its F, pruned.

    Line 11 of the paper divides :math:`\eta` by t as well (``over_t``). The appendix's schedule, which it takes from
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
    as_published : bool
        Divide the step by t, begin with the balanced rule, and return the iterate as it is.
    over_t : bool, optional
        Whether the step of the multipliers is :math:`\eta / t`.
    feasible_start : bool, optional
        Begin with rules from column generation, a mixture of which keeps the constraints.
    prune : {"objective", "whole", "linear", "none"}, optional
        The final mixture of all rules found: the best one, cell by cell or of whole rules, that of the linear
        program of section 8.2, or none: the iterate as it is.

    Examples
    --------
    >>> import numpy as np
    >>> import metricfit as mf
    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> few, y = [mf.coverage(1) <= 0.25], [0, 0, 1, 1]
    >>> given = {"method": "split_frank_wolfe", "counting": "labels", "max_calls": 100}
    >>> result = mf.optimize(proba, y, "h_mean", few, **given)
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
    aids: ClassVar = {
        "feasible_start": Aid(True, False),
        "over_t": Aid(False, True),
        "prune": Aid("objective", "none"),
    }

    def __init__(
        self,
        zeta: float = 10.0,
        eta: float | None = None,
        line_search: bool = False,
        prune: Prune | None = None,
        as_published: bool = False,
        over_t: bool | None = None,
        feasible_start: bool | None = None,
    ) -> None:
        self.zeta = positive("zeta", zeta)
        self.eta = None if eta is None else positive("eta", eta)
        self.line_search = line_search
        self.publish(as_published)
        self.prune = check_prune(self.option("prune", prune))
        self.over_t: bool = self.option("over_t", over_t)
        self.feasible_start: bool = self.option("feasible_start", feasible_start)

    def steps(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield the achievable iterate; in the second half only when it is nearer to F than ever."""
        walk.expect(walk.budget.max_calls)
        if self.feasible_start:
            yield from self.opened(program, walk)
        rules = Merged(walk)
        if not walk.vertices:
            rules.ask(balanced_loss(program, walk.oracle.margins))
        half, nearest = walk.budget.left / 2, np.inf
        for t, pair in enumerate(self.pairs(program, rules), 1):
            apart = float(np.linalg.norm(pair.c - pair.f))
            if t <= half or apart < nearest:
                nearest = apart if t > half else np.inf
                yield Iterate(pair.weights, pair.c)

    def pairs(self, program: Program, rules: Merged) -> Iterator[Pair]:
        """Yield the achievable and the feasible iterate after each call, beginning at the walk's first rule."""
        walk, gradient = rules.walk, program.objective.gradient
        feasible = feasible_set(program, Domain.of(program, walk.oracle.margins))
        weights = stepped(np.zeros(0), 0, 1.0)
        c, lam = walk.vectors[0].copy(), np.zeros(program.constant.size)
        f = feasible(gradient(program.uniform(walk.oracle.margins)))
        steps = walk.budget.left
        for t in range(1, steps + 1):
            pull = lam + self.zeta * (c - f)
            place = rules.call(gradient(c) + pull)
            c_new, f_new = walk.vectors[place], feasible(gradient(f) - pull)
            gamma = self._search(program, c, c_new, f, f_new, lam) if self.line_search else 2 / (t + 2)
            weights = stepped(weights, place, gamma)
            c, f = (1 - gamma) * c + gamma * c_new, (1 - gamma) * f + gamma * f_new
            eta = SCHEDULE[min(3 * (t - 1) // steps, 2)] if self.eta is None else self.eta
            lam = lam + eta / (t if self.over_t else 1) * (c - f)
            yield Pair(weights, c, f)

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
