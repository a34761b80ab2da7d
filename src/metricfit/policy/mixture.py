"""Mixtures: the plug-in rules of each cell and their shares."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from metricfit.data.axes import Axes
from metricfit.data.layout import Layout, expand
from metricfit.policy.row_hash import UInt64Array, salt_of, uniform, uniform_of_keys
from metricfit.types import FloatArray, IntArray, Label

WEIGHT_TOLERANCE = 1e-9
# How a row gets its rule: by a number computed from the row, by a drawn number, or the cell's single rule.
RANDOMIZE = ("hash", "draw", "never")
# Sums closer to 1 than this are left alone, so that saving and loading changes no bit.
SUMS_TO_ONE = 1e-12


@dataclass(frozen=True, eq=False)
class Rule:
    """A plug-in rule of one cell and its share in the cell's mixture.

    Parameters
    ----------
    weight : float
        The share of the cell's rows that get this rule; 0 for a rule that only decides alone (``randomize="never"``).
    loss : array-like of shape (s, k)
        The loss whose cheapest decision is taken, in the policy's layout.

    Examples
    --------
    >>> Rule(1.0, [[0, 1], [1, 0]]).loss
    array([[0., 1.],
           [1., 0.]])
    """

    weight: float
    loss: FloatArray

    def __post_init__(self) -> None:
        """Keep a read-only copy."""
        loss = np.asarray(self.loss, dtype=np.float64)
        if loss is self.loss and loss.flags.writeable:
            loss = loss.copy()
        loss.flags.writeable = False
        object.__setattr__(self, "loss", loss)
        object.__setattr__(self, "weight", float(self.weight))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the constructor: arrays come back from a pickle writeable."""
        return Rule, (self.weight, self.loss)


def shares_of(mixture: Sequence[Rule], cell: tuple[Label, ...]) -> list[float]:
    """Return the weights of a cell's rules, summing to 1."""
    where = f"cell {cell}" if cell else "the policy"
    weights = [rule.weight for rule in mixture]
    total = math.fsum(weights)
    if not weights or not min(weights) >= 0 or not abs(total - 1) <= WEIGHT_TOLERANCE:
        raise ValueError(
            f"the weights of the rules of {where} must be at least 0 and sum to 1; they are {weights[:5]}, "
            f"which sum to {total:.12g}"
        )
    return weights if abs(total - 1) <= SUMS_TO_ONE else [weight / total for weight in weights]


def singles_of(single: Sequence[int], weights: Sequence[Sequence[float]]) -> tuple[int, ...]:
    """Return for each cell the rule that decides alone: the one named, or the one with the largest weight."""
    if len(single) not in (0, len(weights)):
        raise ValueError(f"single must have one entry per cell: there are {len(weights)}, got {len(single)}")
    for index, shares in zip(single, weights, strict=False):
        if not 0 <= index < len(shares):
            raise ValueError(
                f"single must name a rule of its cell, one of {len(shares)} from 0 on; got {index}"
            )
    return tuple(map(operator.index, single)) or tuple(int(np.argmax(shares)) for shares in weights)


def _generator(random_state: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            "random_state must be a whole number >= 0, a generator or None for randomize='draw'; got "
            f"{random_state!r}"
        ) from None


