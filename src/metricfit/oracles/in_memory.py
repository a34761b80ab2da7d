"""The plug-in oracle on rows in memory (Algorithms 9 and 10 of the paper)."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, get_args

import numpy as np

from metricfit.calibration import SETTINGS, Calibration, Report
from metricfit.calibration import Settings as CalibrationSettings
from metricfit.calibration import fit as fit_calibration
from metricfit.data.layout import Layout
from metricfit.data.rows import RowArrays, Rows, priors, strata
from metricfit.kernels import counting as kernels
from metricfit.kernels.engine import Engine
from metricfit.kernels.scan import Scan
from metricfit.oracles.base import SOFT, Counting, OracleBase, Vertex
from metricfit.oracles.samples import thinned
from metricfit.oracles.settings import TUNED, Settings, worth_a_sample
from metricfit.types import FloatArray, IntArray


class PluginOracle(OracleBase):
    """Decides every row by its shifted class probabilities and counts the decisions, in one pass.

    Parameters
    ----------
    rows : Rows
        The checked data.
    counting : {"labels", "calibrated", "model", "auto"}
        Count labels ("auto" as well, until the solve has chosen), or use the probabilities as soft labels, as given
        ("model") or after calibration. With soft labels the rule is exactly optimal over all randomised classifiers on
        these rows.
    threads : int
        Number of threads that share a pass.
    calibration, report : Calibration and Report, optional
        The calibration that was already applied to the probabilities of the rows, and how it was chosen.
    settings : Settings
        When compiled kernels and samples are worth their cost.
    calibrating : calibration settings
        How probabilities are calibrated.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.oracles import PluginOracle, Rows
    >>> rows = Rows.of(np.array([[0.9, 0.1], [0.4, 0.6]]), [0, 1])
    >>> loss = np.array([[[0.0, 1.0], [1.0, 0.0]]])
    >>> PluginOracle(rows)(loss, "full").statistic
    array([[[0.5, 0. ],
            [0. , 0.5]]])
    """

    def __init__(
        self,
        rows: Rows,
        counting: Counting = "labels",
        threads: int = 1,
        calibration: Calibration | None = None,
        report: Report | None = None,
        settings: Settings = TUNED,
        calibrating: CalibrationSettings = SETTINGS,
    ) -> None:
        if counting not in get_args(Counting):
            known = ", ".join(map(repr, get_args(Counting)))
            raise ValueError(f"counting must be one of {known}; got {counting!r}")
        self.rows, self.axes, self.threads = rows, rows.axes, threads
        self.counting, self.exact = counting, counting in SOFT
        self.n_rows = len(rows)
        self.calibration, self.report = calibration, report
        self.settings, self.calibrating = settings, calibrating
        self.margins = soft_margins(rows, threads) if self.exact else rows.margins()
        self._counted: RowArrays = rows.soft() if self.exact else rows
        self.engine: Engine = "auto"

    @property
    def effective_rows(self) -> float:
        """The effective number of rows: how many equally weighted rows carry the same information."""
        weights = self.rows.weights
        return float(len(self.rows)) if weights is None else 1 / float(weights @ weights)

    @property
    def class_counts(self) -> IntArray:
        """The number of rows of each class in each cell."""
        return strata(self.rows.labels, self.rows.cells, None, len(self.axes.cells), self.axes.n)

    def expect(self, passes: int) -> None:
        """Use the compiled kernels from now on if so many passes are worth loading them."""
        if passes * len(self.rows) * self.axes.k > self.settings.compiled_work:
            self.engine = "numba"

    def __call__(self, loss: FloatArray, layout: Layout) -> Vertex:
        """Return the plug-in rule of a loss and its statistic."""
        how: dict[str, Any] = {"layout": layout, "threads": self.threads, "engine": self.engine}
        return Vertex(loss, kernels.count(self._counted, loss, self.axes.match, **how))

    def confusion(self, losses: FloatArray, weights: FloatArray, layout: Layout) -> FloatArray:
        """Return the full tensor of a mixture of rules, in one pass."""
        how: dict[str, Any] = {"layout": layout, "threads": self.threads, "engine": self.engine}
        return kernels.mixture_confusion(self._counted, losses, weights, self.axes.match, **how)

    def scan(self, loss: FloatArray, layout: Layout) -> Scan:
        """Return the rule of a loss with its weights ready to be scanned, on all rows unless passes are costly."""
        rows = self.sample() if self.costly else self.rows
        return Scan(rows, float(self.exact), loss, layout, self.engine)

    def on(self, rows: Rows) -> PluginOracle:
        """Return the same kind of oracle on other rows."""
        return PluginOracle(rows, self.counting, self.threads, settings=self.settings)

    def by(self, counting: Counting) -> PluginOracle:
        """Return the oracle that counts the same rows in another way."""
        return PluginOracle(
            self.rows, counting, self.threads, settings=self.settings, calibrating=self.calibrating
        )

    def soft(self) -> PluginOracle:
        """Return the oracle that counts the same rows by their probabilities."""
        return PluginOracle(self.rows, "model", self.threads, self.calibration, self.report, self.settings)

    def calibrated(self) -> PluginOracle:
        """Return this oracle on probabilities calibrated on the labels (of a sample, if there are many rows)."""
        some, rows = self.sample(), self.rows
        kind: Counting = "model" if self.exact else "labels"
        made, report = fit_calibration(
            some.proba,
            some.labels,
            some.weights,
            some.cells,
            len(self.axes.cells),
            settings=self.calibrating,
        )
        if made.is_identity:  # the same rows: neither margins nor a sample are to be found out again
            same = copy(self)
            same.counting, same.report = kind, report
            return same
        calibrated = replace(rows, proba=made(rows.proba, rows.cells))
        return PluginOracle(calibrated, kind, self.threads, made, report, self.settings)

    @property
    def costly(self) -> bool:  # type: ignore[override]
        """Whether a pass takes so long that the rules of a sample save time."""
        return worth_a_sample(len(self.rows), self.axes.n, self.settings)

    def sample(self) -> Rows:
        """Return some of the rows, stratified by class and cell; all of them if they are few."""
        return self._sample

    @cached_property
    def _sample(self) -> Rows:
        return thinned(self.rows, self.settings.sample_rows, self.settings)


def soft_margins(rows: Rows, threads: int | None = None) -> FloatArray:
    """Return the mean probability of each class in each cell, (cells, classes)."""
    alike = np.zeros(len(rows), np.int32)
    tensor = kernels.confusion(rows.soft(), alike, len(rows.axes.cells), 1, threads=threads)
    return priors(tensor[:, :, 0], 1.0)
