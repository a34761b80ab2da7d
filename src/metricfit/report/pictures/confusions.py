"""The confusion matrix before and after."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from metricfit.data.attributes import names_of
from metricfit.data.confusion import Confusion
from metricfit.data.row_order import check_row_order
from metricfit.policy import Policy
from metricfit.report.expected import of_policy, rows_for
from metricfit.report.pictures.display import Display, bare
from metricfit.report.pictures.style import Style, plain
from metricfit.result import Result
from metricfit.result.most_probable import of_most_probable
from metricfit.trust.crossfit import class_proba
from metricfit.types import FloatArray, IntArray

# With more classes than this only the largest are shown; with more than this, cells are too small for numbers.
SHOWN, NUMBERED = 20, 12


class ConfusionDisplay(Display):
    """How the rows of each class are decided: by the most probable class, and by the policy.

    Parameters
    ----------
    after : Confusion
        Of the policy.
    before : Confusion, optional
        Of the most probable class.

    Examples
    --------
    >>> import metricfit as mf
    >>> from metricfit.report import ConfusionDisplay
    >>> data = mf.datasets.make_fraud_triage(n_rows=500, random_state=0)
    >>> result = mf.optimize(data.proba, data.y, "g_mean", counting="model")
    >>> display = ConfusionDisplay.from_result(result)
    >>> display.panels
    2
    """

    def __init__(self, after: Confusion, before: Confusion | None = None) -> None:
        self.after, self.before = after, before

    @classmethod
    def from_result(cls, result: Result) -> Self:
        """Return the picture of a result, on the rows it was fitted on."""
        before = None if result.origin is None else of_most_probable(result.origin.baseline)
        return cls(result.confusion, before)

    @classmethod
    def from_policy(
        cls, policy: Policy, proba: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> Self:
        """Return the picture of a policy on labelled rows."""
        oracle = rows_for(policy, proba, y, sensitive_features, sample_weight)
        return cls(of_policy(policy, oracle, sensitive_features), of_most_probable(oracle))

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> Self:
        """Return the picture of a fitted `MetricClassifier` on labelled rows.

        The attributes are the ones passed, or the columns of X that the estimator takes them from.
        """
        features = sensitive_features
        if features is None and estimator.attributes is not None:
            features = X[names_of(estimator.attributes)]
        check_row_order(X=X, y=y, sensitive_features=features, sample_weight=sample_weight)
        return cls.from_policy(
            estimator.policy_,
            class_proba(estimator.estimator_, X, estimator.classes_),
            y,
            sensitive_features=features,
            sample_weight=sample_weight,
        )

    @property
    def panels(self) -> int:
        """Before and after, or after alone."""
        return 1 if self.before is None else 2

    @property
    def size(self) -> tuple[float, float]:
        """As large as the number of classes asks for."""
        side = 1.6 + 0.62 * min(max(self.after.axes.n, self.after.axes.k, 3), 10)
        return side * self.panels + 0.3, side * 0.86 + 0.5

    def shares(self, confusion: Confusion) -> FloatArray:
        """Return for each class that is shown the share of its rows that gets each decision."""
        matrix = confusion.matrix[self._rows()]
        total = matrix.sum(axis=1, keepdims=True)
        return np.divide(matrix, total, out=np.zeros_like(matrix), where=total > 0)[:, self._columns()]

    def _rows(self) -> IntArray:
        order = np.argsort(-self.after.matrix.sum(axis=1), kind="stable")[:SHOWN]
        return np.sort(order)

    def _columns(self) -> IntArray:
        rows = set(self._rows().tolist())
        return np.array([j for j, i in enumerate(self.after.axes.match) if i < 0 or i in rows], dtype=int)

    def describe(self) -> str:
        """Return the share decided right of each class, before and after."""
        axes, texts = self.after.axes, []
        names = [axes.classes[i] for i in self._rows()]
        decided = {axes.decisions[j]: place for place, j in enumerate(self._columns())}
        sides = [self.shares(c) for c in (self.before, self.after) if c is not None]
        for row, name in enumerate(names):
            if name in decided:
                rights = [f"{side[row, decided[name]]:.1%}" for side in sides]
                texts.append(f"{name}: {' before, '.join(rights)}{' after' if len(rights) > 1 else ''}")
        return "Share of each class that is decided right. " + "; ".join(texts) + "."

    def _draw(self, axes: Any, style: Style) -> None:
        sides = [("the policy", self.after)]
        if self.before is not None:
            sides.insert(0, ("most probable class", self.before))
        for ax, (title, confusion) in zip(axes, sides, strict=True):
            self._panel(ax, style, title, confusion)
        for ax in axes[1:]:
            ax.set_ylabel("")

    def _panel(self, ax: Any, style: Style, title: str, confusion: Confusion) -> None:
        from matplotlib.patches import Rectangle

        shares, names = self.shares(confusion), confusion.axes
        bare(ax)
        height, width = shares.shape
        for (i, j), share in np.ndenumerate(shares):
            named = names.match[self._columns()[j]] == self._rows()[i]
            colour = style.after if named else style.before
            ax.add_patch(
                Rectangle((j - 0.48, i - 0.48), 0.96, 0.96, facecolor=style.grid, alpha=0.35, linewidth=0)
            )
            ax.add_patch(
                Rectangle((j - 0.48, i - 0.48), 0.96, 0.96, facecolor=colour, alpha=share, linewidth=0)
            )
            if max(height, width) <= NUMBERED:
                ax.text(
                    j,
                    i,
                    percent(float(share)),
                    ha="center",
                    va="center",
                    fontsize=9,
                    color=style.surface if share > 0.55 else style.ink,
                )
        ax.set(xlim=(-0.55, width - 0.45), ylim=(height - 0.45, -0.55), aspect="equal")
        ax.set_xticks(range(width), [plain(names.decisions[j], 14) for j in self._columns()])
        ax.set_yticks(range(height), [plain(names.classes[i], 14) for i in self._rows()])
        longest = max(len(plain(names.decisions[j], 14)) for j in self._columns())
        if longest > 6:
            ax.tick_params(axis="x", labelrotation=35)
            for text in ax.get_xticklabels():
                text.set(ha="right", rotation_mode="anchor")
        ax.set(xlabel="decision", ylabel="true class", title=title)


def percent(share: float) -> str:
    """Return a share in at most four characters.

    Examples
    --------
    >>> percent(0.0), percent(0.004), percent(0.126), percent(1.0)
    ('0', '<1%', '13%', '100%')
    """
    if share <= 0:
        return "0"
    return "<1%" if share < 0.005 else f"{share:.0%}"
