"""Constraints that new rows break as often as not: a confidence of one half, judged by folds.

No caution is asked for, so no rows are held out from the fit. Limits that just hold on the rows of the fit are broken
on new rows more than half of the time, for two reasons:

- The policy overfits its rows. Folds, each decided by a policy fitted without it, estimate by how much. These policies
  saw fewer rows than the one fitted on all rows and lose more, so the difference between it and them on the same rows
  is added (Burman's correction of cross-validation).
- If several claims just hold, such as those of five groups, the chance that some claim is broken is larger than the
  chance for each one. Joint draws of the sampling errors of all claims estimate how much larger.

Limits are tightened, or loosened as long as the limits asked for hold by the labels of all rows, until all claims hold
in half of the draws. Both estimates are approximate, and the result says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from metricfit.data.rows import Rows
from metricfit.exceptions import InfeasibleError, UnconfirmedError
from metricfit.intervals import Evidence, estimate
from metricfit.methods.base import NEVER, Deadline
from metricfit.metrics.constraint import Constraint
from metricfit.problem import Problem
from metricfit.trust.claims.claim import Claim, claims
from metricfit.trust.claims.room import room_by_row, room_of
from metricfit.trust.confidence.confirmation import Confidence, ConstraintConfidence
from metricfit.trust.confidence.path import ROUNDING, Limits, Refit
from metricfit.trust.decided import Decided
from metricfit.trust.expected import FOLDS, deal, parts_of
from metricfit.trust.held_out import check_rows
from metricfit.trust.judgement import Judgement, judge
from metricfit.types import BoolArray, FloatArray

#: The highest confidence that is judged by folds; a lower one is treated as this one.
EVEN = 0.5
# Policies are taken to be the same if their objective values differ by no more than this.
ALIKE = 1e-7
APPROXIMATE = "judged by folds and normal draws of sampling errors, not by held-out rows"


@dataclass(frozen=True)
class FoldSettings:
    """Settings of the search for the margins. None of them was tuned.

    Attributes
    ----------
    bolder, cautious : tuple of float
        The steps, in standard errors, by which limits are loosened or tightened until the answer is bracketed.
    resolution : float
        The width of the bracket, in standard errors, at which bisection stops.
    draws : int
        Draws of sampling errors; each is also used with the opposite sign.
    """

    bolder: tuple[float, ...] = (-0.5, -1.0, -2.0, -4.0)
    cautious: tuple[float, ...] = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 9.0, 13.0)
    resolution: float = 1 / 16
    draws: int = 400


SETTINGS = FoldSettings()


@dataclass(frozen=True, eq=False)
class Trial:
    """A policy fitted with limits tightened by ``step`` standard errors.

    ``seen`` is what it decides about all rows, ``held_out`` what the folds' policies decide about rows they have not
    seen, ``folds`` what each of these policies decides about all rows. ``rooms`` are the margins to the limits to
    expect on new rows, one for each claim. ``kept`` says for each claim and draw whether the claim holds, ``holds``
    whether all limits hold by the labels of all rows.
    """

    step: float
    result: Any
    seen: Evidence
    held_out: Evidence
    folds: Sequence[Evidence]
    rooms: FloatArray
    kept: BoolArray
    holds: bool

    @property
    def chance(self) -> float:
        """The share of draws in which all claims hold."""
        return float(self.kept.all(axis=0).mean())

    @property
    def passes(self) -> bool:
        """Whether all limits should hold on new rows at least half of the time."""
        return self.holds and self.chance >= EVEN


def confirm_by_folds(
    problem: Problem,
    rows: Rows,
    refit: Refit,
    refit_on: Callable[[Rows], Refit],
    counted: bool = True,
    seed: int = 0,
    deadline: Deadline = NEVER,
) -> tuple[Any, Problem, Confidence, Judgement]:
    """Return the result of the boldest policy that should keep all limits on new rows half of the time.

    Parameters
    ----------
    problem : Problem
        Objective and constraints.
    rows : Rows
        The labelled rows.
    refit : callable
        Takes a problem and a result to start from (or None); returns a result with a ``policy``, fitted on all rows.
    refit_on : callable
        Takes some of the rows; returns a callable like ``refit`` that fits on them, calibration included.
    counted : bool
        Whether constraints must hold by the labels of all rows. If not, they hold in the fit, and limits are never
        looser than asked for.
    seed : int
        Seed of the assignment of rows to folds.
    deadline : Deadline
        When to stop: no bolder policy is then tried.

    Returns
    -------
    tuple
        The result, the problem with tightened limits, the record of the confirmation, and what to expect on new rows.

    Raises
    ------
    UnconfirmedError
        If not even a cautious policy passes; the message says how many rows would be needed.
    """
    check_rows(len(rows))
    trials = _Trials(problem, rows, refit, refit_on, counted, seed, deadline)
    inside, outside = trials.bracket()
    if inside is None:
        raise trials.unconfirmed()
    while outside is not None and not deadline.passed and abs(inside.step - outside) > SETTINGS.resolution:
        try:
            middle = trials.at((inside.step + outside) / 2, inside.result)
        except KeyboardInterrupt:  # a policy that passes is known already
            break
        if middle is not None and middle.passes:
            inside = middle
        else:
            outside = (inside.step + outside) / 2
    note = f"judged by {len(inside.folds)} folds of {len(rows):,} rows"
    judged = judge(problem, inside.held_out, len(rows), note, inside.folds)
    return inside.result, trials.limits.tightened(inside.step), trials.record(inside), judged


class _Trials:
    """The policies that were tried, on all rows and in the folds."""

    def __init__(
        self,
        problem: Problem,
        rows: Rows,
        refit: Refit,
        refit_on: Callable[[Rows], Refit],
        counted: bool,
        seed: int,
        deadline: Deadline,
    ) -> None:
        self.deadline = deadline
        self.problem, self.rows, self.refit, self.counted = problem, rows, refit, counted
        self.base = refit(problem, None)
        self.limits = Limits(problem, rows, self.base.policy, len(rows))
        margins = rows.margins()
        found = [claims(c, rows.axes, margins) for c in problem.constraints]
        self.claims: list[Claim] = [claim for own in found for claim in own]
        self.ends = np.cumsum([len(own) for own in found])[:-1]  # where each constraint's claims end
        parts = parts_of(deal(rows.labels, rows.cells, FOLDS, seed))
        self.held_out = [rows[judged] for _, judged in parts]
        self.fits = [refit_on(rows.take(fitted)) for fitted, _ in parts]
        self.tried: list[Trial] = []

    def bracket(self) -> tuple[Trial | None, float | None]:
        """Return a policy that passes, if there is one, and a bolder step that does not, if there is one."""
        inside = self.at(0.0, self.base)
        if inside is not None and inside.passes:
            for step in SETTINGS.bolder if self.counted else ():
                found = self.at(step, inside.result)
                if found is None or not found.passes:
                    return inside, step
                if abs(found.result.value - inside.result.value) <= ALIKE or self.deadline.passed:
                    break  # the limits no longer bind
                inside = found
            return inside, None
        outside = 0.0
        for step in SETTINGS.cautious:
            found = self.at(step, self.tried[-1].result if self.tried else self.base)
            if found is None:
                break
            if found.passes:
                return found, outside
            if self.deadline.passed:
                break
            outside = step
        return None, outside

    def at(self, step: float, start: Any) -> Trial | None:
        """Return the trial of limits tightened by ``step`` standard errors; None if infeasible, or if the time ends."""
        tightened = self.limits.tightened(step)
        try:
            result = self.base if step == 0 else self.refit(tightened, start)
        except InfeasibleError:
            return None
        folds, parts = [], []
        for fit, held_out in zip(self.fits, self.held_out, strict=True):
            if self.deadline.passed:
                return None
            try:
                policy = fit(tightened, result).policy
            except InfeasibleError:
                continue
            parts.append(Decided.by(policy, held_out).evidence())
            folds.append(Decided.by(policy, self.rows).evidence())
        if not parts:
            return None
        decided = Decided.by(result.policy, self.rows)
        seen, held = decided.evidence(), Evidence.joined(parts)
        rooms = np.array([_on_new_rows(partial(_room, claim), seen, held, folds) for claim in self.claims])
        kept: BoolArray = rooms[:, None] + _sampling_errors(self.claims, decided) >= -ROUNDING
        holds = not self.counted or self.limits.hold(seen.confusion)
        self.tried.append(Trial(step, result, seen, held, tuple(folds), rooms, kept, holds))
        return self.tried[-1]

    def record(self, trial: Trial) -> Confidence:
        """Return how each constraint was confirmed."""
        records, margins = [], self.limits.margins(trial.step)
        parts = np.split(trial.kept, self.ends)
        for c, kept, margin in zip(self.problem.constraints, parts, margins, strict=True):
            broken = 1 - float(kept.all(axis=0).mean())
            value = _on_new_rows(partial(_value, c), trial.seen, trial.held_out, trial.folds)
            # All its claims should hold, so the value keeps the limit; for ratios and maxima only to first order.
            value = c.limit if c.excess(value) > 0 else value
            records.append(
                ConstraintConfidence(str(c), value, value, c.limit, margin, broken, "folds", APPROXIMATE)
            )
        return Confidence(EVEN, len(self.rows), len(self.tried), tuple(records), len(trial.folds))

    def unconfirmed(self) -> UnconfirmedError:
        """Return the error that names the constraints and estimates how many rows would be enough.

        Overfitting is inversely proportional to the number of rows, and must not exceed the room on the fitted rows.
        """
        names, late = [str(c) for c in self.problem.constraints], self.deadline.passed
        if not self.tried:
            return UnconfirmedError(names, EVEN, len(self.rows), None, late=late)
        closest = max(self.tried, key=lambda trial: trial.chance)
        here = np.array([_room(claim, closest.seen) for claim in self.claims])
        lost = here - closest.rooms
        factor = np.max(lost / np.where(here > 0, here, np.nan))
        rows = int(np.ceil(max(factor, 1.25) * len(self.rows))) if np.isfinite(factor) else None
        return UnconfirmedError(names, EVEN, len(self.rows), rows, closest.chance, late)


def _room(claim: Claim, seen: Evidence) -> float:
    return room_of(claim, seen.confusion)


def _value(constraint: Constraint, seen: Evidence) -> float:
    return estimate(constraint.metric, seen).value


def _on_new_rows(
    value: Callable[[Evidence], float], seen: Evidence, held_out: Evidence, folds: Sequence[Evidence]
) -> float:
    """Return what to expect of a policy: the folds' value, plus its lead over their policies on the same rows."""
    return value(held_out) + value(seen) - float(np.mean([value(fold) for fold in folds]))


def _sampling_errors(found: Sequence[Claim], decided: Decided) -> FloatArray:
    """Return joint draws of the sampling errors of all claims' rooms, of shape (claims, 2 * draws)."""
    count = len(decided.rows)
    each = np.zeros((len(found), count))
    for place, claim in enumerate(found):
        rows = room_by_row(claim, decided, decided.rows.proba)
        if rows is not None:
            each[place] = rows.by_label - rows.by_label.mean()
    size, ways = np.linalg.eigh(each @ each.T / count**2)
    normal = np.random.default_rng(0).standard_normal((len(found), SETTINGS.draws))
    errors = (ways * np.sqrt(np.maximum(size, 0.0))) @ normal
    return np.concatenate([errors, -errors], axis=1)
