"""`optimize`: from probabilities, labels and a problem to a result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Literal, cast

import numpy as np

import metricfit
from metricfit.data.cells import UNSEEN_RULES
from metricfit.data.confusion import Axes, Cells, Confusion
from metricfit.data.layout import expand
from metricfit.data.rows import Rows
from metricfit.groups import groups_of, warn_of_few_rows
from metricfit.messages import unknown
from metricfit.methods import Iterate, Method, Outcome, Record, Walk, choose, run
from metricfit.methods.base import Budget
from metricfit.metrics import Constraint
from metricfit.options import Options, check_options, threads
from metricfit.oracles import Oracle, PluginOracle, Vertex
from metricfit.oracles.base import Confusion as Kind
from metricfit.oracles.base import OracleBase, adapted
from metricfit.oracles.choice import oracle_for
from metricfit.oracles.retrain import constant
from metricfit.policy import Policy, Rule
from metricfit.policy.derandomise import deterministic
from metricfit.policy.models import ModelPolicy
from metricfit.problem import ConstraintLike, ObjectiveLike, Problem, Program
from metricfit.result import Calibrated, ConstraintRecord, Deterministic, Origin, Result
from metricfit.trust.confidence import check_confidence, confirm, kept_apart
from metricfit.trust.disagreement import warn_if_labels_disagree, warn_if_refuted
from metricfit.trust.expected import expected
from metricfit.trust.judgement import Judgement, evidence, judge
from metricfit.trust.plain import plain_rule
from metricfit.types import FloatArray
from metricfit.unseen import with_overall

DEFAULTS = Options()


def optimize(
    proba: Any,
    y: Any,
    objective: ObjectiveLike,
    constraints: ConstraintLike | Iterable[ConstraintLike] = (),
    *,
    classes: Iterable[object] | None = None,
    decisions: Iterable[object] | None = None,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    method: str | Method = "auto",
    confusion: Kind = "labels",
    oracle: Literal["plugin"] | Oracle = "plugin",
    blind: bool = False,
    missing: Literal["error", "cell"] = "error",
    unseen: Literal["error", "overall"] = "error",
    expect: bool = False,
    confidence: float | None = None,
    tol: float = 1e-4,
    max_calls: int | None = None,
    max_seconds: float | None = None,
    n_jobs: int | None = None,
    random_state: int | None = None,
    start: Result | Policy | None = None,
    callback: Callable[[Record], object] | None = None,
    verbose: int = 0,
) -> Result:
    """Find the best decision rule for a metric under constraints, from predicted class probabilities.

    Parameters
    ----------
    proba : array of shape (N, n)
        Class probabilities, float32 or float64; anything else is copied. Best from rows the model was not
        trained on.
    y : array of shape (N,)
        Labels.
    objective : Metric, str or callable
        What to optimise: a metric, its name, its text, or a function of the n x k confusion matrix (higher is
        better).
    constraints : list of Constraint or str
        What to keep, for example ``[mf.precision("fraud") >= 0.9]``.
    classes : list, optional
        Labels of the columns; 0..n-1 when ``y`` is integer, else the sorted labels.
    decisions : list, optional
        Labels of the decisions, by default the classes; others, such as ``"review"``, are decisions that are
        no class.
    sensitive_features : frame or array, optional
        Attributes of each row. The policy may treat each combination of their values differently.
    sample_weight : array of shape (N,), optional
        Weights >= 0.
    method : str or Method
        ``"auto"``, or the name of a method.
    confusion : {"labels", "calibrated", "model"}, default="labels"
        Count labels; or calibrate the probabilities on them and count these as soft labels; or trust the probabilities
        as they are. With soft labels the bound is a proof, given that the probabilities are right.
    oracle : "plugin" or an oracle
        How a linear loss is minimised; an oracle of your own, or a `RetrainOracle`, has the labels and weights of
        these rows.
    blind : bool
        Whether the policy must not see the attributes. Constraints are on groups all the same, so ``proba`` must be
        the probabilities of each cell and class together, P(cell, class | x), of shape (N, cells, classes): cells are
        the observed combinations of attribute values, sorted. Decisions on new rows need these probabilities only.
    missing : {"error", "cell"}
        Refuse rows that lack an attribute, or give them a cell of their own, with the value ``"(missing)"``.
    unseen : {"error", "overall"}
        What the policy does with rows of attribute values that are not there now: refuse them, or decide them by the
        rule that is best for all rows together, under the constraints that need no attributes.
    expect : bool
        Also find out what to expect on new rows, `Result.expected`: the fit is done again on the other rows of each of
        three folds, which takes about as long as one or two more solves.
    confidence : float, optional
        0.95: all constraints together hold on the population with this confidence. Half of the rows are kept from the
        fit and test it, see `Result.confidence`; 0.5 is neither too bold nor too cautious.
    tol : float
        Stop when value and bound are this close.
    max_calls, max_seconds : optional
        Budgets of oracle calls and time; the best found so far is returned.
    n_jobs : int, optional
        Threads of the plug-in oracle; -1 for all cores.
    random_state : int, optional
        Seed of the methods that draw.
    start : Result or Policy, optional
        Rules to start from, for example of a similar problem.
    callback : callable, optional
        Called with each `Record`; anything true that it returns stops the search.
    verbose : int
        Print a line per iteration to standard error.

    Returns
    -------
    Result

    Raises
    ------
    InfeasibleError
        When no policy keeps all constraints.

    Examples
    --------
    >>> import numpy as np
    >>> import metricfit as mf
    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> result = mf.optimize(proba, [0, 0, 1, 1], "g_mean")
    >>> result.value, result.policy.decide(proba).tolist()
    (1.0, [0, 0, 1, 1])
    """
    problem = Problem.of(objective, constraints)
    check_options(tol, max_calls, max_seconds, confusion)
    check_confidence(confidence)
    if unseen not in UNSEEN_RULES:
        raise ValueError(unknown("unseen", unseen, UNSEEN_RULES))
    options = Options(method, tol, max_calls, max_seconds, random_state, start, callback, verbose)
    if oracle != "plugin" if isinstance(oracle, str) else not isinstance(oracle, Oracle):
        raise ValueError(
            "oracle must be 'plugin' or an object with axes, margins, exact, a call and confusion, got "
            f"{oracle!r}"
        )
    plugin = oracle_for(
        proba,
        y,
        classes=classes,
        decisions=decisions,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        confusion=confusion,
        threads=threads(n_jobs),
        blind=blind,
        missing=missing,
    )
    asked = plugin if isinstance(oracle, str) else adapted(oracle)
    if asked is not plugin:
        _check_same_rows(asked, plugin)
    if confidence is None:
        result = solve(problem, asked, options)
        result = with_expected(problem, asked, result, options) if expect else result
    else:
        if not isinstance(asked, PluginOracle):
            raise ValueError(
                "confidence needs rows in memory, of which some are kept from the fit; pass arrays, or a part of the "
                "rows"
            )
        kept = kept_apart(asked.rows.labels, asked.rows.cells, 2, random_state or 0)
        tuning, apart = (asked.rows.take(np.flatnonzero(which)) for which in (~kept, kept))
        result = confirmed(problem, asked.on(tuning), apart, confidence, options)
    if isinstance(plugin, PluginOracle) and plugin.axes.seen.cells.names:
        groups = groups_of(problem, plugin)
        warn_of_few_rows(groups, result.confusion)
        result = replace(result, groups=groups)
    if unseen == "error" or blind:
        return result

    def again(limits: Iterable[Constraint], same: dict[str, str]) -> Result:
        """Solve for all rows together, as if they were one group."""
        if not isinstance(plugin, PluginOracle):
            raise ValueError("unseen='overall' needs rows in memory; use unseen='error'")
        alike = Axes(plugin.axes.classes, plugin.axes.decisions, Cells(tuple(same), (tuple(same.values()),)))
        rows = replace(plugin.rows, axes=alike, cells=None)
        limited = Problem(problem.objective, tuple(limits))
        return solve(limited, plugin.on(rows), replace(options, start=None, callback=None, verbose=0))

    return with_overall(result, problem, again)


def confirmed(
    problem: Problem, oracle: PluginOracle, kept: Rows, level: float, options: Options = DEFAULTS
) -> Result:
    """Return the result of the boldest policy on the oracle's rows whose constraints the kept rows confirm."""

    def refit(asked: Problem, start: Any) -> Result:
        again = replace(options, start=start, callback=None, verbose=0, derandomise=False)
        return solve(asked, oracle, again)

    result, solved, confidence = confirm(problem, oracle.rows, kept, level, refit)
    result = _derandomised(solved, oracle, result)
    records = tuple(
        replace(
            record,
            name=str(c),
            limit=c.limit,
            violation=(c.limit - record.value) * (1 if c.sense == ">=" else -1) + 0.0,
        )
        for record, c in zip(result.constraints, problem.constraints, strict=True)
    )
    judged = judge(
        problem, evidence(result.policy, kept), len(kept), f"judged by {len(kept):,} rows kept apart"
    )
    made = replace(result, constraints=records, problem=str(problem), confidence=confidence, expected=judged)
    if made.origin is not None:  # solved with limits that leave room
        made = replace(made, origin=replace(made.origin, problem=problem))
    named = provenance_of(problem, oracle, made)
    return made.with_provenance(**named, confidence=level, kept=len(kept), **judged.provenance())


