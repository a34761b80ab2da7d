"""Results for new rows: confirmed by held-out rows or by folds, or with what to expect there."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from metricfit.calibration import SETTINGS
from metricfit.data.layout import Layout
from metricfit.data.rows import Rows
from metricfit.exceptions import BrokenLimitWarning, CalibrationWarning
from metricfit.methods import Record
from metricfit.methods.base import Exhausted
from metricfit.options import Options
from metricfit.oracles import PluginOracle
from metricfit.oracles.base import OracleBase
from metricfit.policy import Policy
from metricfit.policy.models import ModelPolicy
from metricfit.problem import Problem
from metricfit.result import ConstraintRecord, Deterministic, Origin, Result
from metricfit.solving.auto import answer_of
from metricfit.solving.door import DEFAULTS, solve
from metricfit.solving.provenance import judge_of, judging_rows, provenance_of
from metricfit.solving.single_rule import alone_of, with_single
from metricfit.trust.by_folds import confirm_by_folds
from metricfit.trust.confidence.confirmation import confirm
from metricfit.trust.confidence.path import Refit
from metricfit.trust.decided import Decided
from metricfit.trust.expected import expected
from metricfit.trust.judgement import judge

#: In each fold, a search on counted labels takes time in proportion to the rows: with 1,000,000 x 10, eleven times as
#: long as the solve itself. A sample of 50,000 rows gives the same values within its intervals.
MOST_SEARCHED = 200_000
#: How much of the time left each of several fits may take.
EACH_SHARE = 1 / 3
#: Up to so many probabilities, mixtures of many rules are not simplified in the folds. With 2,000 x 2 this takes a
#: tenth less time, with 20,000 x 5 the same, with 100,000 x 5 under a limit a little more.
FEW_ENTRIES = 50_000


def confirmed(
    problem: Problem, oracle: PluginOracle, kept: Rows, level: float, options: Options = DEFAULTS
) -> Result:
    """Return the result of the boldest policy on the oracle's rows whose constraints the held-out rows confirm."""
    oracle, options = oracle.by("labels") if oracle.counting == "auto" else oracle, options.begun()
    calibrated = _calibrated(oracle, options)
    refit = _refit(oracle, calibrated, options)
    counted = not oracle.exact
    result, solved, confidence = confirm(problem, oracle.rows, kept, level, refit, counted, options.ends)
    note = f"judged by {len(kept):,} held-out rows"
    if not options.ends.passed:
        result = _derandomised(solved, oracle, result)
    judged = judge(problem, Decided.by(result.policy, kept).evidence(), len(kept), note)
    whole = oracle if oracle.exact else oracle.on(oracle.rows.joined(kept))
    made = _as_asked(problem, oracle, whole, calibrated, result)
    made = replace(made, confidence=confidence, expected=judged)
    named = provenance_of(problem, oracle, made)
    return made.with_provenance(**named, confidence=level, kept=len(kept), **judged.provenance())


def confirmed_by_folds(problem: Problem, oracle: PluginOracle, options: Options = DEFAULTS) -> Result:
    """Return the result of the boldest policy whose constraints new rows should keep as often as not."""
    oracle, options = oracle.by("labels") if oracle.counting == "auto" else oracle, options.begun()
    calibrated = _calibrated(oracle, options)

    def refit_on(rows: Rows) -> Refit:
        some = oracle.on(rows)
        return _refit(some, _calibrated(some, options), options)

    result, solved, confidence, judged = confirm_by_folds(
        problem,
        oracle.rows,
        _refit(oracle, calibrated, options),
        refit_on,
        not oracle.exact,
        options.random_state or 0,
        options.ends,
    )
    if not options.ends.passed:
        result = _derandomised(solved, oracle, result)
    made = _as_asked(problem, oracle, oracle, calibrated, result)
    made = replace(made, confidence=confidence, expected=judged)
    named = provenance_of(problem, oracle, made)
    return made.with_provenance(**named, confidence=confidence.level, **judged.provenance())


def _calibrated(oracle: PluginOracle, options: Options) -> PluginOracle | None:
    """Return the calibrated oracle whose policies are tested, if labels are counted and no method is asked for.

    Its policies overfit the tuning rows less, and the limits are tested on other rows anyway.
    """
    return oracle.calibrated() if not oracle.exact and options.method == "auto" else None


def _refit(oracle: PluginOracle, calibrated: PluginOracle | None, options: Options) -> Refit:
    """Return a function that solves a problem from a start."""
    guide = oracle if calibrated is None else calibrated.soft()

    def refit(asked: Problem, start: Any) -> Result:
        again = replace(options.within(EACH_SHARE).quiet(), start=start, derandomise=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BrokenLimitWarning)  # other rows test the policy
            if calibrated is not None:  # labels that the fit has not seen test the calibration too
                warnings.simplefilter("ignore", CalibrationWarning)
            result = solve(asked, guide, again)
        if result.status == "stopped":  # no callback is called here, so the user has pressed Ctrl-C
            raise KeyboardInterrupt
        return result

    return refit


def _as_asked(
    problem: Problem,
    oracle: PluginOracle,
    whole: PluginOracle,
    calibrated: PluginOracle | None,
    result: Result,
) -> Result:
    """Return a result for tightened limits as one for the original limits, on all rows."""
    # Solved without limits there are no prices; a start that leans to one limit has a constraint more.
    prices = [record.price for record in result.constraints][: len(problem.constraints)]
    prices = prices or [0.0] * len(problem.constraints)
    if not oracle.exact:
        result = _by_labels(problem, whole, result)
        if calibrated is not None:
            result = replace(result, origin=_origin(result.origin, oracle, calibrated))
    records = []
    for c, price in zip(problem.constraints, prices, strict=True):
        value = c.metric(result.confusion)
        records.append(ConstraintRecord(str(c), value, c.limit, c.excess(value), price))
    made = replace(result, constraints=tuple(records), problem=str(problem))
    return made if made.origin is None else replace(made, origin=replace(made.origin, problem=problem))


