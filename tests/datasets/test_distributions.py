from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate
from scipy.spatial import ConvexHull
from scipy.stats import multivariate_normal, norm

from metricfit import datasets

TWO_CLASS = ["Unif", "NormBal", "NormImbal"]
EXAMPLES = [*TWO_CLASS, "Norm3", "Gauss3"]


def rule(proba, weights):
    """Decide argmax of the weighted probabilities, ties to the larger index."""
    scores = proba * weights
    return scores.shape[1] - 1 - scores[:, ::-1].argmax(axis=1)


def confusion(proba, decided, mass):
    """Exact confusion matrix over a fine grid of points with the given probability mass."""
    C = np.zeros((proba.shape[1], proba.shape[1]))
    np.add.at(C.T, decided, proba * mass[:, None])
    return C


def test_gauss3_probabilities_are_bayes_rule_on_the_densities():
    X = np.random.default_rng(0).normal(scale=3, size=(200, 2))
    means = [(1, 1), (0, 0), (-1, -1)]
    joint = np.column_stack(
        [
            p * multivariate_normal(m, [[5, 1], [1, 5]]).pdf(X)
            for p, m in zip([0.85, 0.1, 0.05], means, strict=True)
        ]
    )
    expected = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(datasets.example("Gauss3").class_probabilities(X), expected, rtol=1e-10)


def test_gauss3_confusion_agrees_with_integration_over_the_plane():
    gauss = datasets.example("Gauss3")
    weights = np.array([1.0, 6.0, 15.0])
    x = np.linspace(-16, 16, 2001)
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(x, x)])
    mass = sum(
        p * multivariate_normal(m, gauss.covariance).pdf(grid)
        for p, m in zip(gauss.priors, gauss.means, strict=True)
    )
    proba = gauss.class_probabilities(grid)
    expected = confusion(proba, rule(proba, weights), mass * (x[1] - x[0]) ** 2)
    np.testing.assert_allclose(gauss.confusion(weights), expected, atol=1e-3)


def test_norm3_confusion_agrees_with_quadrature():
    three = datasets.example("Norm3")
    weights = np.array([1.0, 1.4, 0.8])
    # Class i beats class i + 1 up to the point where the two weighted densities are equal.
    cuts = [-0.5 + np.log(1.0 / 1.4), 0.5 + np.log(1.4 / 0.8)]
    edges = [-np.inf, *cuts, np.inf]
    expected = np.array(
        [[integrate.quad(norm(m).pdf, a, b)[0] / 3 for a, b in pairwise(edges)] for m in (-1, 0, 1)]
    )
    np.testing.assert_allclose(three.confusion(weights), expected, atol=1e-8)


def test_norm3_zero_one_rule_rarely_decides_the_middle_class():
    three = datasets.example("Norm3")
    recalls = three.confusion([1, 1, 1]).diagonal() * 3
    np.testing.assert_allclose(recalls, [norm.cdf(0.5), norm.cdf(0.5) - norm.cdf(-0.5), norm.cdf(0.5)])
    assert three.confusion([1, 1, 1])[:, 1].sum() < 1 / 3 < three.confusion([1, 1.5, 1])[:, 1].sum()


def test_unif_takes_three_probability_vectors():
    proba = datasets.example("Unif").class_probabilities([-0.5, 0.5, 1.5])
    np.testing.assert_allclose(proba, [[1, 0], [2 / 3, 1 / 3], [0, 1]])


def test_unif_boundary_is_the_hexagon():
    vertices = {(0, 1 / 3), (1 / 3, 1 / 3), (2 / 3, 1 / 6), (2 / 3, 0), (1 / 3, 0), (0, 1 / 6)}
    outline = datasets.example("Unif").boundary()
    assert {tuple(np.round(v, 9)) for v in outline} == {tuple(np.round(v, 9)) for v in vertices}
    np.testing.assert_allclose(outline[0], outline[-1])


def test_unif_ties_go_to_the_larger_class():
    # Where eta is (2/3, 1/3) the weights (1, 2) tie, and class 1 is decided.
    np.testing.assert_allclose(datasets.example("Unif").confusion([1, 2]), [[1 / 3, 1 / 3], [0, 1 / 3]])
    np.testing.assert_allclose(datasets.example("Unif").confusion([1, 1.99]), [[2 / 3, 0], [1 / 6, 1 / 6]])


@pytest.mark.parametrize("name", TWO_CLASS)
def test_boundary_is_the_hull_of_all_threshold_rules(name):
    distribution = datasets.example(name)
    x = np.linspace(-8, 8, 160_001) if name != "Unif" else np.linspace(-1, 2, 30_001)[:-1] + 5e-5
    proba = distribution.class_probabilities(x)
    if name == "Unif":
        density = (x < 1) / 3 + (x > 0) / 6
    else:
        density = norm.pdf(x + 0.5) * distribution.priors[0] + norm.pdf(x - 0.5) * distribution.priors[1]
    mass = density * (x[1] - x[0])
    diagonals = []
    for threshold in np.concatenate([[-0.1], np.linspace(0.001, 0.999, 60), [1.1]]):
        for sign in (1, -1):
            decided = (sign * (proba[:, 1] - threshold) > 0).astype(int)
            diagonals.append(confusion(proba, decided, mass).diagonal())
    brute = ConvexHull(np.array(diagonals))
    exact = ConvexHull(np.unique(distribution.boundary(2001).round(12), axis=0))
    assert brute.volume == pytest.approx(exact.volume, rel=5e-3)
    # Nothing a threshold reaches lies outside the exact set.
    offsets = exact.equations[:, :2] @ np.array(diagonals).T + exact.equations[:, 2:]
    assert offsets.max() < 1e-4


