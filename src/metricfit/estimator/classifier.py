"""`MetricClassifier`: any scikit-learn classifier, with decisions fitted to a metric under constraints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Self

from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from metricfit.estimator.blockwise import is_dask
from metricfit.estimator.decider import Decider
from metricfit.estimator.fitting import Fitted, fit_blocks, fit_rows
from metricfit.estimator.inputs import (
    seed_of,
)
from metricfit.estimator.parameters import check_parameters
from metricfit.methods import Method
from metricfit.problem import ConstraintLike, ObjectiveLike


class MetricClassifier(Decider):
    """A classifier whose decisions are the best for a metric, under constraints.

    The base classifier gives class probabilities, cross-fitted by default, and `optimize` finds the decision
    rule on them. `result_` has the value reached, the bound and the price of each constraint.

    Parameters
    ----------
    estimator : classifier
        Anything with ``predict_proba``. A fitted model in a `sklearn.frozen.FrozenEstimator` is used as it is
        and never refitted; the rows given to `fit` should then be rows it was not trained on.
    objective : Metric, str or callable, default="g_mean"
        What to optimise: a metric, its name, its text, or a function of the n x k confusion matrix.
    constraints : list of Constraint or str, default=()
        What to keep, for example ``[mf.precision("fraud") >= 0.9]``.
    method : str or Method, default="auto"
        How to solve, see `optimize`.
    confusion : {"labels", "calibrated", "model"}, default="labels"
        Count labels; or calibrate the probabilities on them and count these as soft labels; or trust the probabilities
        as they are. With soft labels the bound is a proof, given that the probabilities are right.
    oracle : {"plugin", "retrain"}, default="plugin"
        How a linear loss is minimised: by rules on the probabilities of one model, or by training the base classifier
        again with the costs as weights, see `RetrainOracle`. The policy is then a `ModelPolicy`, a mixture of models,
        tuned on the rows they were trained on; ``cv`` has no part in it. Each call trains a model, so give
        ``max_calls``.
    cv : int, splitter, iterable of (train, test) or None, default=5
        How rows are held out for the probabilities that decisions are tuned on; an integer means stratified
        folds. None tunes on the training rows, which suits models that do not overfit. Rows that no fold
        holds out are not used for tuning. Irrelevant for a frozen estimator.
    decisions : list, optional
        Labels of the decisions, by default the classes; others, such as ``"review"``, are decisions that are
        no class.
    attributes : str or list of str, optional
        Columns of ``X`` that hold the attributes of each row, in place of ``sensitive_features``. The base
        classifier sees these columns like all others; if it should not, drop them in a pipeline.
    blind : bool, default=False
        Whether decisions must not see the attributes, although constraints are on their groups: `predict` then needs
        none. The base classifier, without the columns named by ``attributes``, is trained to tell the cells (the
        combinations of attribute values) as well as the classes; see `estimator_`.
    missing : {"error", "cell"}, default="error"
        Refuse rows that lack an attribute, or give them a cell of their own, with the value ``"(missing)"``.
    unseen : {"error", "overall"}, default="error"
        What `predict` does with rows of attribute values that were not there in `fit`: refuse them, or decide them
        by the rule that is best for all rows together.
    confidence : float, optional
        0.95: all constraints together hold on the population with this confidence, see `metricfit.trust.confidence`. A
        third of the rows (17 or 15 of 20 for a frozen estimator) is kept from model and policy and tests them. With 0.5
        new rows break some constraint about as often as not; folds tell, see `metricfit.trust.by_folds`.
    randomize : {"hash", "draw", "never"}, default="hash"
        How `predict` picks one rule of the policy's mixture for a row, see `Policy.decide`.
    tol : float, default=1e-4
        Stop when value and bound are this close.
    max_calls, max_seconds : optional
        Budgets of the solver.
    n_jobs : int, optional
        Folds fitted at the same time, and threads of the solver; -1 for all cores.
    random_state : int, RandomState or None, default=None
        Seed of methods that draw, and of `predict`. It is not handed to the base classifier.
    verbose : int, default=0
        Print a line per iteration of the solver to standard error.
    keep_proba : bool, default=False
        Keep the probabilities that decisions were tuned on, as `tuned_on_`.

    Attributes
    ----------
    result_ : Result
        Value, bound, constraints with prices, and history, on the rows that decisions were tuned on.
    policy_ : Policy or ModelPolicy
        The decision rule, which can be saved. A `Policy` is used without the model, a `ModelPolicy` holds its models.
    estimator_ : classifier
        The base classifier, fitted on all rows. With ``blind`` a `JointModel`: the base classifier trained on pairs of
        cell and class, or on classes and on cells (of all rows, with a factor for each class, or of the rows of each
        class), whichever had the lowest log loss on held-out rows.
    tuned_on_ : OutOfFold
        With ``keep_proba``: ``rows`` and ``proba``, the rows of the data and their probabilities, each from a model
        that did not see the row (with ``cv=None`` or a frozen estimator from the one there is).
    classes_ : ndarray of shape (n,)
        The classes, in the order of the columns of `predict_proba`.
    n_features_in_ : int
        Number of features seen in `fit`, if the base classifier counts them.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`, if the base classifier keeps them.

    Notes
    -----
    Sample weights count in the tuning, and reach the base classifier where it takes them: directly, or as the
    last step of a pipeline. With scikit-learn's metadata routing on, it can decline them by
    ``set_fit_request(sample_weight=False)``.

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

    def __init__(
        self,
        estimator: Any,
        objective: ObjectiveLike = "g_mean",
        constraints: ConstraintLike | Iterable[ConstraintLike] = (),
        *,
        method: str | Method = "auto",
        confusion: Literal["labels", "calibrated", "model"] = "labels",
        oracle: Literal["plugin", "retrain"] = "plugin",
        cv: Any = 5,
        decisions: Iterable[object] | None = None,
        attributes: str | Iterable[str] | None = None,
        blind: bool = False,
        missing: Literal["error", "cell"] = "error",
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
        self.confusion = confusion
        self.oracle = oracle
        self.cv = cv
        self.decisions = decisions
        self.attributes = attributes
        self.blind = blind
        self.missing = missing
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

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> Self:
        """Fit the base classifier and the decisions.

        Parameters
        ----------
        X : array, sparse matrix or frame with N rows
            The features, as the base classifier takes them. A Dask array or data frame for a frozen
            estimator, whose probabilities are then computed where the blocks are.
        y : array-like of shape (N,)
            The labels.
        sensitive_features : frame or array-like of shape (N,), optional
            Attributes of each row. The policy may treat each combination of their values differently.
        sample_weight : array-like of shape (N,), optional
            Weights >= 0.

        Returns
        -------
        self

        Raises
        ------
        InfeasibleError
            When no policy keeps all constraints.

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
        seed = seed_of(self.random_state)
        fit = fit_blocks if is_dask(X) else fit_rows
        return self._kept(fit(self, X, y, sensitive_features, sample_weight, seed), seed)

    def _kept(self, fitted: Fitted, seed: int | None) -> Self:
        """Set everything that is fitted, at the end: a fit that fails leaves the object as it was."""
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
