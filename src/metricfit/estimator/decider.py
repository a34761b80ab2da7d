"""What a fitted `MetricClassifier` does: decide by its policy on its model's probabilities."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from metricfit.data.row_order import check_row_order
from metricfit.estimator.blockwise import mapped, proba_blocks
from metricfit.estimator.inputs import attributes_of
from metricfit.oracles.dask.partitions import is_dask
from metricfit.policy import ModelPolicy, Policy
from metricfit.policy.row_hash import feature_words
from metricfit.problem import Problem
from metricfit.trust.crossfit import class_proba
from metricfit.types import FloatArray


class Decider(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """The methods of `MetricClassifier` that need a fit."""

    estimator: Any
    objective: Any
    attributes: str | Iterable[str] | None
    blind: bool
    randomize: Literal["hash", "draw", "never"]
    estimator_: Any
    classes_: Any
    policy_: Policy | ModelPolicy
    _seed: int | None

    def predict(self, X: Any, *, sensitive_features: Any = None, key: Any = None) -> Any:
        """Return a decision for each row.

        Parameters
        ----------
        X : array, sparse matrix or frame with N rows
            The features.
        sensitive_features : frame or array-like of shape (N,), optional
            The attributes, if the policy was fitted with them and not with ``attributes``.
        key : array-like of shape (N,), optional
            What ``randomize="hash"`` hashes instead of the features, such as a case number; see `Policy.decide`.

        Returns
        -------
        ndarray of shape (N,)
            Labels of classes, or of ``decisions``; a Dask array for Dask collections.

        Examples
        --------
        >>> import metricfit as mf
        >>> from sklearn.naive_bayes import GaussianNB
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0, 0, 1, 1] * 5
        >>> mf.MetricClassifier(GaussianNB()).fit(X, y).predict([[0.0], [3.0]])
        array([0, 1])
        """
        check_is_fitted(self)
        only_classes = bool((self.policy_.axes.seen.match >= 0).all())
        if is_dask(X):
            dtype = self.classes_.dtype if only_classes else object
            return mapped(self, "predict", X, sensitive_features, (), dtype, key)
        check_row_order(X=X, sensitive_features=sensitive_features, key=key)
        given, features = self._inputs(X, sensitive_features)
        if key is None and self.randomize == "hash":
            # The features are hashed because a tree with eight leaves has only eight different rows of probabilities,
            # and rounding changes them. A blind policy must not use what it does not see.
            key = feature_words(self.estimator_.visible(X) if self.blind else X, _num_samples(given))
        made = self.policy_.decide(
            given, features, randomize=self.randomize, random_state=self._seed, key=key
        )
        return made.astype(self.classes_.dtype) if only_classes else made

    @available_if(lambda self: _has_proba(self.estimator))
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the base classifier's class probabilities.

        They do not depend on objective and constraints, so the most probable class need not be the decision; see
        `decision_proba` for the policy's own probabilities. Available if the base classifier has them.

        Parameters
        ----------
        X : array, sparse matrix or frame with N rows
            The features.

        Returns
        -------
        ndarray of shape (N, n)

        Examples
        --------
        >>> import metricfit as mf
        >>> from sklearn.naive_bayes import GaussianNB
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0, 0, 1, 1] * 5
        >>> mf.MetricClassifier(GaussianNB()).fit(X, y).predict_proba([[1.5]]).round(3)
        array([[0.5, 0.5]])
        """
        check_is_fitted(self)
        made: FloatArray = (proba_blocks if is_dask(X) else class_proba)(self.estimator_, X, self.classes_)
        return made

    def decision_proba(self, X: Any, *, sensitive_features: Any = None) -> FloatArray:
        """Return the probability of each decision for each row, under the policy.

        Parameters
        ----------
        X : array, sparse matrix or frame with N rows
            The features.
        sensitive_features : frame or array-like of shape (N,), optional
            The attributes, if the policy was fitted with them and not with ``attributes``.

        Returns
        -------
        ndarray of shape (N, k)
            One column for each decision; these are the classes unless ``decisions`` was given.

        Examples
        --------
        >>> import metricfit as mf
        >>> from sklearn.naive_bayes import GaussianNB
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0, 0, 1, 1] * 5
        >>> mf.MetricClassifier(GaussianNB()).fit(X, y).decision_proba([[0.0], [3.0]])
        array([[1., 0.],
               [0., 1.]])
        """
        check_is_fitted(self)
        if is_dask(X):
            return mapped(self, "decision_proba", X, sensitive_features, (self.policy_.axes.k,), np.float64)
        check_row_order(X=X, sensitive_features=sensitive_features)
        return self.policy_.decision_proba(*self._inputs(X, sensitive_features))

    def score(self, X: Any, y: Any, *, sample_weight: Any = None, sensitive_features: Any = None) -> float:
        """Return the objective on the given rows; whether the limits hold there does not count.

        So a search such as `sklearn.model_selection.GridSearchCV` that is not told otherwise may choose a setting that
        breaks the limits on new rows. With constraints pass it ``scoring=objective.scorer(constraints)``, by which a
        setting that breaks one scores minus the violation; for another metric ``scoring=metric.scorer()``.

        Higher is better: the sign of an objective to minimise is changed. The policy is evaluated by its decision
        probabilities, with ``randomize="never"`` by its decisions.

        Parameters
        ----------
        X : array, sparse matrix or frame with N rows
            The features.
        y : array-like of shape (N,)
            The labels.
        sample_weight : array-like of shape (N,), optional
            Weights.
        sensitive_features : frame or array-like of shape (N,), optional
            The attributes, if the policy was fitted with them and not with ``attributes``. A blind policy needs none;
            with an objective over groups they are needed to judge it.

        Returns
        -------
        float

        Examples
        --------
        >>> import metricfit as mf
        >>> from sklearn.naive_bayes import GaussianNB
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0, 0, 1, 1] * 5
        >>> mf.MetricClassifier(GaussianNB()).fit(X, y).score(X, y)
        1.0
        """
        check_is_fitted(self)
        score = Problem.of(self.objective).objective.scorer()
        return score(self, X, y, sample_weight=sample_weight, sensitive_features=sensitive_features)

    def _inputs(self, X: Any, sensitive_features: Any) -> tuple[Any, Any]:
        """Return what the policy needs."""
        check_is_fitted(self)
        if self.blind:
            return self.estimator_.joint_proba(X), None
        features = attributes_of(X, self.attributes, sensitive_features)
        if isinstance(self.policy_, ModelPolicy):
            return X, features  # its rows are the features
        return class_proba(self.estimator_, X, self.classes_), features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            base = deepcopy(get_tags(self.estimator))
            tags.input_tags = base.input_tags
            tags.non_deterministic = base.non_deterministic
            if base.classifier_tags is not None:
                tags.classifier_tags.multi_class = base.classifier_tags.multi_class
                tags.classifier_tags.poor_score = base.classifier_tags.poor_score
        if self.randomize == "draw":  # even with a seed, the decision of a row depends on its position
            tags.non_deterministic = True
        return tags


def _has_proba(estimator: Any) -> bool:
    """Return whether a base classifier has probabilities; raise why not, for the error of whoever calls them."""
    if hasattr(estimator, "predict_proba"):
        return True
    raise AttributeError(
        f"{type(estimator).__name__} has no predict_proba; decision_proba has the probabilities of the decisions"
    )
