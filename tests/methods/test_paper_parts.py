"""The parts of the paper's methods against what the paper says of them."""

from __future__ import annotations

from inspect import signature

import cvxpy as cp
import numpy as np
import pytest
from methods.problems import PROBLEMS

from metricfit.methods.dual.domain import Domain, onto_ball, onto_corner
from metricfit.methods.dual.slack import geometric, harmonic, quadratic, slack_step
from metricfit.methods.ellipsoid import john_loewner

# Since 1.8 CVXPY approximates powers unless told otherwise; before, equal ones were exact.
EXACT = {"approx": False} if "approx" in signature(cp.geo_mean).parameters else {}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("mean", [harmonic, geometric, quadratic])
def test_closed_slack_steps(mean: object, seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 6))
    price = random.normal(0.15, 1.0, n) * 10 ** random.uniform(-2, 0.5)
    high = np.ones(n) if mean is quadratic else random.uniform(0.3, 1.0, n)
    v = cp.Variable(n)
    losses = {
        harmonic: (lambda x: -n / np.sum(1 / x), -cp.harmonic_mean(v)),
        geometric: (lambda x: -(np.prod(x) ** (1 / n)), -cp.geo_mean(v, **EXACT)),
        quadratic: (lambda x: np.sqrt(np.mean((1 - x) ** 2)), cp.norm(1 - v) / np.sqrt(n)),
    }
    loss, expression = losses[mean]
    problem = cp.Problem(cp.Minimize(expression + price @ v), [v >= 1e-9, v <= high])
    problem.solve(solver=cp.CLARABEL)
    found = mean(price, high)
    assert np.all(found >= 0)
    assert np.all(found <= high + 1e-12)
    safe = np.maximum(found, 1e-12)
    assert loss(safe) + price @ found == pytest.approx(problem.solution.opt_val, abs=2e-6)


@pytest.mark.parametrize(
    "name", ["h_mean, deviation", "mean less deviation", "kld, recalls", "review, g_mean"]
)
def test_slack_steps_bound_the_lagrangian_from_below(name: str) -> None:
    program, oracle = PROBLEMS[name].bind()
    domain = Domain.of(program, oracle.margins)
    step = slack_step(program, domain)
    random = np.random.default_rng(0)

    def lagrangian(u: np.ndarray, lam: np.ndarray, mu: np.ndarray) -> float:
        largest = [limit.node.value(u).max() for limit in program.limits]
        return program.value(u) - lam @ u + mu @ np.array(largest) if largest else program.value(u) - lam @ u

    for _ in range(5):
        lam, mu = random.normal(size=program.constant.size), random.random(len(program.limits))
        xi, value, bound = step(lam, mu)
        assert lagrangian(xi, lam, mu) == pytest.approx(value, abs=1e-5)
        assert value - 1e-5 <= bound <= value
        for _ in range(20):
            u = domain.project(domain.low + (domain.high - domain.low) * random.random(lam.size))
            assert lagrangian(u, lam, mu) >= bound


def test_john_loewner_is_the_papers_formula() -> None:
    random = np.random.default_rng(1)
    root = random.normal(size=(4, 4))
    shape, centre, cut = root @ root.T, random.normal(size=4), random.normal(size=4)
    values, vectors = np.linalg.eigh(shape)
    half = vectors @ np.diag(np.sqrt(values)) @ vectors.T
    t = 1 / 5
    a, b = 1 / (1 - t) ** 2, (1 - 2 * t) / (1 - t) ** 2
    w = half @ cut / np.linalg.norm(half @ cut)
    inverse = (
        np.linalg.inv(half) @ (a * np.outer(w, w) + b * (np.eye(4) - np.outer(w, w))) @ np.linalg.inv(half)
    )
    found_shape, found_centre = john_loewner(shape, centre, cut, 0.0)
    np.testing.assert_allclose(found_centre, centre + t * half @ w)
    np.testing.assert_allclose(found_shape, np.linalg.inv(inverse))


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("share", [0.0, 0.4, 0.9])
def test_a_cut_keeps_what_lies_beyond_it(size: int, share: float) -> None:
    random = np.random.default_rng(size)
    root = random.normal(size=(size, size)) + 2 * np.eye(size)
    shape, centre, cut = root @ root.T, random.normal(size=size), random.normal(size=size)
    depth = share * np.sqrt(cut @ shape @ cut)
    smaller, moved = john_loewner(shape, centre, cut, depth)
    assert np.linalg.det(smaller) < np.linalg.det(shape)
    ball = random.normal(size=(4000, size))
    ball *= (random.random(4000) ** (1 / size) / np.linalg.norm(ball, axis=1))[:, None]
    inside = centre + ball @ root.T
    kept = inside[(inside - centre) @ cut >= depth] - moved
    assert np.all(np.einsum("ti,ij,tj->t", kept, np.linalg.inv(smaller), kept) <= 1 + 1e-9)
    assert john_loewner(shape, centre, cut, 1.01 * np.sqrt(cut @ shape @ cut)) is None


def test_domains_are_boxes_and_simplices() -> None:
    program, oracle = PROBLEMS["h_mean, deviation"].bind()
    domain = Domain.of(program, oracle.margins)
    assert [(s.start, s.stop, round(s.total, 12)) for s in domain.simplices] == [(3, 6, 1.0)]
    np.testing.assert_allclose(domain.low, 0.0)
    np.testing.assert_allclose(domain.high, 1.0)
    full, oracle = PROBLEMS["cost, odds"].bind()
    assert full.layout == "full"
    # Of each class the rates of all decisions, overall and in two groups.
    simplices = Domain.of(full, oracle.margins).simplices
    assert sorted((s.start, s.stop) for s in simplices) == [(1 + 3 * i, 4 + 3 * i) for i in range(9)]
    assert all(s.total == pytest.approx(1.0) for s in simplices)


def test_projections_are_nearest() -> None:
    random = np.random.default_rng(5)
    program, oracle = PROBLEMS["h_mean, deviation"].bind()
    domain = Domain.of(program, oracle.margins)
    inside = [domain.project(random.normal(size=6)) for _ in range(50)]
    for _ in range(20):
        u, price = random.normal(size=6), random.normal(size=6)
        near = domain.project(u)
        assert near[3:].sum() == pytest.approx(1.0)
        # A point is the projection if no direction into the set leads nearer.
        assert all((u - near) @ (other - near) <= 1e-9 for other in inside)
        assert all(price @ domain.cheapest(price) <= price @ other + 1e-9 for other in inside)
        mu = onto_corner(u, 0.7)
        assert mu.min() >= 0
        assert mu.sum() <= 0.7 + 1e-12
        for other in np.abs(random.normal(size=(10, 6))):
            other *= 0.7 / max(other.sum(), 0.7)
            assert (u - mu) @ (other - mu) <= 1e-9
    assert np.linalg.norm(onto_ball(u * 10, 2.0)) == pytest.approx(2.0)
    assert onto_ball(u, 1e9) is u
