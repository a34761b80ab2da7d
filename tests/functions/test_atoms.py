"""Atoms: derivatives against differences, tangent planes, intervals and the CVXPY form."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from metricfit.functions.atoms import (
    CrossEntropyExcess,
    GeometricMean,
    HarmonicMean,
    RootMeanSquareLoss,
    Separable,
    SoftMaximum,
    SpreadRoot,
)
from metricfit.functions.curvature import Curvature

TARGET = np.array([0.4, 0.0, 0.25, 0.35])
SOFT = SoftMaximum(np.array([0.1, 0.2, 0.3, 0.4]), 0.5, np.full(4, 0.3))
ATOMS = [
    GeometricMean(),
    HarmonicMean(),
    RootMeanSquareLoss(),
    CrossEntropyExcess(TARGET),
    SpreadRoot(),
    SOFT,
]
KNOWN = [
    (GeometricMean(), [0.25, 1.0], 0.5),
    (GeometricMean(), [0.0, 1.0], 0.0),
    (GeometricMean(), [1e-30, 1.0], 1e-15),
    (HarmonicMean(), [0.5, 1.0], 2 / 3),
    (HarmonicMean(), [0.0, 1.0], 0.0),
    (RootMeanSquareLoss(), [0.2, 0.4], np.sqrt(0.5)),
    (RootMeanSquareLoss(), [1.0, 1.0], 0.0),
    (CrossEntropyExcess(np.array([0.5, 0.5, 0])), [0.25, 0.75, 0], 0.5 * np.log(2) + 0.5 * np.log(2 / 3)),
    (SpreadRoot(), [0.6, 0.0], 0.8),
    (SOFT, [0.3] * 4, 0.3),
    (SOFT, [100.0, 0.0, 0.0, 0.0], 100 + 0.5 * np.log(0.1)),
]


def points(atom, count=20, seed=0):
    """Rates; for atoms of shares, shares that sum to one."""
    rng = np.random.default_rng(seed)
    shares = isinstance(atom, CrossEntropyExcess | SpreadRoot)
    return rng.dirichlet(np.ones(4), count) if shares else rng.uniform(0.02, 1, (count, 4))


def named(atom):
    return type(atom).__name__


@pytest.mark.parametrize(("atom", "v", "value"), KNOWN, ids=[f"{named(atom)}{v}" for atom, v, _ in KNOWN])
def test_known_values(atom, v, value):
    assert atom.value(np.array(v)) == pytest.approx(value)


@pytest.mark.parametrize("atom", ATOMS, ids=named)
def test_gradient_and_hessian(atom):
    for v in points(atom):
        step = 1e-4 * v
        moves = np.diag(step)
        slope = [(atom.value(v + m) - atom.value(v - m)) / (2 * m.sum()) for m in moves]
        np.testing.assert_allclose(atom.gradient(v), slope, rtol=1e-5, atol=1e-8)
        h = atom.hessian(v)
        bend = [(atom.gradient(v + m) - atom.gradient(v - m)) / (2 * m.sum()) for m in moves]
        found = np.diag(h.diagonal) + h.scale * np.outer(h.ray, h.ray)
        np.testing.assert_allclose(found, bend, rtol=1e-5, atol=1e-6 * np.abs(found).max())


@pytest.mark.parametrize("atom", [a for a in ATOMS if isinstance(a, Separable)], ids=named)
def test_stand_in(atom):
    """The sum of inner functions is convex, has the stated derivatives, and orders rates as the value."""
    sign = 1 if atom.curvature is Curvature.CONVEX else -1
    ranked = sorted(points(atom, 30), key=lambda v: sign * atom.value(v))
    sums = [atom.inner(v)[0].sum() for v in ranked]
    assert np.all(np.diff(sums) >= -1e-12)
    for v in points(atom):
        _, slope, bend = atom.inner(v)
        ahead, behind = atom.inner(v * (1 + 1e-5)), atom.inner(v * (1 - 1e-5))
        np.testing.assert_allclose(slope, (ahead[0] - behind[0]) / (2e-5 * v), rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(bend, (ahead[1] - behind[1]) / (2e-5 * v), rtol=1e-5, atol=1e-8)
        assert np.all(bend >= 0)


@pytest.mark.parametrize("atom", ATOMS, ids=named)
def test_slope_has_the_declared_sign(atom):
    for v in points(atom):
        gradient = atom.gradient(v)
        assert atom.slope == 0 or np.all(atom.slope * gradient >= 0)


@pytest.mark.parametrize("atom", ATOMS, ids=named)
def test_planes_bound_the_function_everywhere(atom):
    """Also the planes taken where rates are zero; the certificate is made of them."""
    sign = 1 if atom.curvature is Curvature.CONVEX else -1
    everywhere = points(atom, 40, seed=1)
    everywhere[::4, 0] = 1e-9
    corners = points(atom, 20, seed=2)
    corners[:10, 0] = 0
    corners[:5, 2] = 0
    for v in (*corners, np.zeros(4), np.array([1.0, 1.0, 1.0, 0.0])):
        if isinstance(atom, SpreadRoot) and v @ v > 1:
            continue
        slope, level = atom.gradient(v), atom.level(v)
        for w in everywhere:
            assert sign * (level + slope @ (w - v)) <= sign * atom.value(w) + 1e-9
    for v in points(atom):
        assert atom.level(v) == pytest.approx(atom.value(v))


@pytest.mark.parametrize("atom", ATOMS, ids=named)
def test_reach(atom):
    v = points(atom, 50)
    low, high = atom.reach(v.min(axis=0), v.max(axis=0))
    assert all(low - 1e-12 <= atom.value(row) <= high + 1e-12 for row in v)


@pytest.mark.parametrize("atom", ATOMS, ids=named)
def test_cvxpy_form(atom):
    v = cp.Variable(4)
    expression = atom.cvxpy(v)
    assert expression.is_convex() if atom.curvature is Curvature.CONVEX else expression.is_concave()
    for point in points(atom, 5):
        v.value = point
        assert float(expression.value) == pytest.approx(atom.value(point), rel=1e-6)
