"""The deterministic rule that goes with a policy: the best single rule that is known, improved on counted labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from metricfit.methods.base import NEVER, Budget, Deadline, Exhausted, Walk
from metricfit.methods.search.coordinate import CLOSING, Stage, polish
from metricfit.methods.search.merit import FIRST, merits
from metricfit.methods.search.profile import Profile
from metricfit.oracles.base import OracleBase
from metricfit.policy import Policy, Rule
from metricfit.policy.derandomise import deterministic
from metricfit.problem import Program
from metricfit.result import Deterministic
from metricfit.solving.answer import Answer
from metricfit.types import FloatArray

# How many rules of a search are started from, those of the answer's mixture among them, on small data and on large
# data; and up to how many probabilities data count as small. Another start may lead to a rule that is better by .1.
STARTS, FEW_ENTRIES = (12, 4), 50_000
# What a unit of violation costs where starts are chosen: the scans mend what is broken by little.
TOLL = 2.0
# The sweeps over its weights: violations cost little at first, because two moves that help together may each break a
# limit. With only two such stages, mean values on 31 generated problems are lower by .004.
STAGES = (*(Stage(1, None, toll) for toll in (2.0, 2.0, 4.0, 8.0, 16.0)), *CLOSING)
# The deterministic rule is looked for between this many of the heaviest rules of a cell: averages may have thousands.
HEAVIEST = 64
# With more decisions no weights are scanned: that takes long and overfits.
MOST_DECISIONS = 32


def seen_by(answer: Answer) -> list[FloatArray]:
    """Return the best single rule that the search for an answer has met, those that it mixes most, and other ones."""
    walk = answer.walk
    best = int(merits(walk.program, walk.vectors, FIRST).argmin())
    share = answer.mixture.weights.sum(axis=0)
    mixed = [int(t) for t in np.argsort(-share, kind="stable") if share[t] > 0]
    others = np.argsort(merits(walk.program, walk.vectors, TOLL), kind="stable").tolist()
    few = (walk.oracle.n_rows or np.inf) * walk.program.axes.n <= FEW_ENTRIES
    # A rule for counts that are proven needs no other start: the mixture's rules are optimal for their losses.
    places = [best] if walk.oracle.exact else [best, *mixed[: STARTS[1] - 1], *others]
    return [walk.vertices[t].loss for t in list(dict.fromkeys(places))[: STARTS[0] if few else STARTS[1]]]


def with_single(
    program: Program,
    oracle: OracleBase,
    policy: Policy,
    seen: Sequence[FloatArray] = (),
    deadline: Deadline = NEVER,
    scans: bool = True,
) -> tuple[Policy, FloatArray | None]:
    """Return a policy with its deterministic rules, which have weight 0 if they are new, and their u.

    Without u the policy is as it was: each cell has one rule, and no row is near a tie under it. Without ``scans`` the
    rules lie between those of the mixture: a policy that held-out rows have confirmed must not be moved far from them.
    """
    sample = oracle.sample()
    if sample is None:
        return policy, None
    mixtures = []
    for mixture in policy.rules:
        weights = np.array([rule.weight for rule in mixture])
        kept = np.sort(np.argsort(-weights, kind="stable")[:HEAVIEST])
        mixtures.append((weights[kept], np.array([mixture[t].loss for t in kept])))
    # Which label a single row of a sample has says little of the rest.
    scanned = scans and not oracle.exact and len(sample) == oracle.n_rows and program.axes.k <= MOST_DECISIONS
    improved = _improvement(program, oracle, deadline) if scanned else None
    alone, u = deterministic(program, sample, oracle.exact, mixtures, seen, improved)
    if u is None:
        return policy, None
    rules = tuple(
        mixture if loss is None else (*mixture, Rule(0.0, loss))
        for mixture, loss in zip(policy.rules, alone, strict=True)
    )
    return replace(policy, rules=rules, single=tuple(len(mixture) - 1 for mixture in rules)), u


def _improvement(
    program: Program, oracle: OracleBase, deadline: Deadline
) -> Callable[[FloatArray], FloatArray]:
    """Return a function that scans the weights of a rule, each over all its values, as long as that helps."""
    walk, profile = Walk(program, oracle, budget=Budget(deadline=deadline)), Profile(program)

    def improved(loss: FloatArray) -> FloatArray:
        first = len(walk.vertices)
        with suppress(Exhausted):
            for _ in polish(program, walk, profile, walk.ask(loss), STAGES):
                pass
        found = walk.vertices[first:]
        if not found:
            return loss
        return found[int(merits(program, walk.vectors[first:], FIRST).argmin())].loss

    return improved


def alone_of(program: Program, u: FloatArray, mixed: float) -> Deterministic:
    """Return what the deterministic rules achieve at u, compared with the value of the mixture."""
    value = program.value(u)
    return Deterministic(
        program.sign * value + 0.0,
        value - mixed,
        tuple(limit.value(u) for limit in program.limits),
        max((limit.violation(u) for limit in program.limits), default=0.0),
    )
