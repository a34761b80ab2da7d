"""Where the tests of policies begin: starts that are likely to pass, as predicted by the tuning rows.

A path ends at the first policy that fails, so it must begin with one that passes. The tuning rows tell only roughly
which one does: if limits oppose each other (a recall and a coverage, a group above and below the others), they may
leave too narrow a margin to one of them. So several starts divide the error probability (multi-start fixed-sequence
testing) if that makes an answer more likely. They are chosen in *worlds*: simulated results of the held-out rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from metricfit.exceptions import InfeasibleError
from metricfit.metrics.constraint import Constraint
from metricfit.trust.claims.claim import Claim, claims
from metricfit.trust.claims.room import RowRooms, room_by_row, room_metric, room_of
from metricfit.trust.decided import Decided
from metricfit.types import BoolArray, FloatArray

if TYPE_CHECKING:
    from metricfit.trust.confidence.path import Path


@dataclass(frozen=True)
class StartSettings:
    """Settings of the search for starts. None of them affects the confidence in a policy that passes.

    ``first`` and ``worth`` were chosen on ten draws of three problems of benchmarks/trust (two limits together, parity
    and opportunity of two groups): equal parts for up to four starts left 7 of 10 draws without an answer under
    opportunity, these settings 5. The other settings are as fine as the search needs.

    Attributes
    ----------
    steps : tuple of float
        By how many standard errors the limits are tightened, from bold to cautious.
    surely : float
        A start that passes in this share of the worlds is good enough.
    most_starts : int
        The largest number of starts.
    first : float
        The first of several starts has this part of the error probability; the others have equal parts of the rest.
    worth : float
        The share of worlds that each further start must add.
    most_leans, shifts, back : int, tuple of float, tuple of float
        For how many claims there are starts with a wider margin; by how many standard errors on the tuning rows it is
        wider; and by how many standard errors less all limits are tightened then.
    alike : float
        Claims to which the rows contribute with a correlation above this are treated as one.
    worlds : int
        The number of worlds.
    """

    steps: tuple[float, ...] = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 10.0, 13.0)
    surely: float = 0.995
    most_starts: int = 4
    first: float = 0.6
    worth: float = 0.05
    most_leans: int = 4
    shifts: tuple[float, ...] = (1.0, 2.0)
    back: tuple[float, ...] = (0.0, 1.5, 3.0)
    alike: float = 0.95
    worlds: int = 400


SETTINGS = StartSettings()


@dataclass(frozen=True, eq=False)
class Start:
    """A policy that a path may begin with.

    ``step`` is by how many standard errors limits are tightened, ``lean`` an additional constraint that asks for a
    wider margin to one limit. ``z`` is the margin to the limit (room) of each claim in each world, in standard errors
    on the held-out rows. ``level`` is the start's part of the error probability.
    """

    step: float
    lean: Constraint | None
    result: Any
    z: FloatArray
    level: float = 1.0

    def passes(self, needed: FloatArray) -> BoolArray:
        """Return in which worlds all claims pass, given how many standard errors of room each one needs."""
        return np.asarray((self.z >= needed[:, None]).all(axis=0))


class Rehearsal:
    """Predicts from the tuning rows how policies will do on the held-out rows.

    ``counts`` is the number of claims of each constraint.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        axes, self.margins = path.tuning.axes, path.tuning.margins()
        found = [claims(constraint, axes, self.margins) for constraint in path.problem.constraints]
        self.claims: list[Claim] = [claim for each in found for claim in each]
        self.counts = [len(each) for each in found]
        shape = (2, len(path.tuning), SETTINGS.worlds)
        self.noise = np.random.default_rng(0).standard_normal(shape) / np.sqrt(len(path.tuning))

    def needed(self, part: float = 1.0) -> FloatArray:
        """Return how many standard errors of room each claim needs to pass with a part of the error probability."""
        level = 1 - part * (1 - self.path.level)
        betting = self.path.kept.weights is not None
        z = np.sqrt(-2 * np.log(1 - level)) if betting else NormalDist().inv_cdf(level)
        return np.full(len(self.claims), z)

    def rows_of(self, result: Any) -> list[RowRooms | None]:
        """Return what each tuning row contributes to the room of each claim."""
        rows, calibration = self.path.tuning, result.policy.calibration
        proba = rows.proba if calibration is None else calibration(rows.proba, rows.cells)
        decided = Decided.by(result.policy, rows)
        return [room_by_row(claim, decided, proba) for claim in self.claims]

    def start(self, step: float, lean: Constraint | None, result: Any) -> Start:
        """Return a start with its room in each world.

        A world adds two sampling errors to the room: that of the held-out rows, by their labels, and that of the tuning
        rows, by their probabilities. For one claim the second error is by labels too, because probabilities may be
        wrong by as much as the labels of the tuning rows cannot tell: 2 instead of 7 of 72 draws had no answer under
        three floors, and 1 instead of 6 of 20 where the probabilities needed no calibration. With several claims,
        extreme policies would then seem the likeliest to pass: equal opportunity of three groups cost .11 of the G-mean
        instead of .01 (12 draws).
        """
        kept, tuning = len(self.path.kept), len(self.path.tuning)
        by_luck = len(self.claims) == 1
        z = np.full((len(self.claims), SETTINGS.worlds), -np.inf)
        for place, (claim, each) in enumerate(zip(self.claims, self.rows_of(result), strict=True)):
            room = room_of(claim, result.confusion)
            if each is None or not each.error > 0:
                z[place] = np.inf if room > 0 else -np.inf
                continue
            unseen = (each.by_label / each.error) @ self.noise[0]
            fitted = ((each.by_label if by_luck else each.by_proba) / each.error) @ self.noise[1]
            z[place] = np.sqrt(kept) * room / each.error + unseen + np.sqrt(kept / tuning) * fitted
        return Start(step, lean, result, z)

    def centre(self) -> Iterator[Start]:
        """Yield starts with all limits tightened alike, from bold to cautious, until one passes almost surely."""
        for step in SETTINGS.steps:
            try:
                found = self.start(step, None, self.path.policy(step, None, self.path.base))
            except InfeasibleError:
                return
            yield found
            if found.passes(self.needed()).mean() >= SETTINGS.surely or self.path.deadline.passed:
                return

    def leaning(self, best: Start) -> Iterator[Start]:
        """Yield starts with a wider margin for one claim, first for the claims that fail in the most worlds."""
        each = self.rows_of(best.result)
        failing = (best.z < self.needed()[:, None]).mean(axis=1)
        chosen: list[FloatArray] = []
        for place in np.argsort(-failing, kind="stable"):
            metric = room_metric(self.claims[place], self.path.tuning.axes, self.margins)
            rows = each[place]
            if metric is None or rows is None or not (failing[place] > 0 and rows.error > 0):
                continue
            unit = rows.by_label / rows.error
            if any(float(unit @ other) > SETTINGS.alike * len(unit) for other in chosen):
                continue
            chosen.append(unit)
            here, error = metric(best.result.confusion), rows.error / np.sqrt(len(unit))
            for shift in SETTINGS.shifts:
                yield from self._towards(Constraint(metric, ">=", here + shift * error), best)
            if len(chosen) == SETTINGS.most_leans or self.path.deadline.passed:
                return

    def _towards(self, lean: Constraint, best: Start) -> Iterator[Start]:
        for back in SETTINGS.back:
            step = best.step - back
            try:
                yield self.start(step, lean, self.path.policy(step, lean, best.result))
            except InfeasibleError:
                continue

    def chosen(self, known: list[Start]) -> list[Start]:
        """Return starts with their parts of the error probability; the first is the likeliest to pass.

        There are as few as possible: each further one must add the share ``worth`` to the worlds in which one passes.
        """
        best: list[Start] = []
        reached = -1.0
        for count in range(1, SETTINGS.most_starts + 1):
            parts = (
                [1.0] if count == 1 else [SETTINGS.first] + [(1 - SETTINGS.first) / (count - 1)] * (count - 1)
            )
            covered = np.zeros(SETTINGS.worlds, bool)
            picked: list[Start] = []
            for part in parts:
                needed = self.needed(part)
                passes = [start.passes(needed) for start in known]
                place = int(np.argmax([(new & ~covered).sum() for new in passes]))
                picked.append(replace(known[place], level=part))
                covered |= passes[place]
            if covered.mean() >= reached + SETTINGS.worth * (count - len(best)):
                best, reached = picked, float(covered.mean())
        return best
