"""CSV files without pandas are the same columns as with it; texts that a spreadsheet would run can be escaped."""

from __future__ import annotations

import importlib.util

import numpy as np
import pandas as pd
import pytest
from command_line import fails

import metricfit as mf
from metricfit.cli import main
from metricfit.data.axes import Axes
from metricfit.data.columns import is_missing
from metricfit.policy import Policy, Rule
from metricfit.tables import csv_file
from metricfit.tables.writing import table_writer

ENTRIES = [
    *(
        "1",
        "+1",
        "-1",
        "007",
        "1.0",
        "1.",
        " .5",
        "1e5",
        "1E5",
        "0x1",
        "1_0",
        " 5",
        "5 ",
        "5\t",
        "True",
        "true",
    ),
    *(
        "T",
        "False",
        "nan",
        "NaN",
        "inf",
        "-inf",
        "Infinity",
        "9223372036854775807",
        "1e400",
        "NA",
        "None",
        "",
    ),
    *("a", " a ", '"x,y"', '"a""b"', '"1"', "--1", "1-", "1e", "+", "-", ".", "½", "²", "１"),
]
WAYS = {"typed": ((), ()), "numbers": (("a",), ()), "texts": ((), ("a",)), "verbatim": ((), True)}


def without_pandas(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(csv_file, "find_spec", lambda name: None if name == "pandas" else find(name))


def entries(column):
    """Return what matters of the entries of a column: missing, a text, a truth value, or a number."""
    values = np.asarray(column, dtype=object).tolist()
    return [None if is_missing(v) else v if isinstance(v, str | bool) else float(v) for v in values]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_columns_have_the_types_that_pandas_gives(tmp_path, monkeypatch, entry, way):
    path, (numbers, text) = tmp_path / "a.csv", WAYS[way]
    for others in ([], [entry], ["2"], [""], ["2.5", ""], ["True", ""], ["x"]):
        path.write_text("a,b\n" + "".join(f"{v},z\n" for v in [entry, *others]), encoding="utf-8")
        with monkeypatch.context() as patch:
            expected = csv_file.read(path, ["a", "b"], numbers, text)
            without_pandas(patch)
            found = csv_file.read(path, ["a", "b"], numbers, text)
        assert isinstance(expected, pd.DataFrame)
        assert not isinstance(found, pd.DataFrame)
        assert entries(found["a"]) == entries(expected["a"]), (entry, others)
        assert found["b"].tolist() == ["z"] * (1 + len(others))


@pytest.mark.parametrize(
    "text",
    [
        "a,b\r\n1,2\r\n",
        "a,b\r1,2\r",
        "\n\na,b\n\n1,2\n \t \n",
        "\ufeffa,b\n1,2\n",
        'a,b\n"1\n2",3\n',
        "a,b\n1\n",
        "a,b\n1,2,\n",
        "a,b\n",
    ],
)
def test_lines_are_cut_as_pandas_cuts_them(tmp_path, monkeypatch, text):
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode())
    expected = csv_file.read(path, ["a", "b"])
    without_pandas(monkeypatch)
    found = csv_file.read(path, ["a", "b"])
    assert [entries(found[name]) for name in "ab"] == [entries(expected[name]) for name in "ab"]
    assert len(found) == len(expected)
    assert len(found[:1][["b"]]) == len(expected[:1])


@pytest.mark.parametrize("text", ["a,b\n1,2,3\n", 'a,b\n"1,2\n', "a,b\n1,\xff\n", "a;b\n1;2\n"])
def test_damaged_files_are_errors_in_both_ways(tmp_path, monkeypatch, text):
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode("latin-1"))
    for step in (lambda: None, lambda: without_pandas(monkeypatch)):
        step()
        with pytest.raises(ValueError, match=r"a\.csv: "):
            csv_file.read(path, ["a", "b"])


# Formulas

NOTES = ["=1+1", "+49 170", "-1.5", "@SUM(A1)", "\t=1", "－1+1", "a", "", "-", '=HYPERLINK("x,y")']
SAFE = ["'=1+1", "'+49 170", "-1.5", "'@SUM(A1)", "'\t=1", "'－1+1", "a", "", "'-", '\'=HYPERLINK("x,y")']


@pytest.fixture
def decided(tmp_path, monkeypatch):
    """A folder with a policy, one of whose decisions is a formula, and a table with notes of others."""
    monkeypatch.chdir(tmp_path)
    Policy(Axes(("no", "=yes")), "full", [[Rule(1, [[0, 1], [1, 0]])]]).save("policy.json")
    table = {"p_no": [0.9, 0.1] * 5, "p_=yes": [0.1, 0.9] * 5, "note": NOTES}
    pd.DataFrame(table).to_csv("scores.csv", index=False)
    return table


def run(*extra, scores="scores.csv", out="out.csv"):
    return main(["apply", "policy.json", scores, "--out", out, "--force", "--keep", "note", *extra])


def read(path):
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def test_texts_that_begin_a_formula_are_escaped_if_asked(decided):
    assert run() == 0
    assert read("out.csv")["note"].tolist() == NOTES
    assert run("--escape-formulas", "--with-probabilities") == 0
    made = read("out.csv")
    assert made["note"].tolist() == SAFE
    assert made["decision"].tolist() == ["no", "'=yes"] * 5
    assert made["decision_proba_no"].tolist() == ["1.0", "0.0"] * 5


def test_parquet_input_is_escaped_too_and_parquet_output_needs_none(decided, capsys):
    pq = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    pq.write_table(pa.table(decided), "scores.parquet")
    assert run("--escape-formulas", scores="scores.parquet") == 0
    assert read("out.csv")["note"].tolist() == SAFE
    capsys.readouterr()
    fails(capsys, (run("--escape-formulas", out="out.parquet"), 2), "--escape-formulas is for --out tables")


def test_names_of_columns_are_escaped(tmp_path):
    with table_writer(str(tmp_path / "a.csv"), escape=True) as writer:
        writer.append({"=a": ["x"], "b": [-1.5]})
    assert (tmp_path / "a.csv").read_text() == "'=a,b\nx,-1.5\n"


def test_frontiers_take_the_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = mf.datasets.make_fraud_triage(n_rows=400, random_state=0)
    table = pd.DataFrame(data.proba, columns=[f"p_{c}" for c in data.classes]).assign(y=data.y)
    table.to_csv("scores.csv", index=False)
    asked = ["--label", "y", "--maximize", "accuracy", "--trade", "recall('fraud')", "--levels", "0.2", "0.4"]
    assert main(["frontier", "scores.csv", *asked, "--out", "f.csv", "--escape-formulas"]) == 0
    assert len(read("f.csv")) == 2


def test_numbers_and_missing_entries_are_written_as_before(tmp_path):
    columns = {
        "i": np.array([1, 2]),
        "f": np.array([0.1, np.nan]),
        "s": np.array([0.1, np.nan], np.float32),
        "b": [True, False],
        "o": np.array([None, 3], dtype=object),
    }
    with table_writer(str(tmp_path / "a.csv")) as writer:
        writer.append(columns)
    assert (tmp_path / "a.csv").read_text() == "i,f,s,b,o\n1,0.1,0.1,True,\n2,,,False,3\n"
