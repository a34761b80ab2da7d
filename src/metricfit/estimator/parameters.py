"""The parameters of a `MetricClassifier`, checked when it is fitted and before anything is computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sklearn.frozen import FrozenEstimator

from metricfit.data.attributes import UNSEEN_RULES
from metricfit.messages import some, unknown
from metricfit.options import check_options, check_switches, threads
from metricfit.policy.mixture import RANDOMIZE
from metricfit.trust.confidence.confirmation import check_confidence
from metricfit.trust.score_models import has_proba

ORACLES = ("plugin", "retrain")


def check_parameters(classifier: Any) -> None:
    """Raise if a parameter, or a combination of parameters, is invalid."""
    if classifier.oracle not in ORACLES:
        raise ValueError(unknown("oracle", classifier.oracle, ORACLES))
    if classifier.oracle == "retrain":
        _check_retrain(classifier)
    elif isinstance(classifier.estimator, type) or not (
        hasattr(classifier.estimator, "fit") and has_proba(classifier.estimator)
    ):
        raise ValueError(
            "estimator must be a classifier with fit and predict_proba, or with fit and decision_function; got "
            f"{classifier.estimator!r}"
        )
    elif classifier.counting == "model" and not hasattr(classifier.estimator, "predict_proba"):
        raise ValueError(
            f"counting='model' trusts probabilities as they are, and {classifier.estimator!r} has only scores; use "
            "counting='auto', which calibrates them"
        )
    for name in ("constraints", "decisions", "attributes"):
        if isinstance(getattr(classifier, name), Iterator):
            raise ValueError(
                f"{name} can be read only once, so that a second fit would find nothing; pass a list"
            )
    if classifier.randomize not in RANDOMIZE:
        raise ValueError(unknown("randomize", classifier.randomize, RANDOMIZE))
    if classifier.unseen not in UNSEEN_RULES:
        raise ValueError(unknown("unseen", classifier.unseen, UNSEEN_RULES))
    check_switches(blind=classifier.blind, keep_proba=classifier.keep_proba)
    check_confidence(classifier.confidence)
    if classifier.blind and classifier.confidence is not None:
        raise ValueError(
            "confidence is not supported with blind=True; leave one of them out and see result_.expected"
        )
    tol, calls, seconds = classifier.tol, classifier.max_calls, classifier.max_seconds
    check_options(tol, calls, seconds, classifier.counting, classifier.min_rows)
    threads(classifier.n_jobs)


def check_passed_on(classifier: Any, params: Mapping[str, Any]) -> None:
    """Raise if there are arguments for the base classifier where several models of other labels are trained."""
    if params and (classifier.blind or classifier.oracle == "retrain"):
        why = "blind=True" if classifier.blind else "oracle='retrain'"
        raise ValueError(
            f"fit: {some(params)} cannot be passed to the base classifier with {why}, which trains models of other "
            "labels; leave them out"
        )


def _check_retrain(classifier: Any) -> None:
    """Raise if something is asked for that needs the probabilities of one model."""
    if isinstance(classifier.estimator, FrozenEstimator) or not hasattr(classifier.estimator, "fit"):
        raise ValueError(
            "oracle='retrain' retrains the estimator for each loss, so it must be a classifier that is not frozen; got "
            f"{classifier.estimator!r}"
        )
    asked = {
        "counting": ("auto", classifier.counting),
        "blind": (False, classifier.blind),
        "missing": ("error", classifier.missing),
        "unseen": ("error", classifier.unseen),
        "confidence": (None, classifier.confidence),
        "keep_proba": (False, classifier.keep_proba),
    }
    for name, (wanted, given) in asked.items():
        if given != wanted:
            raise ValueError(
                f"{name}={given!r} needs the probabilities of one model, and oracle='retrain' has many models; leave "
                f"{name} out, or use oracle='plugin'"
            )
