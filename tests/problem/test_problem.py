"""Problems and programs: reading, signs, and the plane that every bound is made of."""

from __future__ import annotations

import numpy as np
import pytest

import metricfit as mf
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.data.layout import shape_of, statistic
from metricfit.metrics import Curvature
from metricfit.problem import Problem, Program

AXES = Axes((0, 1, 2), (0, 1, 2, "review"), Cells(("sex",), (("F",), ("M",))))
CLASSES_ONLY = Axes((0, 1, 2), (0, 1, 2), AXES.cells)
COST = [[0.0, 1.0, 4.0], [2.0, 0.0, 1.5], [7.0, 0.5, 0.0]]

OBJECTIVES = {
    "accuracy": mf.accuracy(),
    "cost": mf.cost(COST),
    "g_mean": mf.g_mean(),
    "h_mean": mf.h_mean(),
    "q_mean": mf.q_mean(),
    "min_recall": mf.min_recall(),
    "kld": mf.quantification_kld(),
    "worst": mf.worst(mf.g_mean(), over="sex"),
    "sum": mf.g_mean() - 0.5 * mf.coverage_deviation() + 0.2 * mf.recall(1),
}
CONSTRAINTS = [
    mf.precision(1) >= 0.5,
    mf.demographic_parity(over="sex") <= 0.1,
    mf.g_mean() >= 0.4,
    mf.quantification_kld() <= 0.3,
    mf.coverage(2) <= 0.3,
]


@pytest.fixture
def random():
    return np.random.default_rng(0)


@pytest.fixture
def margins(random):
    return random.dirichlet(np.ones(6)).reshape(2, 3)


def program_of(objective, constraints=(), axes=CLASSES_ONLY, margins=None) -> Program:
    return Problem.of(objective, constraints).bind(
        axes, np.full((2, 3), 1 / 6) if margins is None else margins
    )


def tensors(random, axes: Axes, margins: np.ndarray, count: int, spread: float = 0.5):
    """Yield tensors with the given class priors, some of them with decisions that are never taken."""
    for _ in range(count):
        rates = random.dirichlet(np.full(axes.k, spread), margins.shape)
        rates = np.where(rates < 0.05, 0.0, rates)
        yield margins[:, :, None] * rates / rates.sum(axis=2, keepdims=True)


class TestReading:
    def test_texts_names_and_objects_are_the_same(self):
        texts = Problem.of("g_mean", ["precision(1) >= 0.9", "coverage(2) <= 0.1"])
        objects = Problem.of(mf.g_mean(), (mf.precision(1) >= 0.9, mf.coverage(2) <= 0.1))
        assert (
            str(texts)
            == str(objects)
            == "maximize g_mean() subject to precision(1) >= 0.9, coverage(2) <= 0.1"
        )

    def test_a_single_constraint_needs_no_list(self):
        assert (
            str(Problem.of("accuracy", "recall(1) >= 0.5"))
            == "maximize accuracy() subject to recall(1) >= 0.5"
        )
        assert len(Problem.of("accuracy", mf.recall(1) >= 0.5).constraints) == 1

    def test_generators_are_read_once(self):
        assert len(Problem.of("accuracy", (mf.recall(c) >= 0.1 for c in range(3))).constraints) == 3

    @pytest.mark.parametrize(
        ("objective", "sign", "text"),
        [
            (mf.g_mean(), -1, "maximize g_mean()"),
            (mf.cost(COST), 1, f"minimize cost({COST})"),
            (mf.demographic_parity("sex"), 1, "minimize demographic_parity(over='sex')"),
            (-mf.ordinal_error(), -1, "maximize -ordinal_error()"),
            (mf.coverage(1), -1, "maximize coverage(1)"),
        ],
    )
    def test_direction(self, objective, sign, text):
        problem = Problem.of(objective)
        assert problem.sign == sign
        assert str(problem) == text

    @pytest.mark.parametrize(
        ("objective", "constraints", "message"),
        [
            ("gmean", (), "unknown metric 'gmean' .*did you mean 'g_mean'"),
            ("g_mean(", (), "cannot read"),
            (None, (), "objective must be a metric, its name, text or a callable .* got None"),
            (mf.g_mean, (), r"objective is the function g_mean; call it: mf.g_mean\(...\)"),
            (
                mf.recall(0) >= 0.5,
                (),
                "objective is the constraint 'recall.0. >= 0.5'; pass it in constraints=",
            ),
            ("g_mean", mf.recall(0), "constraints must be a list of constraints"),
            ("g_mean", 3, "constraints must be a list of constraints, got 3"),
            ("g_mean", [0.5], "constraints must be comparisons such as"),
            ("g_mean", ["recall(0)"], "constraints must be comparisons such as"),
            ("g_mean", [mf.recall(0) == 0.5], "got False; == makes no constraint: use <= or >=, or both"),
            ("g_mean", mf.recall(0) == 0.5, "got False; == makes no constraint: use <= or >=, or both"),
            ("g_mean", ["recall(0) >= nan"], "unknown metric 'nan'"),
        ],
    )
    def test_what_is_refused(self, objective, constraints, message):
        with pytest.raises(ValueError, match=message):
            Problem.of(objective, constraints)

    @pytest.mark.parametrize("limit", [np.nan, np.inf, -np.inf, "high", None])
    def test_limits_are_finite_numbers(self, limit):
        with pytest.raises(ValueError, match=r"limit of a constraint on recall\(0\) must be a finite number"):
            mf.recall(0) >= limit  # noqa: B015

    def test_a_callable_is_a_metric_of_the_matrix(self):
        problem = Problem.of(lambda matrix: float(np.trace(matrix)))
        assert problem.objective.curvature is Curvature.UNKNOWN
        assert problem.sign == -1


