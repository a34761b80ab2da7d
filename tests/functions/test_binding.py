"""From linear functions to the generalised confusion vector: layouts, reach, and the nodes on top."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import REVIEW, example_rows, random_tensor

import metricfit as mf
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.data.layout import expand, shape_of, statistic
from metricfit.functions.atoms import GeometricMean
from metricfit.functions.binding import Binding
from metricfit.functions.expression import Constant, Entries, nodes_of
from metricfit.functions.extremes import Largest, largest, magnitude, smallest
from metricfit.functions.linear import Linear, of_matrix
from metricfit.functions.matrices import dense
from metricfit.functions.nonlinear import Product, Quotient, Smooth
from metricfit.functions.sums import Stack, Sum, Total, negative
from metricfit.problem import Problem

CELLS = Cells(("sex",), (("F",), ("M",)))
SHAPES = [
    Axes(("a", "b", "c")),
    Axes(("a", "b", "c"), ("c", "a", "b"), CELLS),
    Axes(("a", "b", "c"), ("?", "b", "a", "c", "!")),
    Axes(("a", "b", "c"), ("b", "?")),
    Axes(("a", "b", "c"), ("b",), CELLS),
    Axes(("a",), ("a", "?")),
]


def margins(axes: Axes, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(axes.n * len(axes.cells))).reshape(-1, axes.n)


@pytest.mark.parametrize("axes", SHAPES, ids=str)
def test_layouts_give_the_same_sums(axes):
    rng = np.random.default_rng(0)
    tensor = random_tensor(axes, margins(axes), rng).values
    for layout in ("diagonal", "full"):
        kept = statistic(tensor, layout, axes)
        assert kept.shape == shape_of(layout, axes)
        loss = rng.normal(size=kept.shape)
        spread = expand(loss, layout, axes)
        assert spread.shape == tensor.shape
        assert np.sum(spread * tensor) == pytest.approx(np.sum(loss * kept))


def test_statistic_by_hand():
    axes = Axes(("a", "b"), ("b", "?", "a"))
    tensor = np.array([[[0.1, 0.2, 0.15], [0.25, 0.05, 0.25]]])
    np.testing.assert_allclose(statistic(tensor, "diagonal", axes), [[[0.25, 0, 0.15], [0.35, 0.25, 0.4]]])
    assert statistic(tensor, "full", axes) is tensor


def random_linear(axes: Axes, rng: np.random.Generator, kind: str) -> Linear:
    def table(width: int) -> sp.csr_array:
        return sp.csr_array(np.round(rng.normal(size=(4, width)), 1) * (rng.random((4, width)) < 0.6))

    if kind == "full":
        return Linear(full=table(axes.n * axes.k), row=table(axes.n))
    parts = {"diagonal": table(axes.k), "column": table(axes.k), "row": table(axes.n)}
    return Linear(**{name: part for name, part in parts.items() if kind in (name, "all", "row")})


def by_hand(linear: Linear, axes: Axes, matrix: np.ndarray) -> np.ndarray:
    """The functions of one n x k matrix, entry by entry."""
    total = np.zeros(linear.size)
    for q in range(linear.size):
        for i, j in np.ndindex(*matrix.shape):
            if linear.full is not None:
                total[q] += dense(linear.full)[q, i * axes.k + j] * matrix[i, j]
            if linear.diagonal is not None and axes.match[j] == i:
                total[q] += dense(linear.diagonal)[q, j] * matrix[i, j]
            if linear.column is not None:
                total[q] += dense(linear.column)[q, j] * matrix[i, j]
            if linear.row is not None:
                total[q] += dense(linear.row)[q, i] * matrix[i, j]
    return total


@pytest.mark.parametrize("axes", SHAPES, ids=str)
@pytest.mark.parametrize("kinds", [("all",), ("full",), ("diagonal", "column"), ("all", "full", "row")])
def test_functions_are_what_they_say_and_their_reach_is_exact(axes, kinds):
    rng = np.random.default_rng(1)
    prior = margins(axes)
    start = Binding.of(axes, prior)
    slices = [start, *start.groups("sex").values()] if axes.cells.names else [start]
    asked = [(random_linear(axes, rng, kind), part) for kind in kinds for part in slices]
    nodes = [part.bind(linear) for linear, part in asked]
    functions = start.finish()
    assert functions.layout == ("full" if "full" in kinds else "diagonal")
    for _ in range(3):
        tensor = random_tensor(axes, prior, rng).values
        z = statistic(tensor, functions.layout, axes)
        u = functions.matrix @ z.ravel() + functions.constant
        for (linear, part), node in zip(asked, nodes, strict=True):
            expected = by_hand(linear, axes, tensor[part.mask].sum(axis=0))
            np.testing.assert_allclose(node.value(u), expected, atol=1e-12)
    # The ends are reached by deciding every class as suits the function.
    for (linear, part), node in zip(asked, nodes, strict=True):
        weights = prior[part.mask].sum(axis=0)
        rules = itertools.product(range(axes.k), repeat=axes.n)
        tables = [np.eye(axes.k)[list(rule)] * weights[:, None] for rule in rules]
        values = np.array([by_hand(linear, axes, table) for table in tables])
        np.testing.assert_allclose(node.reach()[0], values.min(axis=0), atol=1e-12)
        np.testing.assert_allclose(node.reach()[1], values.max(axis=0), atol=1e-12)


def test_functions_of_rows_alone_are_constants():
    axes = Axes(("a", "b"))
    binding = Binding.of(axes, np.array([[0.3, 0.7]]))
    node = binding.bind(Linear(row=sp.csr_array([[1.0, 2.0]])))
    assert isinstance(node, Constant)
    assert node.values.tolist() == [pytest.approx(1.7)]
    assert binding.finish().matrix.shape == (0, 4)


def test_extremes_are_those_of_all_tensors():
    confusion = example_rows(REVIEW).confusion
    binding = Binding.of(confusion.axes, confusion.margins)
    node = (mf.coverage("ant") - mf.recall("bee").at(sex="F")).bind(binding)
    # All bees of the slice decided right and nothing as ant; everything decided as ant.
    assert binding.extremes(node) == pytest.approx((-1, 1))
    # A bee decided as ant is no bee decided right: intervals of the two terms alone would reach further.
    node = (mf.coverage("ant") + mf.recall("bee")).bind(binding)
    bees = float(confusion.margins.sum(axis=0)[1])
    assert binding.extremes(node) == pytest.approx((0, 2 - bees))
    assert [end[0] for end in node.reach()] == pytest.approx([0, 2])


def test_what_two_metrics_read_is_one_entry():
    axes = Axes(("a", "b", "c"), (), Cells.observe(None, 1)[0])
    limits = [mf.recall("b") >= 0.2, mf.recall("a") - mf.recall("c") >= 0.1, mf.coverage("b") <= 0.4]
    program = Problem.of("h_mean", limits).bind(axes, np.array([[0.5, 0.25, 0.25]]))
    assert program.matrix.toarray() == pytest.approx(
        np.array([[2, 0, 0, 0, 0, 0], [0, 4, 0, 0, 0, 0], [0, 0, 4, 0, 0, 0], [0, 0, 0, 0, 1, 0]])
    )
    u = program.vector(np.array([[[0.1, 0.2, 0.1], [0.3, 0.5, 0.2]]]))
    assert [limit.value(u) for limit in program.limits] == pytest.approx([0.8, -0.2, 0.5])


@pytest.mark.parametrize("axes", SHAPES[:4], ids=str)
def test_of_matrix(axes):
    rng = np.random.default_rng(2)
    tensor = random_tensor(axes, margins(axes), rng).values.sum(axis=0)
    column = np.broadcast_to(rng.normal(size=axes.k), (axes.n, axes.k))
    diagonal = (np.arange(axes.n)[:, None] == axes.match[None]) * rng.normal(size=axes.k)
    for table, small in ((column + diagonal, True), (column, True), (rng.normal(size=column.shape), False)):
        linear = of_matrix(table, axes.match)
        assert (linear.full is None) == small
        assert by_hand(linear, axes, tensor)[0] == pytest.approx(np.sum(table * tensor))


def test_groups_and_slices():
    confusion = example_rows().confusion
    binding = Binding.of(confusion.axes, confusion.margins)
    groups = binding.groups(["sex", "region"])
    assert len(groups) == 6
    assert sum(part.mass for part in groups.values()) == pytest.approx(1)
    inside = binding.at({"sex": "F", "region": [1, 2]})
    assert set(inside.groups("region")) == {(1,), (2,)}
    assert inside.mass == pytest.approx(groups["F", 1].mass + groups["F", 2].mass)
    assert binding.where() == ""
    assert (
        binding.at({"sex": "F", "region": 1, "today": "ant"}).where()
        == " where sex='F', region=1, today='ant'"
    )


# Nodes


def entries(*sizes: int) -> list[Entries]:
    ends = np.cumsum([0, *sizes])
    return [Entries(int(a), int(b), np.full(b - a, 0.1), np.ones(b - a)) for a, b in itertools.pairwise(ends)]


one, three, other = entries(1, 3, 3)
NODES = [
    Sum(((2.0, three), (-1.0, one), (0.5, Constant(np.array([1.0, 2.0, 3.0])))), 0.25),
    Quotient(three, other),
    Quotient(three, one),
    Quotient(one, three),
    Stack((one, Sum(((3.0, three),)), Quotient(other, three))),
    Total(np.array([1.0, 0.0, -2.0]), Quotient(three, other)),
    Product(one, Total(np.ones(3), other)),
    Smooth(GeometricMean(), three),
    Largest(Stack((three, other))),
    smallest([three, one]),
    magnitude([Sum(((1.0, three), (-1.0, other)))]),
    largest([Smooth(GeometricMean(), three), Smooth(GeometricMean(), other)]),
]


@pytest.mark.parametrize("node", NODES, ids=lambda node: type(node).__name__)
def test_node_slope_and_reach(node):
    rng = np.random.default_rng(3)
    for _ in range(10):
        u = rng.uniform(0.1, 1, 7)
        value, weight = node.value(u), rng.normal(size=node.size)
        assert value.shape == (node.size,)
        low, high = node.reach()
        assert np.all(low - 1e-12 <= value)
        assert np.all(value <= high + 1e-12)
        slope = [weight @ (node.value(u + move) - node.value(u - move)) / 2e-7 for move in 1e-7 * np.eye(7)]
        np.testing.assert_allclose(node.slope(u, weight), slope, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(node.level(u), value)


def test_theta_gives_planes_below_a_maximum():
    node = Largest(Stack((three, negative(other), Smooth(GeometricMean(), three))))
    convex = largest([three, Sum(((1.0, other), (-1.0, three)))])
    rng = np.random.default_rng(4)
    for _ in range(20):
        u, w = rng.uniform(0, 1, 7), rng.uniform(0, 1, 7)
        theta = {convex: rng.dirichlet(np.ones(6)), node: rng.dirichlet(np.ones(7))}
        level = convex.level(u, theta)[0]
        assert level <= convex.scalar(u) + 1e-12
        assert level + convex.gradient(u, theta) @ (w - u) <= convex.scalar(w) + 1e-12
        assert convex.value(u, theta)[0] == pytest.approx(level)
        assert node.value(u, theta)[0] <= node.scalar(u) + 1e-12


def test_ties_of_a_maximum_go_to_the_last():
    node = Largest(three)
    u = np.array([0.5, 0.7, 0.2, 0.7, 0, 0, 0])
    assert node.gradient(u).tolist() == [0, 0, 0, 1, 0, 0, 0]


def test_level_of_a_geometric_mean_with_a_zero_rate():
    """The plane at a point with a zero rate lies above the mean; through the value it would not."""
    node = negative(Smooth(GeometricMean(), three))
    u, w = np.array([0.0, 0.0, 1.0, 1.0, 0, 0, 0]), np.array([0.0, 1e-10, 1.0, 1.0, 0, 0, 0])
    slope = node.gradient(u)
    assert node.level(u)[0] + slope @ (w - u) <= node.scalar(w)
    assert node.scalar(u) + slope @ (w - u) > node.scalar(w)
    stacked = largest([Total(np.ones(1), node), Constant(np.array([-5.0]))])
    assert stacked.level(u)[0] == pytest.approx(node.level(u)[0])


def test_nodes_of_a_tree():
    root = Sum(((1.0, Largest(Stack((three, one)))), (2.0, Quotient(one, other))))
    kinds = [type(node).__name__ for node in nodes_of(root)]
    assert kinds == ["Sum", "Largest", "Stack", "Entries", "Entries", "Quotient", "Entries", "Entries"]


def test_reach_of_unbounded_parts():
    unbounded = mf.custom(np.trace)
    binding = Binding.of(example_rows().confusion.axes, example_rows().confusion.margins)
    for metric in (0 * unbounded, unbounded * mf.accuracy(), unbounded + 1, unbounded - unbounded):
        low, high = metric.bind(binding).reach()
        assert low[0] <= high[0]
    assert (0 * unbounded).bind(binding).reach()[1][0] == 0


def test_reach_of_quotients():
    low = Entries(0, 1, np.array([0.0]), np.array([1.0]))
    signed = Entries(0, 1, np.array([-1.0]), np.array([1.0]))
    high = Entries(0, 1, np.array([0.5]), np.array([2.0]))
    assert [end[0] for end in Quotient(low, high).reach()] == [0, 2]
    assert [end[0] for end in Quotient(signed, high).reach()] == [-2, 2]
    assert [end[0] for end in Quotient(high, low).reach()] == [0, np.inf]
    assert [end[0] for end in Quotient(low, low, 1.0).reach()] == [0, 1]
    assert [end[0] for end in Quotient(signed, low).reach()] == [-np.inf, np.inf]
    assert [end[0] for end in Quotient(low, signed).reach()] == [-np.inf, np.inf]
    assert [end[0] for end in Quotient(negative(low), low).reach()] == [-np.inf, 0]


def test_tangent_planes_of_a_problem_at_a_zero_rate():
    """With ten classes, a recall of 1e-10 already gives a geometric mean of 0.1; the bound must know."""
    program = Problem.of("g_mean").bind(Axes(tuple(range(10))), np.full((1, 10), 0.1))
    u, w = np.ones(10), np.ones(10)
    u[0], w[0] = 0.0, 1e-10
    slope, level = program.tangent(u)
    assert program.value(w) == pytest.approx(-0.1)
    assert level + slope @ (w - u) <= program.value(w)