def with_expected(
    problem: Problem,
    oracle: OracleBase,
    result: Result,
    options: Options = DEFAULTS,
    callback: Callable[[Record], object] | None = None,
) -> Result:
    """Return a result with what to expect on new rows; the oracle is the one that it was solved with.

    Data that is not in memory is judged by the sample of it that the oracle keeps. The callback of the options is for
    the solve itself; ``callback`` is called after each step in a fold, and may raise to give up.
    """
    rows = _rows_of(oracle)
    if isinstance(result.policy, ModelPolicy) or rows is None:
        why = "not judged: an oracle of your own, or one that retrains, has no rows to deal to folds"
        return replace(result, expected_note=why)
    kind: Kind = "calibrated" if oracle.calibrates else "model" if oracle.exact else "labels"
    seconds = None if options.max_seconds is None else options.max_seconds / 2
    # The rules that were found on all rows are where to start from, so few calls are needed.
    again = replace(options, start=result, max_seconds=seconds, random_state=0, callback=callback, verbose=0)
    again = replace(again, derandomise=False)

    def refit(some: Rows) -> Policy:
        return solve(problem, PluginOracle(some, kind, oracle.threads), again).policy

    note = "" if len(rows) == oracle.n_rows else f"judged by a sample of {len(rows):,} rows"
    found = expected(problem, rows, refit, note=note)
    why = "" if found is not None else "in no fold does a policy keep all constraints"
    made = replace(result, expected=found, expected_note=why)
    return made if found is None else made.with_provenance(**found.provenance())


