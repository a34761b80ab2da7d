"""Policies of every kind that is exported, rows for them, and the languages that run what is exported."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from optional import optional

from metricfit.calibration import Calibration
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.policy import Policy, Rule

CLASSES = ("legit", "it's; DROP TABLE scores --", 'a "b" \\ c', "d`e")
CELLS = Cells(("region", "the 'age'"), (("north", 1), ("north", 2), ("so'uth", 1), ("back\\slash", 1)))
KNOTS = np.linspace(0.1, 0.9, 5)
CALIBRATIONS: dict[str, Callable[[int, int], Calibration | None]] = {
    "none": lambda cells, n: None,
    "bias": lambda cells, n: Calibration("bias", _numbers(cells, n)),
    "one bias": lambda cells, n: Calibration("bias", _numbers(1, n)),
    "temperature": lambda cells, n: Calibration("temperature", np.zeros((1, n)), steepness=[0.7]),
    "temperature_bias": lambda cells, n: Calibration(
        "temperature_bias", _numbers(cells, n), steepness=np.linspace(0.6, 1.4, cells)
    ),
    "vector": lambda cells, n: Calibration("vector", _numbers(1, n), np.linspace(0.5, 1.5, n)),
    "dirichlet": lambda cells, n: Calibration(
        "dirichlet", _numbers(cells, n), np.eye(n) + 0.1 * _numbers(n, n), floor=1e-4
    ),
    "isotonic": lambda cells, n: Calibration(
        "isotonic",
        _numbers(cells, n),
        curves=[(KNOTS, np.cumsum(np.abs(row)) + 0.05) for row in _numbers(n, 5)],
    ),
    "curves after bias": lambda cells, n: _curved(cells, n, Calibration("bias", _numbers(1, n))),
    "curves after dirichlet": lambda cells, n: _curved(
        1, n, Calibration("dirichlet", _numbers(1, n), np.eye(n) + 0.1 * _numbers(n, n), floor=1e-4)
    ),
}


def _curved(cells: int, n: int, before: Calibration) -> Calibration:
    curves = [(KNOTS, np.cumsum(np.abs(row)) + 0.05) for row in _numbers(n, 5)]
    return Calibration("curves", _numbers(cells, n), curves=curves, before=before)


def _numbers(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def make(
    layout: str, calibration: str = "none", decisions: Sequence[Any] = (), cells: Cells = CELLS
) -> Policy:
    """Return a policy with a mixture in every cell, whose second rule decides alone in the first cell."""
    axes = Axes(CLASSES, tuple(decisions), cells)
    shape = (2 if layout == "diagonal" else axes.n, axes.k)
    random = np.random.default_rng(0)
    rules = [
        [Rule(0.6, random.normal(size=shape)), Rule(0.4, random.normal(size=shape))] for _ in cells.values
    ]
    single = [1, *[0] * (len(cells) - 1)]
    return Policy(axes, layout, rules, single, CALIBRATIONS[calibration](len(cells), axes.n))


def rows(policy: Policy, size: int, seed: int = 0) -> tuple[Any, dict[str, list[Any]] | None]:
    """Return probabilities, some of them 0, 1 or equal, and attributes."""
    random = np.random.default_rng(seed)
    proba = random.dirichlet(np.full(policy.axes.n, 0.5), size)
    proba[: policy.axes.n] = np.eye(policy.axes.n)
    proba[policy.axes.n] = 1 / policy.axes.n
    cells = policy.axes.cells
    if not cells.names:
        return proba, None
    place = random.integers(0, len(cells), size)
    return proba, {name: [cells.values[a][column] for a in place] for column, name in enumerate(cells.names)}


def close_calls(policy: Policy, proba: Any, attributes: Any) -> Any:
    """Return which rows have two decisions whose scores under the single rule are equal up to rounding."""
    cell = policy.axes.cells.encode(attributes, len(proba))
    if policy.calibration is not None:
        proba = policy.calibration(proba, cell)
    rule = policy.deterministic
    scores = np.empty((len(proba), policy.axes.k))
    for a, (branch,) in enumerate(rule.branches):
        mine = cell == a
        scores[mine] = proba[mine] @ branch.scores.weights + branch.scores.constant
    if policy.axes.k == 1:
        return np.zeros(len(proba), dtype=bool)
    best = np.sort(scores, axis=1)
    return best[:, 1] - best[:, 0] <= 1e-12 * np.abs(scores).max()


# What runs the exported rule: a policy, rows and attributes to a list of decisions.


def by_python(policy: Policy, proba: Any, attributes: Any) -> list[Any]:
    module: dict[str, Any] = {}
    exec(compile(policy.to_python(), "exported.py", "exec"), module)
    given = [()] * len(proba) if attributes is None else zip(*attributes.values(), strict=True)
    return [module["decide"](p, values) for p, values in zip(proba.tolist(), given, strict=True)]


def columns(policy: Policy, proba: Any, attributes: Any) -> dict[str, list[Any]]:
    made: dict[str, list[Any]] = {"id": list(range(len(proba)))}
    made |= {f"p_{value}": proba[:, i].tolist() for i, value in enumerate(policy.axes.classes)}
    return made | (attributes or {})


def by_sqlite(policy: Policy, proba: Any, attributes: Any, **options: Any) -> list[Any]:
    table = columns(policy, proba, attributes)
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in table)
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute(f"CREATE TABLE scores ({names})")
        marks = ", ".join("?" * len(table))
        base.executemany(f"INSERT INTO scores VALUES ({marks})", zip(*table.values(), strict=True))
        found = base.execute(policy.to_sql("sqlite", keep=["id"], **options)).fetchall()
    return [decision for _, decision in sorted(found)]


def by_duckdb(policy: Policy, proba: Any, attributes: Any, **options: Any) -> list[Any]:
    duckdb = optional("duckdb")
    import pandas as pd

    base = duckdb.connect(":memory:")
    base.register("scores", pd.DataFrame(columns(policy, proba, attributes)))
    found = base.execute(policy.to_sql("duckdb", keep=["id"], **options)).fetchall()
    base.close()
    return [decision for _, decision in sorted(found)]


def by_onnx(policy: Policy, proba: Any, attributes: Any, dtype: str = "float64") -> list[Any]:
    return session(policy, proba, attributes, dtype)[0].tolist()


def session(policy: Policy, proba: Any, attributes: Any, dtype: str = "float64") -> list[Any]:
    onnxruntime = optional("onnxruntime")

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    model = policy.to_onnx(dtype=dtype).SerializeToString()
    run = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    given = {"probabilities": proba.astype(dtype)}
    for name, values in (attributes or {}).items():
        array = np.array(values)
        given[name] = array.astype(object) if array.dtype.kind == "U" else array
    return run.run(["decision", "decision_index"], given)


RUNNERS = {"python": by_python, "sqlite": by_sqlite, "duckdb": by_duckdb, "onnx": by_onnx}
