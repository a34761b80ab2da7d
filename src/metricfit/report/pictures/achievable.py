"""The set of values of two metrics that policies can achieve, with the solution in it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.functions.curvature import Curvature
from metricfit.metrics import Metric, parse
from metricfit.metrics.constraint import compare
from metricfit.oracles.base import Oracle
from metricfit.problem import Problem
from metricfit.report.pictures.display import Display
from metricfit.report.pictures.style import Style, plain
from metricfit.report.words import named
from metricfit.result import Result
from metricfit.result.most_probable import of_most_probable
from metricfit.types import FloatArray

# How often the oracle is asked, about; steps along the mixture of neighbours on the edge.
CALLS, STEPS = 40, 12
# Looks for the end of a metric that bends; distances that cannot be seen.
LOOKS, CLOSE = 8, 2e-3


class AchievableDisplay(Display):
    """What policies achieve in two metrics: the edge, found by asking the oracle in all directions, and some points.

    For metrics that are linear in the confusion matrix the edge is that of the whole set, up to the number of
    directions. For other metrics everything inside it is achievable, and possibly a little beyond it.

    Parameters
    ----------
    edge : array of shape (points, 2)
        The values of both metrics around the edge.
    names : pair of str
        The metrics.
    after, before : pair of float, optional
        The policy, and the most probable class.
    limits : sequence of (axis, sense, limit)
        Limits on either metric.

    Examples
    --------
    >>> import metricfit as mf
    >>> from metricfit.report import AchievableDisplay
    >>> data = mf.datasets.make_fraud_triage(n_rows=500, random_state=0)
    >>> result = mf.optimize(data.proba, data.y, "g_mean", counting="model")
    >>> display = AchievableDisplay.from_result(result, mf.recall("fraud"), mf.recall("legit"))
    >>> bool((display.edge.max(axis=0) > 0.99).all())
    True
    """

    def __init__(
        self,
        edge: FloatArray,
        names: tuple[str, str],
        after: tuple[float, float] | None = None,
        before: tuple[float, float] | None = None,
        limits: tuple[tuple[int, str, float], ...] = (),
    ) -> None:
        self.edge, self.names = np.asarray(edge, float), names
        self.after, self.before, self.limits = after, before, limits

    @classmethod
    def from_result(cls, result: Result, x: Metric | str, y: Metric | str, calls: int = CALLS) -> Self:
        """Return the picture of two metrics on the rows that a result was fitted on."""
        if result.origin is None:
            raise ValueError("the result has lost its rows, because it was pickled; solve again")
        pair = [_metric(x), _metric(y)]
        oracle = result.origin.counting
        before = of_most_probable(result.origin.baseline)
        limits = tuple(
            (axis, c.sense, c.limit)
            for c in result.origin.problem.constraints
            for axis, metric in enumerate(pair)
            if str(c.metric) == str(metric)
        )
        return cls(
            edge_of(oracle, pair, calls),
            (named(pair[0], short=True), named(pair[1], short=True)),
            _values(pair, result.confusion),
            None if before is None else _values(pair, before),
            limits,
        )

    @classmethod
    def from_estimator(cls, estimator: Any, x: Metric | str, y: Metric | str, calls: int = CALLS) -> Self:
        """Return the picture of two metrics on the rows that a `MetricClassifier` was just fitted on."""
        return cls.from_result(estimator.result_, x, y, calls)

    @property
    def size(self) -> tuple[float, float]:
        """Nearly square."""
        return 5.4, 4.2

    def describe(self) -> str:
        """Return the range of both metrics, and where the policy is."""
        low, high = self.edge.min(axis=0), self.edge.max(axis=0)
        texts = [
            f"{name} can be {a:.3g} to {b:.3g}" for name, a, b in zip(self.names, low, high, strict=True)
        ]
        if self.after is not None:
            texts.append(f"the policy is at {self.after[0]:.3g} and {self.after[1]:.3g}")
        return "; ".join(texts) + "."

    def _draw(self, axes: Any, style: Style) -> None:
        (ax,) = axes
        ax.fill(*self.edge.T, color=style.after, alpha=0.14, linewidth=0, label="what policies reach")
        ax.plot(*np.concatenate([self.edge, self.edge[:1]]).T, color=style.after, linewidth=1.2)
        for axis, sense, limit in self.limits:
            line = ax.axvline if axis == 0 else ax.axhline
            line(limit, color=style.bound, linestyle="--", linewidth=1.4, label=f"limit {sense} {limit:g}")
        if self.before is not None:
            ax.plot(
                *([v] for v in self.before),
                "s",
                color=style.before,
                markersize=7,
                markerfacecolor=style.surface,
                label="most probable class",
            )
        if self.after is not None:
            ax.plot(*([v] for v in self.after), "o", color=style.after, markersize=9, label="the policy")
        ax.set(xlabel=plain(self.names[0], 44), ylabel=plain(self.names[1], 34))
        ax.legend(loc="best")


def edge_of(oracle: Oracle, pair: list[Metric], calls: int) -> FloatArray:
    """Return the values of two metrics around the edge of what mixtures of plug-in rules achieve.

    It begins with the extremes of each metric, and then repeatedly adds the rule farthest beyond the widest piece of
    the edge found so far, in the direction across it.
    """
    ask = _Asker(oracle, pair)
    corners = [ask.extreme(axis, sign) for axis, sign in ((0, 1), (1, 1), (0, -1), (1, -1))]
    pieces = [(corners[i], corners[(i + 1) % 4]) for i in range(4)]
    done: list[tuple[FloatArray, FloatArray]] = []
    while pieces and ask.calls < calls:
        start, end = pieces.pop(int(np.argmax([ask.length(*piece) for piece in pieces])))
        found = ask.beyond(start, end)
        if found is None:
            done.append((start, end))
        else:
            pieces += [(start, found), (found, end)]
    following = {id(start): (start, end) for start, end in [*pieces, *done]}
    path, start = [], corners[0]
    for _ in following:
        start, end = following[id(start)]
        mixed = [(1 - share) * start + share * end for share in np.arange(STEPS) / STEPS]
        path += [ask.values(u) for u in mixed]
        start = end
    edge: FloatArray = np.array(path)
    edge = edge[np.isfinite(edge).all(axis=1)]
    linear = all(metric.curvature is Curvature.LINEAR for metric in pair)
    return _hull(edge) if linear else edge


def _hull(points: FloatArray) -> FloatArray:
    """Return the corners of the smallest convex set around points, in their order around it.

    What mixtures achieve in two linear metrics is convex. On counted labels the oracle's answers need not be the
    farthest points, so a path through them may turn inwards.

    Examples
    --------
    >>> _hull(np.array([[0.0, 0], [1, 0], [0.4, 0.4], [1, 1], [0, 1]])).tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    """
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except QhullError:  # points on a line, or too few
        return points


class _Asker:
    """Asks the oracle for the rule that is best for a mean of two metrics, as they are near a point."""

    def __init__(self, oracle: Oracle, pair: list[Metric]) -> None:
        limits = tuple(compare(metric, ">=", 0.0) for metric in pair)
        self.oracle, self.program = oracle, Problem(pair[0], limits).bind(oracle.axes, oracle.margins)
        self.nodes = [limit.metric for limit in self.program.limits]
        self.calls = 0

    def values(self, u: FloatArray) -> FloatArray:
        return np.array([node.scalar(u) for node in self.nodes])

    def length(self, start: FloatArray, end: FloatArray) -> float:
        return float(np.hypot(*(self.values(end) - self.values(start))))

    def ask(self, direction: FloatArray, at: FloatArray) -> FloatArray:
        """Return u of the best rule for a direction of the two metrics, as they bend at a point."""
        price = -sum(part * node.gradient(at) for part, node in zip(direction, self.nodes, strict=True))
        loss = self.program.loss(np.asarray(price))
        size = float(np.abs(loss).max())
        self.calls += 1
        vertex = self.oracle(loss / size if size > 0 else loss, self.program.layout)
        return self.program.vector(vertex.statistic)

    def extreme(self, axis: int, sign: int) -> FloatArray:
        """Return u where a metric is highest or lowest, looking again from where the answer was if it bends."""
        direction = np.zeros(2)
        direction[axis] = sign
        best = self.program.uniform(self.oracle.margins)
        for _ in range(LOOKS):
            found = self.ask(direction, best)
            if not sign * (self.values(found)[axis] - self.values(best)[axis]) > CLOSE:
                break
            best = found
        return best

    def beyond(self, start: FloatArray, end: FloatArray) -> FloatArray | None:
        """Return u of a rule beyond a piece of the edge, or None if there is none worth telling."""
        across = self.values(end) - self.values(start)
        if not np.hypot(*across) > CLOSE:
            return None
        normal = np.array([across[1], -across[0]]) / np.hypot(*across)
        found = self.ask(normal, (start + end) / 2)
        return found if float(normal @ (self.values(found) - self.values(start))) > CLOSE else None


def _metric(given: Metric | str) -> Metric:
    metric = parse(given) if isinstance(given, str) else given
    if not isinstance(metric, Metric):
        raise ValueError(f"a metric is wanted, got {given!r}")
    return metric


def _values(pair: list[Metric], confusion: Confusion) -> tuple[float, float]:
    return pair[0](confusion), pair[1](confusion)
