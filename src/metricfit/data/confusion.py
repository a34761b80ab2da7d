"""The confusion tensor ``C[a, i, j]`` = P(cell a, true class i, decision j)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.data.columns import factorize
from metricfit.data.labels import distinct_labels, encode_labels
from metricfit.data.row_order import check_row_order
from metricfit.data.validation import check_lengths, check_weights
from metricfit.messages import count, pairs_text
from metricfit.types import FloatArray, Label

SHARE_TOLERANCE = 1e-6
SHOWN_ROWS, SHOWN_COLUMNS = 10, 8


class Confusion:
    """A confusion tensor: how often each class of each cell gets each decision.

    Parameters
    ----------
    values : array-like of shape (A, n, k)
        Non-negative shares of the population that sum to 1.
    axes : Axes
        The names of cells, classes and decisions.

    Attributes
    ----------
    values : float64 ndarray of shape (A, n, k)
        The tensor, which is read-only. ``np.asarray(confusion)`` gives the same.
    axes : Axes

    Examples
    --------
    >>> confusion = Confusion.from_predictions(["a", "a", "b", "b"], ["a", "b", "b", "?"])
    >>> confusion
    Confusion: 2 classes x 3 decisions
            'a'     'b'     '?'
    'a'  0.2500  0.2500       0
    'b'       0  0.2500  0.2500
    """

    def __init__(self, values: Any, axes: Axes) -> None:
        tensor = np.array(values, dtype=np.float64)
        if tensor.shape != axes.shape:
            raise ValueError(
                f"values must have shape {axes.shape} (cells, classes, decisions); got {tensor.shape}"
            )
        if not np.isfinite(tensor).all() or tensor.min() < -SHARE_TOLERANCE:
            raise ValueError("values must be finite and not negative: they are shares of the population")
        if abs(tensor.sum() - 1) > SHARE_TOLERANCE:
            raise ValueError(
                f"values must sum to 1; they sum to {tensor.sum():.6g}. Pass values / values.sum()"
            )
        tensor.flags.writeable = False
        self.values: FloatArray = tensor
        self.axes = axes

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        decisions: Any,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        classes: Iterable[object] | None = None,
        missing: str = "error",
    ) -> Confusion:
        """Count labels and decisions.

        Parameters
        ----------
        y_true : array-like of shape (N,)
            The true labels.
        decisions : array-like of shape (N,)
            The decisions. Those that are not classes come after the classes, sorted.
        sensitive_features : frame, array-like of shape (N,) or None
            The attributes of each row.
        sample_weight : array-like of shape (N,) or None
            Non-negative weights.
        classes : iterable of labels, optional
            The classes in the desired order; by default the sorted distinct labels of `y_true`.
        missing : {"error", "cell"}
            Refuse rows that lack an attribute, or give them a separate cell, with the value ``"(missing)"``.

        Returns
        -------
        Confusion

        Examples
        --------
        >>> Confusion.from_predictions([0, 1, 1, 1], [0, 1, 1, 0]).matrix
        array([[0.25, 0.  ],
               [0.25, 0.5 ]])
        """
        check_row_order(
            y_true=y_true,
            decisions=decisions,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )
        true_values, true_codes = factorize(y_true, "y_true")
        made_values, made_codes = factorize(decisions, "decisions")
        rows = check_lengths(y_true=true_codes, decisions=made_codes)
        if not rows:
            raise ValueError("y_true has no rows; pass at least one row")
        weights = check_weights(sample_weight, rows)
        cells, cell = Cells.observe(sensitive_features, rows, missing)
        named = tuple(true_values) if classes is None else distinct_labels(classes, "classes")
        axes = Axes(named, named + tuple(value for value in made_values if value not in named), cells)
        true = true_codes if classes is None else encode_labels(y_true, named, "y_true")
        made = np.array([axes.decision_index(value) for value in made_values])[made_codes]
        flat = (cell.astype(np.intp) * axes.n + true) * axes.k + made
        counts = np.bincount(flat, weights=weights, minlength=int(np.prod(axes.shape)))
        return cls((counts / counts.sum()).reshape(axes.shape), axes)

    @property
    def classes(self) -> tuple[Label, ...]:
        """The true classes."""
        return self.axes.classes

    @property
    def decisions(self) -> tuple[Label, ...]:
        """The decisions."""
        return self.axes.decisions

    @property
    def cells(self) -> Cells:
        """The cells."""
        return self.axes.cells

    @property
    def matrix(self) -> FloatArray:
        """The n x k matrix of the whole population."""
        return np.asarray(self.values.sum(axis=0))

    @property
    def margins(self) -> FloatArray:
        """Share of each class of each cell, of shape (A, n)."""
        return np.asarray(self.values.sum(axis=2))

    def at(self, **where: Any) -> Confusion:
        """Return the confusion of a slice alone, as shares of that slice.

        Parameters
        ----------
        **where : scalar or list of scalars
            For some attributes the value, or the values, that belong to the slice.

        Returns
        -------
        Confusion

        Examples
        --------
        >>> Confusion.from_predictions([0, 1, 1], [0, 1, 0], ["F", "F", "M"]).at(group="F").matrix
        array([[0.5, 0. ],
               [0. , 0.5]])
        """
        inside = self.cells.mask(**where)
        values = self.values[inside]
        if not values.sum() > 0:
            text = pairs_text(where, where.values())
            raise ValueError(f"the slice at({text}) has no rows; use a combination of values that occurs")
        kept = tuple(cell for cell, keep in zip(self.cells.values, inside, strict=True) if keep)
        return Confusion(
            values / values.sum(), Axes(self.classes, self.decisions, Cells(self.cells.names, kept))
        )

    def to_frame(self) -> Any:
        """Return a pandas frame: a row for each cell and class, a column for each decision.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> Confusion.from_predictions([0, 1], [0, 1], ["F", "M"]).to_frame().index.names
        FrozenList(['group', 'class'])
        """
        import pandas as pd

        rows = [(*cell, value) for cell in self.cells.values for value in self.classes]
        names = [*self.cells.names, "class"]
        index = (
            pd.MultiIndex.from_tuples(rows, names=names)
            if self.cells.names
            else pd.Index(self.classes, name="class")
        )
        columns = pd.Index(self.decisions, name="decision")
        return pd.DataFrame(self.values.reshape(-1, self.axes.k).copy(), index=index, columns=columns)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        """Return the tensor."""
        found = np.asarray(self.values, dtype=dtype)
        if copy is False and found is not self.values:
            raise ValueError(f"an array of {found.dtype} is a copy of the tensor; leave copy=False out")
        return found.copy() if copy else found

    def __repr__(self) -> str:
        """Show the matrix of the whole population."""
        rows, columns = self.classes[:SHOWN_ROWS], self.decisions[:SHOWN_COLUMNS]
        table = [["", *map(repr, columns)]]
        for name, shares in zip(rows, self.matrix, strict=False):
            table.append(
                [repr(name), *(f"{share:.4f}" if share else "0" for share in shares[: len(columns)])]
            )
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)) for line in table
        ]
        cells = f" x {count(len(self.cells), 'cell')}" if self.cells.names else ""
        cut = "\n(the first of them)" if self.axes.n > len(rows) or self.axes.k > len(columns) else ""
        size = (
            f"Confusion: {count(self.axes.n, 'class', 'classes')} x {count(self.axes.k, 'decision')}{cells}"
        )
        return "\n".join([size, *lines]) + cut
