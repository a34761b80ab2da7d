"""The report is one file that needs nothing else, and says the numbers of the result."""

import inspect
import os
import pickle
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import metricfit as mf
from metricfit.metrics.registry import METRICS
from metricfit.report import GroupsDisplay, RegionsDisplay
from metricfit.report.page import html
from metricfit.report.words import bound_in_words, named, price_in_words
from metricfit.result import ConstraintRecord
from metricfit.trust.judgement import ConstraintEstimate, Judgement

pytest.importorskip("jinja2", reason="the report needs the extra 'plot'")

VOID = {"meta", "br", "link", "img", "hr", "input"}


class Page(HTMLParser):
    """Collects what tests ask for, and checks that tags are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.words = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))


@pytest.fixture(scope="module")
def text(result):
    return html(result)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_the_file_needs_nothing_else(text):
    assert len(text.encode()) < 2_000_000
    assert re.findall(r"(?:https?:)?//[\w.]+\.\w", text) == []
    assert "<script" not in text
    assert re.findall(r"@import|url\((?!#)", text) == []
    assert "#01fe" not in text  # every colour of a picture is the page's


def test_names_of_parts_are_unique_and_lead_somewhere(page, text):
    assert len(page.ids) == len(set(page.ids))
    wanted = [a["href"][1:] for tag, a in page.tags if a.get("href", "").startswith("#")]
    wanted += re.findall(r"url\(#([^)]+)\)", text)
    wanted += [a[k] for _, a in page.tags for k in ("aria-labelledby",) if k in a]
    assert set(wanted) <= set(page.ids)


def test_it_says_the_numbers_of_the_result(result, page):
    assert f"{result.value:.4f}" in page.text
    assert f"{result.bound:.4f}" in page.text
    for record in result.constraints:
        assert f"{record.value:.4f}" in page.text
    recall = mf.recall("fraud")(result.confusion)
    precision = mf.precision("legit")(result.confusion)
    assert f"{100 * recall:.1f} %" in page.text
    assert f"{100 * precision:.1f} %" in page.text
    slice_ = mf.recall("fraud").at(region="west")(result.confusion)
    assert f"{100 * slice_:.1f} %" in page.text
    price = result.constraints[0].price
    assert f"One more point of precision of fraud costs {price:.2g} points of G-mean." in page.text
    assert "It costs next to nothing" in page.text  # the loose second constraint


def test_it_says_what_was_asked_and_how_to_make_it_again(page):
    assert "Make the G-mean (geometric mean of the recalls) as high as possible, while keeping" in page.text
    assert "precision of fraud at least 0.85" in page.text
    assert "2,000" in page.text
    assert f"metricfit {mf.__version__}" in page.text
    assert "result = mf.optimize(" in page.text
    assert "random_state=3" in page.text
    assert "\"precision('fraud') >= 0.85\"" in page.text


def test_only_constraints_that_bind_have_a_trade_off(page):
    assert "trade-0" in page.ids
    assert "trade-1" not in page.ids


def test_it_can_be_read_by_all(page):
    assert ("html", {"lang": "en"}) in page.tags
    pictures = [attrs for tag, attrs in page.tags if tag == "svg"]
    assert len(pictures) >= 6
    assert all(a["role"] == "img" and a["aria-labelledby"] in page.ids for a in pictures)
    heads = [attrs for tag, attrs in page.tags if tag == "th"]
    assert heads
    assert all(a.get("scope") in ("col", "row") for a in heads)
    assert sum(tag == "caption" for tag, _ in page.tags) == sum(tag == "table" for tag, _ in page.tags)
    assert sum(tag == "h1" for tag, _ in page.tags) == 1


def test_colours_have_contrast_in_both_schemes(text):
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    blocks = re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    schemes = [dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block)) for block in blocks]
    for scheme in schemes[:2]:
        for name in ("ink", "muted", "after", "before", "bound", "good", "bad"):
            low, high = sorted([luminance(scheme[name]), luminance(scheme["surface"])])
            assert (high + 0.05) / (low + 0.05) >= 4.5, name


def test_hostile_names_stay_text(tmp_path):
    random = np.random.default_rng(0)
    proba = random.dirichlet([1, 1, 1], 300)
    names = ["<script>alert(1)</script>", '"><img src=x onerror=y>', "{{ 7 * 7 }} $a_{ -->\x07"]
    y = np.array(names, dtype=object)[(random.random(300)[:, None] > proba.cumsum(axis=1)).sum(axis=1)]
    groups = np.where(random.random(300) < 0.5, "</table><b>", "&amp;")
    result = mf.optimize(
        proba, y, "g_mean", classes=names, sensitive_features={"<i>": groups}, counting="model"
    )
    result.report(tmp_path / "report.html", title="<u>title</u>", made_by="metricfit fit </pre><script>")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert not {"script", "img", "i", "u"} & {tag for tag, _ in page.tags}
    assert "{{ 7 * 7 }}" in page.text
    assert "<script>alert(1)</script>" in page.text


def test_two_three_and_many_classes_and_extra_decisions():
    random = np.random.default_rng(0)
    for n in (2, 3, 30):
        proba = random.dirichlet(np.ones(n), 400)
        y = (random.random(400)[:, None] > proba.cumsum(axis=1)).sum(axis=1)
        decisions = [*range(n), "review"] if n < 30 else None
        limits = ["coverage('review') <= 0.2"] if n < 30 else []
        result = mf.optimize(proba, y, "accuracy", limits, decisions=decisions, counting="model")
        page = Page(html(result))
        assert ("regions" in page.ids) == (n < 30)
        assert ("Decisions that are not classes: review" in page.text) == (n < 30)


def test_a_result_from_a_pickle_still_has_a_report(result):
    page = Page(html(pickle.loads(pickle.dumps(result))))
    assert f"{result.value:.4f}" in page.text
    assert "confusion" in page.ids
    assert "trade-0" not in page.ids


def test_nothing_is_half_written(result, tmp_path):
    result.report(tmp_path / "report.html")
    assert os.listdir(tmp_path) == ["report.html"]
    with pytest.raises(FileNotFoundError):
        result.report(tmp_path / "nowhere" / "report.html")


def test_words_of_metrics_and_prices():
    problem = mf.Problem.of("g_mean")
    assert named(mf.equal_opportunity(over="sex", c=1)) == (
        "difference in the recall of 1 between each group of sex and all rows (equal opportunity)"
    )
    assert named(mf.demographic_parity(["sex", "age"], "yes", to="pairs", as_ratio=True, given="job")) == (
        "ratio in the share decided yes between any two groups of sex x age within each job (demographic parity)"
    )
    unusual = mf.equalized_odds("sex", min_share=0.1)
    assert named(unusual) == f"{unusual} to all rows"
    assert named(mf.recall(1) + mf.recall(0)) == "recall(1) + recall(0)"
    record = ConstraintRecord("x", 0.05, 0.05, 0.0, 1.0)
    told = price_in_words(problem, mf.demographic_parity(over="sex") <= 0.05, record)
    whom = "between each group of sex and all rows"
    assert told == f"One point less of difference in decisions {whom} costs 1 point of G-mean."
    told = price_in_words(problem, mf.precision(1) >= 0.9, record, about=True)
    assert told == "One more point of precision of 1 costs about 1 point of G-mean."
    lost = ConstraintRecord("x", 0.8, 0.9, 0.1, 0.0)
    assert "violated by 0.1 on the fitted rows" in price_in_words(problem, mf.precision(1) >= 0.9, lost)
    unknown = ConstraintRecord("x", 0.9, 0.9, 0.0, float("nan"))
    assert "is unknown" in price_in_words(problem, mf.precision(1) >= 0.9, unknown)
    nothing = ConstraintRecord("x", float("nan"), 1.0, 0.0, 0.0)
    assert "the rate has no rows" in price_in_words(problem, mf.precision(1) >= 1, nothing)
    cost = mf.Problem.of(mf.cost([[0, 1], [5, 0]]))
    kept = ConstraintRecord("x", 0.9, 0.9, 0.0, 2.0)
    assert " adds 2 points to the cost" in price_in_words(cost, mf.precision(1) >= 0.9, kept)


def test_metrics_read_as_words():
    assert named(mf.recall("fraud").at(region="north")) == "recall of fraud where region is north"
    sliced = mf.f_beta(2, "fraud").at(**{"age group": [1, 2]}, channel="web")
    assert named(sliced) == "F-measure of fraud with beta 2 where channel is web and age group is 1 or 2"
    assert named(mf.demographic_parity(over="sex").at(region="north"), short=True) == (
        "difference in decisions between each group of sex and all rows where region is north"
    )
    assert named(mf.worst(mf.recall("fraud"), over=["sex", "age"])) == (
        "recall of fraud in the worst group of sex x age"
    )
    assert named(mf.custom(lambda matrix: matrix[0, 0])) == "<lambda>"


@pytest.mark.parametrize("name", METRICS)
def test_no_metric_shows_its_underscores(name):
    values = {
        "c": 1,
        "beta": 2,
        "over": "sex",
        "metric": mf.recall(1),
        "matrix": [[0, 1], [2, 0]],
        "baseline": "today",
    }
    needed = [p for p in inspect.signature(METRICS[name]).parameters.values() if p.default is p.empty]
    given = [mf.recall(0), mf.recall(1)] if needed and needed[0].kind is needed[0].VAR_POSITIONAL else None
    if name in ("f1", "f_beta", "jaccard"):
        needed.append(inspect.signature(METRICS[name]).parameters["c"])
    metric = METRICS[name](*(given or [values[p.name] for p in needed]))
    assert not set("_()") & set(named(metric, short=True)), named(metric)


def test_rates_by_group_are_those_of_a_class(data):
    decisions = [*data.classes, "review"]
    limits = ["coverage('review') <= 0.05", "recall('fraud').at(region='north') >= 0.5"]
    options = {"decisions": decisions, "sensitive_features": data.X[["region"]], "counting": "calibrated"}
    result = mf.optimize(data.proba, data.y, "selective_accuracy", limits, **options)
    text = Page(html(result)).text
    assert "Selective accuracy" in text
    assert "Selective_accuracy" not in text
    assert "Rates of fraud by region" in text
    assert "recall of review" not in text
    assert "nan" not in text
    # If only the review is limited, it has a share and no other rates.
    result = mf.optimize(data.proba, data.y, "selective_accuracy", limits[:1], **options)
    text = Page(html(result)).text
    assert "Rates of review by region" in text
    assert "recall of review" not in text
    assert "nan" not in text
    with pytest.raises(ValueError, match="'review' is no class, so it has no recall"):
        GroupsDisplay.from_result(result, decision="review", kinds=("recall",))


def test_words_of_bounds(result):
    assert "No policy at all goes beyond" in bound_in_words(result)


def people(ages: int, rows: int = 1500):
    """Return rows of two sexes and some ages, whose rates of class 1 differ, with the model's probabilities."""
    random = np.random.default_rng(4)
    age, sex = random.integers(0, ages, rows), random.integers(0, 2, rows)
    p = 1 / (1 + np.exp(-random.normal(size=rows) - 0.8 * (age - ages / 2) * (2 * sex - 1)))
    names = {"age": np.array([f"age{a}" for a in age]), "sex": np.array(["F", "M"])[sex]}
    return np.stack([1 - p, p], axis=1), (random.random(rows) < p).astype(int), names


