"""Which answer to prefer on counted labels: a search overfits the labels it was tuned on, a plain rule does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.data.layout import shape_of
from metricfit.data.rows import Rows
from metricfit.exceptions import InfeasibleError
from metricfit.functions.expression import Entries, nodes_of
from metricfit.methods.base import Iterate, Outcome, Standing, Walk, run
from metricfit.methods.column_generation import ColumnGeneration
from metricfit.methods.local import Local
from metricfit.methods.search.coordinate import weights_of
from metricfit.methods.search.room import sampling_error, unit, with_room
from metricfit.methods.search.settings import Settings
from metricfit.methods.starts import argmax_loss, balanced_loss, constant_rules
from metricfit.oracles.base import OracleBase
from metricfit.policy import Policy, Rule
from metricfit.problem import Problem, Program
from metricfit.types import FloatArray

# Sums of a few thousand numbers below 1 differ by less in another order.
ROUNDING = 1e-9


def preferred(
    problem: Problem,
    given: OracleBase,
    walk: Walk,
    policy: Policy,
    best: Iterate,
    settings: Settings,
    rivals: bool = True,
) -> tuple[Walk, Iterate]:
    """Return the preferred answer, with the walk that found it: that of the guided search, or a simpler rival.

    ``walk`` is the guided search, on calibrated probabilities; it has found ``best``, which is ``policy``. Rivals are
    plain rules, constant decisions and a direct search, on the model's own probabilities, which ``given`` counts by
    labels. Plain rules are not tuned, so the labels judge them fairly. The guided search looks better on these labels
    than it is, and a direct search even more so. Without ``rivals``, a direct search is left out where it must be far
    better to be preferred: without limits, or under limits on shares of decisions.
    """
    raw = _on_given_probabilities(problem, given, walk)
    program = raw.program
    weights = _count_of_weights(raw)
    # If cells are told apart, each has weights of its own, and too few rows of each class to search them.
    searched = weights <= settings.most_weights and not given.costly and not program.by_cell
    if not (of_shares(program) or program.by_cell):
        return _within_limits(raw, walk, best, searched, settings)
    if not program.limits:
        found = _unless_argmax_is_better(problem, raw, walk, policy, best)
    else:
        found = _not_below(raw, _better_plain(raw), walk, best)
    few = (given.n_rows or 0) * given.axes.n <= settings.few_entries
    if rivals and found[0] is walk and searched and few:
        found = _unless_far_behind(raw, walk, best, settings.rows_by_luck * weights)
    # Constant decisions come last: a direct search would start from one that is better than the plain rules, and no
    # factor moves a row of it.
    return _not_below(raw, _best_constant(raw), *found)


def kept_directly(
    problem: Problem, given: OracleBase, walk: Walk, settings: Settings
) -> tuple[Walk, Outcome] | None:
    """Return a direct search that keeps the limits where the guided search, the walk, found none; None if it fails too.

    The guided search leaves out the weights of single cells, lest it overfit them. To keep the limits comes first.
    """
    raw = _on_given_probabilities(problem, given, walk)
    few = _count_of_weights(raw) <= settings.most_weights  # each try of many weights takes seconds
    outcome = None if given.costly else _direct(raw, tries=None if few else 1)
    if outcome is None or not Standing.of(raw.program, outcome.best.u).kept:
        return None
    return raw, outcome


def _on_given_probabilities(problem: Problem, given: OracleBase, walk: Walk) -> Walk:
    """Return a walk beside the guided search that counts rules of the model's own probabilities."""
    same = np.array_equal(walk.oracle.margins, given.margins)
    raw = walk.beside(walk.program if same else problem.bind(given.axes, given.margins), given)
    raw.guide = walk.guide
    return raw


def _count_of_weights(raw: Walk) -> int:
    return len(weights_of(raw.program, raw, argmax_loss(raw.program)))