class TestProgram:
    def test_smallest_layout_that_serves_all(self):
        assert program_of("g_mean").layout == "diagonal"
        assert program_of("g_mean", "precision(1) >= 0.5").layout == "diagonal"
        assert program_of("g_mean", mf.cost(COST) <= 1).layout == "full"
        assert program_of(mf.equalized_odds("sex")).layout == "full"

    @pytest.mark.parametrize("name", OBJECTIVES)
    def test_values_are_those_of_the_metrics(self, name, random, margins):
        program = program_of(OBJECTIVES[name], CONSTRAINTS, margins=margins)
        for tensor in tensors(random, CLASSES_ONLY, margins, 20):
            u = program.vector(statistic(tensor, program.layout, CLASSES_ONLY))
            confusion = mf.Confusion(tensor, CLASSES_ONLY)
            assert program.sign * program.value(u) == pytest.approx(OBJECTIVES[name](confusion), abs=1e-9)
            worst = -np.inf
            for limit, constraint in zip(program.limits, CONSTRAINTS, strict=True):
                miss = constraint.metric(confusion) - constraint.limit
                miss = miss if constraint.sense == "<=" else -miss
                if not np.isnan(limit.value(u)):  # a rate of nothing keeps its limit
                    assert limit.violation(u) == pytest.approx(miss, abs=1e-9)
                    assert (limit.node.value(u).max() <= 1e-12) == (miss <= 1e-12)
                worst = max(worst, limit.violation(u))
            assert program.violation(u) == worst

    @pytest.mark.parametrize("name", OBJECTIVES)
    def test_no_value_is_below_the_lowest(self, name, random, margins):
        program = program_of(OBJECTIVES[name], margins=margins)
        for tensor in tensors(random, CLASSES_ONLY, margins, 30, spread=0.1):
            u = program.vector(statistic(tensor, program.layout, CLASSES_ONLY))
            assert program.value(u) >= program.lowest_value - 1e-12
            assert np.all(u >= program.low - 1e-12)
            assert np.all(u <= program.high + 1e-12)

    @pytest.mark.parametrize("axes", [AXES, CLASSES_ONLY])
    def test_a_price_is_a_loss(self, axes, random, margins):
        program = program_of("g_mean", CONSTRAINTS[:3], axes, margins)
        price = random.normal(size=program.constant.size)
        loss = program.loss(price)
        assert loss.shape == shape_of(program.layout, axes)
        for tensor in tensors(random, axes, margins, 5):
            counted = statistic(tensor, program.layout, axes)
            u = program.vector(counted)
            assert np.sum(loss * counted) == pytest.approx(price @ (u - program.constant))
            np.testing.assert_allclose(program.shares(counted).sum(axis=1) + program.constant, u, atol=1e-15)

    def test_uniform_classifier(self, margins):
        program = program_of("g_mean", axes=AXES, margins=margins)
        assert program.value(program.uniform(margins)) == pytest.approx(-0.25)

    def test_a_slice_without_rows_is_refused(self):
        with pytest.raises(ValueError, match="undefined where sex='F', because class 2 has no rows"):
            program_of(mf.g_mean().at(sex="F"), margins=np.array([[0.3, 0.2, 0.0], [0.2, 0.2, 0.1]]))

    def test_ratios_know_their_denominators(self, margins):
        assert program_of("accuracy", margins=margins).lowest_denominator == 1.0
        least = program_of(mf.f_beta(1, 1), margins=margins).lowest_denominator
        assert least == pytest.approx(margins[:, 1].sum())
        assert program_of(mf.precision(1), margins=margins).lowest_denominator == 0.0

    def test_quasiconvex(self):
        assert program_of(mf.worst(mf.precision(1), over="sex")).quasiconvex
        assert not program_of("macro_f1").quasiconvex

    def test_rates_of_nothing_keep_their_limits(self):
        """In F nothing is decided as 1; in M the precision of 1 is 0.8; nothing at all is decided as 2."""
        axes = Axes((0, 1, 2), cells=AXES.cells)
        tensor = np.zeros((2, 3, 3))
        tensor[0, :, 0] = [0.3, 0.1, 0.1]
        tensor[1] = [[0.2, 0.05, 0.0], [0.0, 0.2, 0.0], [0.05, 0.0, 0.0]]
        answers = {
            # constraint: (value, violation), as counted by hand
            mf.precision(1) >= 0.9: (0.8, 0.1),
            mf.precision(2) >= 0.9: (np.nan, 0.0),
            mf.worst(mf.precision(1), over="sex") >= 0.7: (0.8, -0.1),
            mf.worst(mf.precision(1), over="sex") >= 0.9: (0.8, 0.1),
            mf.worst(mf.precision(2), over="sex") >= 0.9: (np.nan, 0.0),
            mf.precision(1).at(sex="F") >= 0.9: (np.nan, 0.0),
            1 - mf.precision(2) <= 0.1: (np.nan, 0.0),
            mf.minimum(mf.precision(1), mf.precision(2)) >= 0.75: (0.8, -0.05),
            mf.minimum(mf.precision(2), mf.recall(1)) >= 0.5: (2 / 3, 0.5 - 2 / 3),
            mf.maximum(1 - mf.precision(1), 1 - mf.precision(2)) <= 0.1: (0.2, 0.1),
            # F is left out, and M has the precision of all rows.
            mf.predictive_parity(over="sex", c=1) <= 0.5: (0.0, -0.5),
            # No convex set: rates of nothing count 0, as in the metric.
            (mf.precision(1) + mf.precision(2)) / 2 >= 0.5: (0.4, 0.1),
        }
        program = program_of("accuracy", list(answers), axes, tensor.sum(axis=2))
        u = program.vector(statistic(tensor, program.layout, axes))
        for limit, (value, violation) in zip(program.limits, answers.values(), strict=True):
            assert limit.value(u) == pytest.approx(value, nan_ok=True), limit.constraint
            assert limit.violation(u) == pytest.approx(violation), limit.constraint
            if limit.node is not None:
                assert (limit.node.value(u).max() <= 0) == (violation <= 0), limit.constraint

    def test_a_policy_that_keeps_a_floor_by_never_deciding_is_feasible(self):
        """No row can be decided as 2 with precision 0.85, so that none is.

        Four rows are surely of class 0, four of class 1. With x of the last two decided as 0, the precision
        is (4 + 0.4 x) / (4 + x), so that x is at most 4/3; the others are decided as 1.
        """
        proba = np.array([[1.0, 0.0, 0.0]] * 4 + [[0.0, 1.0, 0.0]] * 4 + [[0.4, 0.3, 0.3]] * 2)
        floors = mf.minimum(mf.precision(0), mf.precision(1), mf.precision(2)) >= 0.85
        y = [0] * 4 + [1] * 4 + [0, 2]
        result = mf.optimize(proba, y, "accuracy", [floors], counting="model")
        kept = result.constraints[0]
        assert result.feasible
        assert kept.violation <= 1e-9
        assert kept.value >= 0.85 - 1e-9
        assert result.value == pytest.approx(0.8 + (0.4 * 4 / 3 + 0.3 * 2 / 3) / 10, abs=1e-6)
        assert result.confusion.matrix[:, 2].sum() == pytest.approx(0.0, abs=1e-9)

    def test_distance_from_the_mean_of_groups_asks_for_nothing_else(self):
        """One rate for each group, and none for all rows together."""
        alone = program_of(mf.disparity(mf.recall(1), over="sex", to="mean")).constant.size
        assert program_of(mf.disparity(mf.recall(1), over="sex")).constant.size >= alone

    def test_unit_of_a_limit(self, random, margins):
        """One unit of slack moves the functions of a constraint by its denominator, or by one."""
        program = program_of("accuracy", [mf.precision(1) >= 0.5, mf.coverage(1) <= 0.2], margins=margins)
        tensor = next(tensors(random, CLASSES_ONLY, margins, 1))
        u = program.vector(statistic(tensor, program.layout, CLASSES_ONLY))
        assert program.limits[0].unit(u) == pytest.approx([tensor[:, :, 1].sum()])
        assert program.limits[1].unit(u) == pytest.approx([1.0])


