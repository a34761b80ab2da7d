"""Rules to start from: plain argmax (the 0-1 loss), the balanced rule, rules that give all rows the same decision."""

from __future__ import annotations

import numpy as np

from metricfit.data.layout import shape_of, statistic
from metricfit.methods.base import Walk
from metricfit.oracles.base import Vertex
from metricfit.problem import Program
from metricfit.types import FloatArray


def diagonal_loss(program: Program, gain: FloatArray) -> FloatArray:
    """Return the loss ``-gain[i]`` of deciding class i rightly; ``gain`` is for all cells or has a row for each.

    Decisions that the problem does not tell apart get the same gain, so that among them the most probable class wins.
    """
    axes = program.axes
    if program.layout == "full":
        return -np.broadcast_to(gain, (len(axes.cells), axes.n))[:, :, None] * axes.right
    loss = np.zeros(shape_of(program.layout, axes))
    named = np.flatnonzero(axes.match >= 0)
    loss[:, 0, named] = -np.broadcast_to(gain, (len(axes.cells), axes.n))[:, axes.match[named]]
    return program.even(loss)


def constant_rules(program: Program, margins: FloatArray) -> list[Vertex]:
    """Return the rules that give every row the same decision; their statistics need no pass over the rows."""
    axes, found = program.axes, []
    for j in range(axes.k):
        tensor = np.zeros(axes.shape)
        tensor[:, :, j] = margins
        loss = np.zeros(shape_of(program.layout, axes))
        loss[:, 1 if program.layout == "diagonal" else slice(None), j] = -1.0
        found.append(Vertex(loss, statistic(tensor, program.layout, axes)))
    return found


def argmax_loss(program: Program) -> FloatArray:
    """Return the 0-1 loss, whose rule is the most probable class: the paper's Plugin[0-1]."""
    return diagonal_loss(program, np.ones(program.axes.n))


def balanced_loss(program: Program, margins: FloatArray) -> FloatArray:
    """Return the balanced loss, whose rule weighs classes by their inverse prior: the paper's Plugin(bal)."""
    prior = margins.sum(axis=0)
    return diagonal_loss(program, np.divide(1.0, prior, out=np.zeros(prior.size), where=prior > 0))


def plain_losses(program: Program, margins: FloatArray) -> list[FloatArray]:
    """Return the losses of plain rules: Plugin[0-1], Plugin(bal), and argmax among the classes that occur in each cell.

    By labels, deciding a class that does not occur in a cell is never right: its precision there can only be 0.
    """
    losses = [argmax_loss(program), balanced_loss(program, margins)]
    there = margins > 0
    if np.any(there != there.any(axis=0)):
        losses.append(diagonal_loss(program, there.astype(float)))
    return losses


def first_rules(program: Program, walk: Walk) -> None:
    """Ask for Plugin(bal) and Plugin[0-1], unless the walk already has rules to start from."""
    if not walk.vertices:
        walk.ask(balanced_loss(program, walk.oracle.margins))
        walk.ask(argmax_loss(program))