@pytest.mark.parametrize("name", TWO_CLASS)
def test_plugin_confusions_lie_on_the_upper_boundary(name):
    distribution = datasets.example(name)
    for weight in np.geomspace(0.02, 50, 25):
        C = distribution.confusion([1, weight])
        np.testing.assert_allclose(C.sum(axis=1), distribution.priors)
        assert C[1, 1] == pytest.approx(distribution.upper(C[0, 0]), abs=1e-9)


@pytest.mark.parametrize("name", TWO_CLASS)
def test_upper_and_lower_agree_with_the_boundary(name):
    distribution = datasets.example(name)
    outline = distribution.boundary(101)
    top, bottom = outline[: len(outline) // 2], outline[len(outline) // 2 :]
    assert (distribution.upper(top[:, 0]) >= top[:, 1] - 1e-9).all()
    assert (distribution.lower(bottom[:, 0]) <= bottom[:, 1] + 1e-9).all()
    pi = distribution.priors
    assert distribution.upper(0.0) == pytest.approx(pi[1])
    assert distribution.lower(pi[0]) == pytest.approx(0)
    # Independent answers fill the diagonal; better than that is above it.
    assert distribution.upper(pi[0] / 2) > pi[1] / 2 > distribution.lower(pi[0] / 2)


def test_normbal_upper_boundary_has_its_known_value():
    # The symmetric threshold 0 gives both classes the recall Phi(1/2).
    half = norm.cdf(0.5) / 2
    assert datasets.example("NormBal").upper(half) == pytest.approx(half)


@pytest.mark.parametrize("name", EXAMPLES)
def test_samples_follow_the_distribution(name):
    distribution = datasets.example(name)
    X, y = distribution.sample(200_000, random_state=3)
    proba = distribution.class_probabilities(X)
    # Five standard errors of a share of 200,000 rows are at most 0.0056.
    np.testing.assert_allclose(np.bincount(y) / len(y), distribution.priors, atol=0.006)
    np.testing.assert_allclose(proba.mean(axis=0), distribution.priors, atol=0.006)
    weights = 1 / distribution.priors
    C = np.zeros((len(weights), len(weights)))
    np.add.at(C, (y, rule(proba, weights)), 1 / len(y))
    np.testing.assert_allclose(C, distribution.confusion(weights), atol=0.006)


def test_samples_repeat_with_the_seed():
    first, again, other = (datasets.make_gaussians(50, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)
    np.testing.assert_allclose(first.class_probabilities(first.X).sum(axis=1), 1)


@pytest.mark.parametrize("weights", [[1, 1, 1], [1, -1], [0, 0], [np.nan, 1], [np.inf, 1]])
@pytest.mark.parametrize("name", ["Unif", "NormBal"])
def test_bad_weights_raise(name, weights):
    with pytest.raises(ValueError, match="weights"):
        datasets.example(name).confusion(weights)


@pytest.mark.parametrize("name", ["Norm3", "Gauss3"])
def test_outline_of_three_classes_raises(name):
    with pytest.raises(ValueError, match="two classes"):
        datasets.example(name).boundary()
    with pytest.raises(ValueError, match="two classes"):
        datasets.example(name).upper(0.1)


def test_bad_arguments_of_distributions_raise():
    with pytest.raises(ValueError, match="did you mean 'NormBal'"):
        datasets.example("normbal")
    with pytest.raises(ValueError, match="c00 must lie"):
        datasets.example("NormBal").upper(0.6)
    with pytest.raises(ValueError, match="2 of 3 rows"):
        datasets.example("Unif").class_probabilities([-2, 0, 3])
    with pytest.raises(ValueError, match="one line"):
        datasets.Gaussians([0.5, 0.25, 0.25], [[0, 0], [1, 0], [0, 1]], np.eye(2))
    with pytest.raises(ValueError, match="priors"):
        datasets.Gaussians([0.5, 0.6], [[0], [1]], np.eye(1))
    with pytest.raises(ValueError, match="covariance"):
        datasets.Gaussians([0.5, 0.5], [[0], [1]], -np.eye(1))
    with pytest.raises(ValueError, match="priors"):
        datasets.Uniforms([0.5, 0.6], [[0, 1], [0, 1]])
    with pytest.raises(ValueError, match="intervals"):
        datasets.Uniforms([0.5, 0.5], [[0, 1], [1, 1]])


@pytest.mark.parametrize("make", [datasets.make_gaussians, datasets.make_fraud_triage])
@pytest.mark.parametrize("n_rows", [0, -3, 2.5, "many"])
def test_bad_sizes_raise(make, n_rows):
    with pytest.raises(ValueError, match="n_rows"):
        make(n_rows)
