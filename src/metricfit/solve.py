"""`optimize`: from probabilities, labels and a problem to a result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, cast

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.data.layout import expand
from metricfit.methods import Iterate, Method, Outcome, Record, Walk, choose, run
from metricfit.methods.master.head_start import head_start
from metricfit.options import check_extras, check_options, threads
from metricfit.oracles import Oracle, Vertex
from metricfit.oracles.choice import oracle_for
from metricfit.oracles.retrain import constant
from metricfit.policy import Policy, Rule
from metricfit.policy.models import ModelPolicy
from metricfit.problem import ConstraintLike, ObjectiveLike, Problem, Program
from metricfit.result import ConstraintRecord, Result
from metricfit.types import FloatArray, IntArray


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
    confusion: Literal["labels", "model"] = "labels",
    oracle: Literal["plugin"] | Oracle = "plugin",
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
    confusion : {"labels", "model"}
        Count labels, or trust the probabilities as soft labels. With the latter the bound is a proof.
    oracle : "plugin" or an oracle
        How a linear loss is minimised; an oracle of your own, or a `RetrainOracle`, has the labels and weights of
        these rows.
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
    check_extras(random_state, callback, verbose)
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
    )
    if not isinstance(oracle, str):
        _check_same_rows(oracle, plugin)
    asked = plugin if isinstance(oracle, str) else oracle
    return solve(problem, asked, method, tol, max_calls, max_seconds, random_state, start, callback, verbose)


def _check_same_rows(oracle: Oracle, given: Oracle) -> None:
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


def solve(
    problem: Problem,
    oracle: Oracle,
    method: str | Method = "auto",
    tol: float = 1e-4,
    max_calls: int | None = None,
    max_seconds: float | None = None,
    random_state: int | None = None,
    start: Result | Policy | None = None,
    callback: Callable[[Record], object] | None = None,
    verbose: int = 0,
) -> Result:
    """Solve a problem with an oracle and put the answer into natural signs."""
    program = problem.bind(oracle.axes, oracle.margins)
    for limit in program.limits:
        limit.refuse_if_empty()
    chosen = choose(method, program)
    walk = Walk(
        program,
        oracle,
        tol,
        chosen.calls(program) if max_calls is None else max_calls,
        np.inf if max_seconds is None else max_seconds,
        random_state,
    )
    walk.ask_all(_start_losses(start, program))
    if chosen.head_start:
        head_start(program, walk, chosen)
    outcome = run(chosen, program, walk, callback, verbose)
    policy, weights, u = _policy(program, walk, outcome.best)
    tensor = _tensor(walk, weights, program)
    known = bool(np.isfinite(outcome.bound))
    value = program.value(u)
    return Result(
        policy=cast(Policy, policy),  # a ModelPolicy has the same interface, on features
        confusion=Confusion(tensor / tensor.sum(), program.axes),
        value=program.sign * value + 0.0,
        bound=program.sign * outcome.bound + 0.0,
        gap=max(value - outcome.bound, 0.0) if known else float("inf"),
        certified=oracle.exact and known,
        status=outcome.status,
        constraints=_records(program, outcome, u),
        history=outcome.history,
        n_oracle_calls=walk.calls,
        seconds=walk.seconds,
        method=chosen.name,
        problem=str(problem),
    )


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
    single = _single(program, walk, weights)
    used = [np.flatnonzero(row) for row in weights]
    places = [int(np.flatnonzero(mixture == one)[0]) for mixture, one in zip(used, single, strict=True)]
    u = program.vector(_mixed(walk.vertices, weights))
    if any(vertex.rule is not None for vertex in walk.vertices):
        return _model_policy(program, walk, weights, used, places), weights, u
    rules = tuple(
        tuple(Rule(float(weights[a, t]), walk.vertices[t].loss[a]) for t in mixture)
        for a, mixture in enumerate(used)
    )
    return Policy(program.axes, program.layout, rules, tuple(places)), weights, u


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


def _single(program: Program, walk: Walk, weights: FloatArray) -> FloatArray:
    """Choose one rule for each cell: the heaviest, then the best exchange of one cell's rule at a time.

    Constraints come first, then the objective, so that ``randomize="never"`` stays as close as one rule per
    cell can.
    """
    chosen = weights.argmax(axis=1)
    shares = [_shares(program, walk, a, np.flatnonzero(row)) for a, row in enumerate(weights)]

    def rank(u: FloatArray) -> tuple[float, float]:
        return max(program.excess(u), 0.0), program.value(u)

    u = program.constant + sum(shares[a][int(t)] for a, t in enumerate(chosen))
    best = rank(u)
    for _ in range(3):
        changed = False
        for a in range(chosen.size):
            for t in np.flatnonzero(weights[a]):
                candidate = u - shares[a][int(chosen[a])] + shares[a][int(t)]
                if rank(candidate) < best:
                    u, best, chosen[a], changed = candidate, rank(candidate), t, True
        if not changed:
            break
    return chosen


def _shares(program: Program, walk: Walk, cell: int, places: IntArray) -> dict[int, FloatArray]:
    """Return what each of some vertices adds to u in one cell."""
    size = walk.vertices[0].statistic[0].size
    counted = np.stack([walk.vertices[t].statistic[cell].ravel() for t in places], axis=1)
    added = program.matrix[:, cell * size : (cell + 1) * size] @ counted
    return dict(zip(places.tolist(), added.T, strict=True))


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
