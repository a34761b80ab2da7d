"""The retraining oracle: trains a classifier with cost weights for every loss (section 8.7 of the paper)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from metricfit.axes import distinct_labels
from metricfit.confusion import Axes, Cells, encode_labels
from metricfit.layout import Layout, expand, statistic
from metricfit.oracles.base import Vertex
from metricfit.oracles.rows import strata
from metricfit.types import FloatArray, IntArray
from metricfit.validation import check_lengths, check_weights


class RetrainOracle:
    """Minimises a linear loss by retraining, where the plug-in oracle post-shifts fixed probabilities.

    Costs of a row are shifted to be non-negative gains, ``max_l L[i, l] - L[i, j]``, and the row enters the training
    set once for each decision j with a gain, weighted by it (cost-proportionate example weighting). For a loss that
    rewards hits only, these are class weights, as in the paper's weighted logistic regression. Each call is costly, so
    give ``max_calls``.

    Parameters
    ----------
    estimator : classifier
        Anything whose ``fit`` takes ``sample_weight``. It is cloned; if it has ``warm_start``, every fit starts from
        the last one.
    X : array, sparse matrix or frame with N rows
        Features.
    y : array of shape (N,)
        Labels.
    classes, decisions, sensitive_features, sample_weight : optional
        As in `optimize`.

    Examples
    --------
    >>> import metricfit as mf
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(400, weights=[0.9], random_state=0)
    >>> model = LogisticRegression().fit(X, y)
    >>> oracle = mf.RetrainOracle(LogisticRegression(), X, y)
    >>> result = mf.optimize(model.predict_proba(X), y, "g_mean", oracle=oracle, max_calls=10)
    >>> result.policy.decide(X[:3]).shape, result.n_oracle_calls <= 10
    ((3,), True)
    """

    exact = False

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        classes: Iterable[object] | None = None,
        decisions: Iterable[object] | None = None,
        sensitive_features: Any = None,
        sample_weight: Any = None,
    ) -> None:
        from sklearn.base import clone
        from sklearn.utils.validation import has_fit_parameter

        rows = int(np.shape(y)[0])
        check_lengths(X=int(X.shape[0]) if hasattr(X, "shape") else len(X), y=rows)
        if not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(
                f"estimator: {type(estimator).__name__}.fit takes no sample_weight, so it cannot be trained for a "
                "loss; use the plug-in oracle, or a classifier that takes weights"
            )
        self.estimator = clone(estimator)
        if "warm_start" in self.estimator.get_params():
            self.estimator.set_params(warm_start=True)
        named: tuple[Any, ...] = (
            tuple(np.unique(np.asarray(y)).tolist())
            if classes is None
            else distinct_labels(classes, "classes")
        )
        cells, codes = Cells.observe(sensitive_features, rows)
        self.axes = Axes(
            named, distinct_labels(decisions, "decisions") if decisions is not None else (), cells
        )
        self.X, self.labels, self.cells = X, encode_labels(y, self.axes.classes), codes.astype(np.int64)
        weights = check_weights(sample_weight, rows)
        self.weights: FloatArray = np.full(rows, 1 / rows) if weights is None else weights / weights.sum()
        self.margins = strata(self.labels, self.cells, self.weights, len(cells), self.axes.n)
        self._decided: dict[bytes, IntArray] = {}

    def __call__(self, loss: FloatArray, layout: Layout) -> Vertex:
        """Train for a loss; return the model and the statistic of its decisions."""
        from metricfit.model_policy import predictions

        model = self._train(expand(loss, layout, self.axes))
        decided = predictions(model, self.X)
        self._decided[loss.tobytes()] = decided
        return Vertex(loss, statistic(self._count(decided), layout, self.axes), model)

    def confusion(self, losses: FloatArray, weights: FloatArray, layout: Layout) -> FloatArray:
        """Return the full tensor of a mixture of the models trained for some losses."""
        total = np.zeros(self.axes.shape)
        for r, loss in enumerate(losses):
            decided = self._decided.get(loss.tobytes())
            if decided is None:  # a rule that decides all rows alike, which was never trained
                decided = np.full(self.labels.size, int(np.argmin(expand(loss, layout, self.axes)[0, 0])))
            total += weights[:, r, None, None] * self._count(decided)
        return total

    def _count(self, decided: IntArray) -> FloatArray:
        n, k = self.axes.n, self.axes.k
        place = (self.cells * n + self.labels) * k + decided
        counts = np.bincount(place, self.weights, minlength=int(np.prod(self.axes.shape)))
        return np.asarray(counts, float).reshape(self.axes.shape)

    def _train(self, tensor: FloatArray) -> Any:
        """Fit the estimator on the rows, each repeated for every decision that gains something for it."""
        from copy import deepcopy

        from sklearn.base import clone
        from sklearn.utils import _safe_indexing

        costs = tensor[self.cells, self.labels]
        gains = (costs.max(axis=1, keepdims=True) - costs) * self.weights[:, None]
        row, decision = np.nonzero(gains > 0)
        decisions = np.unique(decision)
        if decisions.size < 2:
            return constant(int(decision[0]) if decision.size else self.axes.k - 1)
        if not np.array_equal(decisions, getattr(self.estimator, "classes_", decisions)):
            self.estimator = clone(self.estimator)  # a warm start needs the same classes
        weight = gains[row, decision]
        # Mean weight 1, so that a model's regularisation means the same for every loss.
        self.estimator.fit(
            _safe_indexing(self.X, row), decision, sample_weight=weight * (row.size / weight.sum())
        )
        return deepcopy(self.estimator)


def constant(decision: int) -> Any:
    """Return a model that decides all rows alike."""
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="constant", constant=decision).fit([[0.0]], [decision])
