"""The face of the mixtures on which limits hold that the columns keep only with equality.

A precision that no row reaches is kept only by never deciding so. Then no mixture keeps the limit with a margin, and an
interior-point solver, which leaves a little weight on every column, ends with the precision of next to nothing. As in
the presolve of linear programs, such a limit forces the weights of all columns that take something from it to 0; they
are left out, and so is the limit. Its multiplier follows from the columns: it makes those that were left out no better
than the ones that are kept. Limits that no mixture of any rules breaks are left out, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from metricfit.methods.master.columns import Columns, Solution
from metricfit.methods.master.ratio_level import level_goal
from metricfit.problem import Program
from metricfit.types import BoolArray, FloatArray

# Sums of shares are known up to this: what takes no more than this from a limit takes nothing.
ROUNDING = 1e-12
# The multiplier of a limit that forces columns out may be any that is large enough. A larger one than the columns so
# far demand spares calls for rules that would be forced out, too.
AMPLE = 2.0


@dataclass(frozen=True, eq=False)
class Row:
    """One affine function of a limit: its place, what it takes from each column, and the columns it has forced out."""

    limit: int
    place: int
    taken: FloatArray
    constant: float
    out: BoolArray


@dataclass(frozen=True, eq=False)
class Face:
    """Which columns may have weight, which rows of limits are still to be kept, and which have forced columns out."""

    program: Program
    columns: Columns
    inside: BoolArray
    kept: tuple[BoolArray, ...]
    forcing: tuple[Row, ...]

    @classmethod
    def of(cls, program: Program, columns: Columns, alpha: FloatArray) -> Face:
        """Find the face; rows that the mixture ``alpha`` of the columns keeps with a margin force none of them out."""
        kept = tuple(np.full(limit.convex.size, not limit.always) for limit in program.limits)
        inside = np.ones(len(columns), bool)
        forcing: list[Row] = []
        rows = list(_tight(program, columns, alpha, kept))
        order = np.argsort(columns.cell, kind="stable")
        starts = np.searchsorted(columns.cell[order], np.arange(len(program.axes.cells)))
        while True:
            for row in rows:
                least = np.minimum.reduceat(np.where(inside, row.taken, np.inf)[order], starts)
                if abs(float(least.sum()) + row.constant) <= ROUNDING:
                    break
            else:
                return cls(program, columns, inside, kept, tuple(forcing))
            rows.remove(row)
            kept[row.limit][row.place] = False
            forcing.append(replace(row, out=inside & (row.taken > least[columns.cell] + ROUNDING)))
            inside = inside & ~forcing[-1].out

    @property
    def is_whole(self) -> bool:
        """Whether no row is left out."""
        return all(rows.all() for rows in self.kept)

    @property
    def key(self) -> bytes:
        """Equal for faces with the same rows."""
        return b"".join(rows.tobytes() for rows in self.kept)

    @property
    def rest(self) -> Program:
        """The program without the rows that are left out."""
        pairs = zip(self.program.limits, self.kept, strict=True)
        limits = (limit if rows.all() else limit.part(rows) for limit, rows in pairs if rows.any())
        return replace(self.program, limits=tuple(limits))

    @property
    def members(self) -> Columns:
        """The columns that may have weight."""
        if self.inside.all():
            return self.columns
        members = self.columns.copy()
        members.keep(self.inside)
        return members

    def whole(self, found: Solution) -> Solution:
        """Return a solution of the rest as one of the whole program."""
        alpha = np.zeros(len(self.columns))
        alpha[self.inside] = found.alpha
        rest, multipliers = iter(found.multipliers), []
        for rows in self.kept:
            multipliers.append(np.zeros(rows.size))
            if rows.any():
                multipliers[-1][rows] = next(rest, np.zeros(rows.sum()))
        found = replace(found, alpha=alpha, multipliers=tuple(multipliers))
        if not self.forcing:
            return found
        costs = _slope(self.program, found) @ self.columns.matrix
        # A row was tight once the rows before it had forced columns out: what it costs these is theirs to outweigh.
        for row in reversed(self.forcing):
            size = self._enough(row, costs)
            multipliers[row.limit][row.place] = size
            costs = costs + size * row.taken
        return replace(found, multipliers=tuple(multipliers))

    def _enough(self, row: Row, costs: FloatArray) -> float:
        """Return a multiplier of a row that makes no column that it has forced out cheaper than those that are kept."""
        cell = self.columns.cell
        saved, taken = self._least(costs)[cell] - costs, row.taken - self._least(row.taken)[cell]
        cheaper = row.out & (saved > 0)
        return AMPLE * float((saved[cheaper] / taken[cheaper]).max(initial=0.0))

    def _least(self, each: FloatArray) -> FloatArray:
        """Return the smallest value of the columns that are kept in each cell."""
        least = np.full(len(self.program.axes.cells), np.inf)
        np.minimum.at(least, self.columns.cell[self.inside], each[self.inside])
        return least


def _tight(program: Program, columns: Columns, alpha: FloatArray, kept: Sequence[BoolArray]) -> Iterator[Row]:
    """Yield the affine rows that a mixture does not keep with a margin."""
    u, none = columns.u(columns.normalised(alpha)), np.zeros(len(columns), bool)
    for limit, (node, open_rows) in enumerate(zip(program.bounds, kept, strict=True)):
        if node.affine is None:
            continue
        for place in np.flatnonzero(open_rows & (node.value(u) >= -2 * ROUNDING)):
            weight = np.zeros(node.size)
            weight[place] = 1.0
            row = node.affine.slope(u, weight)
            constant = float(row @ program.constant + node.affine.constant[place])
            yield Row(limit, int(place), row @ columns.matrix, constant, none)


def _slope(program: Program, found: Solution) -> FloatArray:
    """Return the slope of the plane that a solution prices."""
    theta = found.theta
    if found.level_theta is not None:
        goal = level_goal(program, program.value(found.point))
        program, theta = replace(program, objective=goal), {**theta, goal: found.level_theta}
    return program.tangent(found.point, found.multipliers, theta)[0]
