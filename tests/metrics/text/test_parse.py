"""The text form: what is read, what is refused, and how errors help."""

from __future__ import annotations

import pickle

import pytest

import metricfit as mf
from metricfit.data.validation import label
from metricfit.metrics import METRICS


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("g_mean", "g_mean()"),
        ("  g_mean()\n", "g_mean()"),
        ("recall(1)", "recall(1)"),
        ('recall("a b")', "recall('a b')"),
        ("recall('ä')", "recall('ä')"),
        ("recall(True)", "recall(True)"),
        ("recall(-1)", "recall(-1)"),
        ("f_beta(beta=2, c='a')", "f_beta(2, 'a')"),
        ("f_beta(2, average='macro')", "f_beta(2, average='macro')"),
        ("cost([[0, 1], (2, 0)])", "cost([[0.0, 1.0], [2.0, 0.0]])"),
        ("coverage_deviation({'a': 0.25, 'b': 0.75})", "coverage_deviation({'a': 0.25, 'b': 0.75})"),
        ("coverage_deviation(target='prior')", "coverage_deviation()"),
        ("micro_f1(default=None)", "micro_f1()"),
        ("cohen_kappa(weights='quadratic')", "cohen_kappa(weights='quadratic')"),
        ("0.5 * recall(0) + recall(1) / 2", "0.5 * recall(0) + 0.5 * recall(1)"),
        ("-(recall(0) - 1)", "1 - recall(0)"),
        ("recall(0) * 2 * 3", "6 * recall(0)"),
        ("-recall(0) * recall(1)", "(-recall(0)) * recall(1)"),
        ("-(recall(0) * recall(1))", "-(recall(0) * recall(1))"),
        ("2 - recall(0) / recall(1)", "2 - (recall(0) / recall(1))"),
        ("(recall(0) + 1) * recall(1)", "(1 + recall(0)) * recall(1)"),
        ("1 / (1 + recall(0))", "(1) / (1 + recall(0))"),
        ("abs(recall(0) - recall(1))", "abs(recall(0) - recall(1))"),
        ("minimum(recall(0), 0.5)", "minimum(recall(0), 0.5)"),
        ("recall(0).at(sex='F', age=[1, 2])", "recall(0).at(sex='F', age=[1, 2])"),
        ("g_mean.at(sex='F')", "g_mean().at(sex='F')"),
        ("recall(0).at(**{'age group': 1})", "recall(0).at(**{'age group': 1})"),
        ("disparity(recall(0), 'sex', to='pairs')", "disparity(recall(0), over='sex', to='pairs')"),
        ("worst(g_mean, over=['sex', 'age'])", "worst(g_mean(), over=['sex', 'age'])"),
        ("precision('fraud') >= 0.9", "precision('fraud') >= 0.9"),
        ("0.9 <= precision('fraud')", "precision('fraud') >= 0.9"),
        ("1 - 0.5 >= recall(0)", "recall(0) <= 0.5"),
        ("recall(0) >= recall(1)", "recall(0) - recall(1) >= 0"),
    ],
)
def test_read(text, written):
    assert str(mf.parse(text)) == written
    assert str(mf.parse(written)) == written


BARE = "accuracy balanced_accuracy g_mean h_mean q_mean min_recall micro_f1 macro_f1 mcc cohen_kappa"


