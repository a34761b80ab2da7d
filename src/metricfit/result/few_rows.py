"""The warning about groups that are too small: limits on their rates say little about new rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.exceptions import FewRowsWarning
from metricfit.functions.binding import Binding
from metricfit.messages import count, pairs_text, warn
from metricfit.metrics import Metric
from metricfit.metrics.few_rows import ThinRate, rows_behind
from metricfit.result.groups import Groups, on_group
from metricfit.types import BoolArray, IntArray, Label

FEW_ROWS = 30


def warn_of_few_rows(groups: Groups, confusion: Confusion, left_out: Sequence[ThinRate] = ()) -> None:
    """Warn about groups whose rates rest on so few rows that a limit on them says little about new rows."""
    small = []
    for rate, over in groups.compared:
        masks = confusion.axes.cells.groups(over)
        rows = _rows_of_groups(rate, np.array(list(masks.values())), groups.counts, confusion)
        small += [(few, rate, over, group) for group, few in zip(masks, rows, strict=True) if few < FEW_ROWS]
    if small:
        small.sort(key=lambda entry: entry[0])
        told = (
            f". Constraints leave out {count(len(left_out), 'rate')}, see result.left_out" if left_out else ""
        )
        shown = [_known(*entry[1:], confusion, groups.counts) for entry in small[:4]]
        warn(
            f"{len(small)} of the rates compared over groups {'rests' if len(small) == 1 else 'rest'} on fewer than "
            f"{FEW_ROWS} rows: "
            f"{'; '.join(shown)}{'; ...' if len(small) > 4 else ''}. On new rows a rate may have any value in its "
            f"interval: merge small groups, leave them out with min_rows or min_share, or pass more rows{told}",
            FewRowsWarning,
        )


def _rows_of_groups(metric: Metric, masks: BoolArray, counts: IntArray, confusion: Confusion) -> list[float]:
    """Return the rows in the metric's denominator for each group, if these do not depend on the decisions."""
    binding = Binding.of(confusion.axes, confusion.margins)
    return [rows_behind(metric, binding, of_class) for of_class in masks.astype(int) @ counts]


def _known(
    metric: Metric, over: list[str], group: tuple[Label, ...], confusion: Confusion, counts: IntArray
) -> str:
    found = on_group(metric, group, confusion.axes.cells.groups(over)[group], confusion, counts)
    who = pairs_text(over, group)
    known = "is left out" if np.isnan(found.value) else f"is {found.value:.2f}"
    ends = "" if np.isnan(found.low) else f" (95 %: {found.low:.2f} to {found.high:.2f})"
    return f"{metric} where {who} {known}{ends}, of {count(round(found.rows), 'row')}"