def _by_labels(problem: Problem, whole: PluginOracle, result: Result) -> Result:
    """Return a result evaluated by the counted labels of all rows, without a bound."""
    confusion = Decided.by(result.policy, whole.rows).evidence().confusion
    made = replace(
        result,
        confusion=confusion,
        value=problem.objective(confusion),
        bound=-problem.sign * float("inf"),
        gap=float("inf"),
        certified=False,
        status="searched",
        counting="labels",
        calibrated=None,  # a bound for other limits
        _judge=judge_of(problem, whole, result.policy),
    )
    return replace(made, deterministic=_alone_by_labels(problem, whole.rows, made))


def _origin(origin: Origin | None, oracle: PluginOracle, calibrated: PluginOracle) -> Origin | None:
    return None if origin is None else replace(origin, oracle=oracle, counting=calibrated)


def with_expected(
    problem: Problem,
    oracle: OracleBase,
    result: Result,
    options: Options = DEFAULTS,
    callback: Callable[[Record], object] | None = None,
) -> Result:
    """Return a result with what to expect on new rows; the oracle is the one that it was solved with.

    For data that is not in memory, and for more than `MOST_SEARCHED` rows with counted labels, the sample that the
    oracle keeps is used. The callback of the options is for the solve itself; ``callback`` is called after each step in
    a fold, and may raise to give up.
    """
    rows = judging_rows(oracle)
    if isinstance(result.policy, ModelPolicy) or rows is None:
        why = "unknown: an oracle of your own, or one that retrains, has no rows to split into folds"
        return replace(result, expected_note=why)
    if len(rows) > MOST_SEARCHED and not (oracle.calibrates or oracle.exact):
        rows = oracle.sample() or rows
    options = options.begun()
    # For evaluation a mixture of many rules is as good as one of few. With many rows, finding few rules saves time,
    # because each rule of a mixture is counted by labels.
    many = rows.proba.size > FEW_ENTRIES
    # Starting from the rules found on all rows, few calls are needed.
    again = replace(options.quiet(), start=result, random_state=0, callback=callback)

    # The family of the calibration is not chosen again in the folds, where that would take more time than the fit. What
    # to count by is: values on new rows must be honest about the choice.
    report = result.calibration
    families = SETTINGS if report is None else SETTINGS.only(report.family, report.cells_differ)

    def refit(some: Rows) -> Policy:
        given = PluginOracle(some, oracle.counting, oracle.threads, calibrating=families)
        if options.ends.passed:
            raise Exhausted("max_seconds")
        asked = again.within(EACH_SHARE)
        return answer_of(problem, given, asked, simple=many).found.answer.plugin_policy()

    note = "" if len(rows) == oracle.n_rows else f"judged by a sample of {len(rows):,} rows"
    try:
        found = expected(problem, rows, refit, note=note)
    except KeyboardInterrupt:
        return replace(result, expected_note="unknown: it was stopped by Ctrl-C")
    except Exhausted:
        return replace(result, expected_note="unknown: max_seconds left no time to fit policies in all folds")
    if found is not None and options.ends.passed:
        why = "; ".join(filter(None, [found.note, "max_seconds cut the fits in the folds short"]))
        found = replace(found, note=why)
    why = "" if found is not None else "no fold has a policy that keeps all constraints"
    made = replace(result, expected=found, expected_note=why)
    return made if found is None else made.with_provenance(**found.provenance())


def _derandomised(problem: Problem, oracle: PluginOracle, result: Result) -> Result:
    """Return a result whose policy has its rules alone, which were left out while policies were tried."""
    asked = oracle if result.policy.calibration is None else oracle.calibrated()
    program = problem.bind(asked.axes, asked.margins)
    # A policy that was found without limits may have shorter rules than these limits need, such as one on a mean cost.
    policy, alone = with_single(program, asked, _in_layout(result.policy, program.layout), scans=False)
    if alone is None:
        return result
    return replace(result, policy=policy, deterministic=alone_of(program, alone, program.sign * result.value))


def _in_layout(policy: Policy, layout: Layout) -> Policy:
    """Return the same policy with its rules in another layout, which must be able to express them."""
    if policy.layout == layout:
        return policy
    losses = policy.losses_for(policy.axes, layout)
    rules = tuple(
        tuple(replace(rule, loss=losses[rank][a]) for rank, rule in enumerate(mixture))
        for a, mixture in enumerate(policy.rules)
    )
    return replace(policy, layout=layout, rules=rules)


def _alone_by_labels(problem: Problem, rows: Rows, result: Result) -> Deterministic | None:
    """Return what the rules alone reach by the labels of some rows, beside the mixture's value there."""
    policy = result.policy
    if result.deterministic is None:
        return None
    places = zip(policy.rules, policy.single, strict=True)
    rules = tuple((replace(mixture[place], weight=1.0),) for mixture, place in places)
    confusion = Decided.by(replace(policy, rules=rules, single=()), rows).evidence().confusion
    value = problem.objective(confusion)
    found = tuple(c.metric(confusion) for c in problem.constraints)
    broken = [c.excess(v) for c, v in zip(problem.constraints, found, strict=True)]
    return Deterministic(value, problem.sign * (value - result.value), found, max(broken, default=0.0))
