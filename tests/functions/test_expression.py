"""Affine nodes have the same values and slopes by one matrix as part by part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metricfit.functions.expression import Constant, Entries, Node
from metricfit.functions.extremes import Largest, magnitude
from metricfit.functions.levels import at_most
from metricfit.functions.sums import Stack, Sum, Total

WIDTH = 9


def entries(start: int, stop: int) -> Entries:
    return Entries(start, stop, np.zeros(stop - start), np.ones(stop - start))


def trees() -> dict[str, Node]:
    rates = [entries(0, 3), entries(3, 6), entries(6, 9)]
    mean = Sum(tuple((1 / 3, rate) for rate in rates))
    apart = [Sum(((1.0, rate), (-1.0, mean))) for rate in rates]
    first = Total(np.array([0.5, 0.0, -2.0]), entries(2, 5))
    return {
        "entries": entries(4, 7),
        "constant": Constant(np.array([3.0, 4.0])),
        "total": first,
        "one for all": Sum(((2.0, entries(1, 4)), (3.0, first), (1.0, Constant(np.array([7.0])))), 0.5),
        "twice the same": Sum(tuple((float(c), entries(3, 6)) for c in range(1, 7)), -1.0),
        "stack": Stack((first, entries(5, 8), Constant(np.array([9.0, 9.0])))),
        "distances from a mean": Stack((*apart, *(Sum(((-1.0, part),)) for part in apart))),
    }


def by_parts(node: Node, u: np.ndarray) -> np.ndarray:
    match node:
        case Entries(start, stop):
            return u[start:stop]
        case Constant(values):
            return values
        case Total(weights, part):
            return np.array([weights @ by_parts(part, u)])
        case Sum(terms, constant):
            return np.zeros(node.size) + sum(c * by_parts(part, u) for c, part in terms) + constant
        case Stack(parts):
            return np.concatenate([by_parts(part, u) for part in parts])
    raise TypeError(node)


@pytest.mark.parametrize("name", trees())
@pytest.mark.parametrize("few", [0, 10_000])  # sparse and dense tables
def test_affine_form(name, few):
    node, random = trees()[name], np.random.default_rng(0)
    assert node.affine is not None
    form = replace(node.affine, few=few)
    for u in random.normal(size=(3, WIDTH)):
        expected = by_parts(node, u)
        np.testing.assert_allclose(form.at(u), expected, atol=1e-14)
        np.testing.assert_allclose(node.value(u), expected, atol=1e-14)
        np.testing.assert_allclose(form.matrix(WIDTH) @ u + form.constant, expected, atol=1e-14)
        weight = random.normal(size=node.size)
        step = random.normal(size=WIDTH)
        rise = weight @ (by_parts(node, u + step) - expected)
        np.testing.assert_allclose(form.slope(u, weight) @ step, rise, atol=1e-12)
        np.testing.assert_allclose(node.slope(u, weight) @ step, rise, atol=1e-12)
    many = random.normal(size=(4, WIDTH))
    np.testing.assert_allclose(form.at(many), [by_parts(node, u) for u in many], atol=1e-14)


def test_what_bends_has_no_affine_form():
    bent = Largest(entries(0, 2))
    assert bent.affine is None
    assert Sum(((1.0, bent), (1.0, entries(0, 1)))).affine is None
    assert Stack((entries(0, 1), bent)).affine is None
    assert Total(np.ones(1), bent).affine is None


def test_largest_distance_needs_one_side_only():
    distances = magnitude(trees()["distances from a mean"].parts[:3])
    stack = distances.part
    other = Stack((stack.parts[0], Sum(((-2.0, stack.parts[0]),))))
    assert distances.within is stack.parts[0]
    assert Largest(other).within is None
    for points in np.random.default_rng(0).normal(size=(2, 5, WIDTH)):
        for sides in (stack, other):
            np.testing.assert_allclose(Largest(sides).value(points)[:, 0], sides.value(points).max(axis=1))
            np.testing.assert_allclose(Largest(sides).value(points[0]), sides.value(points[0]).max())


def test_the_level_set_of_affine_distances_is_one_matrix():
    """Thousands of rows are not built one by one: all differences, then their negatives, each minus the limit."""
    parts = [entries(0, 2), Sum(((1.0, entries(2, 3)), (-1.0, entries(3, 4))))]
    u = np.array([0.1, -0.4, 0.3, 0.9, *np.zeros(WIDTH - 4)])
    apart = np.array([0.1, -0.4, -0.6])
    distance = magnitude(parts)
    assert distance.value(u) == pytest.approx(0.6)
    rows = at_most(distance, 0.25)
    assert isinstance(rows, Sum)
    assert rows.affine is not None
    np.testing.assert_allclose(rows.value(u), np.concatenate([apart, -apart]) - 0.25)
    np.testing.assert_allclose(rows.affine.at(u), rows.value(u))
