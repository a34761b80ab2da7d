"""`MetricClassifier`: any scikit-learn classifier, with decisions fitted to a metric under constraints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Self

from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from metricfit.estimator.decider import Decider
from metricfit.estimator.fitting import Fitted, fit_blocks, fit_rows
from metricfit.estimator.inputs import seed_of
from metricfit.estimator.parameters import check_parameters, check_passed_on
from metricfit.estimator.routing import requested, routed
from metricfit.messages import renamed
from metricfit.methods import Method
from metricfit.metrics.few_rows import MIN_ROWS
from metricfit.oracles.base import Counting
from metricfit.oracles.dask.partitions import is_dask
from metricfit.problem import ConstraintLike, ObjectiveLike


class MetricClassifier(Decider):
    """A classifier whose decisions are the best for a metric, under constraints.

    The base classifier gives class probabilities, cross-fitted by default, and `optimize` finds the best policy on
    them. `result_` has the value, the bound and the price of each constraint.

    Parameters
    ----------
    estimator : classifier
        Anything with ``predict_proba``, or with ``decision_function``, such as `sklearn.svm.LinearSVC`: its scores are
        scaled, and the calibration turns them into probabilities. A fitted model in a `sklearn.frozen.FrozenEstimator`
        is used as it is and never refitted; `fit` should then get rows that the model was not trained on.
    objective : Metric, str or callable, default="g_mean"
        What to optimise: a metric, its name, its text, or a function of the n x k confusion matrix.
    constraints : list of Constraint or str, default=()
        Constraints to keep, for example ``[mf.precision("fraud") >= 0.9]``.
    method : str or Method, default="auto"
        How to solve, see `optimize`.
    counting : {"auto", "calibrated", "labels", "model"}, default="auto"
        What a row counts as: its label; its probabilities, calibrated on the labels; or its probabilities as given.
        With probabilities the bound is a proof, given that they are right. By default the calibrated answer is returned
        with its proof, unless rows that it has not seen prefer a search on labels; `Result.choice` says why.
    oracle : {"plugin", "retrain"}, default="plugin"
        How a linear loss is minimised: by plug-in rules on the probabilities of one model, or by retraining the base
        classifier with the costs as weights, see `RetrainOracle`. In the latter case the policy is a `ModelPolicy`, a
        mixture of models, tuned on the rows they were trained on, and ``cv`` is not used. Each oracle call trains a
        model, so set ``max_calls``.
    cv : int, splitter, iterable of (train, test) or None, default=5
        How rows are held out for the probabilities that decisions are tuned on; an integer, 2 or more, means stratified
        folds. Folds that keep groups together are ``list(GroupKFold(5).split(X, y, groups))``. None tunes on the
        training rows, which suits models that do not overfit. Rows that are in no test fold are not used for tuning.
        Not used for a frozen estimator.
    decisions : list, optional
        Labels of the decisions, by default the classes. They may include decisions that are not classes, such as
        ``"review"``.
    attributes : str or list of str, optional
        Columns of ``X`` that hold the attributes of each row, instead of ``sensitive_features``. The base classifier
        sees these columns like all others; if it should not, drop them in a pipeline.
    blind : bool, default=False
        Whether decisions must not see the attributes, although constraints are on groups; `predict` then does not need
        them. The base classifier, without the columns named by ``attributes``, is trained to predict cells
        (combinations of attribute values) as well as classes; see `estimator_`. A frozen estimator keeps predicting the
        classes, and an unfitted clone of its model is trained to predict the cells.
    missing : {"error", "cell"}, default="error"
        Refuse rows that lack an attribute, or give them a separate cell, with the value ``"(missing)"``.
    min_rows : int, default=10
        Constraints over groups leave out rates that rest on fewer rows, as long as two groups remain.
    unseen : {"error", "overall"}, default="error"
        What `predict` does with rows whose attribute values did not occur in `fit`: refuse them, or decide them by the
        rule that is best for all rows together.
    confidence : float, optional
        With 0.95, all constraints together hold on the population with this confidence, see
        `metricfit.trust.confidence`: a third of the rows (75 to 90 % for a frozen estimator) is held out from model and
        policy to test them. With 0.5, new rows break some constraint about as often as not; this is estimated by
        folds, see `metricfit.trust.by_folds`.
    randomize : {"hash", "draw", "never"}, default="hash"
        How `predict` picks a rule of the policy's mixture for each row, see `Policy.decide`.
    tol : float, default=1e-4
        Stop when value and bound are this close.
    max_calls, max_seconds : optional
        Budgets of oracle calls, and of the time once the base classifier is fitted.
    n_jobs : int, optional
        Number of folds fitted in parallel, and of threads of the solver; -1 for all cores.
    random_state : int, RandomState or None, default=None
        Seed of methods that use random numbers, and of `predict`. It is not passed to the base classifier.
    verbose : int, default=0
        Print a line per iteration of the solver to standard error.
    keep_proba : bool, default=False
        Keep the probabilities that decisions were tuned on, as `tuned_on_`.

    Attributes
    ----------
    result_ : Result
        Value, bound, constraints with prices, and history, on the rows that decisions were tuned on.
    policy_ : Policy or ModelPolicy
        The policy, which can be saved. A `Policy` is used without the model; a `ModelPolicy` contains its models.
    estimator_ : classifier
        The base classifier, fitted on all rows; if it has only scores, in a `ScoreModel` that has probabilities. With
        ``blind`` a `JointModel`: the base classifier trained on pairs of cell and class, or on classes and on cells (of
        all rows, with a factor for each class, or of the rows of each class), whichever had the lowest log loss on
        held-out rows.
    tuned_on_ : OutOfFold
        With ``keep_proba``: ``rows`` and ``proba``, the rows of the data and their probabilities, each from a model
        that did not see the row (with ``cv=None`` or a frozen estimator, from the only model).
    classes_ : ndarray of shape (n,)
        The classes, in the order of the columns of `predict_proba`.
    n_features_in_ : int
        Number of features seen in `fit`, if the base classifier counts them.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if the base classifier keeps them.

    Notes
    -----
    Sample weights are used in the tuning and passed to the base classifier if it takes them, directly or as the last
    step of a pipeline. With scikit-learn's metadata routing enabled, it can decline them by
    ``set_fit_request(sample_weight=False)``, and `fit` passes on what it requests besides.

    `score`, and so a search such as `sklearn.model_selection.GridSearchCV` without ``scoring``, ignores the
    constraints; pass it ``scoring=objective.scorer(constraints)``.

    Examples
    --------
    >>> import metricfit as mf
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(2000, weights=[0.8], class_sep=0.5, random_state=0)
    >>> clf = mf.MetricClassifier(LogisticRegression(), "g_mean", [mf.precision(1) >= 0.95]).fit(X, y)
    >>> record = clf.result_.constraints[0]
    >>> record.name, record.value >= 0.95, record.price > 0.01
    ('precision(1) >= 0.95', True, True)
    >>> clf.predict(X[:5])
    array([1, 0, 0, 0, 1])
    """

    @renamed(confusion="counting")
    def __init__(
        self,
        estimator: Any,
        objective: ObjectiveLike = "g_mean",
        constraints: ConstraintLike | Iterable[ConstraintLike] = (),
        *,
        method: str | Method = "auto",
        counting: Counting = "auto",
        oracle: Literal["plugin", "retrain"] = "plugin",
        cv: Any = 5,
        decisions: Iterable[object] | None = None,
        attributes: str | Iterable[str] | None = None,
        blind: bool = False,
        missing: Literal["error", "cell"] = "error",
        min_rows: int = MIN_ROWS,
        unseen: Literal["error", "overall"] = "error",
        confidence: float | None = None,
        randomize: Literal["hash", "draw", "never"] = "hash",
        tol: float = 1e-4,
        max_calls: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        keep_proba: bool = False,
    ) -> None:
        self.estimator = estimator
        self.objective = objective
        self.constraints = constraints
        self.method = method
        self.counting = counting
        self.oracle = oracle
        self.cv = cv
        self.decisions = decisions
        self.attributes = attributes
        self.blind = blind
        self.missing = missing
        self.min_rows = min_rows
        self.unseen = unseen
        self.confidence = confidence
        self.randomize = randomize
        self.tol = tol
        self.max_calls = max_calls
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.keep_proba = keep_proba

    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None, **fit_params: Any
    ) -> Self:
        """Fit the base classifier and the decisions.

        Parameters
        ----------
        X : array, sparse matrix or frame with N rows
            The features, as the base classifier takes them. For a frozen estimator also a Dask array or data frame; its
            probabilities are then computed where the blocks are.
        y : array-like of shape (N,)
            The labels.
        sensitive_features : frame or array-like of shape (N,), optional
            Attributes of each row. The policy may treat each combination of their values differently.
        sample_weight : array-like of shape (N,), optional
            Weights >= 0.
        **fit_params
            More arguments of the base classifier's ``fit``, such as ``categorical_feature``; those with an entry for
            each row are cut as the folds are. With scikit-learn's metadata routing enabled, those that the base
            classifier or the splitter ``cv`` requests, such as ``groups``.

        Returns
        -------
        self

        Raises
        ------
        InfeasibleError
            If no policy keeps all constraints.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 3, ["no", "no", "yes", "yes"] * 3
        >>> MetricClassifier(LogisticRegression(), cv=3).fit(X, y).predict([[0.0], [3.0]]).tolist()
        ['no', 'yes']
        """
        check_parameters(self)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        if isinstance(self.estimator, FrozenEstimator):
            check_is_fitted(self.estimator)
        check_passed_on(self, fit_params)
        params = routed(self.estimator, self.cv, fit_params)
        seed = seed_of(self.random_state)
        fit = fit_blocks if is_dask(X) else fit_rows
        return self._kept(fit(self, X, y, sensitive_features, sample_weight, params, seed), seed)

    def get_metadata_routing(self) -> Any:
        """Return what `fit` and the others ask scikit-learn's metadata routing for.

        This is what was requested of this estimator, and what its base classifier and its splitter request.
        """
        request = super().get_metadata_routing()
        for name in requested(self.estimator, self.cv):
            request.fit.add_request(param=name, alias=True)
        return request

    def _kept(self, fitted: Fitted, seed: int | None) -> Self:
        """Set all fitted attributes, at the end, so that a failing fit leaves the object as it was."""
        self.estimator_, self.classes_ = fitted.model, fitted.classes
        self.result_, self.policy_, self._seed = fitted.result, fitted.result.policy, seed
        self.__dict__.pop("tuned_on_", None)
        if self.keep_proba and fitted.tuned_on is not None:
            self.tuned_on_ = fitted.tuned_on
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self
