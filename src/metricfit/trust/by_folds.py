"""Constraints that new rows break as often as not: a confidence of one half, judged by folds.

No caution is asked for, so no row need be kept from the fit. Limits that just hold on the rows of the fit are broken on
new rows more often than every other time, for two reasons:

- the policy follows what is chance in its rows. Folds, decided by policies that were fitted without them, tell how much
  is lost. These policies saw fewer rows than the one found on all rows, and lose more; the difference between them on
  the same rows is added again (Burman's correction of cross-validation).
- of several claims that just hold, such as those of five groups, some claim is broken more often than each of them.
  Draws of the sampling errors of all claims together, with their correlations, tell how often.

Limits are tightened, or loosened as far as the labels of all rows still keep those asked for, until in half of the
draws all claims hold. Both reasons are known by approximation only, and the result says so.
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
from metricfit.metrics.constraint import Constraint
from metricfit.problem import Problem
from metricfit.trust.claims import Claim, claims
from metricfit.trust.confidence import Confidence, ConstraintConfidence, check_rows
from metricfit.trust.decided import Decided
from metricfit.trust.expected import FOLDS, deal, parts_of
from metricfit.trust.judgement import Judgement, judge
from metricfit.trust.path import ROUNDING, Limits, Refit
from metricfit.trust.room_of_claims import room_by_row, room_of
from metricfit.types import BoolArray, FloatArray

#: The highest confidence that folds are enough for; a lower one is taken as this one.
EVEN = 0.5
# Values of the objective that differ by no more are those of the same policy.
ALIKE = 1e-7
APPROXIMATE = "judged by folds and normal draws of sampling errors, not by held-out rows"


@dataclass(frozen=True)
class FoldSettings:
    """How the margins are looked for. None was tuned: they are as fine and as far as the search needs.

    Attributes
    ----------
    bolder, cautious : tuple of float
        By how many standard errors limits are loosened or tightened until the answer lies in between.
    resolution : float
        The part of a standard error within which it is found.
    draws : int
        Draws of sampling errors; each counts with its opposite too.
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
    seen, ``folds`` what each of these policies decides about all rows. ``rooms`` are the claims' rooms to expect on new
    rows, ``kept`` says for each claim and draw whether it holds, ``holds`` whether the labels of all rows keep all
    limits.
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
        """Whether new rows should keep all limits as often as not."""
        return self.holds and self.chance >= EVEN