def _unless_far_behind(raw: Walk, walk: Walk, best: Iterate, rows_by_luck: float) -> tuple[Walk, Iterate]:
    """Return the answer of a direct search if it decides all rows right or gains more than ``rows_by_luck`` rows.

    Otherwise return the answer of the walk.
    """
    outcome = _direct(raw, tries=1)
    if outcome is None:
        return walk, best
    rival = outcome.best
    perfect = raw.program.value(rival.u) <= float(raw.program.objective.reach()[0][0]) + ROUNDING
    if not perfect and _gain(raw, rival, walk, best) * raw.oracle.effective_rows <= rows_by_luck:
        return walk, best
    return _not_below(raw, rival, walk, best)


def _within_limits(
    raw: Walk, walk: Walk, best: Iterate, searched: bool, settings: Settings
) -> tuple[Walk, Iterate]:
    """Return the answer to prefer under limits that labels speak of.

    A direct search (or a plain rule, where passes are costly) is preferred if it is clearly better. Then value is given
    up for room to the limits, because the best answer keeps them partly by chance. The answer may end
    ``settings.spent`` below the direct search, but not below a plain rule, whose value is not overfitted. How much room
    that is depends on standard errors alone: many rows are few where a limit rests on a rare class.
    """
    outcome = _direct(raw) if searched else None
    rival = _better_plain(raw) if not searched else None if outcome is None else outcome.best
    if rival is None:
        return walk, best
    if not (Standing.of(walk.program, best.u).kept and Standing.of(raw.program, rival.u).kept):
        return _not_below(raw, rival, walk, best)
    found, answer = (raw, rival) if _gain(raw, rival, walk, best) > settings.clearly else (walk, best)
    worst = raw.program.value(rival.u) + settings.spent * unit(walk.program.value(best.u))
    plain = _better_plain(raw) if searched else rival
    if plain is not None and Standing.of(raw.program, plain.u).kept:
        worst = min(worst, raw.program.value(plain.u))
    return found, _with_room(found, answer, worst, settings)


def _gain(raw: Walk, rival: Iterate, walk: Walk, best: Iterate) -> float:
    """Return how much better a rival is than the answer of the walk, in units of the objective."""
    value = walk.program.value(best.u)
    return (value - raw.program.value(rival.u)) / unit(value)


def _not_below(raw: Walk, rival: Iterate | None, walk: Walk, best: Iterate) -> tuple[Walk, Iterate]:
    """Return the better of two answers; of equal ones that of the walk."""
    if rival is None or Standing.of(walk.program, best.u).beats(Standing.of(raw.program, rival.u)):
        return walk, best
    return raw, rival


def of_shares(program: Program) -> bool:
    """Return whether all constraints are on shares of decisions, which are the same by labels and by probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.data.axes import Axes
    >>> [of_shares(Problem.of("accuracy", text).bind(Axes((0, 1)), np.full((1, 2), 0.5)))
    ...  for text in ("coverage(1) <= 0.3", "precision(1) >= 0.3", "recall(1) >= 0.3")]
    [True, False, False]
    """
    used = np.zeros(program.constant.size, bool)
    for limit in program.limits:
        for node in nodes_of(limit.metric):
            if isinstance(node, Entries):
                used[node.start : node.stop] = True
    # Two statistics with equal decisions and different hits: constraints on shares of decisions cannot tell them apart.
    random = np.random.default_rng(0)
    one = random.random(shape_of(program.layout, program.axes))
    if program.layout == "diagonal":
        other = np.stack([random.random(one[:, 0].shape), one[:, 1]], axis=1)
    else:
        other = np.roll(one, 1, axis=1)
    apart = program.vector(one) - program.vector(other)
    return bool(np.all(np.abs(apart[used]) <= ROUNDING))