class Table(NamedTuple):
    """The mixtures of all cells as arrays.

    Attributes
    ----------
    start : ndarray of shape (A,)
        The place of each cell's first rule among the rules of all cells.
    share : ndarray of shape (A, R)
        The weights, 0 beyond a cell's last rule.
    upper : ndarray of shape (A, R - 1)
        Rule r is used for numbers below ``upper[r]`` and not below ``upper[r - 1]``.
    single : ndarray of shape (A,)
        The place in each cell of the rule that decides alone.
    keys : ndarray of shape (A,)
        What the hash of a row adds for its cell.
    """

    start: IntArray
    share: FloatArray
    upper: FloatArray
    single: IntArray
    keys: UInt64Array

    @classmethod
    def of(cls, rules: Sequence[Sequence[Rule]], single: Sequence[int], keys: UInt64Array) -> Table:
        """Return the table of each cell's rules, with the one that decides alone and the `cell_keys`."""
        sizes = [len(mixture) for mixture in rules]
        share = np.zeros((len(sizes), max(sizes)))
        for row, mixture in zip(share, rules, strict=True):
            row[: len(mixture)] = [rule.weight for rule in mixture]
        upper = np.cumsum(share, axis=1)
        for row, weights in zip(upper, share, strict=True):
            # The last rule with a weight takes all that is left, whatever the sum rounds to.
            row[np.flatnonzero(weights)[-1] :] = np.inf
        return cls(np.cumsum([0, *sizes[:-1]]), share, upper[:, :-1], np.array(single), keys)

    def rule_of(
        self,
        rows: FloatArray,
        cell: IntArray,
        randomize: str,
        random_state: Any,
        words: UInt64Array | None = None,
    ) -> IntArray:
        """Return the place of each row's rule in its cell, in one of the ways of `RANDOMIZE`.

        ``words`` are the keys of the rows; if given, ``"hash"`` uses them in place of ``rows`` and cell.
        """
        if randomize == "never":
            return self.single[cell]
        if randomize == "draw":
            return self.choose(_generator(random_state).random(len(rows)), cell)
        salt = salt_of(random_state)
        if not self.upper.size:  # one rule in each cell
            return np.zeros(len(rows), dtype=np.intp)
        number = uniform(rows, cell, self.keys, salt) if words is None else uniform_of_keys(words, salt)
        return self.choose(number, cell)

    def choose(self, number: FloatArray, cell: IntArray) -> IntArray:
        """Return, for a number in [0, 1) and the cell of each row, the place of its rule in its cell.

        Examples
        --------
        >>> import numpy as np
        >>> table = Table.of([[Rule(0.25, np.eye(2)), Rule(0.75, np.eye(2))]], [1], np.zeros(1, np.uint64))
        >>> table.choose(np.array([0.2, 0.25, 0.9]), np.zeros(3, dtype=int)).tolist()
        [0, 1, 1]
        """
        chosen = np.zeros(len(number), dtype=np.intp)
        for bound in self.upper.T:
            chosen += number >= bound[cell]
        return chosen


def losses_for(
    axes: Axes, layout: Layout, rules: Sequence[Sequence[Rule]], to: Axes, to_layout: Layout
) -> list[FloatArray]:
    """Return the rules of all cells as whole losses over other cells, in another layout."""
    if (axes.classes, axes.decisions) != (to.classes, to.decisions):
        raise ValueError("a policy to start from must have the same classes and decisions, in the same order")
    if axes.cells.names not in ((), to.cells.names):
        raise ValueError(
            f"a policy to start from must have the same attributes or none; it has {axes.cells.names}, the "
            f"problem has {to.cells.names}"
        )
    index = {cell: a for a, cell in enumerate(axes.cells.values)}
    places = [index.get(cell, 0) for cell in to.cells.values]
    losses = []
    for rank in range(max(map(len, rules))):
        whole = np.array([rules[a][min(rank, len(rules[a]) - 1)].loss for a in places])
        made = whole if layout == to_layout else _translate(whole, to_layout, to)
        if made is not None:
            losses.append(made)
    return losses


def _translate(loss: FloatArray, layout: Layout, axes: Axes) -> FloatArray | None:
    """Return a loss in the other layout, or None if that cannot express it."""
    return expand(loss, "diagonal", axes) if layout == "full" else diagonal_of(loss, axes)


def diagonal_of(loss: FloatArray, axes: Axes) -> FloatArray | None:
    """Return losses (cells, n, k) in the diagonal layout, or None if it cannot express them.

    Examples
    --------
    >>> diagonal_of(np.array([[[0.0, 1.0], [5.0, 0.0]]]), Axes(("no", "yes")))[0]
    array([[-5., -1.],
           [ 5.,  1.]])
    """
    columns = np.arange(axes.k)
    other = loss[:, (axes.match + 1) % axes.n, columns]  # the entry of some class that j does not name
    own = np.where(axes.match >= 0, loss[:, axes.match, columns] - other, 0.0)
    made = np.stack([own, other], axis=1)
    return made if np.allclose(expand(made, "diagonal", axes), loss, rtol=1e-9, atol=0.0) else None
