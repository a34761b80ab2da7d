"""`Result`, the answer of `optimize`: what was achieved and what is proven, as numbers, text and a report."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from metricfit.calibration import Report
from metricfit.data.confusion import Confusion
from metricfit.messages import brief, count
from metricfit.methods.base import Record, Status
from metricfit.metrics import Metric, accuracy
from metricfit.metrics.few_rows import ThinRate
from metricfit.policy import Policy
from metricfit.policy.provenance import plain, shortened
from metricfit.policy.wording import in_words
from metricfit.problem import Problem
from metricfit.result.capacity import CapacityCost, cost_of_capacity
from metricfit.result.groups import Groups, group_frame
from metricfit.result.notebook import html
from metricfit.result.records import Calibrated, ConstraintRecord, Deterministic, Origin
from metricfit.trust.confidence.confirmation import Confidence
from metricfit.trust.judgement import Judgement
from metricfit.verdicts import LIKELY_VIOLATED, spelt_out


@dataclass(frozen=True, eq=False)
class Result:
    """The answer of `optimize`.

    Attributes
    ----------
    policy : Policy
        The decision rule (a `ModelPolicy` over models, if the oracle retrains).
    confusion : Confusion
        The policy's expected confusion tensor on the rows it was fitted on.
    value, bound, gap : float
        The value of the objective, a value that no policy can exceed, and their distance. The bound is infinite if none
        is known.
    certified : bool
        Whether the bound is a proof for all randomised classifiers on these rows, given that the probabilities are
        right: with ``counting="calibrated"`` the calibrated ones, with ``"model"`` the model's own.
    status : {"optimal", "searched", "stalled", "max_calls", "max_seconds", "stopped"}
        Why the method ended: the gap is proven to be at most ``tol``; a search without proof ended by itself; no
        progress was possible before the gap closed; a budget was used up; the callback or Ctrl-C stopped it.
    constraints : tuple of ConstraintRecord
    history : tuple of Record
        One record per iteration.
    n_oracle_calls : int
    seconds : float
        Of the whole call, with calibration and the choice of what to count by.
    method : str
    problem : str
        What was solved, in words.
    left_out : tuple of ThinRate
        The rates of groups that constraints do not bind, because they rest on fewer than ``min_rows`` rows: each has a
        ``constraint``, ``rate``, ``group`` and ``rows``. Such groups get the rule of all rows.
    calibration : Report or None
        How the probabilities were calibrated, and the effect; None if they were used as given.
    counting : {"calibrated", "labels", "model"}
        What the answer counts by.
    choice : str
        Why, in one sentence, if it was left to `optimize`.
    calibrated : Calibrated or None
        With counted labels: the value and proven bound of the calibrated problem that guided the search.
    expected : Judgement or None
        On new rows: ``value``, ``low``, ``high`` and ``constraints`` with 95 % intervals, from folds in which the
        policy was fitted on the other rows. None unless it was asked for; if it could not be computed,
        ``expected_note`` says why.
    confidence : Confidence or None
        How each constraint was confirmed on held-out rows, if ``confidence`` was asked for.
    deterministic : Deterministic or None
        What the single rule of each cell achieves on the fitted rows, which ``randomize="never"`` and exports use:
        ``value``, ``loss`` beside the mixture, ``constraints``, ``violation``. None if the policy has only one rule per
        cell anyway.
    origin : Origin or None
        The problem and the rows that it was solved on, for `report` and pictures. It is not pickled, so that a saved
        result does not contain the data.
    groups : Groups or None
        What `by_group` needs; None without attributes, or for rows that are not in memory.

    Examples
    --------
    >>> import metricfit as mf
    >>> data = mf.datasets.make_fraud_triage(n_rows=1000, random_state=0)
    >>> result = mf.optimize(data.proba, data.y, "g_mean", [mf.recall("fraud") >= 0.8], counting="model")
    >>> result.status, result.certified, result.gap <= 1e-4, result.feasible
    ('optimal', True, True, True)
    >>> result.to_frame()["limit"].to_dict()
    {"recall('fraud') >= 0.8": 0.8}
    """

    policy: Policy
    confusion: Confusion
    value: float
    bound: float
    gap: float
    certified: bool
    status: Status
    constraints: tuple[ConstraintRecord, ...]
    history: tuple[Record, ...]
    n_oracle_calls: int
    seconds: float
    method: str
    problem: str
    left_out: tuple[ThinRate, ...] = ()
    counting: str = "labels"
    choice: str = ""
    calibration: Report | None = None
    calibrated: Calibrated | None = None
    expected: Judgement | None = None
    expected_note: str = ""
    confidence: Confidence | None = None
    deterministic: Deterministic | None = None
    origin: Origin | None = field(default=None, repr=False)
    groups: Groups | None = None
    _judge: Callable[[], Judgement | None] | None = field(default=None, repr=False)

    @cached_property
    def counted(self) -> Judgement | None:
        """The same policy evaluated by counted labels on the same rows, with 95 % intervals; None without the rows."""
        return None if self._judge is None else self._judge()

    def with_provenance(self, **more: Any) -> Result:
        """Return the result with entries added to its policy's provenance."""
        if not isinstance(self.policy, Policy):
            return self  # models are saved in another way
        said = {name: plain(value) for name, value in more.items()}
        policy = replace(self.policy, provenance=shortened({**self.policy.provenance, **said}))
        return replace(self, policy=policy)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle what was computed from the rows instead of the rows."""
        return {**self.__dict__, "counted": self.counted, "_judge": None, "origin": None}

    @property
    def feasible(self) -> bool:
        """Whether all constraints hold on the fitted rows."""
        return all(record.kept for record in self.constraints)

    @property
    def rule_in_words(self) -> list[str]:
        """What the policy decides, as lines of text; none for models that were trained anew.

        Of two classes these are the thresholds of all rules, else the weights of the single rule of each cell.
        """
        if not isinstance(self.policy, Policy):
            return []
        mixed = self.deterministic is not None and self.policy.axes.n > 2
        return (
            [f"(as a single rule) {line}" for line in in_words(self.policy, "never")]
            if mixed
            else in_words(self.policy)
        )

    def to_frame(self) -> Any:
        """Return the constraints as a pandas frame, one row each."""
        import pandas as pd

        columns = ["value", "limit", "violation", "price"]
        rows = [[getattr(record, c) for c in columns] for record in self.constraints]
        names = pd.Index([record.name for record in self.constraints], name="constraint", dtype=object)
        return pd.DataFrame(rows, index=names, columns=columns, dtype=float)

    def _repr_html_(self) -> str:
        """Return the result for a notebook."""
        return html(self)

    def report(
        self, path: str | os.PathLike[str], *, title: str | None = None, made_by: str | None = None
    ) -> None:
        """Write a report as one self-contained HTML file, completely or not at all.

        The report shows what was asked for, what was achieved and what to expect on new rows, before and after for each
        class and group, what each constraint costs, the trade-offs, how well calibrated the probabilities are, and what
        the policy does. It needs the extra ``plot`` (matplotlib and Jinja2).

        Parameters
        ----------
        path : path-like
            The file; an older one is replaced.
        title : str, optional
            The heading; the objective by default.
        made_by : str, optional
            The command or code that reproduces the report; code for `optimize` by default.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> import metricfit as mf
        >>> data = mf.datasets.make_fraud_triage(n_rows=500, random_state=0)
        >>> result = mf.optimize(data.proba, data.y, "g_mean", counting="model")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.report(pathlib.Path(folder) / "report.html")
        ...     "g_mean" in (pathlib.Path(folder) / "report.html").read_text(encoding="utf-8")
        True
        """
        # The report is made from results, so its room is above this one and is imported only here.
        from metricfit.report.page import write_report

        write_report(self, path, title=title, made_by=made_by)

    def by_group(self, metrics: Any = None, over: Any = None) -> Any:
        """Return metrics of the policy on each group of its tuning rows, as a pandas frame.

        Parameters
        ----------
        metrics : Metric, its text, or list of them, optional
            What to compute; by default the rates that objective and constraints compare over groups, and accuracy.
        over : str or list of str, optional
            The attributes that define the groups; by default all of them.

        Returns
        -------
        pandas.DataFrame
            One row for each group, and columns (field, metric). The fields are ``"before"`` (the most probable class),
            ``"value"``, its 95 % interval ``"low"`` and ``"high"`` where the metric is a share of rows, and ``"rows"``,
            the number of rows in its denominator. ``frame["value"]`` has the same shape as ``by_group`` of fairlearn's
            MetricFrame.

        Examples
        --------
        >>> import metricfit as mf
        >>> proba = [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.7, 0.3], [0.6, 0.4], [0.3, 0.7]]
        >>> result = mf.optimize(
        ...     proba, [0, 1, 1, 0, 1, 1], "balanced_accuracy", sensitive_features=["a", "b"] * 3, counting="labels")
        >>> frame = result.by_group("recall(1)")
        >>> frame["rows"]["recall(1)"].tolist(), frame["before"]["recall(1)"].tolist()
        ([2.0, 2.0], [0.5, 1.0])
        """
        if self.groups is None:
            raise ValueError(
                "by_group: there are no groups; pass sensitive_features to optimize, with rows in memory"
            )
        after, names = self.confusion, list(self.confusion.axes.cells.names)
        if metrics is None:
            wanted = [accuracy(), *(metric for metric, _ in self.groups.compared)]
        else:
            listed = [metrics] if isinstance(metrics, Metric | str) else list(metrics)
            wanted = [Problem.of(metric).objective for metric in listed]
        distinct = list({str(metric): metric for metric in wanted}.values())
        return group_frame(distinct, over or names, after, self.groups.before, self.groups.counts)

    def adapt(
        self, proba: Any = None, *, shares: Mapping[Any, float] | None = None, sensitive_features: Any = None
    ) -> Result:
        """Return the problem solved again for the class shares of new rows, which need no labels.

        The tuning rows are weighted so that their classes have the new shares, and everything is fitted again on them:
        calibration, rules, and what to expect on new rows. That is right if only the shares have changed: rows of a
        class look as before.

        Parameters
        ----------
        proba : array-like of shape (N, n), optional
            Class probabilities of new rows, from which `metricfit.class_shares` estimates the shares.
        shares : dict, optional
            The share of each class, if it is known.
        sensitive_features : frame, array-like or None
            The attributes of the new rows, if the policy has any.

        Returns
        -------
        Result

        Warns
        -----
        ShiftWarning
            If other shares of classes do not explain the scores of the new rows.

        Examples
        --------
        >>> import metricfit as mf
        >>> data = mf.datasets.make_fraud_triage(n_rows=1000, random_state=0)
        >>> result = mf.optimize(data.proba, data.y, "g_mean", [mf.precision("fraud") >= 0.8], counting="calibrated")
        >>> new = result.adapt(shares={"chargeback": 0.02, "fraud": 0.08, "legit": 0.86, "suspicious": 0.04})
        >>> new.feasible, new.policy.at_fit.classes.round(2).tolist()
        (True, [0.02, 0.08, 0.86, 0.04])
        """
        # Solving is a room above this one; users look for it on the result.
        from metricfit.solving.adapt import adapted

        return adapted(self, proba, shares, sensitive_features)

    def at_capacity(self, capacity: Mapping[Any, int], batch: int, *, random_state: int = 0) -> CapacityCost:
        """Return what it costs to keep a capacity in every batch, and how often it would be exceeded otherwise.

        Batches are drawn from the tuning rows, with replacement, and decided by `Policy.decide` without the capacity
        and within it.

        Parameters
        ----------
        capacity : dict
            The largest number of rows of a batch for one or several decisions, such as ``{"review": 200}``.
        batch : int
            Rows of a batch: of a day, say.
        random_state : int, default=0
            The seed.

        Returns
        -------
        CapacityCost

        Examples
        --------
        >>> import metricfit as mf
        >>> data = mf.datasets.make_fraud_triage(n_rows=1000, random_state=0)
        >>> result = mf.optimize(data.proba, data.y, "g_mean", [mf.coverage("suspicious") <= 0.05])
        >>> found = result.at_capacity({"suspicious": 25}, batch=500)
        >>> 0.2 < found.exceeded < 0.8, found.moved < 0.05
        (True, True)
        """
        rows = None if self.origin is None else self.origin.oracle.sample()
        if rows is None or self.origin is None or not isinstance(self.policy, Policy):
            raise ValueError(
                "at_capacity needs the tuning rows and their probabilities; they are not kept in a pickled result, nor "
                "used by a RetrainOracle. Solve again with rows in memory"
            )
        if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
            raise ValueError(f"batch must be a whole number of rows >= 1; got {brief(batch)}")
        return cost_of_capacity(self.origin.problem, self.policy, rows, capacity, batch, random_state)

    def __repr__(self) -> str:
        if np.isfinite(self.bound):
            bound = f"{self.bound:.6f} (proven), gap {self.gap:.2e}"
        else:
            bound = (
                "none claimed"
                if self.calibrated is None
                else f"none claimed; {self.calibrated.beside(self.value, indent=9)}"
            )
        lines = [
            spelt_out(self.problem),
            f"  value  {self.value:.6f}{_on_new_rows(self.expected)}",
            f"  bound  {bound}",
            f"  status {self.status} after {count(self.n_oracle_calls, 'oracle call')}, {self.seconds:.2f} s, "
            f"{self.method}",
            f"  counts {self.counting}{f': {self.choice}' if self.choice else ''}",
        ]
        expected = self.expected.constraints if self.expected is not None else [None] * len(self.constraints)
        for c, new in zip(self.constraints, expected, strict=True):
            outlook = "" if new is None else f", {new.outlook}"
            told = f"{c.shown}, {c.verdict}, price {c.price_shown}{_on_new_rows(new)}{outlook}"
            lines.append(f"  {spelt_out(c.name)}: {told}")
        if self.deterministic is not None:
            lines.append(f"  one rule per cell (randomize='never', exports): {self.deterministic}")
        lines += [f"  decides {line}" for line in self.rule_in_words]
        if self.expected is not None and self.expected.note:
            lines.append(f"  new rows: {self.expected.note}")
        elif self.expected_note:
            lines.append(f"  new rows: {self.expected_note}")
        if self.confidence is None and any(
            new is not None and new.outlook == LIKELY_VIOLATED for new in expected
        ):
            lines.append("  confidence=0.95 looks for a policy that meets the limits on new rows, too")
        if self.left_out:
            lines.append(f"  left out of the constraints, for few rows: {'; '.join(map(str, self.left_out))}")
        if self.confidence is not None:
            lines += [f"  {line}" for line in str(self.confidence).splitlines()]
        return "\n".join(lines)


def _on_new_rows(found: object) -> str:
    return "" if found is None else f"; expect {found} on new rows"
