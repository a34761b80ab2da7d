"""Rates by group, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from metricfit.data.attributes import names_of
from metricfit.data.confusion import Confusion
from metricfit.data.row_order import check_row_order
from metricfit.intervals.estimate import Estimate
from metricfit.messages import brief, unknown
from metricfit.policy import Policy
from metricfit.report.expected import of_policy, rows_for
from metricfit.report.pictures.display import Display
from metricfit.report.pictures.style import Style, plain
from metricfit.report.rates import KINDS, RateKind, rate
from metricfit.result import Result
from metricfit.result.most_probable import of_most_probable
from metricfit.trust.crossfit import class_proba
from metricfit.types import Label

# More groups than this are too many for one picture: the largest are shown.
SHOWN = 16


class GroupsDisplay(Display):
    """Rates of one decision in each group, before and after, with 95 % intervals.

    Parameters
    ----------
    after : Confusion
        Of the policy.
    before : Confusion, optional
        Of the most probable class.
    over : str or list of str, optional
        The attribute, or several for their intersections; the first one by default.
    decision : label, optional
        By default the class with the fewest rows, which is usually the one of interest.
    rows : float, optional
        The number of rows; without it no intervals are drawn.
    kinds : sequence of {"decided", "recall", "precision", "false_positive_rate"}, optional
        The rates, one panel each. By default the first three, or only the share decided if the decision is no class:
        it has no other rates.

    Examples
    --------
    >>> import metricfit as mf
    >>> from metricfit.report import GroupsDisplay
    >>> data = mf.datasets.make_fraud_triage(n_rows=500, random_state=0)
    >>> result = mf.optimize(
    ...     data.proba, data.y, "g_mean", sensitive_features=data.X[["region"]], counting="model"
    ... )
    >>> GroupsDisplay.from_result(result, decision="fraud").groups
    ('east', 'north', 'south', 'west')
    """

    def __init__(
        self,
        after: Confusion,
        before: Confusion | None = None,
        *,
        over: str | Sequence[str] | None = None,
        decision: Label | None = None,
        rows: float | None = None,
        kinds: tuple[RateKind, ...] | None = None,
    ) -> None:
        names = after.cells.names
        if not names:
            raise ValueError(
                "there are no groups: the result has no attributes; pass sensitive_features to optimize"
            )
        asked = names_of(names[0] if over is None else over)
        for name in asked:
            if name not in names:
                raise ValueError(unknown("attribute", name, names))
        self.after, self.before, self.rows = after, before, rows
        self.over = " x ".join(asked)
        self.places = {
            values[0] if len(asked) == 1 else ", ".join(map(str, values)): dict(
                zip(asked, values, strict=True)
            )
            for values in after.cells.groups(asked)
        }
        self.decision = rarest(after) if decision is None else after.axes.decision_index(decision)
        named = after.axes.match[self.decision] >= 0
        known: tuple[RateKind, ...] = tuple(KINDS) if named else ("decided",)
        self.kinds = known[:3] if kinds is None else tuple(kinds)
        for kind in self.kinds:
            if kind not in KINDS:
                raise ValueError(unknown("kind", kind, KINDS))
            if kind not in known:
                name = brief(after.decisions[self.decision])
                raise ValueError(
                    f"the decision {name} is no class, so it has no {kind}; pass kinds=('decided',)"
                )

    @classmethod
    def from_result(cls, result: Result, **options: Any) -> Self:
        """Return the picture of a result, on the rows it was fitted on."""
        if result.origin is None:
            return cls(result.confusion, **options)
        origin = result.origin
        before = of_most_probable(origin.baseline)
        return cls(result.confusion, before, rows=origin.oracle.effective_rows or None, **options)

    @classmethod
    def from_policy(
        cls,
        policy: Policy,
        proba: Any,
        y: Any,
        *,
        sensitive_features: Any,
        sample_weight: Any = None,
        **options: Any,
    ) -> Self:
        """Return the picture of a policy on labelled rows, whose attributes need not be the policy's."""
        oracle = rows_for(policy, proba, y, sensitive_features, sample_weight)
        after = of_policy(policy, oracle, sensitive_features if policy.axes.cells.names else None)
        return cls(after, of_most_probable(oracle), rows=oracle.effective_rows or None, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any,
        sample_weight: Any = None,
        **options: Any,
    ) -> Self:
        """Return the picture of a fitted `MetricClassifier` on labelled rows."""
        check_row_order(X=X, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight)
        return cls.from_policy(
            estimator.policy_,
            class_proba(estimator.estimator_, X, estimator.classes_),
            y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            **options,
        )

    @property
    def groups(self) -> tuple[Label, ...]:
        """The groups that are shown, in their order: the largest, and those with the highest and lowest rates."""
        sizes = {group: self._size(group) for group in self.places}
        if len(sizes) <= SHOWN:
            return tuple(sizes)
        ends: list[Label] = []
        for kind in self.kinds:
            values = np.array([one.value for one in self.rates(kind, of=tuple(sizes))])
            if not np.isnan(values).all():
                ends += [list(sizes)[int(place)] for place in (np.nanargmax(values), np.nanargmin(values))]
        shown = list(dict.fromkeys([*ends, *sorted(sizes, key=lambda group: -sizes[group])]))[:SHOWN]
        return tuple(group for group in sizes if group in shown)

    def _size(self, group: Label) -> float:
        return float(self.after.margins[self.after.cells.mask(**self.places[group])].sum())

    @property
    def panels(self) -> int:
        """One for each rate."""
        return len(self.kinds)

    @property
    def size(self) -> tuple[float, float]:
        """Wider with more rates, higher with more groups."""
        return 1.4 + 2.7 * self.panels, 1.7 + 0.34 * len(self.groups)

    def rates(
        self, kind: RateKind, before: bool = False, of: Sequence[Label] | None = None
    ) -> list[Estimate]:
        """Return a rate in each group that is shown, or in given groups."""
        confusion = self.before if before else self.after
        assert confusion is not None
        found = []
        for group in self.groups if of is None else of:
            rows = None if self.rows is None else self.rows * self._size(group)
            found.append(rate(confusion.at(**self.places[group]), kind, self.decision, rows))
        return found

    def describe(self) -> str:
        """Return the rates of the policy in each group."""
        name = self.after.decisions[self.decision]
        texts = []
        for kind in self.kinds:
            values = ", ".join(
                f"{group} {'no rows' if np.isnan(one.value) else f'{one.value:.1%}'}"
                for group, one in zip(self.groups, self.rates(kind), strict=True)
            )
            texts.append(f"{KINDS[kind].format(name)}: {values}")
        return f"By {self.over}, under the policy. " + "; ".join(texts) + "."

    def _draw(self, axes: Any, style: Style) -> None:
        name = plain(self.after.decisions[self.decision], 16)
        where = np.arange(len(self.groups))
        for ax, kind in zip(axes, self.kinds, strict=True):
            drawn = [self.rates(kind)]
            if self.before is not None:
                drawn.append(self.rates(kind, before=True))
                self._dots(ax, where - 0.14, drawn[1], style.before, style.surface, "before")
            self._dots(ax, where + 0.14, drawn[0], style.after, style.after, "the policy")
            ax.set_yticks(where, [plain(group) for group in self.groups])
            ax.set(ylim=(len(where) - 0.5, -0.5), title=KINDS[kind].format(name))
            ax.title.set_fontsize(10)
            if all(np.isnan(one.value) for side in drawn for one in side):
                ax.set(xlim=(0, 1))  # without a dot the axis would show shares below 0
            ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
            ax.grid(False, axis="y")
            ax.tick_params(axis="y", length=0)
        for ax in axes[1:]:
            ax.set_yticklabels([])
        axes[0].set_ylabel(plain(self.over))
        handles, labels = axes[0].get_legend_handles_labels()
        axes[0].figure.legend(handles, labels, loc="outside lower center", ncols=2)

    @staticmethod
    def _dots(ax: Any, where: Any, rates: list[Estimate], colour: str, fill: str, label: str) -> None:
        value = np.array([one.value for one in rates])
        reach = np.array([[one.value - one.low, one.high - one.value] for one in rates]).T
        ax.errorbar(
            value,
            where,
            xerr=None if np.isnan(reach).all() else np.nan_to_num(np.maximum(reach, 0.0)),
            fmt="o",
            color=colour,
            markerfacecolor=fill,
            markersize=6,
            elinewidth=1.6,
            label=label,
        )


def rarest(confusion: Confusion) -> int:
    """Return the decision that names the class with the fewest rows; the first if none names a class."""
    prior = confusion.matrix.sum(axis=1)
    named = [j for j, i in enumerate(confusion.axes.match) if i >= 0]
    return min(named, key=lambda j: prior[confusion.axes.match[j]], default=0)
