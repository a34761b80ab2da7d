"""Metrics as scikit-learn scorers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest

from metricfit.data.attributes import names_of
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.data.columns import frame_columns, is_frame
from metricfit.data.confusion import Confusion
from metricfit.data.labels import encode_labels
from metricfit.data.row_order import check_row_order
from metricfit.data.validation import check_weights
from metricfit.functions.binding import Binding
from metricfit.metrics.base import Metric
from metricfit.metrics.constraint import Constraint
from metricfit.metrics.text.parse import constraint_of
from metricfit.types import FloatArray

PASSED = ("sample_weight", "sensitive_features")


class MetricScorer:
    """A scorer ``scorer(estimator, X, y)``, higher is better; see `Metric.scorer`.

    Parameters
    ----------
    metric : Metric
        What is scored.
    constraints : tuple of Constraint
        What must be kept.
    attributes : tuple of str
        Columns of X.

    Examples
    --------
    >>> import metricfit as mf
    >>> from sklearn.dummy import DummyClassifier
    >>> X, y = [[0], [1], [2], [3]], [0, 0, 0, 1]
    >>> model = DummyClassifier(strategy="constant", constant=0).fit(X, y)
    >>> mf.accuracy().scorer()(model, X, y), mf.accuracy().scorer([mf.recall(1) >= 0.5])(model, X, y)
    (0.75, -0.5)
    """

    def __init__(
        self, metric: Metric, constraints: tuple[Constraint, ...] = (), attributes: tuple[str, ...] = ()
    ) -> None:
        self.metric, self.constraints, self.attributes = metric, constraints, attributes
        self._metadata_request = MetadataRequest(owner=type(self).__name__)

    @classmethod
    def of(cls, metric: Metric, constraints: Any, attributes: str | Sequence[str] | None) -> MetricScorer:
        """Read constraints and names as users write them."""
        single = isinstance(constraints, Constraint | str | bool)
        given: Iterable[Any] = [constraints] if single else constraints
        return cls(metric, tuple(constraint_of(one) for one in given), tuple(names_of(attributes)))

    def __call__(
        self, estimator: Any, X: Any, y: Any, sample_weight: Any = None, sensitive_features: Any = None
    ) -> float:
        """Return the score of a fitted classifier's decisions."""
        confusion = self._confusion(estimator, X, y, sample_weight, sensitive_features)
        binding = Binding.of(confusion.axes, confusion.margins)
        sign = -1.0 if self.metric.direction < 0 else 1.0
        violation = max((c.excess(c.metric(confusion)) for c in self.constraints), default=0.0)
        if violation > 0:
            ends = binding.take(self.metric).reach()
            worst = min(sign * float(end[0]) for end in ends)
            return (worst if np.isfinite(worst) else 0.0) - violation
        return sign * self.metric(confusion) + 0.0

    def _confusion(self, estimator: Any, X: Any, y: Any, weight: Any, sensitive_features: Any) -> Confusion:
        check_row_order(X=X, y=y, sensitive_features=sensitive_features, sample_weight=weight)
        beside = {} if sensitive_features is None else {"sensitive_features": sensitive_features}
        if sensitive_features is None:
            sensitive_features = self._columns(estimator, X)
        y = np.asarray(y)
        if not hasattr(estimator, "decision_proba"):
            classes = getattr(estimator, "classes_", None)
            made = np.asarray(estimator.predict(X))
            known = None if classes is None else np.asarray(classes).tolist()
            return Confusion.from_predictions(y, made, sensitive_features, weight, known)
        axes = estimator.policy_.axes.seen  # a blind policy decides by pairs of cell and class
        chances = _chances(estimator, X, beside, axes)
        cells, codes = Cells.observe(sensitive_features, len(chances), estimator.missing)
        weights = check_weights(weight, len(chances))
        tensor = np.zeros((len(cells), axes.n, axes.k))
        rows = chances if weights is None else chances * weights[:, None]
        np.add.at(tensor, (codes, encode_labels(y, axes.classes)), rows)
        return Confusion(tensor / tensor.sum(), Axes(axes.classes, axes.decisions, cells))

    def _columns(self, estimator: Any, X: Any) -> dict[str, Any] | None:
        """Return the named columns that X has: blind decisions need none, and metrics say which one they lack."""
        named = self.attributes or names_of(getattr(estimator, "attributes", None))
        known = frame_columns(X) if named and is_frame(X) else []
        return {name: X[name] for name in named if name in known} or None

    def set_score_request(self, **requests: Any) -> MetricScorer:
        """Ask scikit-learn's metadata routing for ``sample_weight`` or ``sensitive_features``.

        Examples
        --------
        >>> import metricfit as mf
        >>> mf.g_mean().scorer().set_score_request(sensitive_features=True)
        MetricScorer(g_mean())
        """
        for name, alias in requests.items():
            if name not in PASSED:
                raise ValueError(f"a scorer takes {' and '.join(PASSED)}; got {name!r}")
            self._metadata_request.score.add_request(param=name, alias=alias)
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the requests in scikit-learn's format."""
        return self._metadata_request

    def __repr__(self) -> str:
        limits = "".join(f", {c}" for c in self.constraints)
        return f"MetricScorer({self.metric}{limits})"


def _chances(estimator: Any, X: Any, beside: dict[str, Any], axes: Axes) -> FloatArray:
    """Return the probability of each decision for each row, as `predict` decides: 0 or 1 without randomization."""
    if estimator.randomize != "never":
        return np.asarray(estimator.decision_proba(X, **beside))
    made = encode_labels(np.asarray(estimator.predict(X, **beside)), axes.decisions, "predict")
    return np.asarray(np.eye(axes.k)[made])
