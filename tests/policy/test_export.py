"""What is exported decides as the policy does, and refuses what it refuses."""

from __future__ import annotations

import dataclasses
import math
import sqlite3
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from exported_rules import (
    CALIBRATIONS,
    CELLS,
    CLASSES,
    RUNNERS,
    by_duckdb,
    by_sqlite,
    close_calls,
    columns,
    make,
    rows,
    session,
)
from optional import needs, optional

from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.policy import Policy, Rule
from metricfit.policy.export import onnx_model, python_source, sql_query
from metricfit.policy.export.dialects import DIALECTS
from metricfit.policy.export.rule import Branch, DeterministicRule, ScoreFunctions

duckdb = optional("duckdb")
onnxruntime = optional("onnxruntime")
sqlglot = optional("sqlglot")
exp = optional("sqlglot.expressions")

SIZES = {"python": 3_000, "sqlite": 20_000, "duckdb": 20_000, "onnx": 100_000}


def decided(policy, proba, attributes):
    return policy.decide(proba, attributes, randomize="never").tolist()


@pytest.mark.parametrize("layout", ["full", "diagonal"])
@pytest.mark.parametrize("runner", RUNNERS)
def test_without_a_calibration_decisions_are_equal_ties_too(runner, layout):
    policy = make(layout, decisions=("review", *CLASSES))
    proba, attributes = rows(policy, SIZES[runner])
    assert RUNNERS[runner](policy, proba, attributes) == decided(policy, proba, attributes)


@pytest.mark.parametrize("calibration", [name for name in CALIBRATIONS if name != "none"])
@pytest.mark.parametrize("runner", RUNNERS)
def test_with_a_calibration_decisions_are_equal_but_for_rounding(runner, calibration):
    policy = make("diagonal" if calibration == "vector" else "full", calibration)
    proba, attributes = rows(policy, SIZES[runner])
    made = np.array(RUNNERS[runner](policy, proba, attributes))
    expected = np.array(decided(policy, proba, attributes))
    assert len(set(expected.tolist())) > 1
    assert (made == expected)[~close_calls(policy, proba, attributes)].all()
    assert (made == expected).mean() > 0.999


@pytest.mark.parametrize("runner", RUNNERS)
def test_of_equal_scores_the_last_decision_is_taken(runner):
    loss = [[1.0, 0.5, 0.5, 0.5, 0.7]] * 4
    policy = Policy(Axes(CLASSES, ("a", "b", "c", "d", "e")), "full", [[Rule(1, loss)]])
    proba, _ = rows(policy, 50)
    proba = np.round(proba * 8) / 8  # sums of these are exact
    proba[:, 0] += 1 - proba.sum(axis=1)
    proba = proba[(proba >= 0).all(axis=1)]
    assert RUNNERS[runner](policy, proba, None) == ["d"] * len(proba)


@pytest.mark.parametrize("decisions", [("one",), (0, 1, 2), (0.5, 1.5), (False, True), (0, 1, "review")])
@pytest.mark.parametrize("runner", RUNNERS)
def test_labels_of_every_type(runner, decisions):
    policy = make("full", decisions=decisions, cells=Cells())
    proba, _ = rows(policy, 200)
    mixed = len({type(d) for d in decisions}) > 1 and runner != "python"
    expected = [str(d) if mixed else d for d in decided(policy, proba, None)]
    assert RUNNERS[runner](policy, proba, None) == expected


@pytest.mark.parametrize("values", [(0, 1), (0.5, 2.0), (False, True)])
@pytest.mark.parametrize("runner", RUNNERS)
def test_attributes_of_every_type(runner, values):
    policy = make("full", "temperature_bias", cells=Cells(("g",), tuple((v,) for v in values)))
    proba, attributes = rows(policy, 500)
    assert RUNNERS[runner](policy, proba, attributes) == decided(policy, proba, attributes)


# Refusals: an error where the language has errors, NULL or -1 where it has none.

BAD = [[0.5, 0.5, 0.5, 0.0], [1.2, -0.2, 0.0, 0.0], [math.nan, 0.5, 0.5, 0.0]]


@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_rows_that_the_policy_refuses_get_no_decision(calibration):
    policy = make("diagonal" if calibration == "vector" else "full", calibration)
    proba, attributes = rows(policy, 40)
    proba[:3] = BAD
    attributes["region"][3] = "nowhere"
    attributes["region"][4], attributes["the 'age'"][4] = "so'uth", 2  # both are known, not together
    sound = {name: column[5:] for name, column in attributes.items()}
    expected = [*[None] * 5, *decided(policy, proba[5:], sound)]
    assert by_sqlite(policy, proba, attributes) == expected
    assert by_duckdb(policy, proba, attributes) == expected
    labels, index = session(policy, proba, attributes)
    assert index[:5].tolist() == [-1] * 5
    assert labels.tolist() == ["" if made is None else made for made in expected]