class TestPlane:
    """`Program.tangent` lies below the Lagrangian everywhere: the one thing that bounds rest on."""

    @pytest.mark.parametrize("name", OBJECTIVES)
    def test_lies_below(self, name, random, margins):
        program = program_of(OBJECTIVES[name], CONSTRAINTS, margins=margins)
        points = [
            program.vector(statistic(tensor, program.layout, CLASSES_ONLY))
            for spread in (0.1, 1.0)
            for tensor in tensors(random, CLASSES_ONLY, margins, 15, spread)
        ]
        for at in points:
            multipliers = [random.exponential(size=limit.node.size) for limit in program.limits]
            slope, level = program.tangent(at, multipliers)
            for u in points:
                lagrangian = program.value(u) + sum(
                    mu @ limit.node.value(u) for mu, limit in zip(multipliers, program.limits, strict=True)
                )
                assert level + slope @ (u - at) <= lagrangian + 1e-9 * (1 + np.abs(slope).max())

    def test_lies_below_where_a_rate_is_zero(self, margins):
        """A geometric mean has no slope where a recall is zero; still its plane must not cut through it."""
        program = program_of("g_mean", margins=margins)
        slope, level = program.tangent(np.array([0.0, 0.8, 0.9]))
        for u in np.random.default_rng(1).random((200, 3)):
            assert level + slope @ (u - [0.0, 0.8, 0.9]) <= program.value(u) + 1e-9

    def test_touches_where_it_was_made(self, random, margins):
        program = program_of("g_mean", CONSTRAINTS, margins=margins)
        u = program.uniform(margins)
        slope, level = program.tangent(u)
        assert level == pytest.approx(program.value(u))
        for _ in range(5):
            step = 1e-6 * random.normal(size=u.size)
            assert program.value(u + step) - level == pytest.approx(slope @ step, abs=1e-10)


