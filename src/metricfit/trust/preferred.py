"""Which answer to prefer on counted labels: what is best there may be luck, which does not come again on new rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.data.layout import shape_of
from metricfit.data.rows import Rows
from metricfit.exceptions import InfeasibleError
from metricfit.functions.expression import Entries, nodes_of
from metricfit.methods.base import Iterate, Standing, Walk, run
from metricfit.methods.column_generation import ColumnGeneration
from metricfit.methods.local import Local
from metricfit.methods.search.coordinate import weights_of
from metricfit.methods.search.room import counted, sampling_error, unit, with_room
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
) -> tuple[Walk, Iterate]:
    """Return the answer to prefer to the best one of a search on calibrated probabilities, with the walk that found it.

    ``given`` counts labels with the model's own probabilities, ``walk`` has found ``best``, which is ``policy``. What
    is tuned on these rows flatters itself on them, a plain rule does not, and a direct search with the model's own
    probabilities does most of all.
    """
    same = np.array_equal(walk.oracle.margins, given.margins)
    program = walk.program if same else problem.bind(given.axes, given.margins)
    raw = walk.beside(program, given)
    raw.guide = walk.guide
    weights = len(weights_of(program, raw, argmax_loss(program)))
    # Each cell would have weights of its own to search, tuned on the few rows of each class that it has.
    searched = weights <= settings.most_weights and not given.costly and not program.by_cell
    few = (given.n_rows or 0) * given.axes.n <= settings.few_entries
    if not (of_shares(program) or program.by_cell):
        return _within_limits(raw, walk, best, searched, few, settings)
    if not program.limits:
        found = _unless_argmax_is_better(problem, raw, walk, policy, best)
    else:
        found = _not_below(raw, _better_plain(raw), walk, best)
    found = _not_below(raw, _best_constant(raw), *found)
    # Of metrics without a convex form the calibrated answer is a direct search itself.
    if found[0] is walk and searched and few and ColumnGeneration().refusal(program) is None:
        return _unless_far_behind(raw, walk, best, settings.rows_by_luck * weights)
    return found


def _unless_far_behind(raw: Walk, walk: Walk, best: Iterate, rows_by_luck: float) -> tuple[Walk, Iterate]:
    """Return a direct search that gains more than so many rows that luck may give, or makes no mistake at all.

    Else the answer of the walk.
    """
    rival = _direct(raw, tries=1)
    if rival is None:
        return walk, best
    perfect = raw.program.value(rival.u) <= float(raw.program.objective.reach()[0][0]) + ROUNDING
    if not perfect and _gain(raw, rival, walk, best) * raw.oracle.effective_rows <= rows_by_luck:
        return walk, best
    return _not_below(raw, rival, walk, best)


def _within_limits(
    raw: Walk, walk: Walk, best: Iterate, searched: bool, few: bool, settings: Settings
) -> tuple[Walk, Iterate]:
    """Return the answer to prefer under limits that labels speak of.

    It is a direct search (a plain rule, where passes are costly), if that is clearly better. Of few rows the labels'
    best answer keeps its limits by luck: what is found beyond ``settings.spent`` less than a direct search is spent on
    room to them, but no plain rule is fallen behind, which is not tuned and so not flattered. Of many rows labels say
    nearly what new rows do: a little of what was gained over a direct search is spent.
    """
    rival = _direct(raw) if searched else _better_plain(raw)
    if rival is None:
        return walk, best
    if not (Standing.of(walk.program, best.u).kept and Standing.of(raw.program, rival.u).kept):
        return _not_below(raw, rival, walk, best)
    found, answer = (raw, rival) if _gain(raw, rival, walk, best) > settings.clearly else (walk, best)
    worst, one = raw.program.value(rival.u), unit(walk.program.value(best.u))
    if few:
        worst, plain = worst + settings.spent * one, _better_plain(raw)
        if plain is not None and Standing.of(raw.program, plain.u).kept:
            worst = min(worst, raw.program.value(plain.u))
    else:
        worst = min(worst, found.program.value(answer.u) + settings.clearly * one)
    return found, _with_room(found, answer, worst, settings)


def _gain(raw: Walk, rival: Iterate, walk: Walk, best: Iterate) -> float:
    """Return how much better a rival is, in units of the objective."""
    value = walk.program.value(best.u)
    return (value - raw.program.value(rival.u)) / unit(value)


def _not_below(raw: Walk, rival: Iterate | None, walk: Walk, best: Iterate) -> tuple[Walk, Iterate]:
    """Return the better of two answers, that of the walk where they are equal."""
    if rival is None or Standing.of(walk.program, best.u).beats(Standing.of(raw.program, rival.u)):
        return walk, best
    return raw, rival


def of_shares(program: Program) -> bool:
    """Return whether all constraints are about shares of decisions: of those labels and probabilities say the same.

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
    # Two statistics with the same decisions and other hits: what reads only decisions cannot tell them apart.
    random = np.random.default_rng(0)
    one = random.random(shape_of(program.layout, program.axes))
    if program.layout == "diagonal":
        other = np.stack([random.random(one[:, 0].shape), one[:, 1]], axis=1)
    else:
        other = np.roll(one, 1, axis=1)
    apart = program.vector(one) - program.vector(other)
    return bool(np.all(np.abs(apart[used]) <= ROUNDING))