def _check_same_rows(oracle: OracleBase, given: OracleBase) -> None:
    """Raise if an oracle counts labels of other rows than those given. Soft labels may be any."""
    if oracle.exact or given.exact:
        return
    if oracle.axes.classes != given.axes.classes:
        raise ValueError(
            f"oracle: its classes are {list(oracle.axes.classes)}, those of y are {list(given.axes.classes)}; give "
            "both the same y and classes"
        )
    shares, expected = oracle.margins.sum(axis=0), given.margins.sum(axis=0)
    worst = int(np.abs(shares - expected).argmax())
    if abs(shares[worst] - expected[worst]) > 1e-6:
        raise ValueError(
            f"oracle: class {oracle.axes.classes[worst]!r} has {shares[worst]:.6g} of its weight, but "
            f"{expected[worst]:.6g} of that of y; give both the same y and sample_weight"
        )


def solve(problem: Problem, oracle: Oracle, options: Options = DEFAULTS) -> Result:
    """Solve a problem with an oracle and put the answer into natural signs: the one door of `optimize` and all others.

    Parameters
    ----------
    problem : Problem
        Objective and constraints.
    oracle : Oracle
        Counts the rows; a `metricfit.oracles.PluginOracle`, or one of your own.
    options : Options
        Method, tolerance, budgets, seed, start, callback, verbosity.

    Returns
    -------
    Result

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.oracles import PluginOracle, Rows
    >>> rows = Rows.of(np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]]), [0, 0, 1, 1])
    >>> solve(Problem.of("g_mean"), PluginOracle(rows)).value
    1.0
    """
    given = adapted(oracle)
    program = problem.bind(given.axes, given.margins)
    for limit in program.limits:
        limit.refuse_if_empty()
    chosen = choose(options.method, program, guided=not given.exact and given.soft() is not None)
    asked = given
    if given.calibrates or (chosen.calibrates and not given.exact):
        asked = given.calibrated() or given
    elif given.exact:
        warn_if_refuted(given)
    program = problem.bind(asked.axes, asked.margins)
    budget = Budget(
        chosen.calls(program) if options.max_calls is None else options.max_calls,
        np.inf if options.max_seconds is None else options.max_seconds,
    )
    walk = Walk(program, asked, options.tol, budget, options.random_state)
    walk.ask_all(_start_losses(options.start, program))
    outcome = run(chosen, program, walk, options.callback, options.verbose)
    policy, weights, u = _policy(program, walk, outcome.best)
    alone = None
    if asked is not given and not asked.exact and isinstance(policy, Policy):
        plain = plain_rule(problem, given, walk, policy, u)
        if plain is not None:
            walk, best = plain
            program = walk.program
            policy, weights, u = _policy(program, walk, best)
    if options.derandomise and isinstance(policy, Policy):
        policy, alone = _with_single(program, walk.oracle, policy)
    tensor = _tensor(walk, weights, program)
    known = bool(np.isfinite(outcome.bound))
    value = program.value(u)
    result = Result(
        policy=cast(Policy, policy),  # a ModelPolicy has the same interface, on features
        confusion=Confusion((tensor / tensor.sum()).reshape(program.axes.seen.shape), program.axes.seen),
        value=program.sign * value + 0.0,
        bound=program.sign * outcome.bound + 0.0,
        gap=max(value - outcome.bound, 0.0) if known else float("inf"),
        certified=given.exact and known,
        status=outcome.status,
        constraints=_records(program, outcome, u),
        history=outcome.history,
        n_oracle_calls=budget.calls,
        seconds=budget.seconds,
        method=chosen.name,
        problem=str(problem),
        calibration=asked.report,
        calibrated=None if walk.guide is None else Calibrated.of(program.sign, walk.guide),
        deterministic=None if alone is None else _alone(program, alone, value),
        origin=Origin(problem, given, asked, replace(options, start=None, callback=None, verbose=0)),
        _judge=judge_of(problem, given, policy),
    )
    if given.calibrates:
        warn_if_labels_disagree(result)
    return result.with_provenance(**provenance_of(problem, given, result))


