"""A policy's deterministic rule as an ONNX model, in double precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from metricfit.calibration import Calibration
from metricfit.data.validation import SUM_TOLERANCE
from metricfit.messages import some
from metricfit.policy.export.rule import (
    DeterministicRule,
    ScoreFunctions,
    factors_of,
    in_64_bits,
    segments,
    stages,
)
from metricfit.types import FloatArray, IntArray, Label

# Old enough for the runtimes in use; ArgMin picks the last of equal scores since operator set 12.
OPSET, ML_OPSET, IR_VERSION = 17, 2, 8
PROBABILITIES, DECISION, INDEX = "probabilities", "decision", "decision_index"


def model(rule: DeterministicRule, *, dtype: str = "float64") -> Any:
    """Return the model; see `Policy.to_onnx`."""
    if dtype not in ("float64", "float32"):
        raise ValueError(
            f"dtype must be 'float64' or 'float32', the type of the probabilities; got {dtype!r}"
        )
    reserved = [name for name in rule.attributes if name in (PROBABILITIES, DECISION, INDEX)]
    if reserved:
        raise ValueError(
            f"an attribute is called {reserved[0]!r}, which is the name of another input or output"
        )
    graph = _Graph()
    given = graph.input(PROBABILITIES, dtype, [None, rule.n])
    proba = graph.add("Cast", given, to=graph.type_of("float64")) if dtype == "float32" else given
    cell, known = _cells(graph, rule)
    valid = _valid(graph, proba)
    best = _best(graph, rule, proba, cell)
    if known is not None and rule.otherwise is not None:
        best = graph.add("Where", known, best, _best(graph, rule.otherwise, proba, None))
        known = None
    known = valid if known is None else graph.add("And", known, valid)
    graph.add("Where", known, best, graph.constant(np.int64(-1)), name=INDEX)
    # The label after the last one is that of rows without a decision.
    labels = _labels(rule)
    last = graph.constant(np.int64(rule.k))
    graph.add("Gather", graph.constant(labels), graph.add("Where", known, best, last), name=DECISION)
    kind = "string" if labels.dtype == object else str(labels.dtype)
    return graph.model({DECISION: kind, INDEX: "int64"}, rule.about)


class _Graph:
    """The nodes of a model, added one after the other."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError:
            raise ValueError(
                'export to ONNX needs the package onnx: pip install ".[onnx]" in a clone'
            ) from None
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.constants: list[Any] = []

    def type_of(self, name: str) -> int:
        """Return the number by which ONNX knows a type."""
        names = {
            "float64": "DOUBLE",
            "float32": "FLOAT",
            "int64": "INT64",
            "string": "STRING",
            "bool": "BOOL",
        }
        return int(getattr(self.onnx.TensorProto, names[name]))

    def input(self, name: str, kind: str, shape: Sequence[int | None]) -> str:
        """Add an input and return its name."""
        rows = ["rows" if size is None else size for size in shape]
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, self.type_of(kind), rows))
        return name

    def constant(self, value: Any) -> str:
        """Add a constant array and return its name."""
        array, name = np.asarray(value), f"constant_{len(self.constants)}"
        if array.dtype == object:
            data = [text.encode() for text in array.ravel().tolist()]
            made = self.onnx.helper.make_tensor(name, self.type_of("string"), array.shape, data)
        else:
            made = self.onnx.numpy_helper.from_array(array, name)
        self.constants.append(made)
        return name

    def add(self, operator: str, *inputs: str, name: str = "", domain: str = "", **settings: Any) -> str:
        """Add a node and return the name of its output."""
        name = name or f"{operator}_{len(self.nodes)}"
        node = self.onnx.helper.make_node(operator, list(inputs), [name], name, domain=domain, **settings)
        self.nodes.append(node)
        return name

    def gather(self, table: Any, place: str | None) -> str:
        """Return each row's entry of a table; the table's only entry if ``place`` is None."""
        return self.constant(table) if place is None else self.add("Gather", self.constant(table), place)

    def model(self, outputs: dict[str, str], about: Sequence[str]) -> Any:
        """Return the checked model; ``about`` is kept in its metadata."""
        helper = self.onnx.helper
        made = [
            helper.make_tensor_value_info(name, self.type_of(kind), ["rows"])
            for name, kind in outputs.items()
        ]
        graph = helper.make_graph(self.nodes, "metricfit", self.inputs, made, self.constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        whole = helper.make_model(
            graph, opset_imports=opsets, producer_name="metricfit", ir_version=IR_VERSION
        )
        if about:
            helper.set_model_props(whole, {"about": "\n".join(about)})
        self.onnx.checker.check_model(whole, full_check=True)
        return whole


def _best(graph: _Graph, rule: DeterministicRule, proba: str, cell: str | None) -> str:
    """Return the index of each row's decision."""
    calibrated = _calibrated(graph, rule, proba, cell)
    every = [branch.scores for branches in rule.branches for branch in branches]
    scores = _linear(graph, calibrated, every, _branch_of(graph, rule, calibrated, cell))
    return graph.add("ArgMin", scores, axis=1, keepdims=0, select_last_index=1)


def _cells(graph: _Graph, rule: DeterministicRule) -> tuple[str | None, str | None]:
    """Return each row's cell and whether there is one; None and None if there are no attributes."""
    same: str | None = None
    for position, name in enumerate(rule.attributes):
        values = [cell[position] for cell in rule.cells]
        equal = graph.add("Equal", *_comparable(graph, name, values))
        same = equal if same is None else graph.add("And", same, equal)
    if same is None:
        return None, None
    flags = graph.add("Cast", same, to=graph.type_of("int64"))
    cell = graph.add("ArgMax", flags, axis=1, keepdims=0)
    seen = graph.add("ReduceMax", flags, axes=[1], keepdims=0)
    return cell, graph.add("Cast", seen, to=graph.type_of("bool"))


def _comparable(graph: _Graph, name: str, values: list[Label]) -> tuple[str, str]:
    """Return an attribute as a column, and its value in each cell as a row, so that they can be compared."""
    kinds = {
        str if isinstance(value, str) else float if isinstance(value, float) else int for value in values
    }
    if kinds == {str}:
        given, codes = (
            graph.input(name, "string", [None]),
            {value: i for i, value in enumerate(dict.fromkeys(values))},
        )
        settings: dict[str, Any] = {
            "keys_strings": list(codes),
            "values_int64s": list(codes.values()),
            "default_int64": -1,
        }
        column = graph.add("LabelEncoder", given, domain="ai.onnx.ml", **settings)
        row: IntArray | FloatArray = np.array([[codes[value] for value in values]], dtype=np.int64)
    elif str in kinds:
        raise ValueError(
            f"attribute {name!r} has texts and numbers ({some(dict.fromkeys(values))}), and an input of an ONNX model "
            f"has one type; fit with values of one type"
        )
    elif all(isinstance(value, bool) for value in values):
        column = graph.add("Cast", graph.input(name, "bool", [None]), to=graph.type_of("int64"))
        row = np.array([values], dtype=np.int64)
    else:
        kind = "float64" if float in kinds else "int64"
        row = np.array([[in_64_bits(value) for value in values]], dtype=kind)
        column = graph.input(name, kind, [None])
    return graph.add("Unsqueeze", column, graph.constant(np.array([1]))), graph.constant(row)


def _valid(graph: _Graph, proba: str) -> str:
    """Return whether rows are probabilities: not negative, and with a sum of 1, which NaN fails."""
    zero, one, near = (graph.constant(np.float64(value)) for value in (0.0, 1.0, SUM_TOLERANCE))
    low = graph.add("ReduceMin", proba, axes=[1], keepdims=0)
    total = graph.add("ReduceSum", proba, graph.constant(np.array([1])), keepdims=0)
    off = graph.add("Abs", graph.add("Sub", total, one))
    return graph.add("And", graph.add("GreaterOrEqual", low, zero), graph.add("LessOrEqual", off, near))


def _calibrated(graph: _Graph, rule: DeterministicRule, proba: str, cell: str | None) -> str:
    for made in stages(rule.calibration):
        proba = _stage(graph, made, proba, cell)
    return proba


def _stage(graph: _Graph, made: Calibration, proba: str, cell: str | None) -> str:
    factors = factors_of(made)

    def of_cell(values: FloatArray) -> str:
        return graph.gather(values, cell if len(values) > 1 else None)

    def lifted() -> str:
        return graph.add("Max", proba, graph.constant(np.float64(made.floor)))

    if factors is None:
        logs = graph.add("Log", lifted())
        if made.matrix is not None:
            operator = "MatMul" if made.matrix.ndim == 2 else "Mul"
            logs = graph.add(operator, logs, graph.constant(made.matrix.T))
        logits = graph.add("Mul", logs, of_cell(made.steepness[:, None]))
        return graph.add("Softmax", graph.add("Add", logits, of_cell(made.bias)), axis=1)
    height = lifted() if made.curves is None else _curves(graph, proba, made.curves)
    raised = graph.add("Mul", height, of_cell(factors))
    total = graph.add("ReduceSum", raised, graph.constant(np.array([1])), keepdims=1)
    return graph.add("Div", raised, total)


def _curves(graph: _Graph, proba: str, curves: Sequence[tuple[FloatArray, FloatArray]]) -> str:
    columns = []
    for i, (x, y) in enumerate(curves):
        column = graph.add("Gather", proba, graph.constant(np.array([i])), axis=1)
        passed = graph.add("GreaterOrEqual", column, graph.constant(x[None, :]))
        counts = graph.add("Cast", passed, to=graph.type_of("int64"))
        piece = graph.add("ReduceSum", counts, graph.constant(np.array([1])), keepdims=1)
        slope, start, height = (graph.gather(part, piece) for part in segments(x, y))
        run = graph.add("Mul", slope, graph.add("Sub", column, start))
        columns.append(graph.add("Add", run, height))
    return graph.add("Concat", *columns, axis=1)


def _branch_of(graph: _Graph, rule: DeterministicRule, proba: str, cell: str | None) -> str | None:
    """Return the place of each row's branch among those of all cells; None if there is only one branch."""
    sizes = [len(branches) for branches in rule.branches]
    start = np.cumsum([0, *sizes[:-1]])
    if max(sizes) == 1:
        return cell
    rank = graph.constant(np.full(1, max(sizes) - 1))
    for r in reversed(range(max(sizes) - 1)):
        # A cell with fewer branches gets its last one by a test that always holds.
        tests = [branches[min(r, len(branches) - 1)] for branches in rule.branches]
        value = _linear(graph, proba, [branch.test or _nothing(rule) for branch in tests], cell)
        limits = np.array([[np.inf if branch.test is None else branch.limit] for branch in tests])
        holds = graph.add("LessOrEqual", value, graph.gather(limits, cell))
        flat = graph.add("Squeeze", holds, graph.constant(np.array([1])))
        rank = graph.add("Where", flat, graph.constant(np.int64(r)), rank)
    return graph.add("Add", rank, graph.gather(start, cell))


def _nothing(rule: DeterministicRule) -> ScoreFunctions:
    return ScoreFunctions(np.zeros((rule.n, 1)), np.zeros(1))


def _linear(graph: _Graph, proba: str, functions: Sequence[ScoreFunctions], place: str | None) -> str:
    """Return each row's linear functions, (rows, columns), by the place of its functions in the list.

    Products are added class by class, as `Policy.decide` does: the order in which MatMul adds depends on shape and
    machine, and with it the decision of a row with nearly equal scores.
    """
    weights = np.array([each.weights for each in functions])  # (functions, n, columns)
    constant = np.array([each.constant for each in functions])
    used = (weights != 0).any(axis=0)
    if weights.shape[2] > 1 and used.sum(axis=0).max() <= 1:  # a product and a constant for each column
        classes, columns = used.argmax(axis=0), np.arange(weights.shape[2])
        mine = graph.add("Gather", proba, graph.constant(classes), axis=1)
        total = graph.add("Mul", mine, graph.gather(weights[:, classes, columns], place))
    else:
        total = ""
        for i in range(weights.shape[1]):
            column = graph.add("Gather", proba, graph.constant(np.array([i])), axis=1)
            product = graph.add("Mul", column, graph.gather(weights[:, i], place))
            total = product if not total else graph.add("Add", total, product)
    return graph.add("Add", total, graph.gather(constant, place)) if constant.any() else total


def _labels(rule: DeterministicRule) -> Any:
    """Return the decisions and the label of rows without one, as an array of numbers, or of texts as objects."""
    kind = rule.one_label_type
    if kind is float:
        return np.array([*rule.decisions, np.nan])
    if kind in (int, bool):
        return np.array([*map(in_64_bits, rule.decisions), np.iinfo(np.int64).min], dtype=np.int64)
    return np.array([*rule.texts, ""], dtype=object)