def test_missing_values_get_no_decision_in_sql():
    policy = make("diagonal")
    proba, attributes = rows(policy, 6)
    proba = proba.astype(object)
    proba[0, 1] = attributes["region"][1] = None
    for run in (by_sqlite, by_duckdb):
        assert [made is None for made in run(policy, proba, attributes)] == [True, True, *[False] * 4]


def test_the_python_module_refuses_with_reasons():
    module = {}
    exec(make("full").to_python(), module)
    decide, known = module["decide"], ("north", 1)
    for wrong in BAD:
        with pytest.raises(ValueError, match="at least 0 and sum to 1"):
            decide(wrong, known)
    with pytest.raises(ValueError, match="not seen in fit"):
        decide([0.25] * 4, ("nowhere", 1))
    with pytest.raises(ValueError, match="must be 4, one for each of"):
        decide([0.5, 0.5], known)
    with pytest.raises(ValueError, match=r"lack \['region'\]"):
        decide([0.25] * 4, {"the 'age'": 1})
    named = dict(zip(CLASSES, [0.1, 0.2, 0.3, 0.4], strict=True))
    by_name = decide(named, {"the 'age'": 1, "region": "north"})
    assert by_name == decide([0.1, 0.2, 0.3, 0.4], known)
    assert decide([0.1, 0.2, 0.3, 0.4], ("north", 1.0)) == by_name  # equal values are one value


def test_the_python_module_takes_no_attributes_as_the_policy_does():
    policy = Policy(Axes(("no", "yes")), "full", [[Rule(1, [[0, 1], [5, 0]])]])
    module = {}
    exec(policy.to_python(), module)
    for p in ([0.9, 0.1], [0.1, 0.9]):
        expected = policy.decide([p], None, "never")[0]
        assert module["decide"](p, None) == module["decide"](p) == module["decide"](p, ()) == expected
    exec(make("full").to_python(), module)
    with pytest.raises(ValueError, match=r"attributes must be 2, one for each of \('region', .*; got none"):
        module["decide"]([0.25] * 4, None)
    with pytest.raises(ValueError, match=r"probabilities must be 4, one for each of .*; got none"):
        module["decide"](None, ("north", 1))


def test_the_python_module_needs_the_standard_library_only(tmp_path):
    path = tmp_path / "rule.py"
    for calibration in CALIBRATIONS:
        path.write_text(make("full", calibration).to_python(), encoding="utf-8")
        program = "import sys; import rule; print(rule.decide([0.25] * 4, ('north', 1)) in rule.DECISIONS)"
        done = subprocess.run(
            [
                sys.executable,
                "-I",
                "-S",
                "-W",
                "error",
                "-c",
                f"import sys; sys.path.insert(0, '.'); {program}",
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr


# Names and texts are quoted in every dialect: read back by a parser they are what they were.


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_queries_are_one_statement_that_parsers_read(dialect, calibration):
    policy = make("full", calibration, decisions=("review", *CLASSES))
    table = ["my schema", "sco`r\"es' --"]
    text = policy.to_sql(dialect, table=table, keep=['i"d`'], decision="de'ci\"sion")
    (tree,) = sqlglot.parse(text, dialect=dialect)
    assert isinstance(tree, exp.Select)
    # The parser's word for PostgreSQL's E'...' is ByteString.
    texts = {
        node.this
        for node in tree.find_all(exp.Literal, exp.ByteString)
        if isinstance(node, exp.ByteString) or node.is_string
    }
    assert {"review", *CLASSES} <= texts
    assert {cell[0] for cell in CELLS.values} <= texts
    strange = {
        text for text in texts if not text.replace(".", "").replace("e", "").replace("-", "").isdigit()
    }
    assert strange == {"review", *CLASSES, *(cell[0] for cell in CELLS.values)}
    names = {node.name for node in tree.find_all(exp.Column) if node.args["this"].args.get("quoted")}
    assert names == {*(f"p_{value}" for value in CLASSES), *CELLS.names, 'i"d`'}
    tables = [node for node in tree.find_all(exp.Table) if node.db]
    assert [(node.db, node.name) for node in tables] == [tuple(table)]
    assert tree.named_selects == ['i"d`', "de'ci\"sion"]


def test_a_name_that_sqlite_does_not_know_is_an_error():
    policy = make("full", cells=Cells())
    proba, _ = rows(policy, 5)
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        by_sqlite(policy, proba, None, proba_prefix="q_")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("oracle",), "unknown dialect 'oracle'"),
        (("duckdb", {"keep": ["decision"]}), "keep names a column twice, or the column of the decisions"),
        (("duckdb", {"table": "a\nb"}), "control characters"),
        (("duckdb", {"table": ""}), "empty name"),
        (("duckdb", {"keep": "id"}), "keep must be a list of columns; got the string 'id'"),
    ],
)
def test_queries_that_cannot_be_written(arguments, words):
    dialect, *options = arguments
    with pytest.raises(ValueError, match=words):
        make("full").to_sql(dialect, **(options[0] if options else {}))


