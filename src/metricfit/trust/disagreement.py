"""Warnings where probabilities and labels disagree by more than sampling error."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricfit.calibration import refuted
from metricfit.exceptions import CalibrationWarning
from metricfit.messages import warn
from metricfit.oracles.base import OracleBase
from metricfit.verdicts import spelt_out


def warn_if_refuted(oracle: OracleBase) -> None:
    """Warn if the labels refute probabilities that are used without calibration."""
    rows = oracle.sample()
    if rows is None:
        return
    found = refuted(rows.proba, rows.labels, rows.weights, rows.cells, len(rows.axes.cells))
    if found:
        worst, cells = found[0], rows.axes.cells
        where = f" in the cell {cells.values[worst.cell]} of {cells.names}" if worst.cell is not None else ""
        what = "they are" if worst.label is None else f"those of class {rows.axes.classes[worst.label]!r} are"
        said = f"{what} {worst.direction}{where} (p = {worst.p_value:.1g})"
        warn(
            f"the labels refute the probabilities: {said}. Values and bounds hold only if the probabilities are right; "
            "use counting='calibrated', which sets them right by the labels first",
            CalibrationWarning,
        )


def warn_if_labels_disagree(result: Any) -> None:
    """Warn if a constraint's value by calibrated probabilities is outside its interval by counted labels."""
    if not result.constraints or result.counted is None:
        return
    for record, counted in zip(result.constraints, result.counted.constraints, strict=True):
        if np.isnan(record.value):  # undefined, such as the precision of a class that is never decided
            continue
        if not counted.low <= record.value <= counted.high and counted.low < counted.high:
            warn(
                f"{spelt_out(record.name)}: calibrated probabilities say {record.value:.3f}, "
                "the labels of the same rows "
                f"{counted.value:.3f} [{counted.low:.3f}, {counted.high:.3f}]. Use counting='labels', where the "
                "labels have the last word",
                CalibrationWarning,
            )
            return