def confirm_by_folds(
    problem: Problem,
    rows: Rows,
    refit: Refit,
    refit_on: Callable[[Rows], Refit],
    counted: bool = True,
    seed: int = 0,
) -> tuple[Any, Problem, Confidence, Judgement]:
    """Return the result of the boldest policy that new rows should confirm as often as not.

    Parameters
    ----------
    problem : Problem
        Objective and constraints.
    rows : Rows
        The labelled rows.
    refit : callable
        From a problem and a result to start from (or None) to a result with a ``policy``, on all rows.
    refit_on : callable
        From some of the rows to the same on them, calibration included.
    counted : bool
        Whether constraints should hold by the labels of all rows. If not, they hold in the fit, so that limits are
        never looser than asked for.
    seed : int
        Of the dealing.

    Returns
    -------
    tuple
        The result, its problem with the limits as tightened, how they were confirmed, and what to expect on new rows.

    Raises
    ------
    UnconfirmedError
        If not even a cautious policy passes; it says how many rows would be needed.
    """
    check_rows(len(rows))
    trials = _Trials(problem, rows, refit, refit_on, counted, seed)
    inside, outside = trials.bracket()
    if inside is None:
        raise trials.unconfirmed()
    while outside is not None and abs(inside.step - outside) > SETTINGS.resolution:
        middle = trials.at((inside.step + outside) / 2, inside.result)
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
    ) -> None:
        self.problem, self.rows, self.refit, self.counted = problem, rows, refit, counted
        self.base = refit(problem, None)
        self.limits = Limits(problem, rows, self.base.policy, len(rows))
        margins = rows.margins()
        self.claims: list[list[Claim]] = [claims(c, rows.axes, margins) for c in problem.constraints]
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
                if abs(found.result.value - inside.result.value) <= ALIKE:
                    break  # the limits bind no more
                inside = found
            return inside, None
        outside = 0.0
        for step in SETTINGS.cautious:
            found = self.at(step, self.tried[-1].result if self.tried else self.base)
            if found is None:
                break
            if found.passes:
                return found, outside
            outside = step
        return None, outside

    def at(self, step: float, start: Any) -> Trial | None:
        """Return the policy of limits tightened by so many standard errors; None where nothing keeps them."""
        tightened = self.limits.tightened(step)
        try:
            result = self.base if step == 0 else self.refit(tightened, start)
        except InfeasibleError:
            return None
        folds, parts = [], []
        for fit, held_out in zip(self.fits, self.held_out, strict=True):
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
        found = [claim for some in self.claims for claim in some]
        rooms = np.array([_on_new_rows(partial(_room, claim), seen, held, folds) for claim in found])
        kept: BoolArray = rooms[:, None] + _sampling_errors(found, decided) >= -ROUNDING
        holds = not self.counted or self.limits.hold(seen.confusion)
        self.tried.append(Trial(step, result, seen, held, tuple(folds), rooms, kept, holds))
        return self.tried[-1]

    def record(self, trial: Trial) -> Confidence:
        """Return how each constraint was confirmed."""
        records, first = [], 0
        margins = self.limits.margins(trial.step)
        for c, own, margin in zip(self.problem.constraints, self.claims, margins, strict=True):
            broken = 1 - float(trial.kept[first : first + len(own)].all(axis=0).mean())
            first += len(own)
            value = _on_new_rows(partial(_value, c), trial.seen, trial.held_out, trial.folds)
            # All its claims hold, which for ratios and for the largest of several is so up to second order only.
            value = max(value, c.limit) if c.sense == ">=" else min(value, c.limit)
            records.append(
                ConstraintConfidence(str(c), value, value, c.limit, margin, broken, "folds", APPROXIMATE)
            )
        return Confidence(EVEN, len(self.rows), len(self.tried), tuple(records), len(trial.folds))

    def unconfirmed(self) -> UnconfirmedError:
        """Return the error that names the constraints, and how many rows would do.

        What is lost on new rows falls with the number of rows; the room that the labels of all rows see must be enough.
        """
        if not self.tried:
            return UnconfirmedError([str(c) for c in self.problem.constraints], EVEN, len(self.rows), None)
        closest = max(self.tried, key=lambda trial: trial.chance)
        found = [claim for some in self.claims for claim in some]
        here = np.array([_room(claim, closest.seen) for claim in found])
        lost = here - closest.rooms
        factor = np.max(lost / np.where(here > 0, here, np.nan))
        rows = int(np.ceil(max(factor, 1.25) * len(self.rows))) if np.isfinite(factor) else None
        names = [str(c) for c in self.problem.constraints]
        return UnconfirmedError(names, EVEN, len(self.rows), rows, closest.chance)


def _room(claim: Claim, seen: Evidence) -> float:
    return room_of(claim, seen.confusion)


def _value(constraint: Constraint, seen: Evidence) -> float:
    return estimate(constraint.metric, seen).value


def _on_new_rows(
    value: Callable[[Evidence], float], seen: Evidence, held_out: Evidence, folds: Sequence[Evidence]
) -> float:
    """Return what to expect of a policy: what folds reach, and how much better it is on the same rows than theirs."""
    return value(held_out) + value(seen) - float(np.mean([value(fold) for fold in folds]))


def _sampling_errors(found: Sequence[Claim], decided: Decided) -> FloatArray:
    """Return draws of the sampling errors of all claims' rooms together, (claims, draws)."""
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
