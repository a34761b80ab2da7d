"""The constants of Theorems 13 and 17: the Lipschitz constant L, the room r of Assumption 1, Lambda and Xi."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from metricfit.functions.extremes import Largest
from metricfit.functions.sums import Stack
from metricfit.methods.base import Walk
from metricfit.methods.dual.pruning import EXACT, mixture, whole_mixture
from metricfit.methods.starts import constant_rules
from metricfit.problem import Program
from metricfit.types import FloatArray


class Constants(NamedTuple):
    """L, 1/r, the radius of Lambda and the largest sum of the multipliers in Xi."""

    lipschitz: float
    inverse_room: float
    lambda_max: float
    mu_max: float

    @classmethod
    def of(cls, program: Program, walk: Walk, room: float | str, given: Mapping[str, float]) -> Constants:
        """Return those that are given, and estimates of the others from where ``room`` says."""
        points = [program.uniform(walk.oracle.margins)]
        if room == "mixture":
            first = mixture(program, walk)
            points.append((points[0] + first.u) / 2)
            inverse = max(sum(float(mu.sum()) for mu in first.multipliers or ()), 1.0)
        else:
            inverse = _inverse_room(program, walk, room) if program.limits else 0.0
        inverse = inverse if program.limits else 0.0
        lipschitz = given.get("lipschitz", slope(program, points))
        ball = given.get("lambda_max", 2 * lipschitz * (1 + inverse))
        return cls(lipschitz, inverse, ball, given.get("mu_max", 2 * inverse))

    def steps(self, calls: int, program: Program) -> tuple[float, float]:
        """Return the step sizes of Theorem 13, and with constraints of Theorem 17."""
        reach = 4 * (1 + self.inverse_room) * self.lipschitz + 2 * self.inverse_room
        length, functions = np.sqrt(2 * max(calls, 1)), sum(node.size for node in program.bounds)
        return 1 / (reach * length), reach / ((1 + 2 * np.sqrt(functions)) * length)


def slope(program: Program, points: list[FloatArray]) -> float:
    """Return the largest slope of the objective and the constraints at some points."""
    nodes = [program.objective, *(Largest(node) for node in program.bounds)]
    return max(float(np.linalg.norm(node.gradient(u))) for node in nodes for u in points) or 1.0


def _inverse_room(program: Program, walk: Walk, room: float | str) -> float:
    """Return 1/r: of a given r, or of the largest margin by which a classifier that ignores the rows is feasible."""
    if not isinstance(room, str):
        return 1 / room
    margins = walk.oracle.margins
    constants = np.stack([program.vector(rule.statistic) for rule in constant_rules(program, margins)])
    worst = replace(program, objective=Largest(Stack(program.bounds)), limits=())
    margin = -worst.value(whole_mixture(worst, constants, program.uniform(margins)).u)
    if margin <= EXACT:
        raise ValueError(
            "no classifier that ignores the rows keeps all constraints strictly, so that r of Assumption 1 is "
            "unknown; give room, by how much some classifier keeps all of them: GDA(room=0.01), and within "
            "bisection Bisection(inner=GDA(room=0.01, as_published=True))"
        )
    return 1 / margin
