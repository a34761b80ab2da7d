"""The rules that all levels share, and the mixtures of them for one level."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from metricfit.methods import Iterate
from metricfit.methods.base import Walk
from metricfit.methods.master.pool import Pool
from metricfit.methods.search.coordinate import Stage, polish, weights_of
from metricfit.methods.search.merit import merit
from metricfit.methods.search.profile import Profile
from metricfit.oracles.base import mixed
from metricfit.oracles.remembering import Remembering
from metricfit.policy import Policy
from metricfit.problem import Problem, Program
from metricfit.solving.policy_search import MOST_WEIGHTS

# The polish of a rule at a level: violations cost little at first, so that it may leave the limits for a better way in.
POLISH = (Stage(1, None, 1.0), Stage(1, None, 10.0))


@dataclass(frozen=True, eq=False)
class Shared:
    """A pool of rules on the rows that they are counted on.

    Attributes
    ----------
    program : Program
        The problem, with any limits.
    counting : Remembering
        The rows, with calibrated probabilities where the solves calibrate.
    pool : Pool
    """

    program: Program
    counting: Remembering
    pool: Pool

    @classmethod
    def of(cls, problem: Problem, counting: Remembering) -> Shared:
        """Return an empty pool of rules that an oracle counts."""
        program = problem.bind(counting.axes, counting.margins)
        return cls(program, counting, Pool(program, counting))

    def keep(self, policy: Policy) -> None:
        """Take in the rules of a policy, and all that were asked for on the way to it."""
        if policy.calibration == self.counting.calibration:
            self.counting.many(policy.losses_for(self.program.axes, self.program.layout), self.program.layout)
        self._take_new()

    def _take_new(self) -> None:
        for vertex in self.counting.take_new(self.program.layout):
            self.pool.add(vertex)

    def mixture_of(self, policy: Policy) -> Iterate | None:
        """Return a policy that was kept as a mixture of the pool's rules; None if its rules are of another kind."""
        if policy.calibration != self.counting.calibration or policy.layout != self.program.layout:
            return None
        losses = policy.losses_for(self.program.axes, self.program.layout)
        places = {vertex.loss.tobytes(): place for place, vertex in enumerate(self.pool.vertices)}
        weights = np.zeros((len(policy.rules), len(self.pool.vertices)))
        for rank, loss in enumerate(losses):
            for cell, mixture in enumerate(policy.rules):
                if rank < len(mixture):
                    weights[cell, places[loss.tobytes()]] += mixture[rank].weight
        return Iterate(weights, self.program.vector(mixed(self.pool.vertices, weights)))

    def at(self, problem: Problem) -> Program:
        """Return the program with the limits of a problem that differs in these only."""
        limits = tuple(
            limit if limit.constraint is c else replace(limit, constraint=c)
            for limit, c in zip(self.program.limits, problem.constraints, strict=True)
        )
        return replace(self.program, problem=problem, limits=limits)

    def mixed(self, program: Program, prices: int, tol: float) -> Iterate | None:
        """Return the best mixture of the rules and of ``prices`` new ones; None if no mixture keeps the limits.

        By labels, what prices ask for need not be the best rule. There the labels are searched, too.
        """
        found = self.pool.mix(program, prices, tol)
        if prices and not self.counting.exact and self._polished(program, tol):
            return self.pool.mix(program, 0, tol) or found
        return found

    def _polished(self, program: Program, tol: float) -> bool:
        """Polish the best rule for a level weight by weight, as its solve would; keep all that it becomes."""
        walk = Walk(program, self.counting, tol)
        for vertex in self.pool.vertices:
            walk.add(vertex)
        best = int(np.argmin([merit(program, u, POLISH[0].penalty) for u in walk.vectors]))
        if len(weights_of(program, walk, walk.vertices[best].loss)) > MOST_WEIGHTS:
            return False
        for _ in polish(program, walk, Profile(program), best, POLISH):
            pass
        self._take_new()
        return True
