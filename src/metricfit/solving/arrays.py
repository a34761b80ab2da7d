"""`optimize`: from probabilities, labels and a problem to a result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, Literal

import numpy as np

from metricfit.data.attributes import UNSEEN_RULES
from metricfit.messages import renamed, unknown
from metricfit.methods import Method, Record
from metricfit.metrics import Constraint
from metricfit.metrics.few_rows import MIN_ROWS
from metricfit.options import Options, check_options, check_switches, threads
from metricfit.oracles import Oracle, PluginOracle
from metricfit.oracles.base import Counting, OracleBase, adapted
from metricfit.oracles.choice import oracle_for
from metricfit.policy import Policy
from metricfit.problem import ConstraintLike, ObjectiveLike, Problem
from metricfit.result import Result
from metricfit.result.few_rows import warn_of_few_rows
from metricfit.result.groups import groups_of
from metricfit.solving.door import solve
from metricfit.solving.new_rows import confirmed, confirmed_by_folds, with_expected
from metricfit.solving.unseen import axes_of_all, check_overall, with_overall
from metricfit.solving.worst_value import warn_if_worst
from metricfit.trust.by_folds import EVEN
from metricfit.trust.confidence.confirmation import check_confidence
from metricfit.trust.held_out import frozen_share, kept_apart

# How much of the time the policy itself may take if more is asked for: what to expect, rules for unseen values.
FIRST_SHARE = 1 / 2


@renamed(confusion="counting")
def optimize(
    proba: Any,
    y: Any,
    objective: ObjectiveLike,
    constraints: ConstraintLike | Iterable[ConstraintLike] = (),
    *,
    classes: Iterable[object] | None = None,
    decisions: Iterable[object] | None = None,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    method: str | Method = "auto",
    counting: Counting = "auto",
    oracle: Literal["plugin"] | Oracle = "plugin",
    blind: bool = False,
    missing: Literal["error", "cell"] = "error",
    unseen: Literal["error", "overall"] = "error",
    min_rows: int = MIN_ROWS,
    expect: bool = False,
    confidence: float | None = None,
    tol: float = 1e-4,
    max_calls: int | None = None,
    max_seconds: float | None = None,
    n_jobs: int | None = None,
    random_state: int | None = None,
    start: Result | Policy | None = None,
    callback: Callable[[Record], object] | None = None,
    verbose: int = 0,
) -> Result:
    """Find the best decision rule for a metric under constraints, from predicted class probabilities.

    Parameters
    ----------
    proba : array or frame of shape (N, n), or a table that metricfit.scores returns
        Class probabilities, float32 or float64; other types are copied. The model should not have been trained on these
        rows. The columns of a frame are matched with the classes by name.
    y : array of shape (N,)
        Labels; None if ``proba`` is a table that contains them.
    objective : Metric, str or callable
        What to optimise: a metric, its name, its text, or a function of the n x k confusion matrix (higher is
        better).
    constraints : list of Constraint or str, default=()
        Constraints to keep, for example ``[mf.precision("fraud") >= 0.9]``.
    classes : list, optional
        Labels of the columns; 0..n-1 if ``y`` is integer, else the sorted labels. A `CalibrationWarning` is issued if
        another order fits the labels far better.
    decisions : list, optional
        Labels of the decisions, by default the classes. They may include decisions that are not classes, such as
        ``"review"``.
    sensitive_features : frame or array, optional
        Attributes of each row. The policy may treat each combination of their values differently.
    sample_weight : array of shape (N,), optional
        Weights >= 0.
    method : str or Method, default="auto"
        ``"auto"``, or the name of a method.
    counting : {"auto", "calibrated", "labels", "model"}, default="auto"
        What a row counts as: its label; its probabilities, calibrated on the labels; or its probabilities as given.
        With probabilities the bound is a proof, given that they are right. By default the calibrated answer is returned
        with its proof, unless rows that it has not seen prefer a search on labels; `Result.choice` says why.
    oracle : "plugin" or an oracle, default="plugin"
        How a linear loss is minimised. A `RetrainOracle`, or an oracle of your own, must use the same labels and
        weights.
    blind : bool, default=False
        Whether the policy must not see the attributes, although constraints are on groups. ``proba`` must then be the
        joint probabilities of cell and class, P(cell, class | x), of shape (N, cells, classes), where cells are the
        observed combinations of attribute values, sorted. Decisions on new rows need only these probabilities.
    missing : {"error", "cell"}, default="error"
        Refuse rows that lack an attribute, or give them a separate cell, with the value ``"(missing)"``.
    unseen : {"error", "overall"}, default="error"
        What the policy does with new rows whose attribute values do not occur in these rows: refuse them, or decide
        them by the rule that is best for all rows together, under the constraints that need no attributes.
    min_rows : int, default=10
        Constraints over groups leave out rates that rest on fewer rows, as long as two groups remain: a rate of two
        rows says nothing of new rows. `Result.left_out` lists them; 0 enforces all.
    expect : bool, default=False
        Also estimate what to expect on new rows, `Result.expected`: for each of three folds, the policy is fitted again
        on the other rows. This takes about as long as two or three more solves.
    confidence : float, optional
        With 0.95, all constraints together hold on the population with this confidence: 90 % of the rows (75 % if a
        class is rare in a group) are held out from the fit to test it, see `Result.confidence`. With 0.5 (or less), new
        rows break some constraint about as often as not: neither too bold nor too cautious. This is estimated by folds,
        and no rows are held out.
    tol : float, default=1e-4
        Stop when value and bound are this close.
    max_calls, max_seconds : optional
        Budgets of oracle calls, and of the time of the whole call: calibration, search, single rule, what to expect
        and confidence. When one is used up, the best policy so far is returned, and steps that have not begun are left
        out: ``randomize="never"`` may then take the heaviest rules, and `Result.expected_note` says if folds are.
    n_jobs : int, optional
        Threads of the plug-in oracle; -1 for all cores.
    random_state : int, optional
        Seed of methods that use random numbers.
    start : Result or Policy, optional
        Rules to start from, for example those of a similar problem.
    callback : callable, optional
        Called with each `Record`; the search stops if it returns a true value.
    verbose : int, default=0
        Print a line per iteration to standard error.

    Returns
    -------
    Result

    Raises
    ------
    InfeasibleError
        If no policy keeps all constraints.

    Examples
    --------
    >>> import numpy as np
    >>> import metricfit as mf
    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> result = mf.optimize(proba, [0, 0, 1, 1], "g_mean", counting="labels")
    >>> result.value, result.policy.decide(proba).tolist()
    (1.0, [0, 0, 1, 1])

    A floor on the precision of a class, and decisions shared out alike in all regions:

    >>> data = mf.datasets.make_fraud_triage(n_rows=2000, random_state=0)
    >>> limits = [mf.precision("fraud") >= 0.8, mf.demographic_parity(over="region") <= 0.05]
    >>> result = mf.optimize(
    ...     data.proba, data.y, "g_mean", limits, sensitive_features=data.X[["region"]], counting="calibrated")
    >>> result.feasible, result.certified, [record.name for record in result.constraints]
    (True, True, ["precision('fraud') >= 0.8", "demographic_parity(over='region') <= 0.05"])
    """
    started, problem = perf_counter(), Problem.of(objective, constraints)
    check_options(tol, max_calls, max_seconds, counting, min_rows)
    check_switches(expect=expect, blind=blind)
    check_confidence(confidence)
    if unseen not in UNSEEN_RULES:
        raise ValueError(unknown("unseen", unseen, UNSEEN_RULES))
    options = Options(method, tol, max_calls, max_seconds, random_state, start, callback, verbose).begun()
    if oracle != "plugin" if isinstance(oracle, str) else not isinstance(oracle, Oracle):
        raise ValueError(
            "oracle must be 'plugin' or an object with axes, margins, exact, a call and confusion, got "
            f"{oracle!r}"
        )
    plugin = oracle_for(
        proba,
        y,
        classes=classes,
        decisions=decisions,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        counting=counting,
        threads=threads(n_jobs),
        blind=blind,
        missing=missing,
    )
    asked = plugin if isinstance(oracle, str) else adapted(oracle)
    if asked is not plugin:
        _check_same_rows(asked, plugin)
    problem = problem.limited(asked.axes, asked.class_counts, min_rows)
    judged = partial(with_expected, problem, asked, options=options) if expect else None
    # A blind policy sees no attributes, so no value can be unseen.
    result = answered(problem, asked, options, confidence, "error" if blind else unseen, plugin, judged)
    return replace(result, seconds=perf_counter() - started)


def answered(
    problem: Problem,
    oracle: OracleBase,
    options: Options,
    confidence: float | None = None,
    unseen: Literal["error", "overall"] = "error",
    plugin: OracleBase | None = None,
    judged: Callable[[Result], Result] | None = None,
) -> Result:
    """Return the result of a problem, confirmed if a confidence is asked for, with groups and a rule for unseen values.

    Parameters
    ----------
    problem, oracle, options
        As in `metricfit.solve`.
    confidence, unseen
        As in `optimize`.
    plugin : OracleBase, optional
        The plug-in oracle on the same rows, by default the oracle itself.
    judged : callable, optional
        Adds to a result what to expect on new rows; not called with a confidence, whose held-out rows tell more.
    """
    plugin, options = oracle if plugin is None else plugin, options.begun()
    if unseen == "overall":
        check_overall(problem, oracle, plugin)
    if confidence is None or not problem.constraints:  # without limits there is nothing to confirm
        later = judged is not None or unseen != "error"
        result = solve(problem, oracle, options.within(FIRST_SHARE) if later else options)
        warn_if_worst(problem, oracle, result)
        result = result if judged is None else judged(result)
    else:
        if not isinstance(oracle, PluginOracle):
            raise ValueError(
                "confidence needs rows in memory, because it holds out some of them; pass arrays, or a part of the "
                "rows"
            )
        if confidence <= EVEN:
            result = confirmed_by_folds(problem, oracle, options)
        else:
            labels, cells = oracle.rows.labels, oracle.rows.cells
            kept = kept_apart(labels, cells, frozen_share(labels, cells), options.random_state or 0)
            tuning, apart = (oracle.rows.take(np.flatnonzero(which)) for which in (~kept, kept))
            result = confirmed(problem, oracle.on(tuning), apart, confidence, options)
    if isinstance(plugin, PluginOracle) and plugin.axes.seen.cells.names:
        groups = groups_of(problem, plugin)
        warn_of_few_rows(groups, result.confusion, problem.left_out)
        result = replace(result, groups=groups)
    if unseen == "error":
        return result

    def again(limits: Iterable[Constraint], same: dict[str, str]) -> Result:
        """Solve for all rows together, as if they were one group."""
        assert isinstance(plugin, PluginOracle)  # checked before the solve
        rows = replace(plugin.rows, axes=axes_of_all(plugin.axes, same), cells=None)
        limited = Problem(problem.objective, tuple(limits))
        return solve(limited, plugin.on(rows), options.quiet())

    return with_overall(result, problem, again)


def _check_same_rows(oracle: OracleBase, given: OracleBase) -> None:
    """Raise if an oracle counts labels of other rows than those given. Soft labels are not checked."""
    if oracle.exact or given.exact:
        return
    if oracle.axes.classes != given.axes.classes:
        raise ValueError(
            f"oracle: its classes are {list(oracle.axes.classes)}, those of y are {list(given.axes.classes)}; give "
            "both the same y and classes"
        )
    shares, expected = oracle.margins.sum(axis=0), given.margins.sum(axis=0)
    worst = int(np.abs(shares - expected).argmax())
    if abs(shares[worst] - expected[worst]) > 1e-6:
        raise ValueError(
            f"oracle: class {oracle.axes.classes[worst]!r} has {shares[worst]:.6g} of its weight, but "
            f"{expected[worst]:.6g} of that of y; give both the same y and sample_weight"
        )
