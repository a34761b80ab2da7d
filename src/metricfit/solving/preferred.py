"""Which answer to prefer on counted labels: a search overfits the labels it was tuned on, a plain rule does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.data.layout import shape_of
from metricfit.data.rows import Rows
from metricfit.exceptions import InfeasibleError
from metricfit.functions.expression import Entries, nodes_of
from metricfit.methods.base import Exhausted, Outcome, Walk, run
from metricfit.methods.column_generation import ColumnGeneration
from metricfit.methods.local import Local
from metricfit.methods.search.coordinate import count_of_weights
from metricfit.methods.search.room import sampling_error, unit, with_room
from metricfit.methods.search.settings import Settings
from metricfit.methods.starts import argmax_loss, balanced_loss, constant_rules
from metricfit.oracles import PluginOracle
from metricfit.oracles.base import OracleBase
from metricfit.policy import Policy
from metricfit.problem import Problem, Program
from metricfit.solving.answer import Answer
from metricfit.types import FloatArray

# Sums of a few thousand numbers below 1 differ by less in another order.
ROUNDING = 1e-9


def preferred(
    problem: Problem, given: OracleBase, answer: Answer, settings: Settings, rivals: bool
) -> Answer:
    """Return the preferred answer: that of the guided search, or a simpler rival.

    The guided search decides on calibrated probabilities. Rivals are plain rules, constant decisions and a direct
    search, on the model's own probabilities, which ``given`` counts by labels. Plain rules are not tuned, so the labels
    judge them fairly. The guided search looks better on these labels than it is, and a direct search even more so.
    Without ``rivals``, a direct search is left out where it must be far better to be preferred: without limits, or
    under limits on shares of decisions.
    """
    raw = _on_given_probabilities(problem, given, answer.walk)
    program, weights = raw.program, count_of_weights(raw)
    # If cells are told apart, each has weights of its own, and too few rows of each class to search them.
    searched = weights <= settings.most_weights and not given.costly and not program.by_cell
    if not (of_shares(program) or program.by_cell):
        return _within_limits(raw, answer, searched, settings)
    found = (
        _better(answer, _better_plain(raw))
        if program.limits
        else _unless_argmax_is_better(problem, raw, answer)
    )
    few = (given.n_rows or 0) * given.axes.n <= settings.few_entries
    # Where a plain rule is preferred, a direct search is not compared with it: on new rows of 900 drawn problems that
    # changed four answers, two for the worse, and it lost on PageBlock and Wine.
    if rivals and found is answer and searched and few:
        found = _unless_far_behind(raw, answer, settings.rows_by_luck * weights)
    # Constant decisions come last: a direct search would start from one that is better than the plain rules, and no
    # factor moves a row of it.
    return _better(found, _best_constant(raw))


def kept_directly(
    problem: Problem, given: OracleBase, walk: Walk, settings: Settings
) -> tuple[Walk, Outcome] | None:
    """Return a direct search that keeps the limits where the guided search, the walk, found none; None if it fails too.

    The guided search leaves out the weights of single cells, lest it overfit them. To keep the limits comes first.
    """
    raw = _on_given_probabilities(problem, given, walk)
    weights = count_of_weights(raw)
    # Each try of many weights takes seconds, unless the rows are few.
    quick = weights <= settings.most_weights or (given.n_rows or 0) * weights <= settings.few_entries
    outcome = None if given.costly else _run_directly(raw, tries=None if quick else 1)
    if outcome is None or not Answer(raw, outcome.best).standing.kept:
        return None
    return raw, outcome


def _on_given_probabilities(problem: Problem, given: OracleBase, walk: Walk) -> Walk:
    """Return a walk beside the guided search that counts rules of the model's own probabilities."""
    same = np.array_equal(walk.oracle.margins, given.margins)
    raw = walk.beside(walk.program if same else problem.bind(given.axes, given.margins), given)
    raw.guide = walk.guide
    return raw


def _unless_far_behind(raw: Walk, answer: Answer, rows_by_luck: float) -> Answer:
    """Return the answer of a direct search if it decides all rows right or gains more than ``rows_by_luck`` rows.

    Otherwise return the given answer.
    """
    rival = _direct(raw, tries=1)
    if rival is None:
        return answer
    perfect = rival.value <= raw.program.lowest_value + ROUNDING
    by_luck = _gain(rival, answer) * raw.oracle.effective_rows <= rows_by_luck
    return answer if by_luck and not perfect else _better(answer, rival)


def _within_limits(raw: Walk, answer: Answer, searched: bool, settings: Settings) -> Answer:
    """Return the answer to prefer under limits that labels speak of.

    A direct search (or a plain rule, where passes are costly) is preferred if it is clearly better. Then value is given
    up for room to the limits, because the best answer keeps them partly by chance. The answer may end
    ``settings.spent`` below the direct search, but not below a plain rule, whose value is not overfitted. How much room
    that is depends on standard errors alone: many rows are few where a limit rests on a rare class.
    """
    rival = _direct(raw) if searched else _better_plain(raw)
    if rival is None or not (answer.standing.kept and rival.standing.kept):
        return _better(answer, rival)
    found = rival if _gain(rival, answer) > settings.clearly else answer
    worst = rival.value + settings.spent * unit(answer.value)
    plain = _better_plain(raw) if searched else rival
    if plain is not None and plain.standing.kept:
        worst = min(worst, plain.value)
    return _with_room(found, worst, settings)