def test_where_odds_are_limited_false_positive_rates_are_shown_in_every_limited_group():
    proba, y, names = people(3)
    given = {"sensitive_features": names, "counting": "model"}
    odds = mf.optimize(proba, y, "accuracy", [mf.equalized_odds(["age", "sex"], 1) <= 0.05], **given)
    text = Page(html(odds)).text
    assert "false-positive rate" in text
    rates = Page(html(odds)).text.partition("Rates of 1 by age x sex")[2]
    confusion = odds.confusion
    for age in ("age0", "age1", "age2"):
        for sex in ("F", "M"):
            assert f"{age}, {sex}" in rates
            value = mf.false_positive_rate(1).at(age=age, sex=sex)(confusion)
            assert f"{100 * value:.1f}" in rates
    parity = mf.optimize(proba, y, "accuracy", [mf.demographic_parity("sex") <= 0.05], **given)
    assert "false-positive rate" not in Page(html(parity)).text


@pytest.mark.parametrize(("ages", "shown"), [(3, 6), (8, 12)])
def test_every_cell_is_shown_and_the_extreme_ones_are_named(ages, shown):
    proba, y, names = people(ages)
    limits = [mf.equalized_odds(["age", "sex"], 1) <= 0.05]
    result = mf.optimize(proba, y, "accuracy", limits, sensitive_features=names, counting="model")
    display = RegionsDisplay.from_result(result)
    assert display.panels == shown == len(display.plot().ax_)
    points = np.stack([1 - np.linspace(0, 1, 501), np.linspace(0, 1, 501)], axis=1)
    selected = {}
    for cell in result.policy.axes.cells.values:
        columns = {name: [value] * 501 for name, value in zip(("age", "sex"), cell, strict=True)}
        selected[cell] = result.policy.decision_proba(points, columns)[:, 1].mean()
    most, least = max(selected, key=selected.get), min(selected, key=selected.get)
    told = display.describe()
    assert f" 1 most in {', '.join(most)}, least in {', '.join(least)}." in told
    for cell in (most, least):
        assert f"{', '.join(cell)}: 0 {1 - selected[cell]:.0%}, 1 {selected[cell]:.0%}" in told
    assert ("between these" in told) == (2 * ages > shown)


def test_a_value_by_the_limit_has_no_tick(result):
    near = ConstraintEstimate(result.constraints[0].name, 0.87, 0.83, 0.9, 0.85, ">=")
    far = ConstraintEstimate(result.constraints[1].name, 0.1, 0.05, 0.15, 0.5, "<=")
    judged = replace(result, expected=Judgement(0.7, 0.65, 0.75, (near, far), 2000))
    marks = re.findall(r'class="mark (\w+)">(.) ([a-z ]+)<', html(judged))
    assert ("open", "?", "open") in marks
    assert ("kept", "✓", "likely met") in marks
    assert {word for _, mark, word in marks if mark == "✓"} == {"met", "likely met"}
    assert "to all rows" in Page(html(result)).text
