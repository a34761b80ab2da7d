"""The algebra of metrics, by random expressions: value, gradient, curvature, text and pickle of any tree."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from conftest import CLASSES, REVIEW, example_rows, random_tensor
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import metricfit as mf
from metricfit.functions.binding import Binding
from metricfit.metrics import Curvature

CONFUSION = example_rows(REVIEW).confusion
RNG = np.random.default_rng(0)
TENSORS = [random_tensor(CONFUSION.axes, CONFUSION.margins, RNG, spread) for spread in (0.3, 1, 1, 3)]
TENSORS += [mf.Confusion((a.values + b.values) / 2, a.axes) for a, b in pairwise(TENSORS)]

labels = st.sampled_from(CLASSES)
leaves = st.one_of(
    labels.map(mf.recall),
    labels.map(mf.precision),
    st.sampled_from(REVIEW).map(mf.coverage),
    labels.map(mf.false_positive_rate),
    st.sampled_from([mf.g_mean(), mf.h_mean(), mf.q_mean(), mf.min_recall(), mf.mcc(), mf.macro_f1()]),
    st.sampled_from([mf.demographic_parity("sex"), mf.coverage_deviation(), mf.cohen_kappa()]),
)
numbers = st.floats(-3, 3).map(lambda x: round(x, 3)) | st.integers(-3, 3)


class Tree:
    """A metric, and its value by plain arithmetic on the values of the parts."""

    def __init__(self, metric, values):
        self.metric, self.values = metric, np.asarray(values, float)

    @classmethod
    def leaf(cls, metric):
        return cls(metric, [metric(tensor) for tensor in TENSORS])


def combine(children):
    pairs = st.tuples(children, children)
    return st.one_of(
        pairs.map(lambda p: Tree(p[0].metric + p[1].metric, p[0].values + p[1].values)),
        pairs.map(lambda p: Tree(p[0].metric - p[1].metric, p[0].values - p[1].values)),
        pairs.map(lambda p: Tree(p[0].metric * p[1].metric, p[0].values * p[1].values)),
        pairs.map(lambda p: Tree(mf.maximum(p[0].metric, p[1].metric), np.maximum(p[0].values, p[1].values))),
        pairs.map(lambda p: Tree(mf.minimum(p[0].metric, p[1].metric), np.minimum(p[0].values, p[1].values))),
        children.map(lambda c: Tree(abs(c.metric), np.abs(c.values))),
        children.map(lambda c: Tree(-c.metric, -c.values)),
        st.tuples(numbers, children).map(lambda p: Tree(p[0] * p[1].metric, p[0] * p[1].values)),
        st.tuples(numbers, children).map(lambda p: Tree(p[0] - p[1].metric, p[0] - p[1].values)),
        st.tuples(numbers, children).map(lambda p: Tree(p[1].metric + p[0], p[1].values + p[0])),
        children.map(lambda c: Tree(c.metric / 1.7, c.values / 1.7)),
        st.tuples(children, labels).map(
            lambda p: Tree(
                p[0].metric / (0.5 + mf.recall(p[1])), p[0].values / (0.5 + Tree.leaf(mf.recall(p[1])).values)
            )
        ),
    )


trees = st.recursive(leaves.map(Tree.leaf), combine, max_leaves=5)
quick = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@quick
@given(trees)
def test_value_is_plain_arithmetic(tree):
    found = [tree.metric(tensor) for tensor in TENSORS]
    np.testing.assert_allclose(found, tree.values, atol=1e-10, rtol=1e-10)


@quick
@given(trees)
def test_curvature_is_never_contradicted(tree):
    count = 4
    ends = tree.values[:count]
    above = tree.values[count:] - (ends[:-1] + ends[1:]) / 2
    size = 1e-10 * (1 + np.abs(tree.values).max())
    match tree.metric.curvature:
        case Curvature.LINEAR:
            assert np.all(np.abs(above) < size)
        case Curvature.CONVEX:
            assert np.all(above < size)
        case Curvature.CONCAVE:
            assert np.all(above > -size)
        case Curvature.RATIO:
            middle = tree.values[count:]
            assert np.all(middle < np.maximum(ends[:-1], ends[1:]) + size)
            assert np.all(middle > np.minimum(ends[:-1], ends[1:]) - size)


@quick
@given(trees)
def test_text_is_read_back(tree):
    again = mf.parse(str(tree.metric))
    assert (again.curvature, again.smooth, again.direction) == (
        tree.metric.curvature,
        tree.metric.smooth,
        tree.metric.direction,
    )
    np.testing.assert_allclose([again(t) for t in TENSORS[:2]], tree.values[:2], atol=1e-10, rtol=1e-10)
    limited = mf.parse(str(tree.metric >= 0.125))
    assert (limited.sense, limited.limit, str(limited.metric)) == (">=", 0.125, str(again))


@settings(quick, max_examples=60)
@given(trees)
def test_gradient_and_reach(tree):
    here, there = TENSORS[1], TENSORS[2]
    binding = Binding.of(here.axes, here.margins)
    low, high = tree.metric.bind(binding).reach()
    assert np.all(low[0] - 1e-9 * (1 + abs(tree.values)) <= tree.values)
    assert np.all(tree.values <= high[0] + 1e-9 * (1 + abs(tree.values)))
    move, step = there.values - here.values, 1e-6
    slope = float(np.sum(tree.metric.gradient(here) * move))
    ahead, now, behind = (
        tree.metric(mf.Confusion(here.values + t * step * move, here.axes)) for t in (1, 0, -1)
    )
    sides = (ahead - now) / step, (now - behind) / step
    assert min(sides) - 1e-4 * (1 + abs(slope)) <= slope <= max(sides) + 1e-4 * (1 + abs(slope))
    if tree.metric.smooth:
        assert slope == pytest.approx(sum(sides) / 2, rel=1e-4, abs=1e-6)


@settings(quick, max_examples=30)
@given(trees)
def test_pickle_and_copy(tree):
    for again in (pickle.loads(pickle.dumps(tree.metric)), copy.deepcopy(tree.metric)):
        assert str(again) == str(tree.metric)
        assert again(TENSORS[0]) == tree.metric(TENSORS[0])


def test_directions():
    up, down, none = mf.recall("bee"), mf.false_positive_rate("bee"), mf.coverage("bee")
    assert [m.direction for m in (up, down, none)] == [1, -1, 0]
    assert (up - down).direction == (up + none).direction == (2 - down).direction == 1
    assert (up + down).direction == (none * 2).direction == (0 * up).direction == 0
    assert (-up).direction == abs(up - 0.5).direction == (1 - up).direction == -1
    assert (up * up).direction == (up / down).direction == (1 / down).direction == 1
    assert (down * none).direction == (1 / up).direction == (down / up).direction == -1
    assert mf.maximum(up, none).direction == 1
    assert mf.maximum(up, down).direction == 0
    assert mf.worst(down, "sex").direction == mf.disparity(up, "sex").direction == -1
    assert mf.disparity(up, "sex", as_ratio=True).direction == 1
    assert up.at(sex="F").direction == 1


def test_sums_fold_constants_and_sums():
    assert str(2 + (3 - mf.recall(1)) * 2) == "8 - 2 * recall(1)"
    assert str(sum([mf.recall(0), mf.recall(1)])) == "recall(0) + recall(1)"
    assert str(-(mf.recall(0) - 1) / 4) == "0.25 - 0.25 * recall(0)"
    assert str(mf.recall(0) * mf.recall(1) - 1) == "-1 + recall(0) * recall(1)"
    assert str(mf.recall(0) / 3) == "0.3333333333333333 * recall(0)"


def test_curvature_of_quotients():
    linear = mf.recall("ant")
    assert (linear / (1 + mf.coverage("bee"))).curvature is Curvature.RATIO
    assert (1 / (1 + linear)).curvature is Curvature.RATIO
    assert (mf.g_mean() / (1 + linear)).curvature is Curvature.UNKNOWN
    assert (linear * linear).curvature is Curvature.UNKNOWN


@pytest.mark.parametrize("number", [np.float64(0.5), np.float32(0.5), np.int64(2), 0.5, 2, True + 1])
def test_numpy_numbers_combine_like_plain_ones(number):
    metric, value = mf.recall("bee"), mf.recall("bee")(CONFUSION)
    for made, expected in (
        (number * metric, number * value),
        (metric * number, number * value),
        (number + metric, number + value),
        (number - metric, number - value),
        (metric / number, value / number),
        (number / (metric + 1), number / (value + 1)),
    ):
        assert isinstance(made, mf.Metric)
        assert made(CONFUSION) == pytest.approx(expected)
    assert str(number >= metric) == str(metric <= number) == f"recall('bee') <= {float(number):g}"
    assert str(number <= metric) == str(metric >= number) == f"recall('bee') >= {float(number):g}"
