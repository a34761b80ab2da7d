"""Scans against brute force: every breakpoint, every kind of weight, every way of counting."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import metricfit as mf
from metricfit.data.layout import statistic as kept
from metricfit.kernels import _sort_jit, moving_rows, scan, sums_along_line
from metricfit.kernels.counting import confusion
from metricfit.kernels.engine import Repeated
from metricfit.kernels.moving_rows import ascending
from metricfit.kernels.scan import Scan, Sweep
from metricfit.methods.search.profile import Profile
from metricfit.methods.starts import argmax_loss, balanced_loss
from metricfit.oracles import PluginOracle, Rows
from metricfit.problem import Problem


def rows_of(seed=0, N=60, n=4, decisions=None, groups=False, weights=False, dtype=np.float64):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n, 0.7), N).astype(dtype)
    y = np.concatenate([np.arange(n), rng.integers(0, n, N - n)])
    return Rows.of(
        proba,
        y,
        decisions=decisions,
        sensitive_features=np.resize(["a", "b", "c"], N) if groups else None,
        sample_weight=rng.uniform(0.5, 2, N) if weights else None,
    )


def oracle_of(soft=False, **options):
    return PluginOracle(rows_of(**options), "model" if soft else "labels")


def counted(scan, decisions):
    rows = scan.rows
    shape = len(rows.axes.cells), rows.axes.k
    tensor = confusion(rows.soft() if scan.state.trust else rows, decisions, *shape)
    return kept(tensor, scan.layout, rows.axes)


CASES = [
    dict(),
    dict(soft=True),
    dict(weights=True),
    dict(groups=True),
    dict(decisions=[0, 1, 2, 3, "review"]),
    dict(decisions=[3, 0, "review"], soft=True, groups=True, weights=True),
    dict(dtype=np.float32),
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("layout", ["diagonal", "full"])
def test_every_count_of_a_line_is_what_the_rule_with_that_weight_decides(case, layout):
    oracle = oracle_of(**case)
    objective = mf.accuracy() if layout == "diagonal" else mf.custom(lambda m: m[0, 0])
    program = Problem.of(objective).bind(oracle.axes, oracle.margins)
    assert program.layout == layout
    loss = balanced_loss(program, oracle.margins)
    cells = [None, 0] if len(oracle.axes.cells) > 1 else [None]
    seen = 0
    for j, kind, cell in product(range(oracle.axes.k), ["slope", "offset"], cells):
        scan = oracle.scan(loss, layout)
        line = scan.line(j, kind, cell)
        if line is None:
            assert kind == "slope"
            continue
        before = oracle(loss, layout).statistic
        for count in np.flatnonzero(line.apart):
            moved = oracle.scan(loss, layout)
            change = moved.change(line, int(count))
            moved.move(line, int(count))
            truth = oracle(moved.loss, layout).statistic
            np.testing.assert_allclose(before + change, truth, atol=1e-12)
            np.testing.assert_allclose(counted(moved, moved.decisions), truth, atol=1e-12)
            np.testing.assert_allclose(moved.best, moved.scores.of(moved.every, moved.decisions), atol=1e-12)
            seen += 1
    assert seen > 100


METRICS = [
    "macro_f1",
    "mcc",
    "g_mean",
    "q_mean",
    "min_recall",
    "cohen_kappa",
    mf.f_beta(2, average="weighted"),
    mf.jaccard(average="macro"),
    mf.macro_f1() * mf.accuracy(),
    mf.macro_f1() / (1 + mf.mcc()),
    mf.quantification_kld(),
]


@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("soft", [False, True])
def test_profile_is_the_metric_at_every_breakpoint(metric, soft):
    oracle = oracle_of(soft, weights=True)
    program = Problem.of(metric, [mf.recall(1) >= 0.5, mf.precision(2) >= 0.4]).bind(
        oracle.axes, oracle.margins
    )
    profile = Profile(program)
    assert profile.exact
    loss = argmax_loss(program)
    start = oracle(loss, program.layout).statistic
    for j, kind in product(range(4), ["slope", "offset"]):
        scan = oracle.scan(loss, program.layout)
        line = scan.line(j, kind)
        series = profile.at(scan, line, start)
        counts = np.flatnonzero(line.apart)
        for count in counts:
            # Counted anew: a root of what is left over by adding and subtracting is not small.
            moved = oracle.scan(loss, program.layout)
            moved.move(line, int(count))
            u = program.vector(oracle(moved.loss, program.layout).statistic)
            assert series.value[count] == pytest.approx(program.value(u), abs=1e-9)
            assert series.violation[count] == pytest.approx(program.violation(u), abs=1e-9)
        some = profile.at(scan, line, start, counts[::3])
        np.testing.assert_allclose(some.value, series.value[counts[::3]], atol=1e-12)


def test_a_users_function_is_asked_point_by_point():
    oracle = oracle_of()
    program = Problem.of(lambda m: float(np.trace(m)) ** 2).bind(oracle.axes, oracle.margins)
    profile, loss = Profile(program), argmax_loss(program)
    start, scan = oracle(loss, "full").statistic, oracle.scan(loss, "full")
    line = scan.line(2, "slope")
    series = profile.at(scan, line, start)
    assert not profile.exact
    for count in np.flatnonzero(line.apart):
        u = program.vector(start + scan.change(line, int(count)))
        assert series.value[count] == pytest.approx(program.value(u), abs=1e-12)


@pytest.mark.parametrize("case", [dict(), dict(soft=True), dict(weights=True, dtype=np.float32)])
def test_a_compiled_sweep_does_what_lines_do_one_by_one(case):
    oracle = oracle_of(N=400, **case)
    program = Problem.of("macro_f1").bind(oracle.axes, oracle.margins)
    profile, loss = Profile(program), argmax_loss(program)
    from metricfit.methods.search.coordinate import GAIN, Stage, best_count

    oracle.engine = "numpy"
    slow = oracle.scan(loss, "diagonal")
    start = total = slow.statistic()
    moves = 0
    for kind, j in product(["slope", "offset"], range(4)):
        line = slow.line(j, kind, None, 3.0)
        count = best_count(slow, profile, line, total, Stage(1, 3.0))
        moves += count != line.here
        total = total + slow.change(line, count)
        if count != line.here:
            slow.move(line, count)
    oracle.engine = "numba"
    fast = oracle.scan(loss, "diagonal")
    sign, ratios = profile.only
    assert fast.sweep(ratios.terms, sign, start, Sweep(1, 3.0, False, GAIN)) == (moves, 8)
    np.testing.assert_array_equal(fast.decisions, slow.decisions)
    np.testing.assert_allclose(fast.loss, slow.loss, rtol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_numba_and_numpy_find_the_same_lines(case):
    oracle = oracle_of(N=300, **case)
    program = Problem.of("accuracy").bind(oracle.axes, oracle.margins)
    loss = balanced_loss(program, oracle.margins)
    one, other = (Scan(oracle.rows, oracle.exact, loss, "diagonal", engine) for engine in ("numpy", "numba"))
    for j, kind in product(range(oracle.axes.k), ["slope", "offset"]):
        lines = [scan.line(j, kind) for scan in (one, other)]
        if lines[0] is None:
            assert lines[1] is None
            continue
        for one_part, other_part in zip(lines[0].entering, lines[1].entering, strict=True):
            np.testing.assert_array_equal(one_part, other_part)
        np.testing.assert_array_equal(lines[0].apart, lines[1].apart)
        for count in (0, len(lines[0]) // 2, len(lines[0])):
            np.testing.assert_array_equal(one.change(lines[0], count), other.change(lines[1], count))
        assert lines[0].here == lines[1].here


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("metric", ["h_mean", "macro_f1"])
def test_numba_and_numpy_agree_bit_for_bit_along_a_line(case, metric):
    oracle = oracle_of(N=300, **case)
    program = Problem.of(metric, "precision(0) >= 0.5").bind(oracle.axes, oracle.margins)
    loss, profile = balanced_loss(program, oracle.margins), Profile(program)
    one, other = (Scan(oracle.rows, oracle.exact, loss, "diagonal", engine) for engine in ("numpy", "numba"))
    start = one.statistic()
    for j, kind in product(range(oracle.axes.k), ["slope", "offset"]):
        lines = [scan.line(j, kind) for scan in (one, other)]
        if lines[0] is not None:
            found = [profile.at(scan, line, start) for scan, line in zip((one, other), lines, strict=True)]
            np.testing.assert_array_equal(found[0].value, found[1].value)
            np.testing.assert_array_equal(found[0].violation, found[1].violation)


def test_answers_do_not_depend_on_what_the_process_has_scanned_before(monkeypatch):
    rows = rows_of(N=3000)
    solved = []
    for scans in (Repeated(5_000, 10**9), Repeated(5_000, 0)):
        for module in (moving_rows, sums_along_line, scan):
            monkeypatch.setattr(module, "SCANS", scans)
        found = mf.optimize(rows.proba, rows.labels, "macro_f1", "recall(1) >= 0.6", method="local")
        solved.append((found.value, [rule.loss.tolist() for rules in found.policy.rules for rule in rules]))
    assert solved[0] == solved[1]


def test_compiled_scans_are_used_once_they_are_loaded():
    assert Repeated(5_000, 10**9, "no.such.module").in_numpy("auto", 4_000)
    assert not Repeated(5_000, 10**9, "sys").in_numpy("auto", 4_000)
    assert Repeated(5_000, 10**9, "sys").in_numpy("numpy", 4_000)


RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize(
    "values",
    [
        RANDOM.normal(size=1000) ** 3,
        np.exp(20 * RANDOM.normal(size=1000)),
        np.append(RANDOM.random(1000), -1e12),  # nearly all in one bucket
        RANDOM.choice([0.25, 0.5, 1.0], 1000),
        np.append(RANDOM.normal(size=1000), [1e12, 0.0, -0.0, 0.0]),
        np.array([-1e308, 0.0, 1e308]),
        np.ones(1),
    ],
)
def test_order_is_that_of_the_values(values, engine):
    found = ascending(values) if engine == "numpy" else _sort_jit.ascending(values)
    np.testing.assert_array_equal(found, np.argsort(values, kind="stable"))


def test_values_near_the_smallest_float_are_put_in_order():
    # As Python, where a bucket that is no number raises: compiled, it was written beyond the end of an array.
    order, bucket = np.empty((2, 3), np.int64)
    _sort_jit.sort.py_func(np.array([3e-318, 0.0, 1e-318]), order, bucket, False)
    assert order.tolist() == [1, 2, 0]