def _rows_of(oracle: OracleBase) -> Rows | None:
    """Return the rows that a policy can be judged by: all of them in memory, else a sample; None if there are none."""
    return oracle.rows if isinstance(oracle, PluginOracle) else oracle.sample()


def judge_of(problem: Problem, oracle: OracleBase, policy: Any) -> Callable[[], Judgement | None] | None:
    """Return what judges a policy by counted labels when somebody asks; None where rows are not at hand."""
    if isinstance(policy, ModelPolicy) or oracle.n_rows is None:
        return None

    def judged() -> Judgement | None:
        rows = _rows_of(oracle)
        if rows is None:
            return None
        note = "" if len(rows) == oracle.n_rows else f"judged by a sample of {len(rows):,} rows"
        return judge(problem, evidence(policy, rows), len(rows), note)

    return judged


def provenance_of(problem: Problem, oracle: OracleBase, result: Result) -> dict[str, Any]:
    """Return what a policy file says of the solve that its policy comes from."""
    return {
        "objective": str(problem.objective),
        "direction": "maximize" if problem.sign < 0 else "minimize",
        "constraints": [str(constraint) for constraint in problem.constraints],
        "confusion": "calibrated" if oracle.calibrates else "model" if oracle.exact else "labels",
        "calibration": "none" if result.calibration is None else result.calibration.family,
        "method": result.method,
        "status": result.status,
        "rows": oracle.n_rows,
        "metricfit": metricfit.__version__,
        "alone": None
        if result.deterministic is None
        else [result.deterministic.value, *result.deterministic.constraints],
        "reached": [result.value, *(record.value for record in result.constraints)],
    }


def _start_losses(start: Result | Policy | None, program: Program) -> list[FloatArray]:
    """Return the rules to start from as losses of the problem's layout."""
    if start is None:
        return []
    policy = start.policy if isinstance(start, Result) else start
    if not isinstance(policy, Policy | ModelPolicy):
        raise ValueError(f"start must be a Result or a Policy, got {type(start).__name__}")
    if isinstance(policy, ModelPolicy):
        raise ValueError("start: a policy over retrained models cannot be restarted from; leave start out")
    return policy.losses_for(program.axes, program.layout)


