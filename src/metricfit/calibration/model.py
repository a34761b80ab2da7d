"""`Calibration`: a map from a model's probabilities to calibrated ones. It needs only NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from metricfit.calibration import document
from metricfit.data.extremes import row_max
from metricfit.data.validation import row_blocks
from metricfit.messages import unknown
from metricfit.types import FloatArray, IntArray

# Entries of a block of rows, which stays in the cache while several steps go over it.
BLOCK_ENTRIES = 1 << 15
# Exponentials of logits up to this, and of logits a few times as far below zero, fit in single precision.
EXPONENT = 40.0
FAMILIES = ("none", "bias", "temperature", "temperature_bias", "vector", "dirichlet", "curves", "isotonic")
# One for each class: the probabilities at which a curve bends, and its values there.
Curves = tuple[tuple[FloatArray, FloatArray], ...]


@dataclass(frozen=True, eq=False)
class Calibration:
    r"""A map of class probabilities, applied before any rule.

    With curves, class i gets :math:`c_i(p_i) e^{b_{ai}}`, else :math:`e^{s_a (M \log p)_i + b_{ai}}` with p raised to
    the floor; a is the row's cell. Either is scaled so that rows sum to 1. Curves may come after another calibration,
    whose probabilities they then take.

    Parameters
    ----------
    family : {"none", "bias", "temperature", "temperature_bias", "vector", "dirichlet", "curves", "isotonic"}
        The family that was fitted. It is only a name: the arrays define what is computed. Older versions fitted
        "isotonic" curves, which their files still hold.
    bias : array of shape (cells or 1, n)
        One row for each cell, or one for all.
    matrix : array of shape (n, n) or (n,), optional
        M; one-dimensional: a factor for each class; None: the identity.
    steepness : array of shape (cells or 1,), optional
        The inverse temperature of each cell, or one for all.
    floor : float
        Smaller probabilities are raised to this.
    curves : sequence of pairs of arrays, optional
        For each class increasing probabilities and non-decreasing positive values, joined by straight lines.
    before : Calibration, optional
        Applied first; for curves only. It is the same for all cells and has no curves.

    Examples
    --------
    Probabilities that are twice as sure as they should be, in the logarithm of the odds:

    >>> flatter = Calibration("temperature", [[0, 0]], steepness=[0.5])
    >>> flatter([[0.2, 0.8], [0.5, 0.5]]).round(3)
    array([[0.333, 0.667],
           [0.5  , 0.5  ]])
    """

    family: str
    bias: FloatArray
    matrix: FloatArray | None = None
    steepness: FloatArray = field(default_factory=lambda: np.ones(1))
    floor: float = 1e-7
    curves: Curves | None = None
    before: Calibration | None = None

    def __post_init__(self) -> None:
        """Check the arrays and keep read-only copies."""
        if self.family not in FAMILIES:
            raise ValueError(unknown("family", self.family, FAMILIES))
        if not 0 < self.floor < 1:
            raise ValueError(f"floor must be above 0 and below 1; got {self.floor!r}")
        bias = _fixed(self.bias, "bias", [(-1, -1)])
        n = bias.shape[1]
        matrix = None if self.matrix is None else _fixed(self.matrix, "matrix", [(n,), (n, n)])
        steepness = _fixed(self.steepness, "steepness", [(-1,)])
        if len({len(bias), len(steepness), 1}) > 2:
            raise ValueError(
                f"bias has {len(bias)} cells, steepness {len(steepness)}; they must agree or be 1"
            )
        if (steepness <= 0).any():
            raise ValueError("steepness must be positive, so that the order of the classes is kept")
        curves = None if self.curves is None else tuple(_curve(x, y) for x, y in self.curves)
        if curves is not None and len(curves) != n:
            raise ValueError(f"curves must be one for each of {n} classes; got {len(curves)}")
        if curves is not None and (matrix is not None or (steepness != 1).any()):
            raise ValueError("curves replace matrix and steepness; leave these out")
        first = self.before
        if first is not None and (
            curves is None or first.curves is not None or (first.n, first.cells) != (n, 1)
        ):
            raise ValueError(
                f"before must be a calibration of {n} classes and one cell without curves, and belongs to curves"
            )
        made = (("matrix", matrix), ("bias", bias), ("steepness", steepness), ("curves", curves))
        for name, value in (*made, ("floor", float(self.floor))):
            object.__setattr__(self, name, value)

    @classmethod
    def identity(cls, n: int) -> Calibration:
        """Return the calibration of n classes that changes nothing.

        Examples
        --------
        >>> Calibration.identity(3).is_identity
        True
        """
        return cls("none", np.zeros((1, n)))

    @property
    def n(self) -> int:
        """Number of classes."""
        return int(self.bias.shape[1])

    @property
    def cells(self) -> int:
        """Number of cells with a calibration of their own; 1 if all share one."""
        return max(len(self.bias), len(self.steepness))

    @property
    def is_identity(self) -> bool:
        """Whether probabilities stay as they are."""
        straight = self.matrix is None and self.curves is None and bool((self.steepness == 1).all())
        return straight and bool((self.bias == self.bias[:, :1]).all())

    def __call__(
        self, proba: Any, cells: IntArray | None = None, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Return calibrated probabilities.

        Parameters
        ----------
        proba : array-like of shape (N, n)
            The model's probabilities, float32 or float64. They are not changed, unless they are also `out`.
        cells : int array of shape (N,), optional
            Each row's cell, if the calibration differs between cells.
        out : array of shape (N, n), optional
            Where to write the result.

        Returns
        -------
        array of shape (N, n), of the dtype of proba

        Examples
        --------
        >>> Calibration("bias", [[0, 0], [0, np.log(3)]])([[0.5, 0.5], [0.5, 0.5]], np.array([0, 1]))
        array([[0.5 , 0.5 ],
               [0.25, 0.75]])
        """
        proba = np.asarray(proba)
        proba = proba if proba.dtype in (np.float32, np.float64) else proba.astype(np.float64)
        if proba.ndim != 2 or proba.shape[1] != self.n:
            raise ValueError(
                f"proba must have a column for each of {self.n} classes; got shape {proba.shape}"
            )
        if cells is None and self.cells > 1:
            raise ValueError(f"cells is missing: this calibration has {self.cells} cells")
        made = np.empty_like(proba, order="C") if out is None else out
        if self.is_identity:
            np.copyto(made, proba)
            return made
        if self.before is not None:
            proba = self.before(proba, out=made)
        apply = self._curved if self.curves is not None else self._softmax
        for block in row_blocks(len(proba), self.n, BLOCK_ENTRIES):
            part = apply(proba[block], None if cells is None else cells[block], proba.dtype.type)
            np.divide(part, np.einsum("ij->i", part)[:, None], out=made[block])
        return made

    def _softmax(self, proba: FloatArray, cells: IntArray | None, kind: Any) -> FloatArray:
        """Return unscaled probabilities; the largest of each row neither overflows nor underflows in its dtype."""
        lifted = np.maximum(proba, kind(self.floor))
        if self.matrix is None and (self.steepness == 1).all():
            # Biases alone are factors, which saves the logarithms.
            lifted *= _of_cell(self._factors.astype(kind), cells)
            return lifted
        logits = np.log(lifted, out=lifted)
        if self.matrix is not None and self.matrix.ndim == 2:
            logits = logits @ self.matrix.T.astype(kind)
            logits *= _of_cell(self.steepness.astype(kind)[:, None], cells)
        else:
            factors = self.steepness[:, None] * (1.0 if self.matrix is None else self.matrix)
            logits *= _of_cell(factors.astype(kind), cells)
        if self.bias.any():
            logits += _of_cell(self.bias.astype(kind), cells)
        if not self._mild:
            logits -= row_max(logits)[:, None]
        with np.errstate(under="ignore"):
            return np.exp(logits, out=logits)

    @cached_property
    def _mild(self) -> bool:
        """Whether exponentials need no shift: that of the likeliest class, of probability >= 1/n, always fits."""
        if self.matrix is not None and (self.matrix.ndim == 2 or (self.matrix <= 0).any()):
            return False
        most = self.steepness.max() * (1.0 if self.matrix is None else self.matrix.max())
        return bool(most * np.log(self.n) + np.abs(self.bias).max() < EXPONENT)

    @cached_property
    def _factors(self) -> FloatArray:
        """The factor of each cell and class where there are only biases; none underflows in single precision."""
        factors = np.exp(self.bias - self.bias.max(axis=1, keepdims=True))
        return np.maximum(factors, np.finfo(np.float32).tiny)

    def _curved(self, proba: FloatArray, cells: IntArray | None, kind: Any) -> FloatArray:
        assert self.curves is not None
        values = np.empty(proba.shape, kind)
        for i, (x, y) in enumerate(self.curves):
            values[:, i] = np.interp(proba[:, i], x, y)
        values *= _of_cell(self._factors.astype(kind), cells)
        return values

    def to_dict(self) -> dict[str, Any]:
        """Return the calibration as plain lists and numbers, for a policy file.

        Examples
        --------
        >>> Calibration("bias", [[0, 1]]).to_dict()["bias"]
        [[0.0, 1.0]]
        """
        return document.write(self)

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Calibration:
        """Return the calibration that `to_dict` described; anything else is a ValueError.

        Examples
        --------
        >>> again = Calibration.from_dict(Calibration("bias", [[0, 1]]).to_dict())
        >>> again == Calibration("bias", [[0, 1]])
        True
        """
        read = document.read(entry)
        before = read.pop("before")
        return cls(**read, before=None if before is None else cls(**before))

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, Calibration) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.family, self.n, self.cells, self.floor))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the constructor: arrays come back from a pickle writeable."""
        parts = (self.family, self.bias, self.matrix, self.steepness, self.floor, self.curves, self.before)
        return Calibration, parts

    def __repr__(self) -> str:
        cells = f", {self.cells} cells" if self.cells > 1 else ""
        return f"Calibration({self.family!r}, {self.n} classes{cells})"


def _of_cell(values: FloatArray, cells: IntArray | None) -> FloatArray:
    return values if len(values) == 1 or cells is None else values[cells]


def _fixed(value: Any, name: str, shapes: list[tuple[int, ...]]) -> FloatArray:
    """Return a read-only, finite float64 copy that has one of the shapes (-1: any length)."""
    array = np.array(value, dtype=np.float64)
    fits = [
        array.ndim == len(shape) and all(s in (-1, size) for s, size in zip(shape, array.shape, strict=True))
        for shape in shapes
    ]
    if not any(fits) or not array.size:
        raise ValueError(f"{name} has shape {array.shape}, which fits none of {shapes}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite; some entries are NaN or infinite")
    array.flags.writeable = False
    return array


def _curve(x: Any, y: Any) -> tuple[FloatArray, FloatArray]:
    x, y = _fixed(x, "a curve's probabilities", [(-1,)]), _fixed(y, "a curve's values", [(-1,)])
    if len(x) != len(y):
        raise ValueError(f"a curve has {len(x)} probabilities but {len(y)} values")
    if (np.diff(x) <= 0).any() or (np.diff(y) < 0).any() or y[0] <= 0:
        raise ValueError("a curve's probabilities must increase, and its values be positive and not decrease")
    return x, y