@pytest.mark.parametrize("name", BARE.split())
def test_bare_names_are_calls(name):
    assert str(mf.parse(name)) == str(METRICS[name]()) == f"{name}()"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("g_men", r"unknown metric 'g_men' in 'g_men'; did you mean 'g_mean'\?"),
        ("precision(fraud) >= 0.9", "fraud is not a metric; classes and attributes need quotes: 'fraud'"),
        (
            "recall('a').at(sex=male) >= 0.9",
            "male is not a metric; classes and attributes need quotes: 'male'",
        ),
        (
            "demographic_parity(over=region)",
            "region is not a metric; classes and attributes need quotes: 'region'",
        ),
        (
            "demographic_parity(region)",
            "region is not a metric; classes and attributes need quotes: 'region'",
        ),
        ("G-mean", r"in 'G-mean'; did you mean 'g_mean'\?"),
        ("macro-F1", r"in 'macro-F1'; did you mean 'macro_f1'\?"),
        ("F1('a')", r"did you mean 'f1'\?"),
        ("recall(\u201ca\u201d)", "quotes are straight: 'fraud'"),
        ("recall('a) >= 0.9", "cannot read .*: a quote is never closed at character 8$"),
        ("disparity(metric=recal('a'), over='sex')", "did you mean 'recall'"),
        ("worst(g_men, over='sex')", "did you mean 'g_mean'"),
        ("recal('a') >= 0.5", "did you mean 'recall'"),
        ("demografic_parity(over='sex')", "did you mean 'demographic_parity'"),
        ("asb(recall(0))", "did you mean 'abs'"),
        ("zzz", "known: accuracy, balanced_accuracy"),
        ("recall", r"recall needs a class, as in recall\('fraud'\)"),
        ("recall()", "recall needs a class"),
        ("cost", "cost needs matrix"),
        ("g_mean(1)", "takes 0 positional arguments"),
        ("recall(d=1)", "unexpected keyword argument 'd'"),
        ("recall(0).at('F')", r"slices are written metric.at\(attribute=value\)"),
        ("recall(0).at(**{1: 2})", "slices are written"),
        ("recall(0) < 0.5", "constraints use <= or >="),
        ("recall(0) == 0.5", "constraints use <= or >="),
        ("0.1 <= recall(0) <= 0.5", "as two constraints"),
        ("0.1 <= recall(0) <= 0.5 <= 1", "as two constraints"),
        ("0.5", "'0.5' is neither a metric nor a constraint"),
        ("0.5 <= 0.7", "neither a metric nor a constraint"),
        ("'g_mean'", "neither a metric nor a constraint"),
        ("[recall(0)]", "neither a metric nor a constraint"),
        ("recall(0) + 'a'", "\"'a'\" is neither a number nor a metric"),
        ("recall(0) + True", "'True' is neither a number nor a metric"),
        ("recall(0) >= [1]", "neither a number nor a metric"),
        ("(recall(0) >= 1) + 2", "neither a number nor a metric"),
        ("recall(0) / 0", "the denominator is zero"),
        ("recall(0) + 1 / 0", "division by zero"),
        ("abs(1)", "abs takes one metric"),
        ("abs(recall(0), recall(1))", "abs takes one metric"),
        ("abs", "unknown metric 'abs'"),
        ("recall(0) +", "invalid syntax"),
        ("recall(0); recall(1)", "invalid syntax"),
        ("precision('a')=.9", "a limit is written <= or >="),
        ("recall(c=0) = 0.9", "a limit is written <= or >="),
        ("recall('\\d')", "invalid escape sequence"),
        ("recall(0", "never closed"),
        ("", "expected the text of a metric"),
        ("   ", "expected the text of a metric"),
        (None, "expected the text of a metric"),
        (b"g_mean", "expected the text of a metric"),
        ("recall({[1]: 2})", "cannot be the key of a mapping"),
        ("recall({**g_mean})", r"\*\* is not allowed"),
        ("recall(**{'c': 1})", r"\*\* is not allowed"),
        ("recall(0) >= 1e999", "must be a finite number"),
        ("recall(0) * 1e999", "finite numbers"),
        ("recall(c=1, c=2)", "keyword argument repeated"),
    ],
)
def test_errors_help(text, words):
    with pytest.raises(ValueError, match=words):
        mf.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "recall.__class__",
        "recall(0).__class__",
        "g_mean().bind",
        "g_mean().at.__globals__",
        "g_mean().gradient(1)",
        "g_mean().at(x=1).bind(1)",
        "().__class__.__bases__[0].__subclasses__()",
        "(lambda: 1)()",
        "lambda x: x",
        "[recall(i) for i in (0, 1)]",
        "{i for i in (0, 1)}",
        "{i: i for i in (0, 1)}",
        "sum(recall(i) for i in (0, 1))",
        "f'{recall}'",
        "recall(f'{g_mean}')",
        "(x := recall(0))",
        "recall(0) if True else recall(1)",
        "recall(0) and recall(1)",
        "not recall(0)",
        "recall(0) ** 2",
        "recall(0) // 2",
        "recall(0) % 2",
        "recall(0) @ recall(1)",
        "recall(0) | recall(1)",
        "~recall(0)",
        "recall(0)[0]",
        "[recall(0)][0]",
        "recall(*[0])",
        "recall(b'a')",
        "recall(1j)",
        "recall(...)",
        "recall({1, 2})",
        "recall(1)(2)",
        "'a'.join(['b'])",
        "'%s' % recall(0)",
        "'a' * 1000000000",
        "[0] * 1000000000",
        "9 ** 9 ** 9",
        "1 << 1000000",
        "open('x')",
        "eval('1')",
        "exec('1')",
        "getattr(recall, 'x')",
        "parse('g_mean')",
        "custom(abs)",
        "METRICS",
        "mf.recall(0)",
        "await recall(0)",
        "yield 1",
        "import os",
        "recall(0) = 1",
        "recall is recall",
        "recall(0) in [1]",
        "recall(\x00)",
    ],
)
def test_hostile_text_is_refused(text):
    with pytest.raises(ValueError):
        mf.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 3000 + "g_mean" + ")" * 3000,
        "-" * 9000 + "1",
        "[" * 150 + "]" * 150,
        "abs(" * 2400,
        "*".join(["g_mean"] * 1400),
        "recall(" * 80 + "0" + ")" * 80,
        "9" * 5000 + " * g_mean",
        "9" * 4000 + " * g_mean",
        "9" * 4000 + " * 1.5 * g_mean",
        "g_mean" * 2000,
    ],
)
def test_huge_text_is_refused(text):
    with pytest.raises(ValueError):
        mf.parse(text)