def _direct(raw: Walk, tries: int | None = None) -> Outcome | None:
    """Return the outcome of a direct search, or None if the budget is used up or no constraints can be kept."""
    if not raw.budget.left or raw.late:
        return None
    try:
        return run(Local(tries, warn=False), raw.program, raw, warn=False)
    except InfeasibleError:
        return None


def _better_plain(raw: Walk) -> Iterate | None:
    """Return the better of argmax and the balanced rule; None if the budget does not allow for both."""
    losses = [argmax_loss(raw.program), balanced_loss(raw.program, raw.oracle.margins)]
    plain = [raw.single(place) for place in raw.ask_all(losses)]
    if len(plain) < len(losses):
        return None
    return min(plain, key=lambda rule: Standing.of(raw.program, rule.u))


def _best_constant(raw: Walk) -> Iterate:
    """Return the best constant decision, the best rule there is if the probabilities carry no information."""
    rules = [raw.single(raw.add(rule)) for rule in constant_rules(raw.program, raw.oracle.margins)]
    return min(rules, key=lambda rule: Standing.of(raw.program, rule.u))


def _with_room(walk: Walk, best: Iterate, worst: float, settings: Settings) -> Iterate:
    """Give up value that labels can hardly show for room to the limits; the (minimised) value stays at most worst."""
    program = walk.program
    if ColumnGeneration().refusal(program) is not None:
        return best
    noise = sampling_error(program, program.objective, walk.statistic(best), walk.oracle.effective_rows)
    value = program.value(best.u)
    worst = min(worst, value + settings.luck * noise)
    return with_room(walk, best, worst, settings) if worst > value else best


def _unless_argmax_is_better(
    problem: Problem, raw: Walk, walk: Walk, policy: Policy, best: Iterate
) -> tuple[Walk, Iterate]:
    """Return the answer of the walk, or argmax if that is better; the problem has no constraints.

    To compare the two fairly, the policy decides each row by probabilities that were calibrated without that row. If
    both have the same value (a geometric mean of 0, because a class of few rows is missed), the search is preferred. A
    sample of the rows may lack a class, and then a mean of recalls is undefined: the two are compared on all rows.
    """
    rows, asked = raw.oracle.sample(), raw.ask_all([argmax_loss(raw.program)])
    if rows is None or walk.oracle.report is None or not asked:
        return walk, best
    places, proba = walk.oracle.report.held_out
    rows = rows.take(places)
    if not _has_all(rows, raw.oracle.margins):
        return _not_below(raw, raw.single(asked[0]), walk, best)
    plain = _policy_of_rule(raw, asked[0]).decision_proba(rows.proba, rows.attributes)
    tuned = replace(policy, calibration=None).decision_proba(proba, rows.attributes)
    values = [
        problem.sign * float(problem.objective(expected_confusion(rows, made))) for made in (plain, tuned)
    ]
    return (raw, raw.single(asked[0])) if values[0] < values[1] - ROUNDING else (walk, best)


def _has_all(rows: Rows, margins: FloatArray) -> bool:
    """Return whether all classes that a cell has by its margins (cells, classes) occur in it among the rows."""
    there = np.zeros(margins.shape, bool)
    there[0 if rows.cells is None else rows.cells, rows.labels] = True
    return bool(np.all(there | (margins <= 0)))


def _policy_of_rule(raw: Walk, place: int) -> Policy:
    axes, layout = raw.program.axes, raw.program.layout
    return Policy(axes, layout, tuple((Rule(1.0, loss),) for loss in raw.vertices[place].loss))


def expected_confusion(rows: Rows, shares: FloatArray) -> Confusion:
    """Return the confusion of decisions with these chances."""
    n, k = rows.axes.n, rows.axes.k
    key = rows.labels if rows.cells is None else rows.cells * n + rows.labels
    size = len(rows.axes.cells) * n
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    tensor = np.stack([np.bincount(key, weights * shares[:, j], size) for j in range(k)], axis=1)
    return Confusion(tensor.reshape(-1, n, k) / tensor.sum(), rows.axes)