@pytest.mark.parametrize(
    ("objective", "constraints", "told"),
    [
        ("g_mean", (), False),
        ("g_mean", "precision(1) >= 0.5", False),
        (mf.cost(COST), "coverage(2) <= 0.3", False),
        ("g_mean", "demographic_parity(over='sex') <= 0.1", True),
        ("g_mean", "recall(1).at(sex='F') >= 0.5", True),
        (mf.worst(mf.recall(0), over="sex"), (), True),
    ],
)
def test_a_program_knows_whether_it_tells_cells_apart(objective, constraints, told):
    assert program_of(objective, constraints).by_cell is told


def test_violations_of_many_points_are_those_of_each(random, margins):
    worst = mf.worst(mf.precision(1), over="sex") >= 0.6
    program = program_of("accuracy", [*CONSTRAINTS, worst], margins=margins)
    counted = tensors(random, CLASSES_ONLY, margins, 20, spread=0.05)
    points = np.stack([program.vector(statistic(c, program.layout, program.axes)) for c in counted])
    found = program.violations(points)
    np.testing.assert_allclose(found, [program.violation(u) for u in points], atol=1e-12)
    for u in points:
        assert program.missed(u) == (program.excess(u), program.violation(u))


@pytest.mark.parametrize(("limit", "beyond"), [(0.1, -0.1), (0.0, 0.0), (-0.2, 0.2)])
def test_groups_cannot_differ_by_less_than_nothing(margins, limit, beyond):
    parity = mf.demographic_parity(over="sex") <= limit
    program = program_of("accuracy", parity, margins=margins)
    assert program.limits[0].out_of_reach == pytest.approx(beyond)