def _policy(
    program: Program, walk: Walk, best: Iterate
) -> tuple[Policy | ModelPolicy, FloatArray, FloatArray]:
    """Return the mixture as a policy, with the weights (cells, vertices) and u that it really has."""
    cells, count = len(program.axes.cells), len(walk.vertices)
    weights = np.zeros((cells, count))
    weights[:, : best.weights.shape[-1]] = np.atleast_2d(best.weights)
    weights[weights < 1e-12] = 0.0
    weights /= weights.sum(axis=1, keepdims=True)
    used = [np.flatnonzero(row) for row in weights]
    u = program.vector(_mixed(walk.vertices, weights))
    if any(vertex.rule is not None for vertex in walk.vertices):
        heaviest = [int(np.argmax(weights[a, mixture])) for a, mixture in enumerate(used)]
        return _model_policy(program, walk, weights, used, heaviest), weights, u
    rules = tuple(
        tuple(Rule(float(weights[a, t]), walk.vertices[t].loss[a]) for t in mixture)
        for a, mixture in enumerate(used)
    )
    return Policy(program.axes, program.layout, rules, calibration=walk.oracle.calibration), weights, u


def _with_single(program: Program, oracle: OracleBase, policy: Policy) -> tuple[Policy, FloatArray | None]:
    """Return a policy with its rules that decide alone, without a weight where they are new, and their u."""
    sample = oracle.sample() if any(len(mixture) > 1 for mixture in policy.rules) else None
    if sample is None:
        return policy, None
    mixtures = [
        (np.array([rule.weight for rule in mixture]), np.array([rule.loss for rule in mixture]))
        for mixture in policy.rules
    ]
    alone, u = deterministic(program, sample, oracle.exact, mixtures)
    rules = tuple(
        (*mixture, Rule(0.0, loss)) if len(mixture) > 1 else mixture
        for mixture, loss in zip(policy.rules, alone, strict=True)
    )
    return replace(policy, rules=rules, single=tuple(len(mixture) - 1 for mixture in rules)), u


def _alone(program: Program, u: FloatArray, mixed: float) -> Deterministic:
    value = program.value(u)
    return Deterministic(
        program.sign * value + 0.0,
        value - mixed,
        tuple(limit.value(u) for limit in program.limits),
        max((limit.violation(u) for limit in program.limits), default=0.0),
    )


def _derandomised(problem: Problem, oracle: OracleBase, result: Result) -> Result:
    """Return a result whose policy has its rules alone, which were left out while policies were tried."""
    asked = oracle if result.policy.calibration is None else oracle.calibrated() or oracle
    program = problem.bind(asked.axes, asked.margins)
    policy, alone = _with_single(program, asked, result.policy)
    if alone is None:
        return result
    return replace(result, policy=policy, deterministic=_alone(program, alone, program.sign * result.value))


def _model_policy(
    program: Program, walk: Walk, weights: FloatArray, used: list[Any], places: list[int]
) -> ModelPolicy:
    """Return the mixture as a policy over the models that the vertices hold."""
    kept = np.flatnonzero(weights.any(axis=0))
    index = {int(t): m for m, t in enumerate(kept)}
    models = []
    for t in kept:
        vertex = walk.vertices[t]
        always = int(np.argmin(expand(vertex.loss, program.layout, program.axes)[0, 0]))
        models.append(constant(always) if vertex.rule is None else vertex.rule)
    mixtures = [[(float(weights[a, t]), index[int(t)]) for t in mixture] for a, mixture in enumerate(used)]
    return ModelPolicy(program.axes, models, mixtures, places)


def _mixed(vertices: list[Vertex], weights: FloatArray) -> FloatArray:
    total = np.zeros_like(vertices[0].statistic)
    for t in np.flatnonzero(weights.any(axis=0)):
        total += weights[:, t, None, None] * vertices[t].statistic
    return total


def _tensor(walk: Walk, weights: FloatArray, program: Program) -> FloatArray:
    used = np.flatnonzero(weights.any(axis=0))
    losses = np.stack([walk.vertices[t].loss for t in used])
    return walk.oracle.confusion(losses, weights[:, used], program.layout)


def _records(program: Program, outcome: Outcome, u: FloatArray) -> tuple[ConstraintRecord, ...]:
    records = []
    for k, limit in enumerate(program.limits):
        price = float("nan")
        if outcome.best.multipliers is not None and limit.node is not None:
            price = float(outcome.best.multipliers[k] @ limit.unit(u)) + 0.0
        constraint = limit.constraint
        records.append(
            ConstraintRecord(str(constraint), limit.value(u), constraint.limit, limit.violation(u), price)
        )
    return tuple(records)
