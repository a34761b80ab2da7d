"""The deterministic rule of a policy, in the form that every export starts from.

Four steps take a row to its decision: find its cell by its attributes; calibrate its probabilities; go through the
cell's branches to the first whose test holds; take the decision of the smallest linear score, the larger index of
equal ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metricfit.calibration import Calibration
from metricfit.data.axes import Axes
from metricfit.data.layout import Layout
from metricfit.types import FloatArray, Label

# Smaller factors of a calibration count as this, as in `Calibration`.
LEAST_FACTOR = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, eq=False)
class ScoreFunctions:
    """Linear functions of the n calibrated probabilities, one for each column.

    Parameters
    ----------
    weights : ndarray of shape (n, k)
        What the probabilities are multiplied by.
    constant : ndarray of shape (k,)
        What is added.

    Examples
    --------
    >>> ScoreFunctions(np.array([[0.0], [2.0]]), np.array([0.5])).terms(0)
    [(1, 2.0)]
    """

    weights: FloatArray
    constant: FloatArray

    def terms(self, column: int) -> list[tuple[int, float]]:
        """Return the classes of a function whose weight is not 0, with their weights, in order of the classes.

        Added in this order, and the constant last, they give every bit of what `Policy.decide` computes: NumPy adds
        in this order too, and adding a product that is 0 changes nothing.
        """
        weights = self.weights[:, column]
        return [(int(i), float(weights[i])) for i in np.flatnonzero(weights)]


@dataclass(frozen=True, eq=False)
class Branch:
    """A plug-in rule, and the test of the rows that get it.

    Parameters
    ----------
    scores : ScoreFunctions
        One for each decision; the smallest is taken.
    test : ScoreFunctions, optional
        One function; None means that all rows get the rule.
    limit : float
        A row gets the rule if the test is at most this.
    """

    scores: ScoreFunctions
    test: ScoreFunctions | None = None
    limit: float = 0.0


@dataclass(frozen=True, eq=False)
class DeterministicRule:
    """What a policy decides under ``randomize="never"``, as plain arrays.

    Parameters
    ----------
    classes, decisions : tuples of labels
        What the columns of the probabilities are, and what is decided.
    attributes : tuple of str
        The attributes that define cells; may be empty.
    cells : tuple of tuples of labels
        The attribute values of each cell.
    branches : tuple of tuples of Branch
        For each cell its branches. The last one has no test.
    calibration : Calibration, optional
        What is done to the probabilities first.
    otherwise : DeterministicRule, optional
        The rule, without attributes, of rows that belong to no cell. By default these get no decision.
    missing : label, optional
        The value that stands for a missing attribute in cells. By default a row that lacks one belongs to no cell.
    about : tuple of str
        Lines of printable text for people: what is decided, what it was fitted for, and what it reaches.

    Examples
    --------
    >>> rule = DeterministicRule.of(Axes(("no", "yes")), "full", [np.array([[0, 1], [5, 0]])])
    >>> rule.branches[0][0].scores.terms(0)
    [(1, 5.0)]
    """

    classes: tuple[Label, ...]
    decisions: tuple[Label, ...]
    attributes: tuple[str, ...]
    cells: tuple[tuple[Label, ...], ...]
    branches: tuple[tuple[Branch, ...], ...]
    calibration: Calibration | None = None
    otherwise: DeterministicRule | None = None
    missing: Label | None = None
    about: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that the last branch of each cell, and no other, is without a test, and that ``otherwise`` fits."""
        if not all(line.isprintable() for line in self.about):
            raise ValueError("about must be lines of printable text, so that they can be comments")
        for cell, branches in zip(self.cells, self.branches, strict=True):
            if [branch.test is None for branch in branches] != [False] * (len(branches) - 1) + [True]:
                raise ValueError(
                    f"of the branches of cell {cell} the last one, and no other, is without a test"
                )
        other = self.otherwise
        if other is not None and (
            other.attributes
            or other.otherwise is not None
            or (other.classes, other.decisions) != (self.classes, self.decisions)
        ):
            raise ValueError(
                "otherwise must be a rule without attributes, for the same classes and decisions"
            )

    @classmethod
    def of(
        cls,
        axes: Axes,
        layout: Layout,
        losses: Sequence[Any],
        calibration: Calibration | None = None,
        otherwise: DeterministicRule | None = None,
    ) -> DeterministicRule:
        """Return the rule that has one loss in each cell."""
        branches = tuple((Branch(_scores(np.asarray(loss, float), layout, axes)),) for loss in losses)
        names, values = axes.cells.names, axes.cells.values
        return cls(axes.classes, axes.decisions, names, values, branches, calibration, otherwise)

    @property
    def n(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def k(self) -> int:
        """Number of decisions."""
        return len(self.decisions)

    @property
    def one_label_type(self) -> type | None:
        """The type that all decisions have, or None."""
        kinds = set(map(type, self.decisions))
        return kinds.pop() if len(kinds) == 1 else None

    @property
    def texts(self) -> list[str]:
        """The text of each decision, or its repr if two texts would be the same, as for 1 and "1"."""
        plain = list(map(str, self.decisions))
        return plain if len(set(plain)) == self.k else list(map(repr, self.decisions))


def factors_of(made: Calibration) -> FloatArray | None:
    """Return the factors (cells or 1, n) of a calibration that multiplies; None if it needs logarithms."""
    if made.curves is None and (made.matrix is not None or (made.steepness != 1).any()):
        return None
    return np.maximum(np.exp(made.bias - made.bias.max(axis=1, keepdims=True)), LEAST_FACTOR)


def stages(made: Calibration | None) -> list[Calibration]:
    """Return the calibrations that are applied one after the other."""
    if made is None:
        return []
    return [made] if made.before is None else [made.before, made]


def in_64_bits(value: Label) -> Label:
    """Return a label or value; raise if it is a whole number that other programs, which have 64 bits, cannot hold.

    Examples
    --------
    >>> in_64_bits(3)
    3
    """
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError(f"the label or value {value} does not fit into 64 bits; turn it into text")
    return value


def segments(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return slope, start and height of the pieces of a curve: before its first knot, between knots, after the last.

    The piece of p is the number of knots <= p; its value ``slope * (p - start) + height`` is that of ``numpy.interp``.

    Examples
    --------
    >>> slope, start, height = segments(np.array([0.25, 0.75]), np.array([0.25, 0.5]))
    >>> slope.tolist(), start.tolist(), height.tolist()
    ([0.0, 0.5, 0.0], [0.25, 0.25, 0.75], [0.25, 0.25, 0.5])
    """
    slope = np.concatenate([[0.0], np.diff(y) / np.diff(x), [0.0]])
    return slope, np.concatenate([x[:1], x]), np.concatenate([y[:1], y])


def _scores(loss: FloatArray, layout: Layout, axes: Axes) -> ScoreFunctions:
    """Return the scores of a loss: in the diagonal layout one product and a constant for each decision."""
    if layout == "full":
        return ScoreFunctions(loss, np.zeros(axes.k))
    weights, named = np.zeros((axes.n, axes.k)), np.flatnonzero(axes.match >= 0)
    weights[axes.match[named], named] = loss[0, named]
    return ScoreFunctions(weights, loss[1])