def test_sums_of_any_length_are_read():
    text = "+".join(["g_mean"] * 700 + ["h_mean"] * 300)
    assert len(mf.parse(text).terms) == 1000
    assert str(mf.parse("1 - g_mean - 2 + h_mean - (g_mean - 4)")) == "3 - g_mean() + h_mean() - g_mean()"


def test_reading_is_linear_in_the_depth(monkeypatch):
    """Each call is made once: 18 levels once made half a million metrics."""
    made = []
    original = METRICS["minimum"]
    monkeypatch.setitem(METRICS, "minimum", lambda *parts: made.append(1) or original(*parts))
    recalls = []
    original_recall = METRICS["recall"]
    monkeypatch.setattr("metricfit.metrics.per_class.label", lambda *a: recalls.append(1) or label(*a))
    metric = mf.parse("minimum(" * 40 + "recall(0)" + ")" * 40)
    assert len(made) == 40
    assert len(recalls) == 1
    assert str(pickle.loads(pickle.dumps(metric))) == str(metric)
    assert METRICS["recall"] is original_recall


@pytest.mark.parametrize("opened", ["minimum(", "abs(-", "disparity(worst("])
def test_depth_is_limited(opened):
    closed = ")" * opened.count("(")
    with pytest.raises(ValueError, match="it is nested too deeply: at most 50 levels are read"):
        mf.parse(opened * 51 + "recall(0)" + closed * 51)


@pytest.mark.parametrize(
    "text",
    [
        "recall('" + "a" * 9000,
        "recal" + "l" * 9000,
        "recall(" + "x" * 9000 + ")",
        "recall(0)." + "y" * 9000 + "(1)",
        "recall(0) + '" + "z" * 9000 + "'",
        "recall(0) >= 0.5\n" * 500,
        "g_mean(" + ", ".join(f"{name}=1" for name in ["a" * 4000, "a" * 4000]) + ")",
        "f_beta('" + "b" * 9000 + "', 0)",
        "worst(g_mean, over=" + str(list(range(2000))) + ")",
        "cohen_kappa('" + "c" * 9000 + "')",
        "coverage_deviation('" + "d" * 9000 + "')",
        "f_beta(1, average='" + "e" * 9000 + "')",
        "recall(0).at(sex=[" + "None, " * 1000 + "])",
        "disparity(g_mean, over='sex', to='" + "f" * 9000 + "')",
        "cost([['" + "g" * 9000 + "']])",
        "churn(" + "9" * 4000 + ")",
        "g_mean(" + "h" * 9000 + "=1)",
        "minimum('" + "i" * 9000 + "')",
        "recall(0) >= " + "9" * 4000,
    ],
)
def test_messages_echo_at_most_a_line(text):
    with pytest.raises(ValueError) as raised:
        mf.parse(text)
    assert len(str(raised.value)) < 1000
    assert "\n" not in str(raised.value)


def test_an_attribute_may_have_any_name():
    assert str(mf.parse("recall(0).at(self=1)")) == "recall(0).at(self=1)"
    confusion = mf.Confusion.from_predictions([0, 0, 1], [0, 1, 1], {"self": [1, 2, 1]})
    assert mf.parse("accuracy.at(self=2)")(confusion) == 0
    assert mf.parse("accuracy.at(self=1)")(confusion) == 1


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("--recall(0) * recall(1)", "recall(0) * recall(1)"),
        ("1 * recall(0) / recall(1)", "recall(0) / recall(1)"),
        ("recall(0) <= -0.0", "recall(0) <= 0"),
    ],
)
def test_what_is_written_is_read_as_the_same(text, written):
    assert str(mf.parse(text)) == written
    assert str(mf.parse(written)) == written


@pytest.mark.parametrize(
    "text", ["1e308 * recall(0) * 1e308", "recall(0) / 1e-320", "1e308 * (recall(0) * 1e300 + 1)"]
)
def test_factors_that_overflow_are_refused(text):
    with pytest.raises(ValueError, match="overflows"):
        mf.parse(text)


def test_length_is_limited():
    with pytest.raises(ValueError, match="has 20000 characters; at most 10000 are read"):
        mf.parse("g" * 20_000)


def test_texts_that_are_no_unicode_are_refused_in_words():
    with pytest.raises(ValueError, match="it is no Unicode; give it as UTF-8"):
        mf.parse("recall('\udcfc')")