def _direct(raw: Walk, tries: int | None = None) -> Iterate | None:
    """Return what a direct search reaches, or None where the budget allows none or it reaches nothing."""
    if not raw.budget.left or raw.late:
        return None
    try:
        return run(Local(tries, warn=False), raw.program, raw, warn=False).best
    except InfeasibleError:
        return None


def _better_plain(raw: Walk) -> Iterate | None:
    """Return the better of the most probable class and the balanced rule; None where the budget does not allow both."""
    losses = [argmax_loss(raw.program), balanced_loss(raw.program, raw.oracle.margins)]
    plain = [raw.single(place) for place in raw.ask_all(losses)]
    if len(plain) < len(losses):
        return None
    return min(plain, key=lambda rule: Standing.of(raw.program, rule.u))


def _best_constant(raw: Walk) -> Iterate:
    """Return the best rule that decides all rows alike: where probabilities say nothing there is none better."""
    rules = [raw.single(raw.add(rule)) for rule in constant_rules(raw.program, raw.oracle.margins)]
    return min(rules, key=lambda rule: Standing.of(raw.program, rule.u))


def _with_room(walk: Walk, best: Iterate, worst: float, settings: Settings) -> Iterate:
    """Spend what labels can hardly show on room to the limits, as long as the (minimised) value is not above worst."""
    program = walk.program
    if ColumnGeneration().refusal(program) is not None:
        return best
    noise = sampling_error(program, program.objective, counted(walk, best), walk.oracle.effective_rows)
    value = program.value(best.u)
    worst = min(worst, value + settings.luck * noise)
    return with_room(walk, best, worst, settings) if worst > value else best


def _unless_argmax_is_better(
    problem: Problem, raw: Walk, walk: Walk, policy: Policy, best: Iterate
) -> tuple[Walk, Iterate]:
    """Return the answer of the walk, or the most probable class where that is better; nothing constrains the problem.

    Rows judge the policy by probabilities that were calibrated without them, so that its value is an honest one. Where
    both are equal (a geometric mean of 0, because one of few rows of a class is missed) nothing speaks against the
    search.
    """
    rows, asked = raw.oracle.sample(), raw.ask_all([argmax_loss(raw.program)])
    if rows is None or walk.oracle.report is None or not asked:
        return walk, best
    places, proba = walk.oracle.report.held_out
    rows = rows.take(places)
    plain = _policy_of_rule(raw, asked[0]).decision_proba(rows.proba, rows.attributes)
    tuned = replace(policy, calibration=None).decision_proba(proba, rows.attributes)
    values = [
        problem.sign * float(problem.objective(expected_confusion(rows, made))) for made in (plain, tuned)
    ]
    return (raw, raw.single(asked[0])) if values[0] < values[1] - ROUNDING else (walk, best)


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
