"""How a `MetricClassifier` is fitted: to rows in memory, with a confidence, by retraining, to Dask collections."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.utils import indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_method_params, column_or_1d

from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.data.columns import factorize
from metricfit.data.features import rows_at
from metricfit.data.labels import encode_labels
from metricfit.data.row_order import check_row_order
from metricfit.data.rows import Rows
from metricfit.data.validation import check_proba, check_weights, unmasked
from metricfit.estimator.blockwise import attribute_blocks, proba_blocks
from metricfit.estimator.inputs import attribute_names, attributes_of, check_problem, classes_of, one_kind
from metricfit.estimator.joint import fit_joint
from metricfit.options import Options, threads
from metricfit.oracles import PluginOracle, RetrainOracle
from metricfit.problem import Problem
from metricfit.result import Result
from metricfit.solving import confirmed, confirmed_by_folds, optimize, solve, with_expected
from metricfit.trust.by_folds import EVEN
from metricfit.trust.crossfit import OutOfFold, Passed, class_proba, cross_fit, fit_clone
from metricfit.trust.held_out import MODEL_SHARE, frozen_share, kept_apart
from metricfit.types import FloatArray, IntArray

if TYPE_CHECKING:
    from metricfit.estimator.classifier import MetricClassifier


class Fitted(NamedTuple):
    """The outcome of a fit: the model, the classes in the order of its columns, the result, and the tuning rows."""

    model: Any
    classes: Any
    result: Result
    tuned_on: OutOfFold | None = None


class TrainingRows(NamedTuple):
    """The rows of a fit, checked: features, labels, weights, the cell of each row, and the axes."""

    X: Any
    y: Any
    weights: FloatArray | None
    cells: IntArray
    axes: Axes
    classes: Any
    passed: Passed

    @classmethod
    def of(
        cls, clf: MetricClassifier, X: Any, y: Any, features: Any, sample_weight: Any, passed: Passed
    ) -> TrainingRows:
        """Check the input of fit; ``features`` are the attributes of the rows."""
        check_row_order(X=X, y=y, sensitive_features=features, sample_weight=sample_weight)
        X, y = indexable(X, column_or_1d(unmasked(one_kind(y)), warn=True))
        if y.dtype.kind == "O":
            factorize(y, "y")  # says which rows lack a label
        check_classification_targets(y)
        classes = np.asarray(clf.estimator.classes_) if _frozen(clf) else classes_of(y)
        weights = check_weights(sample_weight, len(y))
        cells, codes = Cells.observe(features, len(y), clf.missing)
        cells.check_filled(len(y))
        axes = Axes.of(classes.tolist(), clf.decisions, cells)
        return cls(X, y, weights, codes, axes, classes, passed)

    def take(self, places: IntArray) -> TrainingRows:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[places]
        X, y, cells = rows_at(self.X, places), self.y[places], self.cells[places]
        passed = Passed(*(_check_method_params(self.X, dict(given), places) for given in self.passed))
        return self._replace(X=X, y=y, weights=weights, cells=cells, passed=passed)

    def fitted(self, clf: MetricClassifier) -> Any:
        """Return the base classifier fitted to all of the rows; a frozen one as it is."""
        return fit_clone(clf.estimator, self.X, self.y, self.weights, self.passed.fit)


def fit_rows(
    clf: MetricClassifier,
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    passed: Passed,
    seed: int | None,
) -> Fitted:
    """Fit to rows in memory."""
    features = attributes_of(X, clf.attributes, sensitive_features)
    rows = TrainingRows.of(clf, X, y, features, sample_weight, passed)
    problem = Problem.of(clf.objective, clf.constraints)
    check_problem(
        problem, rows.axes, clf.method, rows.y, rows.cells, rows.weights, soft=clf.counting == "model"
    )
    if clf.oracle == "retrain":
        return _retrained(clf, rows, problem, features, seed)
    if clf.confidence is not None and problem.constraints and _keeps_rows_apart(clf, clf.confidence):
        return _confirmed(clf, rows, problem, clf.confidence, seed)
    if clf.blind:
        model, held_out = fit_joint(
            clf.estimator,
            rows.X,
            rows.cells * np.int32(rows.axes.n) + encode_labels(rows.y, rows.axes.classes),
            len(rows.axes.blind().seen.cells),
            rows.classes,
            cv=clf.cv,
            sample_weight=rows.weights,
            n_jobs=clf.n_jobs,
            dropped=attribute_names(clf.attributes, sensitive_features),
        )
    else:
        held_out, model = _held_out(clf, rows)
    if not held_out.whole(len(rows.y)):
        features = rows.axes.cells.columns(rows.cells[held_out.rows])
    labels, weights = rows.y[held_out.rows], held_out.weights(rows.weights)
    # Before decisions are tuned: whatever may fail comes first.
    model = rows.fitted(clf) if model is None else model
    result = _tuned(clf, held_out.proba, labels, problem, rows.axes, features, weights, seed)
    return Fitted(model, rows.classes, result, held_out)


def fit_blocks(
    clf: MetricClassifier,
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    passed: Passed,
    seed: int | None,
) -> Fitted:
    """Fit to Dask collections: probabilities are computed where the blocks are."""
    if clf.oracle == "retrain":
        raise ValueError("X is a Dask collection, which oracle='retrain' does not take; pass rows in memory")
    if clf.blind:
        raise ValueError("X is a Dask collection, which blind=True does not support; pass rows in memory")
    if clf.confidence is not None:
        raise ValueError(
            "confidence holds out rows, which is not possible for a Dask collection; pass a part of it as arrays"
        )
    if not _frozen(clf) and clf.cv is not None:
        raise ValueError(
            "X is a Dask collection, for which cv cannot hold out rows; pass a fitted model, "
            "FrozenEstimator(model), or cv=None with an estimator whose fit takes Dask collections"
        )
    if not hasattr(clf.estimator, "predict_proba"):
        raise ValueError(
            f"X is a Dask collection, for which {clf.estimator!r} needs predict_proba; pass rows in memory"
        )
    model = fit_clone(clf.estimator, X, y, sample_weight, passed.fit)
    classes = np.asarray(model.classes_)
    features = attribute_blocks(X, clf.attributes, sensitive_features)
    problem, axes = (
        Problem.of(clf.objective, clf.constraints),
        Axes.of(classes.tolist(), clf.decisions, Cells()),
    )
    proba = proba_blocks(model, X, classes)
    result = _tuned(clf, proba, y, problem, axes, features, sample_weight, seed)
    return Fitted(model, classes, result)


def _retrained(
    clf: MetricClassifier, rows: TrainingRows, problem: Problem, features: Any, seed: int | None
) -> Fitted:
    """Fit by retraining the base classifier for each loss."""
    oracle = RetrainOracle(
        clf.estimator,
        rows.X,
        rows.y,
        classes=rows.axes.classes,
        decisions=rows.axes.decisions,
        sensitive_features=features,
        sample_weight=rows.weights,
    )
    model = rows.fitted(clf)
    problem = problem.limited(oracle.axes, oracle.class_counts, clf.min_rows)
    result = with_expected(problem, oracle, solve(problem, oracle, _options(clf, seed)))
    return Fitted(model, rows.classes, result)


def _keeps_rows_apart(clf: MetricClassifier, level: float) -> bool:
    """Return whether a confidence needs held-out rows: one half uses folds of rows that the model has not seen."""
    unseen_by_model = _frozen(clf) or clf.cv is not None
    return level > EVEN or not unseen_by_model


def _confirmed(
    clf: MetricClassifier, rows: TrainingRows, problem: Problem, level: float, seed: int | None
) -> Fitted:
    """Fit with a confidence: some rows are held out from model, calibration and policy to test them."""
    folds = clf.cv is None or _frozen(clf) or isinstance(clf.cv, Integral) or hasattr(clf.cv, "split")
    if not folds:
        raise ValueError(
            "cv is a list of rows, but confidence has to hold out some of them; pass a number of folds or a splitter"
        )
    labels = encode_labels(rows.y, rows.axes.classes)
    share = frozen_share(labels, rows.cells) if _frozen(clf) else MODEL_SHARE
    apart = kept_apart(labels, rows.cells, share, seed or 0)
    tuning, kept = np.flatnonzero(~apart), np.flatnonzero(apart)

    def judged(places: IntArray, proba: Any, weights: FloatArray | None) -> Rows:
        shares = None if weights is None else weights / weights.sum()
        cells = rows.cells[places] if len(rows.axes.cells) > 1 else None
        return Rows(check_proba(proba, rows.axes.n), labels[places], cells, shares, rows.axes)

    some, others = rows.take(tuning), rows.take(kept)
    held_out, model = _held_out(clf, some)
    model = some.fitted(clf) if model is None else model
    held_out, weights = OutOfFold(tuning[held_out.rows], held_out.proba), held_out.weights(some.weights)
    tuned = judged(held_out.rows, held_out.proba, weights)
    test = judged(kept, class_proba(model, others.X, rows.classes), others.weights)
    if level <= EVEN:  # folds of the rows that the model has not seen
        oracle = PluginOracle(test, clf.counting, threads(clf.n_jobs))
        problem = problem.limited(oracle.axes, oracle.class_counts, clf.min_rows)
        result = confirmed_by_folds(problem, oracle, _options(clf, seed))
    else:
        oracle = PluginOracle(tuned, clf.counting, threads(clf.n_jobs))
        problem = problem.limited(oracle.axes, oracle.class_counts, clf.min_rows)
        result = confirmed(problem, oracle, test, float(level), _options(clf, seed))
    return Fitted(model, rows.classes, result, held_out)


def _held_out(clf: MetricClassifier, rows: TrainingRows) -> tuple[OutOfFold, Any]:
    """Return the probabilities to tune on, and the model if it is already fitted."""
    if _frozen(clf) or clf.cv is None:
        model = rows.fitted(clf)
        return OutOfFold(np.arange(len(rows.y)), class_proba(model, rows.X, rows.classes)), model
    held_out = cross_fit(
        clf.estimator,
        rows.X,
        rows.y,
        rows.classes,
        cv=clf.cv,
        sample_weight=rows.weights,
        n_jobs=clf.n_jobs,
        passed=rows.passed,
    )
    return held_out, None


def _tuned(
    clf: MetricClassifier,
    proba: Any,
    y: Any,
    problem: Problem,
    axes: Axes,
    features: Any,
    weights: Any,
    seed: int | None,
) -> Result:
    return optimize(
        proba,
        y,
        problem.objective,
        problem.constraints,
        classes=axes.classes,
        decisions=axes.decisions,
        sensitive_features=features,
        sample_weight=weights,
        method=clf.method,
        counting=clf.counting,
        blind=clf.blind,
        missing=clf.missing,
        min_rows=clf.min_rows,
        unseen=clf.unseen,
        expect=True,
        confidence=clf.confidence,
        tol=clf.tol,
        max_calls=clf.max_calls,
        max_seconds=clf.max_seconds,
        n_jobs=clf.n_jobs,
        random_state=seed,
        verbose=clf.verbose,
    )


def _options(clf: MetricClassifier, seed: int | None) -> Options:
    return Options(clf.method, clf.tol, clf.max_calls, clf.max_seconds, seed, verbose=clf.verbose)


def _frozen(clf: MetricClassifier) -> bool:
    return isinstance(clf.estimator, FrozenEstimator)
