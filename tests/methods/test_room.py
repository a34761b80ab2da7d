"""Room to the limits: its measure has a known value, and it is bought with what a search gains over a direct one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import metricfit as mf
from metricfit.methods import Guided
from metricfit.methods.base import Walk
from metricfit.methods.search.room import sampling_error, stricter, with_room
from metricfit.methods.search.settings import Settings
from metricfit.oracles import PluginOracle, Rows
from metricfit.problem import Problem


def drawn(seed: int, rows: int = 900):
    random = np.random.default_rng(seed)
    proba = random.dirichlet([2.0, 1.0, 0.5], rows)
    return proba, (proba.cumsum(axis=1) > random.random((rows, 1))).argmax(axis=1)


def asked(limits, seed=0, layout_of=()):
    """Return a walk that has counted the 0-1 rule and rules with other weights of the last class."""
    proba, y = drawn(seed)
    problem = Problem.of("g_mean", [*limits, *layout_of])
    oracle = PluginOracle(Rows.of(proba, y))
    program = problem.bind(oracle.axes, oracle.margins)
    walk = Walk(program, oracle)
    for weight in (1.0, 0.3, 0.6, 1.5, 3.0):
        loss = -np.eye(3) * [1.0, 1.5, weight]
        walk.ask(loss[None] if program.layout == "full" else np.stack([np.diag(loss), np.zeros(3)])[None])
    return walk, proba, y


@pytest.mark.parametrize(
    "other", [(), ("cost([[0, 1, 2], [1, 0, 1], [2, 1, 0]]) <= 2",)], ids=["diagonal", "full"]
)
def test_the_error_of_a_precision_is_that_of_a_share(other):
    walk, proba, y = asked(["precision(2) >= 0.1"], layout_of=other)
    assert walk.program.layout == ("full" if other else "diagonal")
    decided = (proba * [1.0, 1.5, 1.0]).argmax(axis=1) == 2
    share = (y[decided] == 2).mean()
    found = sampling_error(
        walk.program, walk.program.limits[0].metric, walk.statistic(walk.single(0)), len(y)
    )
    assert found == pytest.approx(np.sqrt(share * (1 - share) / decided.sum()), rel=1e-9)


def test_limits_become_stricter_by_so_much_but_stay_within_reach():
    walk, _, _ = asked(["precision(2) >= 0.5", "coverage(0) <= 0.3"])
    moved = stricter(walk.program, [0.1, 0.05])
    assert [limit.constraint.limit for limit in moved.limits] == pytest.approx([0.6, 0.25])
    moved = stricter(walk.program, [10.0, 10.0])
    assert [limit.constraint.limit for limit in moved.limits] == pytest.approx([0.75, 0.15])
    walk, _, _ = asked(["coverage_deviation() <= 0.1"])
    assert stricter(walk.program, [0.09]).limits[0].constraint.limit == pytest.approx(0.01)


@pytest.mark.parametrize("spent", [0.0, 0.003, 0.02])
def test_room_costs_no_more_than_it_may(spent):
    walk, _, _ = asked(["precision(2) >= 0.57"])
    program = walk.program
    kept = [place for place in range(5) if program.excess(walk.vectors[place]) <= 0]
    best = walk.single(min(kept, key=lambda place: program.value(walk.vectors[place])))
    found = with_room(walk, best, program.value(best.u) + spent, Settings())
    assert program.value(found.u) <= program.value(best.u) + spent + 1e-4
    assert program.violation(found.u) <= 1e-9
    error = sampling_error(program, program.limits[0].metric, walk.statistic(best), 900)
    assert program.violation(found.u) <= -error * {0.0: 0.0, 0.003: 0.2, 0.02: 0.6}[spent]


@pytest.mark.parametrize("price", [0.1, 0.5, 2.0])
def test_room_is_bought_where_it_is_worth_its_price(price):
    """None of many drawn mixtures costs less than the one that is found."""
    walk, _, _ = asked(["precision(2) >= 0.57"])
    program = walk.program
    kept = [place for place in range(5) if program.excess(walk.vectors[place]) <= 0]
    best = walk.single(min(kept, key=lambda place: program.value(walk.vectors[place])))
    found = with_room(walk, best, np.inf, replace(Settings(), price=price))
    error = sampling_error(program, program.limits[0].metric, walk.statistic(best), 900)

    def cost(u):
        room = -program.violation(u) / error
        return program.value(u) + price * error * (norm.pdf(room) - room * norm.sf(room))

    shares = np.random.default_rng(0).dirichlet(np.full(5, 0.3), 20_000)
    mixtures = [u for u in shares @ np.array(walk.vectors) if program.violation(u) <= 0]
    assert cost(found.u) <= min(map(cost, mixtures)) + 1e-3


@pytest.mark.parametrize("seed", range(4))
def test_the_default_is_not_behind_a_direct_search_for_its_room(seed):
    proba, y = drawn(seed)
    limit = mf.precision(2) >= 0.6
    direct = mf.optimize(proba, y, "g_mean", limit, method="local")
    found = mf.optimize(proba, y, "g_mean", limit)
    assert found.value >= direct.value - Settings().spent - 1e-4
    assert found.constraints[0].violation <= 1e-9
    assert found.history[-1].value == pytest.approx(found.value, abs=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_room_follows_standard_errors_and_not_the_number_of_rows(seed):
    """Whether data count as small or large changes nothing: a limit on a rare class rests on few rows either way."""
    random = np.random.default_rng(seed)
    proba = random.dirichlet([6.0, 3.0, 0.1], 20_000)
    y = (proba.cumsum(axis=1) > random.random((len(proba), 1))).argmax(axis=1)
    limit = mf.precision(2) >= 0.8
    small, large = (
        mf.optimize(proba, y, "g_mean", limit, method=Guided(replace(Settings(), few_entries=entries)))
        for entries in (len(proba) * 3, 0)
    )
    assert small.value == large.value
    assert np.array_equal(small.policy.decision_proba(proba), large.policy.decision_proba(proba))
    shares = large.policy.decision_proba(proba)[:, 2]
    error = np.sqrt(0.8 * 0.2 / shares.sum())
    room = shares[y == 2].sum() / shares.sum() - 0.8
    assert room >= 0.2 * error
