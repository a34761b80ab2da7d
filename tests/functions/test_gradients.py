"""Gradients against differences, and agreement of the two layouts."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import METRICS, decisions_of, example_rows, random_tensor

import metricfit as mf
from metricfit.data.confusion import Confusion
from metricfit.data.layout import expand, shape_of, statistic
from metricfit.functions.binding import Binding

CASES = [(example, decisions) for example in METRICS for decisions in decisions_of(example)]
IDS = [f"{example.metric}-{len(decisions)}" for example, decisions in CASES]


def slopes(metric: mf.Metric, here: Confusion, there: Confusion, step: float) -> tuple[float, float, float]:
    """The slope by the gradient, and by differences ahead and behind, from one tensor towards another."""
    move = there.values - here.values  # priors of cells stay as they are, so rows of the move sum to zero
    ahead, behind = (metric(Confusion(here.values + t * move, here.axes)) for t in (step, -step))
    now = metric(here)
    return float(np.sum(metric.gradient(here) * move)), (ahead - now) / step, (now - behind) / step


@pytest.mark.parametrize(("example", "decisions"), CASES, ids=IDS)
def test_gradient(example, decisions):
    start = example_rows(decisions).confusion
    rng = np.random.default_rng(3)
    for _ in range(2):
        here, there = (random_tensor(start.axes, start.margins, rng, 2.0) for _ in range(2))
        slope, ahead, behind = slopes(example.metric, here, there, 1e-6)
        # Only metrics that say they are not smooth may have a kink here.
        if example.metric.smooth or abs(ahead - behind) < 1e-4:
            assert slope == pytest.approx((ahead + behind) / 2, abs=2e-6, rel=1e-5)
        else:
            assert min(ahead, behind) - 1e-5 <= slope <= max(ahead, behind) + 1e-5


def test_gradient_has_the_shape_of_the_tensor():
    confusion = example_rows().confusion
    for metric in (mf.recall("bee"), mf.cost(np.eye(3)[::-1] * [[1], [2], [3]]), mf.g_mean().at(sex="F")):
        assert metric.gradient(confusion).shape == confusion.values.shape


def test_gradient_of_a_slice_is_zero_elsewhere():
    confusion = example_rows().confusion
    gradient = mf.g_mean().at(sex="F").gradient(confusion)
    inside = confusion.cells.mask(sex="F")
    assert np.all(gradient[~inside] == 0)
    assert np.any(gradient[inside] != 0)


@pytest.mark.parametrize(("example", "decisions"), CASES, ids=IDS)
def test_layouts_agree(example, decisions):
    """A metric bound beside one that needs all entries has the same value and gradient."""
    confusion = example_rows(decisions).confusion
    axes = confusion.axes
    found = []
    for wider in (False, True):
        binding = Binding.of(axes, confusion.margins)
        node = example.metric.bind(binding)
        if wider:
            mf.custom(np.trace).bind(binding)
        functions = binding.finish()
        z = statistic(confusion.values, functions.layout, axes)
        u = functions.matrix @ z.ravel() + functions.constant
        assert np.all(functions.low - 1e-12 <= u)
        assert np.all(u <= functions.high + 1e-12)
        loss = (functions.matrix.T @ node.gradient(u)).reshape(shape_of(functions.layout, axes))
        found.append((node.scalar(u), expand(loss, functions.layout, axes), functions.layout))
    (value, gradient, _), (same, equal, layout) = found
    assert layout == "full"
    assert same == pytest.approx(value, abs=1e-13)
    np.testing.assert_allclose(equal, gradient, atol=1e-10)


def test_metrics_of_diagonal_and_columns_never_pay_for_all_entries():
    small = {
        str(example.metric)
        for example, decisions in CASES
        if layout_of(example.metric, example_rows(decisions).confusion) == "diagonal"
    }
    large = {str(example.metric) for example, _ in CASES} - small
    names = {text.split("(")[0] for text in large}
    assert names == {"cost", "ordinal_error", "cohen_kappa", "equalized_odds"}
    assert "cohen_kappa()" in small
    assert layout_of(mf.equalized_odds("group"), two_classes()) == "diagonal"
    assert layout_of(mf.cost([[0, 3], [5, 0]]), two_classes()) == "diagonal"


def layout_of(metric: mf.Metric, confusion: Confusion) -> str:
    binding = Binding.of(confusion.axes, confusion.margins)
    metric.bind(binding)
    return binding.finish().layout


def two_classes() -> Confusion:
    return Confusion.from_predictions([0, 1, 0, 1], [0, 1, 1, 1], ["a", "a", "b", "b"])


@pytest.mark.parametrize(("example", "decisions"), CASES, ids=IDS)
def test_values_at_many_points_are_those_at_each(example, decisions):
    confusion = example_rows(decisions).confusion
    axes, rng = confusion.axes, np.random.default_rng(5)
    binding = Binding.of(axes, confusion.margins)
    node = example.metric.bind(binding)
    functions = binding.finish()
    tensors = [random_tensor(axes, confusion.margins, rng, 0.5).values for _ in range(4)]
    one_decision = np.zeros(axes.shape)
    one_decision[:, :, 0] = confusion.margins  # rates of nothing, and means that are zero
    points = np.stack(
        [
            functions.matrix @ statistic(tensor, functions.layout, axes).ravel() + functions.constant
            for tensor in (*tensors, one_decision)
        ]
    )
    together = node.value(points)
    assert together.shape == (len(points), 1)
    np.testing.assert_allclose(together, [node.value(u) for u in points], rtol=1e-12, atol=1e-12)