def alike(classes, cells=()):
    """Return a policy for these classes, with cells of one row each for the named attributes."""
    known = Cells(tuple(cells), (tuple("x" for _ in cells),) if cells else ((),))
    return Policy(Axes(classes, cells=known), "full", [[Rule(1, [[0, 1], [1, 0]])]])


@pytest.mark.parametrize(
    ("policy", "dialects"),
    [
        (alike((1, "1")), DIALECTS),
        (alike(("a", "A")), ("duckdb", "sqlite", "bigquery")),
        (alike(("a", "b"), ("sex", "Sex")), ("duckdb", "sqlite", "bigquery")),
        (alike(("a", "b"), ("p_a",)), DIALECTS),
    ],
)
def test_columns_that_a_dialect_takes_for_one_are_refused(policy, dialects):
    for dialect in DIALECTS:
        if dialect in dialects:
            with pytest.raises(ValueError, match=f"two have one column in {dialect}.*rename one"):
                policy.to_sql(dialect)
        else:
            assert "WITH metricfit_given AS" in policy.to_sql(dialect)


def test_numbers_beyond_64_bits_are_refused():
    policy = alike((2**64, 1))
    with pytest.raises(ValueError, match="18446744073709551616 does not fit into 64 bits; turn it into text"):
        policy.to_sql("duckdb")
    module = {}
    exec(policy.to_python(), module)
    assert module["decide"]([0.9, 0.1]) == 2**64


@needs("onnx")
def test_onnx_refuses_what_it_cannot_say():
    with pytest.raises(ValueError, match="does not fit into 64 bits"):
        alike((2**64, 1)).to_onnx()
    with pytest.raises(ValueError, match="'float64' or 'float32'"):
        make("full").to_onnx(dtype="float16")
    with pytest.raises(ValueError, match="texts and numbers"):
        make("full", cells=Cells(("g",), (("a",), (1,)))).to_onnx()
    with pytest.raises(ValueError, match="name of another input or output"):
        make("full", cells=Cells(("decision",), ((0,), (1,)))).to_onnx()


def test_onnx_takes_single_precision_and_computes_in_double():
    policy = make("full", "dirichlet")
    proba, attributes = rows(policy, 5_000)
    single = proba.astype(np.float32)
    expected = np.array(decided(policy, single.astype(np.float64), attributes))
    made = np.array(session(policy, single, attributes, "float32")[0].tolist())
    assert (made == expected)[~close_calls(policy, single.astype(np.float64), attributes)].all()


# Otherwise: a rule for rows of no cell, with a calibration of its own.


