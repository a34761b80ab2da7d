"""One deterministic rule for each cell, as close to the cell's mixture as possible: ``randomize="never"``.

A deterministic rule is a plug-in rule like any other: a loss L and the decision ``argmin_j sum_i p_i(x) L[i, j]``, ties
to the larger index, on the calibrated probabilities if the policy has a calibration. The policy stores it as a rule of
weight 0, which `Policy.single` names. It is searched for between rules of the mixture: ``L = (1 - t) L_r + t L_s``. As
t goes from 0 to 1 each row on which the two rules differ passes from one decision to the other, sometimes through a
third: the ratio of its costs under the two losses is a second score, and t is a threshold on it. Where probabilities
are continuous, the counts change without jumps, and t is set so that constraints hold as exactly as under the mixture.

Rows on which all rules of a cell agree get the same decision for every t, so only the other rows are looked at.

On counted labels the best t may miss the mixture's value slightly, because no rule between two others is optimal for
these very labels. Then columns of L are moved, each time by just enough to change a few rows, as long as that helps.

Rows whose scores are equal up to rounding are decided alike, and no row is nearer to a tie than that: what a rule keeps
here, its exports keep too. See `metricfit.policy.near_ties`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np

from metricfit.data.axes import Axes
from metricfit.data.layout import Layout, statistic
from metricfit.data.rows import Rows
from metricfit.kernels.counting import decide
from metricfit.policy.near_ties import Margins, atoms, cheapest, has_near_ties
from metricfit.problem import Program
from metricfit.types import BoolArray, FloatArray, IntArray

# The search between two rules: how many values of t are tried at a time, how often the interval around the best one is
# searched more finely, and how often each cell is visited.
POINTS, ZOOMS, SWEEPS = 13, 2, 2
# How many pairs of rules are searched between, in a cell of many rules, and how many of these more finely.
WAYS, ZOOMED = 12, 3
# How many rows a move of a column changes, and what a unit of violation costs in each round of moves: little at first,
# because two moves that help together may each break a limit.
MOVED, TOLLS = (1, 3, 10, 30, 100, 300), (2.0, 2.0, 4.0, 8.0, 16.0, np.inf, np.inf)
# How many probabilities are decided in one call; in a cell of few rows the call takes longer than the work.
BLOCK = 1 << 18

Rank = tuple[float, float]


class Members:
    """Some rows of one cell: what decisions on them cost, and what they add to a statistic.

    ``mass`` (rows, n) says how much of each row is counted as each class.
    """

    def __init__(self, proba: FloatArray, mass: FloatArray, layout: Layout, axes: Axes) -> None:
        self.proba, self.mass, self.layout, self.axes = proba, mass, layout, axes

    def some(self, places: Any) -> Members:
        """Return some of the rows."""
        return Members(self.proba[places], self.mass[places], self.layout, self.axes)

    def decided(self, losses: FloatArray) -> IntArray:
        """Return the decisions of the rule of each of some losses, one rule in each row."""
        most = max(1, BLOCK // max(self.proba.size, 1))
        parts = (losses[first : first + most] for first in range(0, len(losses), most))
        return np.concatenate([self._decided(part) for part in parts])

    def _decided(self, losses: FloatArray) -> IntArray:
        """Decide by several rules in one call, in which each rule stands for a cell with a copy of the rows."""
        rules, rows = len(losses), len(self.proba)
        proba = self.proba if rules == 1 else np.tile(self.proba, (rules, 1))
        rule = np.repeat(np.arange(rules, dtype=np.int32), rows)
        return decide(proba, rule, losses, self.axes.match, layout=self.layout).reshape(rules, rows)

    def margins(self, loss: FloatArray) -> Margins:
        """Return how far the rows are from ties under the rule of a loss."""
        return Margins.of(self.proba, loss, self.layout, self.axes)

    def counted(self, made: IntArray, rows: IntArray | None = None) -> FloatArray:
        """Return a statistic for each row of ``made``: its decisions counted on all of the rows, or on some."""
        rows = np.arange(len(self.mass)) if rows is None else rows
        made, tables, k = made[:, rows], len(made), self.axes.k
        if self.layout == "full":
            tensors = ((made[:, None] == np.arange(k)[:, None]) @ self.mass[rows]).swapaxes(1, 2)
            return statistic(tensors, self.layout, self.axes).reshape(tables, -1)
        named = self.axes.match[made]
        right = np.where(named >= 0, self.mass[rows, np.maximum(named, 0)], 0.0)
        places, whole = made + k * np.arange(tables)[:, None], np.broadcast_to(self._whole[rows], made.shape)
        sums = [np.bincount(places.ravel(), part.ravel(), tables * k) for part in (right, whole)]
        return np.stack(sums, dtype=float).reshape(2, tables, k).swapaxes(0, 1).reshape(tables, -1)

    @cached_property
    def _whole(self) -> FloatArray:
        return np.asarray(self.mass.sum(axis=1))


class Cell:
    """The rows of one cell, those among them on which its rules differ, and what decisions on them add to u."""

    def __init__(self, program: Program, rows: Rows, soft: bool, cell: int, losses: FloatArray) -> None:
        inside = np.arange(len(rows)) if rows.cells is None else np.flatnonzero(rows.cells == cell)
        proba = rows.proba[inside]
        weights = np.full(len(rows), 1 / len(rows)) if rows.weights is None else rows.weights
        chances = np.asarray(proba, float) if soft else np.eye(program.axes.n)[rows.labels[inside]]
        # Axes without attributes: the statistic of a cell has the shape of one cell.
        self.axes, self.layout = Axes(program.axes.classes, program.axes.decisions), program.layout
        self.every = Members(proba, chances * weights[inside, None], self.layout, self.axes)
        size = 2 * self.axes.k if self.layout == "diagonal" else self.axes.n * self.axes.k
        self.table = program.matrix[:, cell * size : (cell + 1) * size]
        made = self.every.decided(losses)
        differ = (made != made[0]).any(axis=0)
        self.differing = self.every.some(differ)
        self.agreed = self.every.counted(made[:1], np.flatnonzero(~differ))
        self.pure = self._share(self.differing.counted(made[:, differ]) + self.agreed)

    def share(self, loss: FloatArray) -> FloatArray:
        """Return what the cell adds to u under the rule of a loss between those of the cell."""
        return self.shares(loss[None])[0]

    def shares(self, losses: FloatArray) -> FloatArray:
        """Return what the cell adds to u under each of some rules, one in each row."""
        return self._share(self.differing.counted(self.differing.decided(losses)) + self.agreed)

    def _share(self, counted: FloatArray) -> FloatArray:
        return np.asarray((self.table @ counted.T).T)

    def moves(self, loss: FloatArray) -> tuple[list[tuple[int, float]], FloatArray]:
        """Return moves, each a column and a step that changes a few rows, and what each move adds to u.

        A decision that gets cheaper is taken by the rows for which it was nearly the cheapest, one that gets dearer is
        left by the rows for which another was nearly as cheap; so the rows that change are known without deciding all.
        """
        made, behind, slack, _ = self.every.margins(loss)
        mass = self.every.mass
        n, k, rows = self.axes.n, self.axes.k, np.arange(len(mass))
        behind[rows, made] = np.inf
        second = cheapest(behind)
        # For each decision, how far rows are from taking it, and how far its own rows are from leaving it.
        away = np.full((k, 2, rows.size), np.inf)
        away[:, 0] = behind.T
        away[made, 1, rows] = behind[rows, second]
        order = _nearest(away)
        near = np.take_along_axis(away, order, -1)
        other = np.where(np.arange(2)[:, None] == 0, np.arange(k)[:, None, None], second[order])
        ends, new = _changes(near, np.where(np.isfinite(near), slack[order, other], 0.0))
        if not new.any():
            return [], np.zeros((0, self.table.shape[0]))
        column, side, count = np.nonzero(new)
        last = ends[column, side, count]
        steps = np.where(side == 0, -1, 1) * (near[column, side, last - 1] + near[column, side, last]) / 2
        # A row belongs to the first number of changed rows that includes it, and thereby to all larger ones.
        group = (ends[..., None] <= np.arange(order.shape[-1])).sum(axis=2)
        *line, place = np.nonzero(group < ends.shape[-1])
        which = line[0], line[1], group[*line, place]
        row = order[*line, place]
        taken = np.where(line[1] == 0, line[0], second[row])
        change = np.zeros((*ends.shape, n, k))
        for decision, sign in ((taken, 1.0), (made[row], -1.0)):
            flat = np.ravel_multi_index((*which, decision), (*ends.shape, k))
            change += sign * _summed(flat, mass[row], ends.size * k).reshape(*ends.shape, k, n).swapaxes(
                -1, -2
            )
        tensors = change.cumsum(axis=2)[new]
        counted = statistic(tensors, self.layout, self.axes).reshape(last.size, self.table.shape[1])
        return list(zip(column.tolist(), steps.tolist(), strict=True)), self._share(counted)

    def moved(self, loss: FloatArray, column: Any, step: float) -> tuple[FloatArray, FloatArray]:
        """Return a loss with a column (or several) moved, and what the cell then adds to u."""
        loss = loss.copy()
        loss[1 if self.layout == "diagonal" else slice(None), column] += step
        made = self.every.decided(loss[None])
        return loss, self._share(self.every.counted(made))[0]

    def cleared(
        self, loss: FloatArray, rest: FloatArray, ranks: Callable[[FloatArray], list[Rank]]
    ) -> tuple[FloatArray, FloatArray]:
        """Return a loss under which no row is near a tie, and what the cell then adds to u.

        A loss that has near ties is moved to the side of them that ranks best, together with what the other cells add
        (``rest``); of equally good sides to the one that changes the fewest rows.
        """
        made = self.every.decided(loss[None])
        share = self._share(self.every.counted(made))[0]
        # Each move clears the ties of one decision, or of decisions that cost the same.
        for _ in range(self.axes.k):
            moves = self.every.margins(loss).clearing()
            if not moves:
                break
            tried = [self.moved(loss, *move) for move in moves]
            after = self.every.decided(np.stack([moved for moved, _ in tried]))
            changed = (after != made).sum(axis=1).tolist()
            ranked = list(zip(ranks(rest + np.stack([there for _, there in tried])), changed, strict=True))
            best = ranked.index(min(ranked))
            (loss, share), made = tried[best], after[best]
        return loss, share


def _summed(place: IntArray, parts: FloatArray, size: int) -> FloatArray:
    """Return the sum of the rows of ``parts`` at each of ``size`` places."""
    width = parts.shape[1]
    flat = (place[:, None] * width + np.arange(width)).ravel()
    return np.asarray(np.bincount(flat, parts.ravel(), size * width).reshape(size, width), float)


def _nearest(away: FloatArray) -> IntArray:
    """Return the places, in ascending order, of what is nearest along the last axis: enough for all of `MOVED`."""
    most = min(MOVED[-1] + 1, away.shape[-1])
    if most < away.shape[-1]:
        order: IntArray = np.argpartition(away, most - 1)[..., :most]
    else:
        order = np.broadcast_to(np.arange(most), away.shape)
    return np.take_along_axis(order, np.argsort(np.take_along_axis(away, order, -1), kind="stable"), -1)


def _changes(near: FloatArray, slack: FloatArray) -> tuple[IntArray, BoolArray]:
    """Return numbers of rows that can change at once, rows that are equally near up to rounding together.

    Parameters
    ----------
    near, slack : arrays
        Distances in ascending order, where infinite ones never change, and the rounding of each.

    Returns
    -------
    ends, new : arrays
        A number of rows for each of `MOVED`, and which of them differ from the one before and leave a row unchanged.
    """
    counts = np.array([count for count in MOVED if count <= near.shape[-1]], np.int64)
    atom = atoms(near, slack)
    ends = (atom[..., None, :] <= atom[..., counts - 1, None]).sum(axis=-1)
    new = ends < np.isfinite(near).sum(axis=-1, keepdims=True)
    new[..., 1:] &= ends[..., 1:] != ends[..., :-1]
    return ends, new


def deterministic(
    program: Program, rows: Rows, soft: bool, mixtures: list[tuple[FloatArray, FloatArray]]
) -> tuple[list[FloatArray | None], FloatArray | None]:
    """Return the loss of one rule for each cell, and their u; constraints come first, then the objective.

    A cell whose only rule is clear of ties needs no other.

    Parameters
    ----------
    program : Program
        Objective and constraints, bound.
    rows : Rows
        The rows, or a sample of them.
    soft : bool
        Whether rows count by their probabilities and not by their labels.
    mixtures : list of (weights, losses)
        For each cell the weights (R,) and the losses (R, s, k) of its rules.

    Returns
    -------
    losses : list of ndarrays of shape (s, k) or None
        None where the cell's only rule decides alone as it is.
    u : ndarray or None
        The generalised confusion vector of these rules on the rows; None if all cells keep their only rules.
    """
    if not _needed(program, rows, mixtures):
        return [None] * len(mixtures), None
    cells = [Cell(program, rows, soft, a, losses) for a, (_, losses) in enumerate(mixtures)]
    first = [losses[int(np.argmax(weights))] for weights, losses in mixtures]
    chosen = list(first)
    # All cells start with their mixtures, so that each rule is chosen while the cells after it are still mixed.
    shares = [
        sum(w * share for w, share in zip(weights, cell.pure, strict=True))
        for (weights, _), cell in zip(mixtures, cells, strict=True)
    ]
    total = program.constant + sum(shares)

    def ranks(points: FloatArray) -> list[Rank]:
        missed, value = program.violations(points), program.objective.value(points)[:, 0]
        return list(zip(np.where(missed > 1e-9, missed, 0.0).tolist(), value.tolist(), strict=True))

    def rank(u: FloatArray) -> Rank:
        return ranks(u[None])[0]

    for sweep in range(SWEEPS):
        before = rank(total)
        for a, (weights, losses) in enumerate(mixtures):
            if len(weights) == 1:
                continue
            rest = total - shares[a]

            def ranked(some: FloatArray, cell: Cell = cells[a], rest: FloatArray = rest) -> list[Rank]:
                return ranks(rest + cell.shares(some))

            known = None if sweep == 0 else (ranked(chosen[a][None])[0], chosen[a])
            chosen[a] = _best(losses, weights, ranked, known)
            shares[a] = cells[a].share(chosen[a])
            total = rest + shares[a]
        if sweep and not rank(total) < before:
            break
    for a, cell in enumerate(cells):
        rest = total - shares[a]
        chosen[a], shares[a] = cell.cleared(chosen[a], rest, ranks)
        total = rest + shares[a]
    mixed = [a for a, (weights, _) in enumerate(mixtures) if len(weights) > 1]
    kept = rank(total), list(chosen), total
    for toll in () if soft else TOLLS:

        def merits(points: FloatArray, toll: float = toll) -> list[Rank]:
            if np.isinf(toll):
                return ranks(points)
            broken = np.maximum(program.violations(points), 0.0)
            return [
                (0.0, merit) for merit in (program.objective.value(points)[:, 0] + toll * broken).tolist()
            ]

        for a in mixed:
            moves, changes = cells[a].moves(chosen[a])
            if not moves:
                continue
            tried = merits(total + changes)
            loss, share = cells[a].moved(chosen[a], *moves[tried.index(min(tried))])
            after = total - shares[a] + share
            if merits(after[None]) < merits(total[None]):
                chosen[a], shares[a], total = loss, share, after
        if rank(total) < kept[0]:
            kept = rank(total), list(chosen), total
    # What a cell with one rule chose is that rule itself, unless near ties had to be cleared.
    alone = [
        None if loss is start and len(weights) == 1 else loss
        for loss, start, (weights, _) in zip(kept[1], first, mixtures, strict=True)
    ]
    return alone, kept[2]


def _needed(program: Program, rows: Rows, mixtures: list[tuple[FloatArray, FloatArray]]) -> bool:
    """Return whether some cell has several rules, or one under which some of its rows are near a tie."""
    if any(len(weights) > 1 for weights, _ in mixtures):
        return True
    places = [slice(None)] if rows.cells is None else [rows.cells == a for a in range(len(mixtures))]
    return any(
        has_near_ties(rows.proba[some], losses[0], program.layout, program.axes)
        for some, (_, losses) in zip(places, mixtures, strict=True)
    )


def _best(
    losses: FloatArray,
    weights: FloatArray,
    ranked: Callable[[FloatArray], list[Rank]],
    known: tuple[Rank, FloatArray] | None,
) -> FloatArray:
    """Return the best loss on the lines between the rules of a cell."""
    size = np.linalg.norm(losses.reshape(len(losses), -1), axis=1)
    scaled = losses / np.where(size > 0, size, 1.0)[:, None, None]
    order = np.argsort(-weights, kind="stable")
    ends = [(scaled[r], scaled[s]) for r, s in permutations(order, 2) if r < s]
    if len(losses) > 2:
        ends += [
            (scaled[r], np.average(np.delete(scaled, r, 0), 0, np.delete(weights, r) + 1e-12)) for r in order
        ]
    first, second = (np.stack(side)[:, None] for side in zip(*ends[:WAYS], strict=True))
    low, high = np.zeros(len(first)), np.ones(len(first))
    seen: list[tuple[Rank, FloatArray]] = [] if known is None else [known]
    for _ in range(1 + ZOOMS):
        points = np.linspace(low, high, POINTS, axis=1)
        share = points[:, :, None, None]
        tried = (1 - share) * first + share * second
        ranks = ranked(
            tried.reshape(-1, *losses.shape[1:])
        )  # all lines in one call: constraints of many groups have many rows
        mine = [ranks[start : start + POINTS] for start in range(0, len(ranks), POINTS)]
        place = np.array([some.index(min(some)) for some in mine])
        seen += [(some[at], tried[way, at]) for way, (some, at) in enumerate(zip(mine, place, strict=True))]
        # Python's sort is stable: of equally good lines the first ones are kept, which are those of the heaviest rules.
        kept = sorted(range(len(mine)), key=lambda way: mine[way][place[way]])[:ZOOMED]
        first, second, place = first[kept], second[kept], place[kept]
        low, high = (points[kept, (place + step).clip(0, POINTS - 1)] for step in (-1, 1))
    return min(seen, key=_rank)[1]  # the first of equally good ones


def _rank(found: tuple[Rank, FloatArray]) -> Rank:
    return found[0]
