"""How well probabilities match the class shares, before and after calibration."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from metricfit.oracles.in_memory import PluginOracle
from metricfit.report.pictures.display import Display
from metricfit.report.pictures.style import Style, plain
from metricfit.report.rates import bins
from metricfit.result import Result
from metricfit.types import FloatArray, IntArray, Label

# Classes that a picture shows, the rarest first: small ones are where probabilities go wrong. Rows that it reads.
SHOWN, ROWS = 4, 200_000


class ReliabilityDisplay(Display):
    """In bins of about equally many rows: the share that is of the class, against the mean probability.

    Parameters
    ----------
    proba : array of shape (N, n)
        Probabilities as given.
    labels : int array of shape (N,)
        The classes' numbers.
    classes : sequence of labels
    weights : array of shape (N,), optional
    calibrated : array of shape (N, n), optional
        Probabilities after calibration.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.report import ReliabilityDisplay
    >>> random = np.random.default_rng(0)
    >>> proba = random.dirichlet([1, 1], 1000)
    >>> labels = (random.random(1000) < proba[:, 1]).astype(int)
    >>> ReliabilityDisplay(proba, labels, ("no", "yes")).error() < 0.05
    True
    """

    def __init__(
        self,
        proba: FloatArray,
        labels: IntArray,
        classes: tuple[Label, ...],
        weights: FloatArray | None = None,
        calibrated: FloatArray | None = None,
    ) -> None:
        step = max(1, len(proba) // ROWS)
        self.proba, self.labels = np.asarray(proba[::step], float), np.asarray(labels[::step])
        self.classes = tuple(classes)
        self.weights = np.ones(len(self.proba)) if weights is None else np.asarray(weights[::step], float)
        self.calibrated = None if calibrated is None else np.asarray(calibrated[::step], float)

    @classmethod
    def from_result(cls, result: Result) -> Self:
        """Return the picture of the probabilities that a result was made from."""
        origin = result.origin
        if origin is None or not isinstance(origin.oracle, PluginOracle):
            raise ValueError(
                "the result's rows are not in memory; pass probabilities and labels to the display"
            )
        rows, counting = origin.oracle.rows, origin.counting
        calibrated = (
            counting.rows.proba if isinstance(counting, PluginOracle) and counting.calibration else None
        )
        return cls(rows.proba, rows.labels, rows.axes.classes, rows.weights, calibrated)

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Return the picture of the cross-fitted probabilities of a `MetricClassifier` that was just fitted."""
        return cls.from_result(estimator.result_)

    @property
    def shown(self) -> list[int]:
        """The classes of the panels, in their order."""
        counts = np.bincount(self.labels, self.weights, minlength=len(self.classes))
        if len(self.classes) == 2:
            return [1]
        rare = [int(i) for i in np.argsort(counts, kind="stable") if counts[i] > 0][:SHOWN]
        return sorted(rare)

    @property
    def panels(self) -> int:
        """One for each class that is shown."""
        return len(self.shown)

    @property
    def size(self) -> tuple[float, float]:
        """Panels side by side."""
        return 0.6 + 2.7 * self.panels if self.panels > 1 else 4.2, 3.5

    def error(self, calibrated: bool = False) -> float:
        """Return the calibration error: the mean distance of share and probability, over bins and classes shown."""
        proba = self.calibrated if calibrated else self.proba
        assert proba is not None
        gaps = [
            abs(mean - one.value)
            for i in self.shown
            for mean, one in bins(proba[:, i], (self.labels == i).astype(float), self.weights)
        ]
        return float(np.mean(gaps))

    def describe(self) -> str:
        """Return the calibration error."""
        text = f"Mean distance of share and probability: {self.error():.2%} as given"
        return text + (
            f", {self.error(calibrated=True):.2%} calibrated." if self.calibrated is not None else "."
        )

    def _draw(self, axes: Any, style: Style) -> None:
        for ax, i in zip(axes, self.shown, strict=True):
            hits = (self.labels == i).astype(float)
            sides = [(self.proba, style.before, style.surface, "as given")]
            if self.calibrated is not None:
                sides.append((self.calibrated, style.after, style.after, "calibrated"))
            top = 0.0
            for proba, colour, fill, label in sides:
                found = bins(proba[:, i], hits, self.weights)
                x, y = np.array([mean for mean, _ in found]), np.array([one.value for _, one in found])
                reach = np.array([[one.value - one.low, one.high - one.value] for _, one in found]).T
                ax.errorbar(
                    x,
                    y,
                    yerr=np.maximum(reach, 0.0),
                    fmt="o-",
                    color=colour,
                    markerfacecolor=fill,
                    markersize=5,
                    linewidth=1.2,
                    elinewidth=1.0,
                    label=label,
                )
                top = max(top, float(x.max()), float(y.max()))
            limit = min(1.0, top * 1.12)
            ax.plot([0, limit], [0, limit], color=style.muted, linewidth=1.0, linestyle=":", label="right")
            ax.set(xlim=(0, limit), ylim=(0, limit), title=plain(self.classes[i]), xlabel="probability")
            ax.xaxis.set_major_locator(_few())
            ax.yaxis.set_major_locator(_few())
        axes[0].set_ylabel("share of the class")
        axes[0].legend(loc="upper left")


def _few() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(5)
