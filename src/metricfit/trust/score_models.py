"""Classifiers with scores instead of probabilities, such as support vector machines; a calibration does the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricfit.types import FloatArray

# The root mean square of the scores becomes this: most log-odds are then between -4 and 4, where nothing is rounded.
SPREAD = 2.0


def has_proba(model: Any) -> bool:
    """Return whether a classifier has probabilities or scores."""
    return hasattr(model, "predict_proba") or hasattr(model, "decision_function")


def with_proba(model: Any, X: Any) -> Any:
    """Return a fitted classifier that has probabilities; scores are scaled by those of the rows.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> made = with_proba(LinearSVC().fit(X, y), X).predict_proba(X)
    >>> made.shape, bool((made[1:, 1] > made[:-1, 1]).all())
    ((4, 2), True)
    """
    return model if hasattr(model, "predict_proba") else ScoreModel.of(model, X)


class ScoreModel:
    """A fitted classifier whose scores are taken for log-odds, in units of their spread.

    The probabilities have the order of the scores; how likely they are is for a calibration to find out.
    """

    def __init__(self, model: Any, scale: float) -> None:
        self.model, self.scale, self.classes_ = model, scale, model.classes_

    @classmethod
    def of(cls, model: Any, X: Any) -> ScoreModel:
        """Return a model with the scale of its scores on some rows."""
        found = cls(model, 1.0)
        logits = found._logits(X)
        spread = float(np.sqrt(np.mean((logits - logits.mean(axis=1, keepdims=True)) ** 2)))
        return cls(model, spread / SPREAD if np.isfinite(spread) and spread > 0 else 1.0)

    @property
    def n_features_in_(self) -> int:
        """Number of features, if the model counts them."""
        return int(self.model.n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """Names of the features, if the model keeps them."""
        return self.model.feature_names_in_

    def predict_proba(self, X: Any) -> FloatArray:
        """Return a probability for each class, by the softmax of the scores."""
        logits = self._logits(X) / self.scale
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def _logits(self, X: Any) -> FloatArray:
        """Return the score of each class; a single score is that of the second of two classes."""
        scores = np.asarray(self.model.decision_function(X), dtype=np.float64)
        if scores.ndim == 1:
            scores = np.column_stack([-scores, scores]) / 2
        if scores.ndim != 2 or scores.shape[1] != len(self.classes_):
            raise ValueError(
                f"decision_function of {type(self.model).__name__} returned shape {scores.shape} for "
                f"{len(self.classes_)} classes; it must return one column per class, such as by "
                "decision_function_shape='ovr'"
            )
        return scores
