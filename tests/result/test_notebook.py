"""Results in a notebook."""

from html.parser import HTMLParser

import numpy as np
import pytest

import metricfit as mf


class Cells(HTMLParser):
    """The texts of a page, and whether every tag that opens is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def result():
    random = np.random.default_rng(0)
    proba = random.dirichlet([1, 1], 300)
    y = np.where(random.random(300) < proba[:, 1], "<b>&", "a")
    return mf.optimize(
        proba, y, "accuracy", [mf.recall("<b>&") >= 0.8], classes=["a", "<b>&"], counting="model"
    )


def test_notebooks_show_value_bound_and_constraints(result):
    page = Cells()
    page.feed(result._repr_html_())
    assert page.open == []
    assert f"{result.value:.6f}" in page.texts
    assert f"{result.bound:.6f} (proven), gap {result.gap:.1e}" in page.texts
    (record,) = result.constraints
    place = page.texts.index(record.name)
    assert page.texts[place : place + 4] == [
        record.name,
        f"{record.value:.6f}",
        "met",
        f"{record.price:.4g}",
    ]


def test_texts_are_escaped(result):
    assert "<b>" not in result._repr_html_()
    assert "recall(&#x27;&lt;b&gt;&amp;&#x27;) &gt;= 0.8" in result._repr_html_()


def test_notebooks_show_what_to_expect_on_new_rows():
    random = np.random.default_rng(0)
    proba = random.dirichlet([1, 1], 300)
    y = (random.random(300) < proba[:, 1]).astype(int)
    result = mf.optimize(proba, y, "accuracy", [mf.recall(1) >= 0.8], counting="labels", expect=True)
    page = Cells()
    page.feed(result._repr_html_())
    assert f"{result.expected}, 95 % interval" in page.texts
    (new,) = result.expected.constraints
    assert f"{new}, {new.outlook}" in page.texts
    assert f"none claimed; {result.calibrated.promise}" in page.texts
