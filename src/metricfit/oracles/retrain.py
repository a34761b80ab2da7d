"""The retraining oracle: trains a classifier with cost weights for every loss (section 8.7 of the paper)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.data.features import rows_at
from metricfit.data.labels import distinct_labels, encode_labels
from metricfit.data.layout import Layout, expand, statistic
from metricfit.data.row_order import check_row_order
from metricfit.data.rows import priors, strata
from metricfit.data.validation import check_lengths, check_weights
from metricfit.oracles.base import OracleBase, Vertex
from metricfit.policy.models import predictions
from metricfit.types import FloatArray, IntArray


class Trained(NamedTuple):
    """A model, the unit vector of the loss it was trained for, and its decisions for the training rows."""

    direction: FloatArray
    model: Any
    decided: IntArray


class RetrainOracle(OracleBase):
    """Minimises a linear loss by retraining a classifier instead of shifting fixed probabilities.

    The costs of a row are turned into non-negative gains, ``max_l L[i, l] - L[i, j]``, and the row enters the training
    set once for each decision j with a positive gain, weighted by it (cost-proportionate example weighting). Decisions
    that never cost less than some other decision are left out first. So if a loss rewards hits of some classes, its
    gains are weights of these classes, as in the paper's weighted logistic regression. Each call trains a model, so set
    ``max_calls``; no loss is trained twice.

    Parameters
    ----------
    estimator : classifier or pipeline that ends in one
        Its ``fit`` must take ``sample_weight``. It is cloned. A model with coefficients and ``warm_start`` starts from
        the model of the most similar loss.
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

    exact, counting = False, "labels"

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

        check_row_order(X=X, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight)
        rows = int(np.shape(y)[0])
        check_lengths(X=int(X.shape[0]) if hasattr(X, "shape") else len(X), y=rows)
        self._weight_argument = required_weight_argument(estimator)
        self.estimator = clone(estimator)
        if "warm_start" in self.estimator.get_params():
            self.estimator.set_params(warm_start=True)
        named: tuple[Any, ...] = (
            tuple(np.unique(np.asarray(y)).tolist())
            if classes is None
            else distinct_labels(classes, "classes")
        )
        cells, codes = Cells.observe(sensitive_features, rows)
        self.axes = Axes.of(named, decisions, cells)
        self.X, self.labels, self.cells = X, encode_labels(y, self.axes.classes), codes.astype(np.int64)
        weights = check_weights(sample_weight, rows)
        self.weights: FloatArray = np.full(rows, 1 / rows) if weights is None else weights / weights.sum()
        self.margins = priors(strata(self.labels, self.cells, self.weights, len(cells), self.axes.n), 1.0)
        self._trained: dict[tuple[Layout, bytes], Trained] = {}

    def __call__(self, loss: FloatArray, layout: Layout) -> Vertex:
        """Train for a loss; return the model and the statistic of its decisions."""
        known = self._trained.get((layout, loss.tobytes()))
        if known is None:
            direction = loss / max(float(np.linalg.norm(loss)), np.finfo(float).tiny)
            model = self._train(expand(loss, layout, self.axes), self._nearest(direction, layout))
            decided = predictions(model, self.X).astype(np.min_scalar_type(self.axes.k))
            known = Trained(direction, model, decided)
            self._trained[layout, loss.tobytes()] = known
        return Vertex(loss, statistic(self._count(known.decided), layout, self.axes), known.model)

    def confusion(self, losses: FloatArray, weights: FloatArray, layout: Layout) -> FloatArray:
        """Return the full tensor of a mixture of the models trained for some losses."""
        total = np.zeros(self.axes.shape)
        for r, loss in enumerate(losses):
            if (layout, loss.tobytes()) in self._trained:
                decided = self._trained[layout, loss.tobytes()].decided
            else:  # a rule that makes the same decision for all rows, which was never trained
                decided = np.full(self.labels.size, int(np.argmin(expand(loss, layout, self.axes)[0, 0])))
            total += weights[:, r, None, None] * self._count(decided)
        return total

    def _count(self, decided: IntArray) -> FloatArray:
        n, k = self.axes.n, self.axes.k
        place = (self.cells * n + self.labels) * k + decided
        counts = np.bincount(place, self.weights, minlength=int(np.prod(self.axes.shape)))
        return np.asarray(counts, float).reshape(self.axes.shape)

    def _train(self, tensor: FloatArray, nearest: Sequence[Trained]) -> Any:
        """Fit a model on the rows, each repeated for every decision with a positive gain."""
        useful = undominated(tensor)
        costs = tensor[:, :, useful][self.cells, self.labels]
        gains = (costs.max(axis=1, keepdims=True) - costs) * self.weights[:, None]
        row, place = np.nonzero(gains > 0)
        decision = useful[place]
        decisions = np.unique(decision)
        if decisions.size < 2:
            return constant(int(decisions[0] if decisions.size else useful[0]))
        weight = gains[row, place]
        model = self._start(nearest, decisions)
        # Mean weight 1, so that regularisation has the same strength for every loss.
        weights = {self._weight_argument: weight * (row.size / weight.sum())}
        model.fit(rows_at(self.X, row), decision, **weights)
        return model

    def _nearest(self, direction: FloatArray, layout: Layout) -> list[Trained]:
        """Return the models trained for losses of a layout, the most similar losses first."""
        alike = [other for (their, _), other in self._trained.items() if their == layout]
        return sorted(alike, key=lambda other: -float(np.vdot(other.direction, direction)))

    def _start(self, nearest: Sequence[Trained], decisions: IntArray) -> Any:
        """Return what to fit: a copy of the first model with these decisions whose coefficients a fit goes on from.

        Ensembles also have ``warm_start``, but they would keep the trees of the other loss.
        """
        from copy import deepcopy

        from sklearn.base import clone

        for other in nearest:
            if hasattr(other.model, "coef_") and np.array_equal(other.model.classes_, decisions):
                return deepcopy(other.model)
        return clone(self.estimator)


def required_weight_argument(estimator: Any) -> str:
    """Return the name under which ``fit`` takes weights; in a pipeline, its last step takes them."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    prefix = ""
    while isinstance(estimator, Pipeline):
        name, estimator = estimator.steps[-1]
        prefix += f"{name}__"
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"estimator: {type(estimator).__name__}.fit takes no sample_weight, so it cannot be trained for a "
            "loss; use the plug-in oracle, or a classifier that takes weights"
        )
    return f"{prefix}sample_weight"


def undominated(tensor: FloatArray) -> IntArray:
    """Return the decisions that no other one undercuts or equals in all classes and cells; of equals, the last."""
    columns = tensor.reshape(-1, tensor.shape[-1]).T
    kept: list[int] = []
    # A decision costs no less in all than one that dominates it, so the cheap ones come first.
    for j in sorted(range(len(columns)), key=lambda j: (columns[j].sum(), -j)):
        if not np.any(np.all(columns[kept] <= columns[j], axis=1)):
            kept.append(j)
    return np.array(sorted(kept))


def constant(decision: int) -> Any:
    """Return a model that makes the same decision for all rows."""
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="constant", constant=decision).fit([[0.0]], [decision])