@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_rows_of_no_cell_get_the_rule_for_them(calibration):
    main, other = make("full", "dirichlet"), make("full", calibration, cells=Cells())
    rule = dataclasses.replace(main.deterministic, otherwise=other.deterministic)
    proba, attributes = rows(main, 200)
    proba[0] = BAD[0]
    strange = np.arange(200) % 3 == 1
    attributes["region"] = [
        "nowhere" if new else name for new, name in zip(strange, attributes["region"], strict=True)
    ]
    known = {
        name: [v for v, new in zip(column, strange, strict=True) if not new]
        for name, column in attributes.items()
    }
    sound = np.where(np.arange(200)[:, None] == 0, 0.25, proba)
    expected = np.empty(200, dtype=object)
    expected[strange] = other.decide(sound[strange], randomize="never")
    expected[~strange] = main.decide(sound[~strange], known, randomize="never")
    expected[0] = None

    module = {}
    exec(python_source.source(rule, "1"), module)
    values = list(zip(*attributes.values(), strict=True))
    assert [module["decide"](p, v) for p, v in zip(proba[1:], values[1:], strict=True)] == expected[
        1:
    ].tolist()
    base = duckdb.connect(":memory:")
    base.register("scores", pd.DataFrame(columns(main, proba, attributes)))
    found = base.execute(sql_query.query(rule, "duckdb", keep=["id"])).fetchall()
    assert [made for _, made in sorted(found)] == expected.tolist()
    run = onnxruntime.InferenceSession(
        onnx_model.model(rule).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    given = {"probabilities": proba, "the 'age'": np.array(attributes["the 'age'"])}
    given["region"] = np.array(attributes["region"], dtype=object)
    assert run.run(["decision"], given)[0].tolist() == [made or "" for made in expected]


@pytest.mark.parametrize("values", [("a", "(missing)"), (1, "(missing)")])
def test_missing_values_can_be_a_cell(values):
    policy = make("full", cells=Cells(("g",), tuple((value,) for value in values)))
    rule = dataclasses.replace(policy.deterministic, missing="(missing)")
    proba, attributes = rows(policy, 50)
    expected = decided(policy, proba, attributes)
    gaps = [None if value == "(missing)" else value for value in attributes["g"]]
    module = {}
    exec(python_source.source(rule, "1"), module)
    assert [module["decide"](p, (g,)) for p, g in zip(proba, gaps, strict=True)] == expected
    assert module["decide"](proba[0], (math.nan,)) == module["decide"](proba[0], ("(missing)",))
    base = duckdb.connect(":memory:")
    base.register("scores", pd.DataFrame(columns(policy, proba, {"g": gaps})))
    found = base.execute(sql_query.query(rule, "duckdb", keep=["id"])).fetchall()
    assert [made for _, made in sorted(found)] == expected


def test_the_rule_for_other_rows_must_fit():
    rule = make("full").deterministic
    for wrong in (rule, make("full", decisions=("a",), cells=Cells()).deterministic):
        with pytest.raises(ValueError, match="otherwise must be a rule without attributes"):
            dataclasses.replace(rule, otherwise=wrong)


# Branches: a rule for rows up to a limit of a second score, another one for the others.


def branching() -> DeterministicRule:
    def scores(best: int) -> ScoreFunctions:
        return ScoreFunctions(np.zeros((4, 3)), np.array([0.0 if j == best else 1.0 for j in range(3)]))

    def test(i: int) -> ScoreFunctions:
        return ScoreFunctions(np.eye(4)[:, i : i + 1], np.zeros(1))

    two = (Branch(scores(0), test(0), 0.5), Branch(scores(1)))
    three = (Branch(scores(2), test(1), 0.25), Branch(scores(1), test(0), 0.25), Branch(scores(0)))
    one = (Branch(scores(2)),)
    cells = (("a",), ("b",), ("c",))
    return DeterministicRule(("p", "q", "r", "s"), ("x", "y", "z"), ("g",), cells, (two, three, one))


def test_branches_are_taken_in_order():
    proba = [
        [0.5, 0.5, 0, 0],
        [0.75, 0.25, 0, 0],
        [0.25, 0.75, 0, 0],
        [0.5, 0.5, 0, 0],
        [1, 0, 0, 0],
        [1, 0, 0, 0],
    ]
    group = ["a", "a", "b", "b", "b", "c"]
    expected = ["x", "y", "y", "x", "z", "z"]
    rule, module = branching(), {}
    exec(python_source.source(rule, "1"), module)
    assert [module["decide"](p, (g,)) for p, g in zip(proba, group, strict=True)] == expected
    base = duckdb.connect(":memory:")
    base.execute("CREATE TABLE scores (id INT, p_p DOUBLE, p_q DOUBLE, p_r DOUBLE, p_s DOUBLE, g TEXT)")
    for i, (p, g) in enumerate(zip(proba, group, strict=True)):
        base.execute("INSERT INTO scores VALUES (?, ?, ?, ?, ?, ?)", [i, *p, g])
    found = base.execute(sql_query.query(rule, "duckdb", keep=["id"])).fetchall()
    assert [made for _, made in sorted(found)] == expected
    run = onnxruntime.InferenceSession(
        onnx_model.model(rule).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    given = {"probabilities": np.array(proba, dtype=float), "g": np.array(group, dtype=object)}
    assert run.run(["decision"], given)[0].tolist() == expected


def test_branches_must_end_in_a_decision():
    rule = branching()
    tested = (rule.branches[0][0],)
    with pytest.raises(ValueError, match="without a test"):
        DeterministicRule(rule.classes, rule.decisions, (), ((),), (tested,))
    with pytest.raises(ValueError, match="without a test"):
        DeterministicRule(rule.classes, rule.decisions, (), ((),), (rule.branches[2] * 2,))
