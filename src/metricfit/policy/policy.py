"""`Policy`, which is deployed: for each cell a small mixture of plug-in rules."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from metricfit.calibration import Calibration
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.data.labels import in_class_order
from metricfit.data.layout import Layout, shape_of
from metricfit.data.row_order import check_row_order
from metricfit.data.rows import Rows
from metricfit.data.validation import check_proba
from metricfit.exceptions import PolicyFileError
from metricfit.messages import count, unknown
from metricfit.policy import file as policy_file
from metricfit.policy.at_fit import AtFit
from metricfit.policy.capacity import Capped, capped
from metricfit.policy.deciding import RuleBook, RuledRows
from metricfit.policy.document import check_provenance, document_of, parts_of
from metricfit.policy.export import DeterministicRule, Exportable
from metricfit.policy.mixture import RANDOMIZE, Rule, Table, losses_for, shares_of, singles_of
from metricfit.policy.row_hash import cell_keys, key_words
from metricfit.policy.thresholds import Threshold, thresholds_of
from metricfit.policy.wording import in_words, of_single
from metricfit.types import FloatArray, IntArray

if TYPE_CHECKING:
    from metricfit.trust.monitoring.monitor import Monitor

__all__ = ["Policy", "PolicyFileError", "Rule"]

#: The attribute values in a frame of thresholds that stand for all values which the policy does not know.
OTHER = "any other"


@dataclass(frozen=True, eq=False, repr=False)
class Policy(Exportable):
    """A randomised decision rule: for each cell a mixture of plug-in rules.

    Parameters
    ----------
    axes : Axes
        Classes, decisions and cells.
    layout : {"diagonal", "full"}
        How losses are laid out: (2, k) or (n, k) for each rule.
    rules : sequence of sequences of Rule
        For each cell its rules; their weights sum to 1.
    single : sequence of int, optional
        For each cell the index of its deterministic rule, used by ``randomize="never"``; by default the rule with the
        largest weight.
    calibration : Calibration, optional
        Applied to the model's probabilities before the rules decide; None leaves them as they are. It treats all cells
        of the axes separately, or all alike.
    provenance : dict, optional
        Where the policy comes from: names with strings, numbers, bools, None, or lists of these. It is stored
        unchanged, and is ignored when policies are compared.
    overall : Policy, optional
        A policy without attributes that decides rows whose attribute values are in no cell; without it such rows are
        refused.
    at_fit : AtFit, optional
        What the tuning rows were like; ignored when policies are compared.

    Examples
    --------
    A third decision for cases that cost too much to get wrong:

    >>> from metricfit.data.axes import Axes
    >>> from metricfit.policy import Policy, Rule
    >>> loss = [[0, 1, 0.3], [5, 0, 0.3]]  # rows: the true class; columns: the decision
    >>> policy = Policy(Axes(("ok", "fraud"), ("ok", "fraud", "review")), "full", [[Rule(1, loss)]])
    >>> policy
    Policy(2 classes, 3 decisions, 1 cell, 1 rule, layout='full')
    >>> policy.decide([[0.99, 0.01], [0.5, 0.5], [0.1, 0.9]]).tolist()
    ['ok', 'review', 'fraud']
    """

    axes: Axes
    layout: Layout
    rules: tuple[tuple[Rule, ...], ...]
    single: tuple[int, ...] = ()
    calibration: Calibration | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    overall: Policy | None = None
    at_fit: AtFit | None = None
    _losses: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        """Check the parts, and keep all losses in one array."""
        if self.layout not in get_args(Layout):
            raise ValueError(unknown("layout", self.layout, get_args(Layout)))
        cells, *shape = shape_of(self.layout, self.axes)
        if len(self.rules) != cells:
            raise ValueError(f"rules must have one entry per cell: there are {cells}, got {len(self.rules)}")
        weights = [shares_of(*pair) for pair in zip(self.rules, self.axes.cells.values, strict=True)]
        flat = [rule.loss for mixture in self.rules for rule in mixture]
        for loss in flat:
            if loss.shape != tuple(shape):
                raise ValueError(f"losses must have shape {tuple(shape)}; got one of shape {loss.shape}")
        losses: FloatArray = np.array(flat)
        if not np.isfinite(losses).all():
            raise ValueError("losses must be finite; some are NaN or infinite")
        _check_overall(self.overall, self.axes)
        check_provenance(self.provenance)
        calibration = _fitting(self.calibration, self.axes)
        losses.flags.writeable = False
        views = iter(losses)
        rules = tuple(tuple(Rule(share, next(views)) for share in shares) for shares in weights)
        object.__setattr__(self, "rules", rules)
        object.__setattr__(self, "single", singles_of(self.single, weights))
        object.__setattr__(self, "calibration", calibration)
        object.__setattr__(self, "provenance", dict(self.provenance))
        object.__setattr__(self, "_losses", losses)

    @property
    def n_rules(self) -> int:
        """Number of rules that mixtures use, in all cells together."""
        return sum(rule.weight > 0 for mixture in self.rules for rule in mixture)

    def decide(
        self,
        proba: Any,
        sensitive_features: Any = None,
        randomize: str = "hash",
        random_state: Any = None,
        key: Any = None,
        capacity: Mapping[Any, int] | None = None,
    ) -> Any:
        """Return a decision for each row.

        Parameters
        ----------
        proba : array-like or frame of shape (N, n)
            Class probabilities as the model gives them; the policy's calibration is applied to them here. The
            columns of a frame that are named after the classes may be in any order.
        sensitive_features : frame, array-like of shape (N,) or None
            The attributes, if the policy has any.
        randomize : {"hash", "draw", "never"}, default="hash"
            How a row gets its rule. ``"hash"``: by a number computed from the row itself, so that the same row gets the
            same decision in any order and batch. ``"draw"``: by a random number. ``"never"``: every row of a cell gets
            the same rule, given by `single`, which is as close to the mixture as a single rule can be, see
            `metricfit.policy.derandomise`.
        random_state : int, optional
            The salt of ``"hash"``, or the seed (or generator) of ``"draw"``.
        key : array-like of shape (N,), optional
            What ``"hash"`` hashes instead of the probabilities and the cell: numbers or strings, such as case numbers.
            The rule of a row then depends on its key alone, so a case keeps its rule when its probabilities change.
            This also helps if a model gives many rows the same probabilities, and therefore the same rule. See
            `metricfit.policy.row_hash`.
        capacity : dict, optional
            The largest number of rows that may get a decision, such as ``{"review": 200}``, for one or several
            decisions. It is kept in this batch exactly: if more rows would get the decision, those lose it for which,
            by the losses of their rules, it matters least, and get the best of the others. Ties are broken by the hash
            of the row or its key, so the order of the rows does not matter.

        Returns
        -------
        ndarray of shape (N,)
            Decision labels; of dtype object if they have several types.

        Examples
        --------
        >>> axes, zero_one = Axes(("no", "yes")), [[0, 1], [1, 0]]
        >>> Policy(axes, "full", [[Rule(1, zero_one)]]).decide([[0.9, 0.1], [0.5, 0.5]]).tolist()
        ['no', 'yes']

        One "yes" only, for the row that gains most from it:

        >>> policy = Policy(axes, "full", [[Rule(1, zero_one)]])
        >>> policy.decide([[0.3, 0.7], [0.9, 0.1], [0.2, 0.8]], capacity={"yes": 1}).tolist()
        ['no', 'no', 'yes']
        """
        limits = {} if capacity is None else capacity
        found = self.capped(proba, limits, sensitive_features, randomize, random_state, key)
        return self.axes.decision_labels[found.made]

    def capped(
        self,
        proba: Any,
        capacity: Mapping[Any, int],
        sensitive_features: Any = None,
        randomize: str = "hash",
        random_state: Any = None,
        key: Any = None,
    ) -> Capped:
        """Return the decisions of `decide` within a capacity, as indices, with those without it and what it costs."""
        if randomize not in RANDOMIZE:
            raise ValueError(unknown("randomize", randomize, RANDOMIZE))
        check_row_order(proba=proba, sensitive_features=sensitive_features, key=key)
        rows = self._checked(proba)
        words = None if key is None else key_words(key, len(rows))
        parts = []
        for policy, some, cell in self._who_decides(sensitive_features, len(rows)):
            told = None if words is None else words[some]
            table = policy._rule_book.table
            rule = table.start[cell] + table.rule_of(rows[some], cell, randomize, random_state, told)
            parts.append(RuledRows(policy._rule_book, some, rows[some], cell, rule, told))
        return capped(parts, capacity, self.axes)

    def decision_proba(self, proba: Any, sensitive_features: Any = None) -> FloatArray:
        """Return the probability of each decision for each row, over the mixture of rules.

        Parameters
        ----------
        proba : array-like of shape (N, n)
            Class probabilities as the model gives them; the policy's calibration is applied to them here.
        sensitive_features : frame, array-like of shape (N,) or None
            The attributes, if the policy has any.

        Returns
        -------
        ndarray of shape (N, k)

        Examples
        --------
        >>> always = [Rule(0.25, [[0, 1], [0, 1]]), Rule(0.75, [[1, 0], [1, 0]])]
        >>> Policy(Axes(("no", "yes")), "full", [always]).decision_proba([[0.9, 0.1]])
        array([[0.25, 0.75]])
        """
        check_row_order(proba=proba, sensitive_features=sensitive_features)
        rows = self._checked(proba)
        made = np.empty((len(rows), self.axes.k))
        for policy, some, cell in self._who_decides(sensitive_features, len(rows)):
            made[some] = policy._rule_book.chances(rows[some], cell)
        return made

    def calibrated(self, proba: Any, sensitive_features: Any = None) -> FloatArray:
        """Return the class probabilities of rows after the policy's calibration."""
        rows = self._checked(proba)
        made = np.array(rows, dtype=float)
        for policy, some, cell in self._who_decides(sensitive_features, len(rows)):
            if policy.calibration is not None:
                made[some] = policy.calibration(rows[some], cell)
        return made

    def chances(self, rows: Rows) -> FloatArray:
        """Return `decision_proba` of checked rows; cells that are the policy's own are not looked up again."""
        if rows.axes is not self.axes:
            return self.decision_proba(rows.proba, rows.attributes)
        cells = np.zeros(len(rows), np.int32) if rows.cells is None else rows.cells
        return self._rule_book.chances(rows.proba, cells)

    def _checked(self, proba: Any) -> FloatArray:
        if self.axes.seen is not self.axes:
            proba = np.asarray(proba)  # of cells and classes, with a column for each pair
            proba = proba.reshape(len(proba), -1) if proba.ndim == 3 else proba
            if proba.ndim == 2 and proba.shape[1] != self.axes.n:
                raise ValueError(
                    f"proba has {proba.shape[1]} columns, but a policy that does not see "
                    f"{', '.join(self.axes.seen.cells.names)} decides by {self.axes.n}, one for each pair of "
                    f"{len(self.axes.seen.cells)} groups and {self.axes.seen.n} classes. Pass "
                    "clf.estimator_.joint_proba(X) of a MetricClassifier, or P(group, class | x) as in mf.optimize"
                )
        return check_proba(in_class_order(proba, self.axes.classes), self.axes.n, allow_empty=True)

    def _who_decides(self, sensitive_features: Any, n_rows: int) -> list[tuple[Policy, Any, IntArray]]:
        """Return which policy decides which rows, and their cells; rows of no cell go to the overall policy."""
        unseen = "error" if self.overall is None else "overall"
        cell = self.axes.cells.encode(sensitive_features, n_rows, unseen)
        outside = np.flatnonzero(cell == len(self.rules))
        if self.overall is None or not outside.size:
            return [(self, slice(None), cell)]
        inside = np.delete(np.arange(n_rows), outside)
        return [(self, inside, cell[inside]), (self.overall, outside, np.zeros(len(outside), np.int32))]

    @cached_property
    def _rule_book(self) -> RuleBook:
        table = Table.of(self.rules, self.single, cell_keys(self.axes.cells.values))
        return RuleBook(self.axes, self.layout, self._losses, table, self.calibration)

    def losses_for(self, axes: Axes, layout: Layout) -> list[FloatArray]:
        """Return the rules as losses over the cells of another problem, as a start for its solve.

        Parameters
        ----------
        axes : Axes
            The other problem's axes, with the same classes and decisions. Cells that the policy does not know
            get the rules of its first cell.
        layout : {"diagonal", "full"}
            The other problem's layout. Rules that it cannot express are left out.

        Returns
        -------
        list of ndarrays of shape (A, s, k)

        Examples
        --------
        >>> policy = Policy(Axes((0, 1)), "diagonal", [[Rule(1, [[-1, -2], [0, 1]])]])
        >>> policy.losses_for(policy.axes, "full")
        [array([[[-1.,  1.],
                [ 0., -1.]]])]
        """
        return losses_for(self.axes, self.layout, self.rules, axes, layout)

    def thresholds(self, randomize: str = "hash") -> Any:
        """Return, for two classes, from which probability of the second one on each decision is made.

        Parameters
        ----------
        randomize : {"hash", "draw", "never"}, default="hash"
            Of which rules: those of the mixtures, or with ``"never"`` the one of each cell that decides alone.

        Returns
        -------
        pandas.DataFrame
            The index names the cell. There is a row for each rule of a mixture (and for each further decision, if there
            are more than two), with the columns

            - ``decision``: what is decided from the threshold on; the other decision below it;
            - ``share``: the share of the cell's rows that get the rule;
            - ``threshold``: a probability as the model gives it; 0 if the decision is always made, infinite if never;
            - ``calibrated``: the same after the policy's calibration.

            A row ``[1 - p, p]`` in double precision gets the decision exactly if p is at least the threshold. Rows of
            unknown attribute values, if they are decided, come last.

        Raises
        ------
        ValueError
            If there are not two classes, or if the policy is blind, so that it decides by pairs of group and class.

        Examples
        --------
        >>> policy = Policy(Axes(("no", "yes")), "full", [[Rule(0.25, [[0, 1], [1, 0]]), Rule(0.75, [[0, 1], [3, 0]])]])
        >>> policy.thresholds()
          decision  share  threshold  calibrated
        0      yes   0.25       0.50        0.50
        1      yes   0.75       0.25        0.25
        """
        import pandas as pd

        if randomize not in RANDOMIZE:
            raise ValueError(unknown("randomize", randomize, RANDOMIZE))
        found, names = self.cuts(randomize), list(self.axes.cells.names)
        columns = ["decision", "share", "threshold", "calibrated"]
        frame = pd.DataFrame([one[1:] for one in found], columns=columns)
        if not names:
            return frame
        cells = [one.cell or (OTHER,) * len(names) for one in found]
        frame.index = pd.MultiIndex.from_tuples(cells, names=names)
        return frame if len(names) > 1 else frame.set_axis(frame.index.get_level_values(0))

    def cuts(self, randomize: str = "hash") -> list[Threshold]:
        """Return `thresholds` as a list, without pandas; those for rows of unknown values have an empty cell."""
        beyond = [] if self.overall is None else self.overall.cuts(randomize)
        return thresholds_of(self.axes, self._rule_book, randomize) + beyond

    @property
    def deterministic(self) -> DeterministicRule:
        """The rule of ``randomize="never"``, in the form that exports start from."""
        alone = [mixture[index].loss for mixture, index in zip(self.rules, self.single, strict=True)]
        beyond = None if self.overall is None else self.overall.deterministic
        rule = DeterministicRule.of(self.axes, self.layout, alone, self.calibration, beyond)
        return replace(rule, about=(*of_single(self.provenance), *in_words(self, "never")))

    def evaluate(
        self,
        proba: Any,
        y: Any,
        metrics: Any = None,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        by: str | Sequence[str] | None = None,
    ) -> Any:
        """Return metrics of the policy's decisions on labelled rows, with 95 % intervals.

        Mixtures of rules are evaluated by their decision probabilities, so drawing decisions adds no noise.

        Parameters
        ----------
        proba : array-like of shape (N, n)
            Class probabilities.
        y : array-like of shape (N,)
            Labels.
        metrics : metric, constraint, text, or list of them, optional
            What to compute; by default the objective and the constraints that the policy was fitted for.
        sensitive_features : frame, array-like of shape (N,) or None
            The attributes of the policy and of the metrics.
        sample_weight : array-like of shape (N,), optional
            Weights >= 0.
        by : str or list of str, optional
            Attributes that define groups; the metrics are then also computed for each group.

        Returns
        -------
        pandas.DataFrame
            A row for each metric with the columns metric, value, low and high; with ``by`` also group, which is "all"
            for all rows. A value is that of the metric, so the precision of a decision that is never made is 0, as in
            scikit-learn; its interval is NaN. Where the metric has no value, as for the recall of a class without rows,
            it is NaN too. A metric that compares groups has no row for rows of only one of these groups.

        Examples
        --------
        >>> policy = Policy(Axes(("no", "yes")), "full", [[Rule(1, [[0, 1], [1, 0]])]])
        >>> proba, y = [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.3, 0.7]], ["no", "yes", "no", "yes"]
        >>> print(policy.evaluate(proba, y, ["recall('yes')", "accuracy()"]).round(2).to_string(index=False))
               metric  value  low  high
        recall('yes')   1.00 0.34  1.00
           accuracy()   0.75 0.30  0.95
        """
        # Metrics need SciPy, deciding does not.
        from metricfit.policy.evaluation import evaluated

        return evaluated(self, proba, y, metrics, sensitive_features, sample_weight, by)

    def monitor(self, level: float = 0.95) -> Monitor:
        """Return a monitor that watches the policy on new rows, batch after batch.

        Parameters
        ----------
        level : float, default=0.95
            The probability that no alarm is ever false, however often one looks.

        Returns
        -------
        Monitor

        Examples
        --------
        >>> provenance = {"constraints": ["recall('yes') >= 0.5"]}
        >>> policy = Policy(Axes(("no", "yes")), "full", [[Rule(1, [[0, 1], [1, 0]])]], provenance=provenance)
        >>> monitor = policy.monitor()
        >>> frame = monitor.update([[0.9, 0.1]] * 40, ["yes"] * 40)
        >>> monitor.alarms[0].told
        'it is below 0.5'
        """
        # It needs claims and tests of a room above, which deciding does without.
        from metricfit.trust.monitoring.monitor import Monitor

        return Monitor(self, level)

    def to_dict(self) -> dict[str, Any]:
        """Return the policy as a document of plain lists, numbers and strings.

        Examples
        --------
        >>> Policy(Axes((0, 1)), "full", [[Rule(1, [[0, 1], [1, 0]])]]).to_dict()["cells"]
        [{'rules': [{'weight': 1.0, 'loss': [[0.0, 1.0], [1.0, 0.0]]}], 'single': 0}]
        """
        parts = (self.axes, self.layout, self.rules, self.single, self.calibration, self.provenance)
        overall = None if self.overall is None else self.overall.to_dict()
        return document_of(*parts, overall, self.at_fit)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Policy:
        """Return the policy of a document that `to_dict` made.

        Raises
        ------
        PolicyFileError
            If the document is not a policy.

        Examples
        --------
        >>> policy = Policy(Axes((0, 1)), "full", [[Rule(1, [[0, 1], [1, 0]])]])
        >>> Policy.from_dict(policy.to_dict()) == policy
        True
        """
        found = parts_of(document)
        try:
            rules = tuple(tuple(Rule(weight, loss) for weight, loss in mixture) for mixture in found.rules)
            axes = Axes(found.classes, found.decisions, Cells(found.attributes, found.cells))
            return cls(
                axes.blind() if found.blind else axes,
                found.layout,
                rules,
                found.single,
                found.calibration,
                found.provenance,
                None if found.overall is None else cls.from_dict(found.overall),
                found.at_fit,
            )
        except (ValueError, OverflowError) as error:
            raise PolicyFileError(f"it does not make sense as a policy: {error}") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a JSON file, completely or not at all.

        Parameters
        ----------
        path : path-like
            The file; an older one is replaced.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> policy = Policy(Axes(("no", "yes")), "full", [[Rule(1, [[0, 1], [1, 0]])]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     policy.save(pathlib.Path(folder) / "policy.json")
        ...     Policy.load(pathlib.Path(folder) / "policy.json") == policy
        True
        """
        policy_file.write(path, policy_file.encode(self.to_dict()))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, max_bytes: int = policy_file.MAX_BYTES) -> Policy:
        """Read a policy that `save` wrote.

        Parameters
        ----------
        path : path-like
            The file.
        max_bytes : int, default=2**26
            Larger files are refused without reading them.

        Returns
        -------
        Policy

        Raises
        ------
        PolicyFileError
            If the file is damaged, was written by a newer version, or is not a policy file.

        Examples
        --------
        >>> Policy.load("no-such-policy.json")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'no-such-policy.json'
        """
        try:
            return cls.from_dict(policy_file.decode(policy_file.read(path, max_bytes)))
        except PolicyFileError as error:
            raise PolicyFileError(f"cannot load a policy from {os.fspath(path)!r}: {error}") from error

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Policy):
            return NotImplemented
        same = (self.axes, self.layout, self.single) == (other.axes, other.layout, other.single)
        same = same and (self.calibration, self.overall) == (other.calibration, other.overall)
        weights = [[[rule.weight for rule in mixture] for mixture in one.rules] for one in (self, other)]
        return same and weights[0] == weights[1] and np.array_equal(self._losses, other._losses)

    def __hash__(self) -> int:
        return hash((self.axes, self.layout, self.single, self.n_rules))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the constructor: arrays come back from a pickle writeable."""
        return Policy, tuple(getattr(self, part.name) for part in fields(self) if part.init)

    def __repr__(self) -> str:
        sizes = (
            f"{count(self.axes.n, 'class', 'classes')}, {count(self.axes.k, 'decision')}, "
            f"{count(len(self.rules), 'cell')}, {count(self.n_rules, 'rule')}"
        )
        calibrated = "" if self.calibration is None else f", calibration={self.calibration.family!r}"
        return f"Policy({sizes}, layout={self.layout!r}{calibrated})"


def _check_overall(overall: Policy | None, axes: Axes) -> None:
    if overall is None:
        return
    if not isinstance(overall, Policy) or overall.axes.cells.names or overall.overall is not None:
        raise ValueError("overall must be a policy without attributes")
    if (overall.axes.classes, overall.axes.decisions) != (axes.classes, axes.decisions):
        raise ValueError("overall must have the classes and decisions of the policy, in the same order")


def _fitting(calibration: Calibration | None, axes: Axes) -> Calibration | None:
    """Return the calibration if it fits the axes, and None if it changes nothing."""
    if calibration is None or calibration.is_identity:
        return None
    if calibration.n != axes.n:
        raise ValueError(f"calibration has {calibration.n} classes, the policy {axes.n}")
    if calibration.cells not in (1, len(axes.cells)):
        raise ValueError(f"calibration has {calibration.cells} cells, the policy {len(axes.cells)}")
    return calibration
