"""A guard against overfitting: say when rows are few for the weights tuned on them; shrink if that helps."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from metricfit.data.layout import Layout
from metricfit.data.rows import Rows
from metricfit.exceptions import OverfitWarning
from metricfit.methods.base import Iterate, Method, Walk, run
from metricfit.methods.search.coordinate import FIRST
from metricfit.methods.starts import argmax_loss
from metricfit.oracles.in_memory import PluginOracle
from metricfit.problem import Program
from metricfit.types import FloatArray, IntArray

# Rows for each weight, and rows of each class, below which tuned weights are not to be trusted.
ROWS_PER_WEIGHT = 50
ROWS_PER_CLASS = 10
FOLDS = 5
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


def warn_if_few(oracle: Any, weights: int) -> None:
    """Warn when an oracle that counts labels has too few of them."""
    rows = getattr(oracle, "rows", None)
    if not isinstance(rows, Rows) or oracle.exact:
        return
    effective = len(rows) if rows.weights is None else 1 / float(np.sum(rows.weights**2))
    counts = np.bincount(rows.labels, minlength=rows.axes.n)
    rare = [rows.axes.classes[i] for i in np.flatnonzero((counts > 0) & (counts < ROWS_PER_CLASS))]
    if effective >= ROWS_PER_WEIGHT * weights and not rare:
        return
    why = f"{weights} weights are tuned on {effective:.0f} rows"
    if rare:
        have = "1 class has" if len(rare) == 1 else f"{len(rare)} classes have"
        why += f", and {have} fewer than {ROWS_PER_CLASS} rows (the first is {rare[0]!r})"
    warnings.warn(
        f"{why}: the value on new rows may be much lower. Give more rows, cross-fitted probabilities of all "
        "training rows, or method=metricfit.methods.Local(shrink=True), which goes back to plain argmax as "
        "far as held-out rows ask for it",
        OverfitWarning,
        stacklevel=2,
    )


def generalising(method: Method, program: Program, walk: Walk, best: Iterate) -> Iterate:
    """Return the best rule, moved towards plain argmax by the share that is best on held-out rows.

    ``method`` finds the rules on the rows of each fold that are not held out.
    """
    oracle = walk.oracle
    if not isinstance(oracle, PluginOracle):
        raise ValueError(
            "shrink=True holds out rows, which needs the plug-in oracle on rows in memory, got "
            f"{type(oracle).__name__}; leave shrink out"
        )
    place = int(np.argmax(best.weights if best.weights.ndim == 1 else best.weights.sum(axis=0)))
    tuned, plain = walk.vertices[place].loss, argmax_loss(program)
    share = _best_share(method, program, walk, oracle, plain)
    if share == 1.0:
        return best
    vertex = oracle(between(plain, tuned, share, program.layout), program.layout)
    walk.calls += 1
    return walk.single(walk.add(vertex))


def between(plain: FloatArray, tuned: FloatArray, share: float, layout: Layout) -> FloatArray:
    """Return the loss a share of the way from one to another; factors of probabilities on a log scale."""
    if layout == "full":
        size = np.abs(plain).mean() / np.abs(tuned).mean()
        return (1 - share) * plain + share * size * tuned
    named = (plain[:, 0] != 0) & (tuned[:, 0] < 0)
    # Neither a common factor of all scores nor a constant added to them changes a decision.
    tuned = tuned / np.exp(np.mean(np.log(-tuned[:, 0][named])))
    mixed = (1 - share) * plain + share * tuned
    mixed[:, 0][named] = -np.exp(share * np.log(-tuned[:, 0][named]))
    return mixed


def _best_share(
    method: Method, program: Program, walk: Walk, oracle: PluginOracle, plain: FloatArray
) -> float:
    """Return the share of the tuned rule that is best over all held-out rows together."""
    rows = oracle.rows
    strata = rows.labels if rows.cells is None else rows.labels + rows.axes.n * rows.cells
    counts = np.bincount(strata)
    folds = int(min(FOLDS, counts[counts > 0].min()))
    if folds < 2:
        return 1.0  # no row of some class can be spared
    fold = _folds(strata, folds, walk.seed)
    kind: Literal["model", "labels"] = "model" if oracle.exact else "labels"
    sums = np.zeros((len(SHARES), *plain.shape))
    for f in range(folds):
        inner = PluginOracle(_part(rows, np.flatnonzero(fold != f)), kind)
        held = PluginOracle(_part(rows, np.flatnonzero(fold == f)), kind)
        search = Walk(
            program.problem.bind(inner.axes, inner.margins),
            inner,
            walk.tol,
            walk.max_calls,
            np.inf,
            walk.seed,
        )
        weights = run(method, search.program, search).best.weights
        place = int(np.argmax(weights if weights.ndim == 1 else weights.sum(axis=0)))
        walk.calls += search.calls + len(SHARES)
        mass = np.mean(fold == f) if rows.weights is None else rows.weights[fold == f].sum()
        for s, share in enumerate(SHARES):
            loss = between(plain, search.vertices[place].loss, share, program.layout)
            sums[s] += mass * held(loss, program.layout).statistic
    reached = [program.vector(total) for total in sums]
    merits = [program.value(u) + FIRST * max(program.violation(u), 0.0) for u in reached]
    return SHARES[int(np.argmin(merits))]


def _folds(strata: IntArray, folds: int, seed: int | None) -> IntArray:
    """Return the fold of each row, drawn such that every stratum is spread evenly over all folds."""
    order = np.random.default_rng(seed if seed is not None else 0).permutation(strata.size)
    order = order[np.argsort(strata[order], kind="stable")]
    fold = np.empty(strata.size, np.int64)
    fold[order] = np.arange(strata.size) % folds
    return fold


def _part(rows: Rows, taken: IntArray) -> Rows:
    weights = None if rows.weights is None else rows.weights[taken] / rows.weights[taken].sum()
    cells = None if rows.cells is None else rows.cells[taken]
    return replace(rows, proba=rows.proba[taken], labels=rows.labels[taken], cells=cells, weights=weights)
