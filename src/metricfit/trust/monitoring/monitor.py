"""`Monitor`: whether a policy still does what it was fitted for, batch after batch, by proofs valid at any time."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from metricfit.data.labels import encode_labels
from metricfit.data.validation import check_lengths
from metricfit.exceptions import RepeatedBatchWarning
from metricfit.messages import count, warn
from metricfit.policy import Policy
from metricfit.trust.monitoring import state
from metricfit.trust.monitoring.bets import Bets, values_around
from metricfit.trust.monitoring.seen import Batch
from metricfit.trust.monitoring.watched import Watched, plan_of

# The values that are tested of a rate that has no value where it should be.
EVENLY = 101


@dataclass(frozen=True)
class Alarm:
    """A proof that something watched is not as it should be.

    ``batch`` is the number of the batch that completed the proof, from 1 on; ``told`` says what is proven.
    """

    name: str
    kind: str
    batch: int
    told: str


class Monitor:
    """Watches a policy on new rows, labelled, partly labelled or not, batch after batch.

    All intervals hold at all times together with probability ``level``, and all alarms of the monitor's whole life
    together are false with probability at most 1 - ``level``, however often one looks. Rows must be independent draws,
    and those with labels drawn without regard to their labels.

    Parameters
    ----------
    policy : Policy
        What decides the rows.
    level : float, default=0.95
        The probability that no alarm is ever false.

    Attributes
    ----------
    alarms : tuple of Alarm
        What has been proven so far, in order.
    unwatched : dict
        What cannot be watched, and why.

    Examples
    --------
    >>> import metricfit as mf
    >>> data = mf.datasets.make_fraud_triage(n_rows=2000, random_state=0)
    >>> policy = mf.optimize(data.proba, data.y, "g_mean", [mf.recall("fraud") >= 0.5], counting="calibrated").policy
    >>> monitor = policy.monitor()
    >>> week = mf.datasets.make_fraud_triage(n_rows=500, random_state=1)
    >>> frame = monitor.update(week.proba, week.y)
    >>> bool(frame.loc["recall('fraud') >= 0.5", "high"] > 0.5), monitor.alarms
    (True, ())
    """

    def __init__(self, policy: Policy, level: float = 0.95) -> None:
        if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
            raise ValueError(f"level must be a number between 0 and 1, such as 0.95; got {level!r}")
        self.policy, self.level = policy, float(level)
        self._plan = plan_of(policy, self.level)
        if not self._plan.rates:
            raise ValueError(
                "monitor: the policy does not say what it was fitted for, nor what rows were like; fit again"
            )
        self._bets = [_bets(one) for one in self._plan.rates]
        self._rows = [0.0] * len(self._bets)
        self._batches: dict[str, str] = {}
        self.alarms: tuple[Alarm, ...] = ()

    @property
    def unwatched(self) -> dict[str, str]:
        """What cannot be watched, and why."""
        return dict(self._plan.unwatched)

    @property
    def batches(self) -> int:
        """How many batches have been counted."""
        return len(self._batches)

    def update(
        self, proba: Any, y: Any = None, sensitive_features: Any = None, name: str | None = None
    ) -> Any:
        """Count a batch of rows, and return what is known now.

        Parameters
        ----------
        proba : array-like of shape (N, n)
            Class probabilities as the model gives them.
        y : array-like of shape (N,), optional
            Labels; those that are missing (None, NaN) are not counted.
        sensitive_features : frame, array-like or None
            The attributes of the policy and of its limits.
        name : str, optional
            The name of the batch, such as a date, by which it is known again; by default its rows in their order.

        Returns
        -------
        pandas.DataFrame
            A row for each thing watched: ``batch`` (its value in this batch), ``low`` and ``high`` (the interval over
            all batches; NaN if no value fits them all, which proves a change), ``least`` and ``most`` (where it should
            be), ``rows`` (counted so far) and ``alarm``.

        Warns
        -----
        RepeatedBatchWarning
            If this batch was counted before; its rows are not counted again. A batch that was counted without labels
            may be sent again with labels, which are then counted.
        """
        batch = Batch.of(self.policy, proba, _labels(self.policy, y), sensitive_features, name)
        earlier = self._batches.get(batch.rows_hash)
        if earlier is not None and (earlier or not batch.labels_hash):
            again = " with labels" if earlier and batch.labels_hash else ""
            warn(f"this batch was counted before{again}; it is not counted again", RepeatedBatchWarning)
            return self.frame()
        now = [np.nan] * len(self._bets)
        for place, one in enumerate(self._plan.rates):
            if batch.labels_hash == "" if one.labelled else earlier is not None:
                continue
            above, below, z, mass = batch.sums(one)
            if not mass.size:
                continue
            bets = self._bets[place]
            self._bets[place] = bets.after(above, below, z, mass, one.reach(bets.values))
            self._rows[place] += float(mass.sum())
            now[place] = float(mass @ (above + below) / 2 / (mass @ z)) if mass @ z > 0 else np.nan
        self._batches[batch.rows_hash] = batch.labels_hash
        self.alarms += tuple(self._new_alarms())
        return self.frame(now)

    def frame(self, now: list[float] | None = None) -> Any:
        """Return what is known, as `update` does."""
        import pandas as pd

        named, columns = {alarm.name for alarm in self.alarms}, {}
        for place, one in enumerate(self._plan.rates):
            low, high = self._bets[place].interval(self._error)
            value = np.nan if now is None else now[place]
            columns[one.name] = [value, low, high, one.least, one.most, self._rows[place], one.name in named]
        for gap in self._plan.gaps:
            first, second = (self._bets[place].interval(self._error) for place in (gap.first, gap.second))
            apart = np.nan if now is None else now[gap.first] - now[gap.second]
            rows = min(self._rows[gap.first], self._rows[gap.second])
            ends = [first[0] - second[1], first[1] - second[0], -np.inf, gap.most]
            columns[gap.name] = [apart, *ends, rows, gap.name in named]
        names = ["batch", "low", "high", "least", "most", "rows", "alarm"]
        return pd.DataFrame.from_dict(columns, orient="index", columns=names)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a small JSON file, completely or not at all."""
        state.write(path, self.policy, self.level, self._batches, self._bets, self._rows, self.alarms)

    @classmethod
    def load(cls, path: str | os.PathLike[str], policy: Policy) -> Self:
        """Read the state that `save` wrote, for the same policy.

        Raises
        ------
        MonitorFileError
            If the file is damaged, or belongs to another policy.
        """
        found = state.read(path, policy)
        made = cls(policy, found.level)
        values = [bets.values for bets in made._bets]
        made._bets, made._rows = state.bets_of(path, found, values)
        made._batches, made.alarms = found.batches, tuple(Alarm(*one) for one in found.alarms)
        return made

    @property
    def _error(self) -> float:
        """The error probability of each thing watched."""
        return (1 - self.level) / len(self._bets)

    def _new_alarms(self) -> list[Alarm]:
        """Return what is proven now and was not before."""
        known, found = {alarm.name for alarm in self.alarms}, []
        for place, one in enumerate(self._plan.rates):
            if one.name not in known and (told := self._proven(one, self._bets[place])):
                found.append(Alarm(one.name, one.kind, self.batches, told))
        for gap in self._plan.gaps:
            first, second = (self._bets[place].interval(self._error) for place in (gap.first, gap.second))
            if gap.name not in known and first[0] - second[1] > gap.most:
                told = f"the difference is at least {first[0] - second[1]:.3g}, more than {gap.most:g}"
                found.append(Alarm(gap.name, "limit", self.batches, told))
        return found

    def _proven(self, one: Watched, bets: Bets) -> str:
        """Return what is proven against a rate; empty if nothing is."""
        # Half of the error of what is compared with shares at fit is for what the tuning rows say of these.
        needed = np.log(2 / self._error) + (np.log(2) if one.kind in ("decision", "probabilities") else 0.0)
        if np.isfinite(one.least) and bets.evidence(one.least)[1] >= needed:
            return f"it is below {one.least:.4g}"
        if np.isfinite(one.most) and bets.evidence(one.most)[0] >= needed:
            return f"it is above {one.most:.4g}"
        return ""

    def __repr__(self) -> str:
        return f"Monitor({count(self.batches, 'batch', 'batches')}, {count(len(self.alarms), 'alarm')})"


def _bets(one: Watched) -> Bets:
    low, high = one.range()
    ends = [min(max(end, low), high) for end in (one.least, one.most) if np.isfinite(end)]
    return Bets.on(values_around(ends, low, high) if ends else np.linspace(low, high, EVENLY))


def _labels(policy: Policy, y: Any) -> Any:
    """Return codes of labels, -1 where one is missing; None without labels."""
    if y is None:
        return None
    import pandas as pd

    given = np.asarray(y, dtype=object)
    known = np.asarray(~pd.isna(given), bool)
    check_lengths(y=given)
    codes = np.full(len(given), -1)
    if known.any():
        codes[known] = encode_labels(given[known].tolist(), policy.axes.seen.classes)
    return codes