def _gain(rival: Answer, answer: Answer) -> float:
    """Return how much better a rival is than an answer, in units of the objective."""
    return (answer.value - rival.value) / unit(answer.value)


def _better(answer: Answer, rival: Answer | None) -> Answer:
    """Return the better of two answers; of equal ones the first."""
    return answer if rival is None or answer.standing.beats(rival.standing) else rival


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


def _direct(raw: Walk, tries: int | None = None) -> Answer | None:
    """Return the answer of a direct search, or None if there is none."""
    outcome = _run_directly(raw, tries)
    return None if outcome is None else Answer(raw, outcome.best)


def _run_directly(raw: Walk, tries: int | None = None) -> Outcome | None:
    """Return the outcome of a direct search, or None if the budget is used up or no constraints can be kept."""
    if not raw.budget.left or raw.late:
        return None
    try:
        return run(Local(tries, warn=False), raw.program, raw, warn=False)
    except InfeasibleError:
        return None


def _better_plain(raw: Walk) -> Answer | None:
    """Return the better of argmax and the balanced rule; None if the budget does not allow for both."""
    losses = [argmax_loss(raw.program), balanced_loss(raw.program, raw.oracle.margins)]
    try:
        plain = [Answer(raw, raw.single(place)) for place in raw.ask_all(losses)]
    except Exhausted:  # a direct search may have used up the time
        return None
    return min(plain, key=lambda rule: rule.standing) if len(plain) == len(losses) else None


def _best_constant(raw: Walk) -> Answer:
    """Return the best constant decision, the best rule there is if the probabilities carry no information."""
    rules = constant_rules(raw.program, raw.oracle.margins)
    return min((Answer(raw, raw.single(raw.add(rule))) for rule in rules), key=lambda rule: rule.standing)


def _with_room(answer: Answer, worst: float, settings: Settings) -> Answer:
    """Give up value that labels can hardly show for room to the limits; the (minimised) value stays at most worst."""
    walk, program = answer.walk, answer.walk.program
    if not program.mixable:
        return answer
    made, rows = walk.statistic(answer.mixture), walk.oracle.effective_rows
    noise = sampling_error(program, program.objective, made, rows)
    worst = min(worst, answer.value + settings.luck * noise)
    if worst <= answer.value:
        return answer
    return Answer(walk, with_room(walk, answer.mixture, worst, settings))


def _unless_argmax_is_better(problem: Problem, raw: Walk, answer: Answer) -> Answer:
    """Return the answer, or argmax if that is better; the problem has no constraints.

    To compare the two fairly, the policy decides each row by probabilities that were calibrated without that row. It
    was tuned on slightly different ones, and where many rows lie near its thresholds, as those of naive Bayes do, this
    alone may spoil it. So argmax must also be better than the policy that is tuned on these held-out probabilities. If
    both have the same value (a geometric mean of 0, because a class of few rows is missed), the search is preferred. A
    sample of the rows may lack a class, and then a mean of recalls is undefined: the two are compared on all rows.
    """
    rows, asked = raw.oracle.sample(), raw.ask_all([argmax_loss(raw.program)])
    if rows is None or answer.walk.oracle.report is None or not asked:
        return answer
    argmax = Answer(raw, raw.single(asked[0]))
    places, proba = answer.walk.oracle.report.held_out
    rows = rows.take(places)
    if not _has_all(rows, raw.oracle.margins):
        return _better(answer, argmax)
    held_out = replace(rows, proba=proba)

    def value(policy: Policy, on: Rows) -> float:
        made = expected_confusion(on, policy.decision_proba(on.proba, on.attributes))
        return problem.sign * float(problem.objective(made))

    most = value(argmax.exact().plugin_policy(), rows) + ROUNDING
    tuned = replace(answer.exact().plugin_policy(), calibration=None)
    if value(tuned, held_out) <= most:
        return answer
    again = _by_probabilities(problem, answer, held_out).exact().plugin_policy()
    return answer if value(again, held_out) <= most else argmax


def _by_probabilities(problem: Problem, answer: Answer, rows: Rows) -> Answer:
    """Return the best answer by the probabilities of some rows, which count as they are; begin with another's rules."""
    oracle = PluginOracle(rows, "model")
    program = problem.bind(rows.axes, oracle.margins)
    walk = answer.walk.beside(program, oracle, free=True)
    used = np.flatnonzero(np.atleast_2d(answer.mixture.weights).any(axis=0))
    walk.ask_all([answer.walk.vertices[place].loss for place in used])
    method = ColumnGeneration() if program.mixable else Local(tries=1, warn=False)
    return Answer(walk, run(method, program, walk, warn=False).best)


def _has_all(rows: Rows, margins: FloatArray) -> bool:
    """Return whether all classes that a cell has by its margins (cells, classes) occur in it among the rows."""
    there = np.zeros(margins.shape, bool)
    there[0 if rows.cells is None else rows.cells, rows.labels] = True
    return bool(np.all(there | (margins <= 0)))


def expected_confusion(rows: Rows, shares: FloatArray) -> Confusion:
    """Return the confusion of decisions with these chances."""
    n, k = rows.axes.n, rows.axes.k
    key = rows.labels if rows.cells is None else rows.cells * n + rows.labels
    size = len(rows.axes.cells) * n
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    tensor = np.stack([np.bincount(key, weights * shares[:, j], size) for j in range(k)], axis=1)
    return Confusion(tensor.reshape(-1, n, k) / tensor.sum(), rows.axes)
