"""What the command line refuses: exit codes, words, and nothing half-written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import apply, fails, fit, written
from optional import needs

import metricfit as mf
from metricfit.cli import main

BAD_TABLES = {
    "nan": (lambda f: f.assign(p_fraud=f["p_fraud"].where(f.index != 17)), ["NaN", "1 row (17)"]),
    "negative": (lambda f: f.assign(p_fraud=f["p_fraud"] - (f.index == 4)), ["negative", "1 row (4)"]),
    "sums": (lambda f: f.assign(p_fraud=f["p_fraud"] + 0.5), ["3,000 rows", "--normalize"]),
    "text": (lambda f: f.assign(p_fraud="high"), ["'p_fraud' must hold numbers", "'high' in 3,000 rows"]),
    "one text": (
        lambda f: f.assign(p_fraud=f["p_fraud"].astype(object).where(f.index != 5, "high")),
        ["'p_fraud' must hold numbers; it holds 'high' in 1 row (5); repair or drop"],
    ),
    "label": (
        lambda f: f.assign(label=f["label"].where(f.index != 2, "odd")),
        ["'odd'", "1 row (2)", "; add columns or drop rows"],
    ),
    "capitals": (
        lambda f: f.assign(label=f["label"].str.upper() + " "),
        ["'FRAUD '", "they differ only in capitals or spaces: write labels and columns alike"],
    ),
    "short prefix": (
        lambda f: f.rename(columns=lambda name: name.replace("p_", "p_s_")),
        ["The classes are 's_chargeback'", "; the prefix may be 'p_s_'"],
    ),
    "percent signs": (
        lambda f: f.assign(p_fraud=(100 * f["p_fraud"]).round(1).astype(str) + "%"),
        ["'p_fraud' must hold numbers", "shares are written as numbers, 5 % as 0.05; repair"],
    ),
    "decimal commas": (
        lambda f: f.assign(p_fraud=f["p_fraud"].astype(str).str.replace(".", ",")),
        ["'p_fraud' must hold numbers", "decimals have a point: 0.5; repair"],
    ),
    "no column of a class": (
        lambda f: f.drop(columns="p_fraud"),
        ["labels without a probability column", "'fraud'"],
    ),
    "a column that is no probability": (
        lambda f: f.assign(p_value=0.5),
        ["do not sum to 1", "no row has a label for 'p_value', so rename what is no probability; repair"],
    ),
    "missing label": (
        lambda f: f.assign(label=f["label"].where(f.index != 2)),
        ["'label' is missing", "1 row (2); drop these rows or fill them in"],
    ),
    "no label": (
        lambda f: f.rename(columns={"label": "labels"}),
        ["--label label: unknown column 'label'; did you mean 'labels'?"],
    ),
    "no class": (lambda f: f[f["label"] != "fraud"], ["'fraud'", "no rows"]),
    "no probabilities": (
        lambda f: f.filter(regex="^[^p]"),
        [
            "--proba-prefix p_: there are no probability columns that begin with 'p_'; each class needs a column"
        ],
    ),
    "other prefix": (
        lambda f: f.rename(columns=lambda name: name.replace("p_", "score ")),
        [
            "there are no probability columns that begin with 'p_'; the prefix may be 'score '. The columns are"
        ],
    ),
    "no rows": (lambda f: f.iloc[:0], ["the table has a header and no rows; give at least one row"]),
    "weight": (lambda f: f.assign(weight=-1.0), ["'weight' is negative"]),
    "huge weight": (lambda f: f.assign(weight=1e308), ["'weight' is larger than 1e+100 in 3,000 rows"]),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables_are_refused(folder, frame, capsys, name):
    change, words = BAD_TABLES[name]
    change(frame).to_csv("bad.csv", index=False)
    fails(capsys, (fit("--weight", "weight", scores="bad.csv"), 4), "bad.csv: ", *words)
    assert written(folder) == ["bad.csv"]


BAD_FITS = {
    "metric": (["--subject-to", "precison('fraud') >= 0.9"], ["did you mean 'precision'?"]),
    "no constraint": (["--subject-to", "precision('fraud')"], ["comparisons"]),
    "syntax": (["--subject-to", "precision('fraud' >= 0.9"], ["cannot read", "at character 10"]),
    "unfinished": (["--subject-to", "precision('fraud') >="], ["cannot read", "at character 22, the end"]),
    "class": (
        ["--subject-to", "recall('froud') >= 0.1"],
        ["--subject-to recall('froud'): unknown class 'froud'; did you mean 'fraud'?"],
    ),
    "quotes": (["--subject-to", "recall(fraud) >= 0.1"], ["--subject-to: ", "need quotes: 'fraud'"]),
    "attribute": (
        ["--subject-to", "demographic_parity('region') <= 0.1"],
        ["unknown attribute 'region'", "name columns with --attribute"],
    ),
    "decisions": (["--decision", "fraud", "fraud"], ["--decision: ", "twice: 'fraud'"]),
    "decisions with commas": (
        ["--decision", "fraud,legit"],
        [
            "--decision: 'fraud,legit' is several names in one; give each by itself, without commas: 'fraud' 'legit'"
        ],
    ),
    "confidence": (["--confidence", "95%"], ["'95%' is not a number between 0 and 1, such as 0.95"]),
    "method": (["--method", "bisection"], ["g_mean() is concave", "Try --method column_generation or "]),
    "method name": (["--method", "bisectoin"], ["did you mean 'bisection'?"]),
    "tol": (["--tol", "-1"], ["--tol", ">= 0"]),
    "tol text": (["--tol", "small"], ["'small'"]),
    "max calls": (["--max-calls", "0"], ["--max-calls", ">= 1"]),
    "max seconds": (["--max-seconds", "nan"], ["--max-seconds", "> 0"]),
    "option": (["--atribute", "region"], ["unknown option '--atribute', perhaps --attribute; see "]),
    "option of another name": (
        ["--constraint", "accuracy() >= 0.5"],
        ["unknown option '--constraint', perhaps --subject-to; see "],
    ),
    "dash": (["--subject-to", "-recall('fraud')<=-0.1"], ["begins with a dash as --option='-...'"]),
    "percent": (["--subject-to", "recall('fraud') >= 90%"], ["0.9 for 90 %"]),
    "sign": (["--subject-to", "recall('fraud') ≥ 0.9"], ["at character 17", "at least is written >="]),
    "arrow": (["--subject-to", "recall('fraud') => 0.9"], ["at least is written >="]),
    "comma": (["--subject-to", "recall('fraud') >= 0,9"], ["decimals have a point"]),
    "and": (["--subject-to", "recall('fraud') >= 0.1 and accuracy >= 0.1"], ["each constraint by itself"]),
    "no class": (["--subject-to", "recall >= 0.1"], ["recall needs a class, as in recall('fraud')"]),
    "no attribute": (
        ["--subject-to", "demographic_parity() <= 0.1"],
        ["demographic_parity needs an attribute, as in demographic_parity(over='region')"],
    ),
    "ranking": (["--subject-to", "roc_auc >= 0.1"], ["unknown metric 'roc_auc'", "it scores probabilities"]),
    "two goals": (["--minimize", "g_mean"], ["not allowed with"]),
    "folder": (["--out", "nowhere/policy.json"], ["no folder"]),
    "place": (["--out", "."], ["not a regular file"]),
    "input": (["--out", "scores.csv"], ["this is the input"]),
}


@pytest.mark.parametrize("name", BAD_FITS)
def test_bad_requests_are_refused(folder, frame, capsys, name):
    extra, words = BAD_FITS[name]
    before = Path("scores.csv").read_bytes()
    fails(capsys, (fit(*extra), 2), *words)
    assert written(folder) == []
    assert Path("scores.csv").read_bytes() == before


BAD_COLUMNS = {
    "no label": (["--label", ""], "--label : unknown column ''"),
    "no weight": (["--weight", ""], "--weight : unknown column ''"),
    "label as attribute": (["--attribute", "label"], "the attribute 'label' is the column of labels"),
    "identifier": (
        ["--attribute", "region", "id"],
        "the attribute 'id' alone has 3,000 values. Leave it out",
    ),
}


def test_missing_attributes_are_refused_with_the_option_that_takes_them(folder, frame, capsys):
    frame.assign(region=frame["region"].where(frame.index != 7)).to_csv("gaps.csv", index=False)
    words = "'region' is missing (NaN or None) in 1 row (7)", "with 'metricfit fit --missing cell'"
    fails(capsys, (fit("--attribute", "region", scores="gaps.csv"), 4), *words)


@pytest.mark.parametrize("name", BAD_COLUMNS)
def test_columns_that_cannot_be_what_they_are_named_as(folder, capsys, name):
    given, words = BAD_COLUMNS[name]
    fails(capsys, (fit(*given), 4), "scores.csv: ", words)
    assert written(folder) == []


def test_all_that_is_missing_is_told_at_once(folder, capsys):
    fails(capsys, (main(["fit", "scores.csv"]), 2), "required: --label, --out, --maximize or --minimize")
    fails(capsys, (main([]), 2), "give a command, one of demo, fit, apply")


def test_another_prefix_of_a_policys_classes_is_told(folder, frame, capsys):
    assert fit() == 0
    frame.rename(columns=lambda name: name.replace("p_", "q")).to_csv("other.csv", index=False)
    fails(capsys, (main(["apply", "policy.json", "other.csv", "--out", "d.csv"]), 4), "the prefix may be 'q'")


def test_percentages_are_no_limits(folder, capsys):
    fails(capsys, (fit("--subject-to", "recall('fraud') >= 90"), 3), "90 % is written as 0.9")


def test_tables_in_other_encodings_are_told(folder, frame, capsys):
    frame.to_csv("other.csv", index=False, encoding="utf-16")
    fails(capsys, (fit(scores="other.csv"), 4), "byte 0xff is not valid UTF-8; save the table as UTF-8")


def test_warnings_are_notes_without_code(folder, capfd):
    limit = "equal_opportunity(over='region', c='fraud') <= 0.2"
    run = [sys.executable, "-m", "metricfit", "fit", "scores.csv", "--label", "label", "--maximize", "g_mean"]
    run += ["--attribute", "region", "--subject-to", limit, "--no-expect", "--out", "policy.json"]
    shown = subprocess.run(run, capture_output=True, text=True, check=True).stderr
    assert shown.startswith("metricfit: note: ")
    assert "rest on fewer than 30 rows" in shown
    assert ".py" not in shown


def test_infeasible_constraints(folder, capsys):
    Path("policy.json").write_text("an older policy")
    limits = ["precision('fraud') >= 0.95", "recall('fraud') >= 0.95"]
    code = fit("--subject-to", *limits, "--counting", "model")
    words = ["no policy keeps all constraints", "nothing was written", "cannot be kept together"]
    fails(capsys, (code, 3), *words, *limits)
    assert Path("policy.json").read_text() == "an older policy"


def test_what_each_constraint_achieves_alone(folder, capsys):
    limits = ["recall('fraud') >= 0.95", "coverage('fraud') <= 0.0001", "recall('legit') >= 1.2"]
    assert fit("--subject-to", *limits, "--counting", "model") == 3
    lines = capsys.readouterr().err.splitlines()
    start = next(
        place for place, line in enumerate(lines) if line.split()[:3] == ["constraint", "asked", "alone"]
    )
    table = [line.split() for line in lines[start + 1 : start + 4]]
    assert [row[3] for row in table[:2]] == ["kept", "kept"]
    assert table[2][3:5] == [">=", "1.0000"]


def test_a_policy_that_does_not_keep_its_constraints_is_said_to(folder, capsys):
    # One call leaves the most probable class, whose precision is lower than this.
    code = fit("--subject-to", "precision('fraud') >= 0.9", "--max-calls", "1")
    fails(capsys, (code, 3), "does not keep precision('fraud') >= 0.9")


@pytest.mark.parametrize("damage", ["missing", "cut", "edited", "other"])
def test_damaged_policies_are_refused(folder, capsys, damage):
    assert fit() == 0
    capsys.readouterr()
    text = Path("policy.json").read_text()
    if damage == "missing":
        os.remove("policy.json")
    else:
        changed = {
            "cut": text[:-100],
            "edited": text.replace("fraud", "frxud"),
            "other": json.dumps({"a": 1}),
        }
        Path("policy.json").write_text(changed[damage])
    fails(capsys, (apply(), 4), "policy.json")
    assert "decisions.csv" not in written(folder)


def test_apply_knows_its_attributes_from_the_policy(folder, capsys):
    code = main(["apply", "policy.json", "scores.csv", "--attribute", "region", "--out", "decisions.csv"])
    assert code == 2
    assert "--attribute is not needed here: the policy file names the attributes" in capsys.readouterr().err


def test_apply_refuses_what_does_not_fit(folder, frame, capsys):
    assert fit("--attribute", "region") == 0
    capsys.readouterr()
    frame.assign(region="moon").to_csv("moon.csv", index=False)
    frame.drop(columns=["p_fraud"]).to_csv("less.csv", index=False)
    fails(capsys, (apply(scores="moon.csv"), 4), "not seen in fit", "'moon'")
    fails(
        capsys,
        (apply(scores="less.csv"), 4),
        "--proba-prefix p_: ",
        "there are no probability columns 'p_fraud'",
    )
    frame.drop(columns="region").to_csv("nowhere.csv", index=False)
    fails(capsys, (apply(scores="nowhere.csv"), 4), "the policy needs the attribute 'region': unknown column")
    fails(capsys, (apply(scores="absent.csv"), 4), "absent.csv: No such file", "check the path")
    fails(capsys, (apply("--keep", "iid"), 4), "--keep iid: unknown column 'iid'; did you mean 'id'?")
    fails(capsys, (apply(policy="scores.csv", scores="policy.json"), 4), "POLICY ", "before SCORES")
    fails(capsys, (apply("--keep", "id,label"), 4), "--keep id,label: 'id,label' is several names in one")
    fails(capsys, (apply(out="decisions.txt"), 2), "--out decisions.txt: the ending", ".parquet")
    fails(capsys, (apply(scores="scores.txt"), 2), "SCORES scores.txt: the ending", ".parquet")
    fails(capsys, (apply(scores="scores.csv.gz"), 2), "; unpack it first")
    frame.assign(decision="legit").to_csv("twice.csv", index=False)
    fails(capsys, (apply("--keep", "decision", scores="twice.csv"), 2), "--keep decision")
    assert not any(name.startswith("decisions") for name in written(folder))


@pytest.mark.parametrize("option", ["--label", "--weight", "--attribute"])
def test_missing_columns_are_blamed_on_the_option(folder, capsys, option):
    code = fit(option, "chanel")
    fails(capsys, (code, 4), f"scores.csv: {option} chanel: unknown column 'chanel'; did you mean 'channel'?")


def test_missing_groups_are_blamed_on_their_option(folder, capsys):
    assert fit() == 0
    capsys.readouterr()
    code = main(["evaluate", "policy.json", "scores.csv", "--label", "label", "--by", "chanel"])
    fails(capsys, (code, 4), "--by chanel: unknown column 'chanel'; did you mean 'channel'?")


@pytest.mark.parametrize(
    ("text", "noted"),
    [
        (
            "recall('fraud') <= 0.9",
            "for recall('fraud'), higher is better; it is kept at most 0.9 as requested",
        ),
        (
            "ordinal_error >= 0.01",
            "for ordinal_error(), lower is better; it is kept at least 0.01 as requested",
        ),
        ("recall('fraud') >= 0.1", ""),
        ("coverage('fraud') <= 0.9", ""),
    ],
)
def test_limits_on_the_other_side_are_noted(folder, capsys, text, noted):
    assert fit("--no-expect", "--counting", "model", "--subject-to", text) == 0
    notes = capsys.readouterr().err
    assert (noted in notes) if noted else ("better" not in notes)


def test_files_after_an_option_with_several_values(folder, capsys):
    given = ["--label", "label", "--proba-prefix", "p_", "--maximize", "g_mean", "--out", "policy.json"]
    code = main(["fit", *given, "--attribute", "region", "scores.csv"])
    fails(capsys, (code, 2), "SCORES", "files come before the options")


@pytest.mark.parametrize(("separator", "shown"), [(";", "';'"), ("\t", r"'\t'")])
def test_other_separators_are_told(folder, frame, capsys, separator, shown):
    frame.to_csv("other.csv", index=False, sep=separator)
    fails(capsys, (fit(scores="other.csv"), 4), f"looks separated by {shown}; save the table with commas")


@needs("pyarrow")
def test_damaged_tables_are_refused(folder, capsys):
    for ending, kind in {"parquet": "Parquet", "arrow": "Arrow", "csv": "CSV"}.items():
        name = f"s.{ending}"
        fails(capsys, (fit(scores=name), 4), f"{name}: No such file or directory; check the path")
        Path(name).write_bytes(b"")
        fails(capsys, (fit(scores=name), 4), f"{name}: the file is empty; give a table with a header")
        Path(name).write_bytes(bytes(range(128, 256)))
        fails(capsys, (fit(scores=name), 4), f"{name}: it cannot be read as {kind}: ", "is complete")


WITHOUT_PYARROW = """
import sys
sys.modules["pyarrow"] = None
from metricfit.cli import main
goal = ["--label", "label", "--proba-prefix", "p_", "--maximize", "g_mean", "--out", "policy.json"]
applied = ["apply", "policy.json", "scores.csv", "--proba-prefix", "p_", "--out"]
assert main(["fit", "scores.parquet", *goal]) == 2
assert main(["fit", "scores.csv", *goal]) == 0
assert main([*applied, "decisions.parquet"]) == 2
assert main([*applied, "decisions.csv"]) == 0
"""


def test_without_pyarrow(frame, tmp_path):
    # In a process of its own: pandas asks once, when it is imported, whether pyarrow is there.
    frame.to_csv(tmp_path / "scores.csv", index=False)
    source = str(Path(mf.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYARROW],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert [line.count('pip install ".[io]"') for line in done.stderr.splitlines()] == [1, 1]
    assert written(tmp_path) == ["decisions.csv", "policy.json"]


def test_a_failing_write_leaves_the_older_file(folder, monkeypatch, capsys):
    assert fit() == 0
    capsys.readouterr()
    Path("decisions.csv").write_text("older\n")

    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    fails(capsys, (apply(), 4), "decisions.csv: No space left on device")
    assert written(folder) == ["decisions.csv", "policy.json"]
    assert Path("decisions.csv").read_text() == "older\n"


@pytest.mark.parametrize(
    ("goal", "text", "better"), [("--minimize", "g_mean", "higher"), ("--maximize", "ordinal_error", "lower")]
)
def test_the_explorer_does_not_begin_with_the_worse_side(folder, capsys, goal, text, better):
    command = ["explore", "scores.csv", "--label", "label", "--proba-prefix", "p_", goal, text]
    fails(capsys, (main(command), 2), goal, f"{better} is better")
