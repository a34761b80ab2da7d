"""Tables as people write them: labels by their text, names that occur twice, rows with too many fields."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from command_line import apply, fails, fit, written
from optional import needs

import metricfit as mf
from metricfit.cli import main
from metricfit.data.axes import Axes
from metricfit.oracles.files.scores import ScoreFiles
from metricfit.oracles.settings import TUNED
from metricfit.policy import Policy, Rule
from metricfit.tables import csv_file


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scores(path, labels, suffixes, rows=300, **more):
    """A table whose labels are those of the most probable column, in the texts given."""
    proba = np.random.default_rng(0).dirichlet([1] * len(labels), rows).round(6)
    proba[:, -1] = 1 - proba[:, :-1].sum(axis=1)
    lines = [",".join([*(f"p_{s}" for s in suffixes), "label", *more])]
    for i, row in enumerate(proba):
        lines.append(
            ",".join([*map(repr, row.tolist()), labels[row.argmax()], *(v[i] for v in more.values())])
        )
    path.write_text("\n".join(lines) + "\n")
    return proba


WRITTEN = {
    "TRUE": (["FALSE", "TRUE"], ["FALSE", "TRUE"], ("FALSE", "TRUE")),
    "True": (["False", "True"], ["False", "True"], (False, True)),
    "true and True": (["false", "true"], ["False", "True"], (False, True)),
    "00": (["00", "01", "10"], ["00", "01", "10"], ("00", "01", "10")),
    "0.5": (["0.5", "1.5"], ["0.5", "1.5"], (0.5, 1.5)),
    "1 and 0.5": (["1", "0.5"], ["1", "0.5"], (0.5, 1)),
    "whole as floats": (["1.0", "2.0"], ["1", "2"], (1, 2)),
    "1 and 01": (["1", "01"], ["1", "01"], ("1", "01")),
    "text and number": (["1", "a"], ["1", "a"], ("1", "a")),
    "beyond 64 bits": (["1", "4" * 130], ["1", "4" * 130], (1, int("4" * 130))),  # found by fuzzing
    "NA": (["NA", "nan"], ["NA", "nan"], ("NA", "nan")),
    "spaced": (["a ", " b"], ["a ", " b"], ("a ", " b")),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_labels_match_their_columns(here, name):
    labels, suffixes, classes = WRITTEN[name]
    scores(here / "scores.csv", labels, suffixes)
    assert fit(goal=("--maximize", "accuracy")) == 0
    policy = mf.Policy.load("policy.json")
    assert [(type(c), c) for c in policy.axes.classes] == [(type(c), c) for c in classes]
    assert apply() == 0
    made = pd.read_csv("decisions.csv", dtype=str, keep_default_na=False)["decision"]
    truth = pd.read_csv("scores.csv", dtype=str, keep_default_na=False)["label"]
    folded = {
        label: str(classes[suffixes.index(s)]) if name not in ("1 and 0.5",) else s
        for label, s in zip(labels, suffixes, strict=True)
    }
    assert made.tolist() == [folded[label] for label in truth]
    assert main(["evaluate", "policy.json", "scores.csv", "--proba-prefix", "p_", "--label", "label"]) == 0


def test_labels_that_do_not_match_are_told_why(here, capsys):
    scores(here / "scores.csv", ["0", "1"], ["00", "01"])
    words = [
        "labels without a probability column in 300 rows",
        "'0', '1'",
        "'00'",
        "name the column as the label",
    ]
    fails(capsys, (fit(), 4), *words)
    scores(here / "scores.csv", ["yes", "no"], ["1", "0"])
    fails(capsys, (fit(), 4), "without a probability column", "'no', 'yes'", "The classes are 0, 1")


def test_duplicate_columns_are_refused(here, capsys):
    scores(here / "scores.csv", ["a", "b"], ["a", "b"])
    lines = (here / "scores.csv").read_text().splitlines()
    (here / "scores.csv").write_text("\n".join([f"{line},{line.split(',')[1]}" for line in lines]))
    fails(capsys, (fit(), 4), "scores.csv: more than one column is named 'p_b'; rename or drop one of them")


def test_a_million_columns_are_refused(here, capsys):
    (here / "wide.csv").write_text(",".join(f"p_{i}" for i in range(1_000_000)) + ",y\n")
    told = "wide.csv: the header has 1,000,001 columns, more than 100,000; keep those"
    fails(capsys, (fit(scores="wide.csv"), 4), told)


@pytest.mark.parametrize("place", [0, 5, 299])
def test_surplus_fields_are_refused(here, capsys, place):
    scores(here / "scores.csv", ["a", "b"], ["a", "b"])
    lines = (here / "scores.csv").read_text().splitlines()
    lines[1 + place] += ",1.5,2"
    (here / "scores.csv").write_text("\n".join(lines))
    words = ["more fields than columns in 1 row", f"({place})", "surplus one is '1.5'", "double quotes"]
    fails(capsys, (fit(), 4), *words)
    assert written(here) == []


@pytest.mark.parametrize("before", ["", "\n\n", "\ufeff", "\ufeff\r\n"])
def test_tables_with_harmless_marks_are_read(here, before):
    scores(here / "scores.csv", ["a", "b"], ["a", "b"], note=['"x, y"'] * 300)
    lines = (here / "scores.csv").read_text().splitlines()
    lines[0] = lines[0].replace("note", '"a, long\nname"')
    (here / "scores.csv").write_text(
        before + "\n".join([lines[0], *(f"{line}," for line in lines[1:])]), "utf-8"
    )
    assert fit() == 0
    table = csv_file.read("scores.csv", ["a, long\nname", "label"])
    assert table.shape == (300, 2)
    assert table["a, long\nname"].tolist() == ["x, y"] * 300


def test_decisions_1_and_text_1_do_not_share_a_column(here, capsys):
    rules = [[Rule(0.5, [[0, 1, 1], [1, 0, 1]]), Rule(0.5, [[1, 1, 0], [1, 1, 0]])]]
    Policy(Axes((0, 1), (0, 1, "1")), "full", rules).save("policy.json")
    scores(here / "scores.csv", ["0", "1"], ["0", "1"])
    assert apply("--with-probabilities") == 0
    made = pd.read_csv("decisions.csv", dtype={"decision": str})
    assert list(made.columns) == ["decision", "decision_proba_0", "decision_proba_1", "decision_proba_'1'"]
    assert set(made["decision"]) == {"0", "1", "'1'"}
    assert (made["decision_proba_'1'"] == 0.5).all()
    rows = {line.split()[0]: int(line.split()[1]) for line in capsys.readouterr().out.splitlines()[3:]}
    assert rows == made["decision"].value_counts().to_dict()


def test_classes_that_would_share_a_column_are_refused(here, capsys):
    Policy(Axes((1, "1")), "full", [[Rule(1, [[0, 1], [1, 0]])]]).save("policy.json")
    scores(here / "scores.csv", ["0", "1"], ["0", "1"])
    fails(capsys, (apply(), 4), "classes whose columns have one name, such as 1 and '1'")


@pytest.mark.parametrize("ending", ["csv", pytest.param("parquet", marks=needs("pyarrow"))])
@pytest.mark.parametrize("kind", ["number", "text"])
def test_keys_are_the_same_in_every_file(here, ending, kind):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    rules = [[Rule(0.5, [[0, 1], [0, 1]]), Rule(0.5, [[1, 0], [1, 0]])]]
    policy = Policy(Axes(("a", "b")), "full", rules)
    policy.save("policy.json")
    keys = [str(10**12 + i) if kind == "number" else f"0{i}" for i in range(300)]
    proba = scores(here / "scores.csv", ["a", "b"], ["a", "b"], case=keys)
    typed = [int(key) for key in keys] if kind == "number" else keys
    if ending == "parquet":
        pd.DataFrame(proba, columns=["p_a", "p_b"]).assign(case=typed).to_parquet("scores.parquet")
    assert apply("--key", "case", scores=f"scores.{ending}") == 0
    made = pd.read_csv("decisions.csv")["decision"].tolist()
    assert made == policy.decide(proba, key=typed).tolist()
    assert set(made) == {"a", "b"}


COIN = Policy(Axes(("a", "b")), "full", [[Rule(0.5, [[0, 1], [0, 1]]), Rule(0.5, [[1, 0], [1, 0]])]])


def decided_by_key(here, keys, kind="csv"):
    """The decisions by a column of keys: of texts in a CSV file, of any type in a Parquet file."""
    COIN.save("policy.json")
    if kind == "csv":
        scores(here / "scores.csv", ["a", "b"], ["a", "b"], len(keys), case=keys)
    else:
        even = np.full(len(keys), 0.5)
        pd.DataFrame({"p_a": even, "p_b": even, "case": keys}).to_parquet("scores.parquet")
    assert apply("--key", "case", scores=f"scores.{kind}") == 0
    return pd.read_csv("decisions.csv")["decision"].tolist()


def by_python(keys):
    return COIN.decide(np.full((len(keys), 2), 0.5), key=keys).tolist()


@pytest.mark.parametrize("others", [[], ["x-17"], ["007", "2.5", "+5", "1e3"]], ids=str)
def test_a_case_keeps_its_rule_whatever_the_other_rows_are(here, others):
    keys = [str(i) for i in range(-20, 180)]
    expected = by_python([int(key) for key in keys])
    assert decided_by_key(here, [*keys, *others]) == expected + by_python(others)


def test_whole_numbers_that_are_written_as_floats_are_the_same_keys(here):
    """As pandas writes case numbers if one of them was missing once."""
    expected = by_python(list(range(200)))
    assert decided_by_key(here, [f"{i}.0" for i in range(200)]) == expected
    assert decided_by_key(here, [f"{i}.0" if i % 2 else str(i) for i in range(200)]) == expected


@pytest.mark.parametrize("decisions", [("a", "b"), (0, 1), (1, "1")], ids=str)
def test_probabilities_of_a_single_rule_are_those_of_its_decisions(here, decisions):
    rules = [Rule(0.4, [[0, 1], [1, 0]]), Rule(0.6, [[0, 2], [1, 0]])]
    policy = Policy(Axes(("a", "b"), decisions), "full", [rules])
    policy.save("policy.json")
    proba = scores(here / "scores.csv", ["a", "b"], ["a", "b"])
    texts = [str(d) for d in decisions] if decisions != (1, "1") else ["1", "'1'"]
    assert apply("--with-probabilities", "--randomize", "never") == 0
    made = pd.read_csv("decisions.csv", dtype={"decision": str})
    expected = [texts[decisions.index(d)] for d in policy.decide(proba, None, "never").tolist()]
    assert made["decision"].tolist() == expected
    assert len(set(expected)) == 2
    for text in texts:
        assert made[f"decision_proba_{text}"].tolist() == [float(d == text) for d in expected]
    assert apply("--with-probabilities") == 0
    made = pd.read_csv("decisions.csv")
    columns = [f"decision_proba_{text}" for text in texts]
    assert np.allclose(made[columns], policy.decision_proba(proba))


@needs("pyarrow")
@pytest.mark.parametrize("kind", ["int64", "uint8", "float64", "float32", "text", "category"])
def test_keys_of_every_type_of_column(here, monkeypatch, kind):
    pytest.importorskip("pyarrow")
    small, chunks = TUNED._replace(batch_entries=2 * 70), ScoreFiles.chunks
    monkeypatch.setattr(ScoreFiles, "chunks", lambda *given: chunks(*given, settings=small))
    keys = np.arange(200)
    texts = pd.Series([*keys.astype(str), "x-17", "007"])
    if kind in ("text", "category"):
        typed = texts if kind == "text" else texts.astype("category")
        expected = by_python([*keys.tolist(), "x-17", "007"])
    else:
        typed, expected = pd.Series(keys).astype(kind), by_python(keys)
    assert decided_by_key(here, typed, "parquet") == expected


@needs("pyarrow")
@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ([1.0, 2.5], "2.5"),
        ([1.0, 1e17], "1e+17"),
        ([1.0, np.inf], "inf"),
        (np.array([1, 2**24 + 2], "float32"), "16777218.0"),
        ([True, False], "bool"),
    ],
    ids=str,
)
def test_columns_that_are_no_keys_are_refused(here, capsys, keys, told):
    pytest.importorskip("pyarrow")
    COIN.save("policy.json")
    pd.DataFrame({"p_a": [0.5, 0.5], "p_b": [0.5, 0.5], "case": keys}).to_parquet("scores.parquet")
    code = apply("--key", "case", scores="scores.parquet")
    fails(capsys, (code, 4), "scores.parquet: --key case: ", told, "write the column as integers or strings")


def test_missing_keys_are_refused(here, capsys):
    Policy(Axes(("a", "b")), "full", [[Rule(1, np.eye(2))]]).save("policy.json")
    scores(here / "scores.csv", ["a", "b"], ["a", "b"], case=["7"] * 299 + [""])
    fails(capsys, (apply("--key", "case"), 4), "key is missing (NaN or None) in 1 row (299)")
    fails(capsys, (apply("--key", "cas"), 4), "--key cas: unknown column 'cas'; did you mean 'case'?")


def test_names_that_are_too_long(here, capsys):
    scores(here / "scores.csv", ["a", "b"], ["a", "b"])
    long = "x" * 300
    fails(capsys, (fit(out=f"{long}.json"), 2), "--out 'xxx", "File name too long; give another name")
    fails(capsys, (fit(out=f"{long}/policy.json"), 2), "File name too long")
    fails(capsys, (fit(out="scores.csv/policy.json"), 2), "Not a directory")
    fails(capsys, (fit(scores=f"{long}.csv"), 4), "File name too long")
    fails(capsys, (apply(policy=f"{long}.json"), 4), "File name too long")
    # 60 letters of four bytes are a name that a file can have.
    assert fit(out="𝒳" * 60) == 0
    assert mf.Policy.load("𝒳" * 60).axes.classes == ("a", "b")


@pytest.mark.parametrize(
    "text",
    [
        "recall('a').at(self=1)",
        "f_beta(1e308, 'a')",
        "minimum(" * 60 + "recall('a')" + ")" * 60,
        "recall('a') > 1",
    ],
)
def test_texts_that_are_no_usable_metric(here, capsys, text):
    scores(here / "scores.csv", ["a", "b"], ["a", "b"])
    fails(capsys, (fit(goal=("--maximize", text)), 2), "--maximize")


def test_reading_refuses_what_is_no_table(here):
    with pytest.raises(ValueError, match="No such file"):
        csv_file.read("none.csv", ["a"])


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("column", ["label", "p_a"])
def test_texts_that_are_no_utf8_are_bad_data(here, capsys, column, ending):
    """Found by fuzzing: pyarrow has an error of its own for them, which is none of Python's."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    bad = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 1, 2], "i4")), pa.py_buffer(b"\xff\xfe"))
    table = pa.table({"p_a": [0.5, 0.5], "p_b": [0.5, 0.5], "label": ["a", "b"], column: bad})
    if ending == "parquet":
        parquet.write_table(table, "scores.parquet")
    else:
        with pa.OSFile("scores.arrow", "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    # Of a probability column the type is enough to tell; of labels the bytes are looked at.
    words = {
        "label": f"scores.{ending}: it cannot be read as {ending.title()}: column 'label': ",
        "p_a": f"scores.{ending}: column 'p_a' must hold numbers; its type is string",
    }[column]
    fails(capsys, (fit(scores=f"scores.{ending}"), 4), words)
