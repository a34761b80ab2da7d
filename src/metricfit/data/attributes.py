"""Attribute columns of rows, from any kind of frame or array."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from metricfit.data.columns import factorize, has_gaps_beside, is_frame, read_frame
from metricfit.data.validation import check_lengths
from metricfit.messages import some
from metricfit.types import IntArray, Label

ARGUMENT = "sensitive_features"


DEFAULT_NAME = "group"


# Advice in the error about a missing attribute; the command line replaces it by its own.
MISSING_ATTRIBUTE = (
    f"; pass {ARGUMENT}= with that column, or name a column that X has by attributes= of MetricClassifier"
)


# The value of a missing attribute, if such rows form a separate cell.
MISSING = "(missing)"


MISSING_RULES = ("error", "cell")


UNSEEN_RULES = ("error", "overall")


def names_of(names: str | Iterable[str] | None) -> list[str]:
    """Return the names of attributes, of which users may give one, several or none, as a list.

    Examples
    --------
    >>> names_of("sex"), names_of(("sex", "age")), names_of(None)
    (['sex'], ['sex', 'age'], [])
    """
    return [names] if isinstance(names, str) else list(names or ())


def read_attributes(sensitive_features: Any) -> dict[str, Any]:
    """Return attribute columns by name, from any container."""
    if is_frame(sensitive_features):
        return read_frame(sensitive_features, ARGUMENT)
    if getattr(sensitive_features, "ndim", 1) == 2:
        raise ValueError(
            f"{ARGUMENT} is a two-dimensional array without column names; pass a frame, or a dict of "
            f"columns, so that the attributes have names"
        )
    if isinstance(sensitive_features, str) or not hasattr(sensitive_features, "__len__"):
        raise ValueError(f"{ARGUMENT} must be a frame or one value per row; got {sensitive_features!r}")
    name = getattr(sensitive_features, "name", None)
    return {name if isinstance(name, str) and name else DEFAULT_NAME: sensitive_features}


def attribute_codes(
    column: Any, name: str, n_rows: int, missing: Label | None = None
) -> tuple[list[Label], IntArray]:
    """Return the sorted distinct values of an attribute, and each row's index among them; see `factorize`."""
    where = f"{ARGUMENT} column {name!r}"
    values, codes = factorize(column, where, missing, "make them a separate group with missing='cell'")
    check_lengths(**{"the data": n_rows, where: len(codes)})
    return values, codes


def check_not_called_missing(column: Any, name: str, values: Sequence[Label], missing: str) -> None:
    """Refuse entries that are written as the group of missing ones is called, if they are not the same.

    Rows whose missing entries were already replaced by that name are taken as they are with ``missing="cell"``.
    """
    if MISSING not in values:
        return
    where = f"{ARGUMENT} column {name!r}"
    if missing == "error":
        raise ValueError(
            f"{where} has the value {MISSING!r}, which is the name of the group of missing entries; if they are "
            "missing, make them that group with missing='cell', otherwise write them in another way"
        )
    if has_gaps_beside(column, where, MISSING):
        raise ValueError(
            f"{where} has missing entries beside others with the value {MISSING!r}, which is the name of their group; "
            "write these in another way, or leave them empty if they are missing too"
        )


def matching_columns(names: Sequence[str], sensitive_features: Any) -> dict[str, Any]:
    """Return the columns with these names; raise if one is missing.

    Examples
    --------
    >>> matching_columns(["sex"], ["F", "M"])
    {'sex': ['F', 'M']}
    """
    if not names:
        return {}
    wanted = some(names, limit=10)
    if sensitive_features is None:
        raise ValueError(
            f"{ARGUMENT} is needed: the decisions depend on {wanted}; pass these "
            f"columns, or name them as columns of X by attributes= of MetricClassifier"
        )
    columns = read_attributes(sensitive_features)
    if not is_frame(sensitive_features) and len(names) == 1:
        (name, column), *_ = columns.items()
        # One of the two columns was given without a name: they are the same attribute.
        if DEFAULT_NAME in (name, names[0]):
            return {names[0]: column}
    missing = [name for name in names if name not in columns]
    if missing:
        raise ValueError(
            f"{ARGUMENT} lacks the columns {some(missing)}; it has {some(columns) or 'none'}. Pass a "
            f"frame with the columns {wanted}"
        )
    return columns
