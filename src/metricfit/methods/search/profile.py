"""Objective and constraints of a program along a scan, at every breakpoint.

A metric reads a few entries of u; a mean of ratios over the classes (macro-F1) reads two of each class, but a row that
changes its decision changes only two of the ratios. Such means are therefore updated row by row, and only the entries
of u that other metrics read are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from metricfit.functions.expression import Entries, Node, nodes_of
from metricfit.functions.matrices import dense, quick
from metricfit.functions.nonlinear import Quotient
from metricfit.kernels.scan import Scan
from metricfit.kernels.scan_line import Line
from metricfit.kernels.sums_along_line import NO_WEIGHT, entries_along
from metricfit.methods.search.ratios import RatioCombination, Ratios
from metricfit.problem import Limit, Program
from metricfit.types import FloatArray, IntArray

# How many numbers are held in memory at a time.
BLOCK = 2**21
# Up to this many entries of u are summed one by one, more of them by a sparse matrix.
FEW = 16


class Series(NamedTuple):
    """The minimised objective and the largest violation (in units of the metrics) at some points of a line."""

    value: FloatArray
    violation: FloatArray

    def merit(self, penalty: float) -> FloatArray:
        """Return the objective plus a penalty on violations."""
        return self.value + penalty * np.maximum(self.violation, 0.0)


class Profile:
    """A program, reduced to what must be computed along a line."""

    def __init__(self, program: Program) -> None:
        self.program = program
        parts = [program.objective, *(limit.metric for limit in program.limits)]
        self.exact = not any(node.one_by_one for part in parts for node in nodes_of(part))
        self.ratios: list[Ratios] = []
        self._places: dict[tuple[int, int], int] = {}
        self._width = 0
        kept = np.arange(program.constant.size)
        if self.exact:
            parts = [self._reduced(part) for part in parts]
            kept = np.concatenate([kept[:0], *(kept[start:stop] for start, stop in self._places)])
            # The sums of ratios come after the entries, whose number is known only now.
            parts = [_shifted(part, kept.size) for part in parts]
        self.objective, self.metrics = parts[0], parts[1:]
        affine = None if program.limits else RatioCombination.of(program.objective, program)
        self.only = affine.terms[0] if affine is not None and len(affine.terms) == 1 else None
        self.matrix, self.constant = quick(program.matrix[kept]), program.constant[kept]
        dense_enough = isinstance(self.matrix, np.ndarray) and kept.size <= FEW
        self._narrow = dense_enough and program.layout == "diagonal"

    def _reduced(self, node: Node) -> Node:
        ratios = Ratios.of(node, self.program)
        if ratios is not None:
            self.ratios.append(ratios)
            return Entries(-len(self.ratios), 1 - len(self.ratios), np.zeros(1), np.ones(1))
        if isinstance(node, Entries):
            if (node.start, node.stop) not in self._places:
                self._places[node.start, node.stop] = self._width
                self._width += node.size
            place = self._places[node.start, node.stop]
            return replace(node, start=place, stop=place + node.size)
        return _rebuilt(node, self._reduced)

    def at(self, scan: Scan, line: Line, statistic: FloatArray, counts: IntArray | None = None) -> Series:
        """Return the series for given (ascending) numbers of entered rows, by default for all from 0 on.

        ``statistic`` is that of the rule as it is now, with ``line.here`` rows entered.
        """
        statistic = statistic + scan.change(line, 0)
        sums = [part.along(line, statistic, scan.engine) for part in self.ratios]
        if counts is not None:
            sums = [series[counts] for series in sums]
        width = self.constant.size
        if not width:
            return self._evaluated(np.stack(sums))
        u = self.matrix @ statistic.ravel() + self.constant
        if self._narrow:
            whole = entries_along(
                line.entering, scan.cell, line.decision, self.matrix, scan.rows.axes.k, u, scan.engine
            )
            points = whole if counts is None else whole[:, counts]
            return self._evaluated(np.concatenate([points, sums]) if sums else points)
        counts = np.arange(len(line) + 1) if counts is None else counts
        step, last, found = max(1, BLOCK // width), 0, []
        for begin in range(0, counts.size, step):
            block = counts[begin : begin + step]
            points = u[:, None] + self._risen(
                *scan.changes(line, last, block[-1]), block - last, statistic.size
            )
            u, last = points[:, -1].copy(), int(block[-1])
            points[np.abs(points) <= NO_WEIGHT] = 0.0
            more = [series[begin : begin + step] for series in sums]
            found.append(self._evaluated(np.concatenate([points, more]) if more else points))
        return Series(*map(np.concatenate, zip(*found, strict=True)))

    def _risen(self, data: FloatArray, places: IntArray, ends: IntArray, size: int) -> FloatArray:
        """Return what the first ``ends[g]`` rows add to u, for each g; ``places`` are entries of the statistic."""
        return np.cumsum(dense(_grouped(data, places, ends, size) @ self.matrix.T), axis=0).T

    def _evaluated(self, entries: FloatArray) -> Series:
        """Return the series at some points; ``entries`` has a row for each entry and a column for each point."""
        points = entries.T
        return Series(self.objective.value(points)[:, 0], _worst(self.program.limits, self.metrics, points))

    def between(self, start: FloatArray, end: FloatArray, shares: FloatArray) -> Series:
        """Return the series on the way from one u to another."""
        program = self.program
        points = (1 - shares)[:, None] * start + shares[:, None] * end
        metrics = [limit.metric for limit in program.limits]
        return Series(program.objective.value(points)[:, 0], _worst(program.limits, metrics, points))


def _worst(limits: Sequence[Limit], metrics: Sequence[Node], points: FloatArray) -> FloatArray:
    """Return the largest violation at each of some points, -inf without limits."""
    if not limits:
        return np.full(len(points), -np.inf)
    return reduce(np.maximum, [_violation(*pair, points) for pair in zip(limits, metrics, strict=True)])


def _violation(limit: Limit, metric: Node, points: FloatArray) -> FloatArray:
    value = metric.value(points)[:, 0]
    excess: FloatArray = limit.constraint.excess(value)
    if isinstance(metric, Quotient):  # a rate of no rows, 0 / 0, keeps every limit
        none = metric.under.value(points)[:, 0] <= 0
        excess = np.where(none, 0.0, excess) if none.any() else excess
    return excess


def _grouped(data: FloatArray, places: IntArray, ends: IntArray, width: int) -> Any:
    """Return a sparse matrix whose row g is the sum of the changes from ``ends[g - 1]`` (from 0 on) to ``ends[g]``."""
    return sp.csr_array(
        (data.T.ravel(), places.T.ravel(), np.concatenate([[0], ends]) * len(data)), (ends.size, width)
    )


def _rebuilt(node: Node, change: Any) -> Node:
    """Return a node with its parts changed."""
    changed: dict[str, Any] = {}
    for f in fields(node):
        child = getattr(node, f.name)
        if isinstance(child, Node):
            changed[f.name] = change(child)
        elif f.name == "parts":
            changed[f.name] = tuple(map(change, child))
        elif f.name == "terms":
            changed[f.name] = tuple((c, change(part)) for c, part in child)
    return replace(node, **changed) if changed else node


def _shifted(node: Node, width: int) -> Node:
    """Return a node whose sums of ratios, numbered -1, -2, ..., come after the entries."""
    if isinstance(node, Entries) and node.start < 0:
        return replace(node, start=width - node.start - 1, stop=width - node.start)
    return _rebuilt(node, lambda part: _shifted(part, width))
