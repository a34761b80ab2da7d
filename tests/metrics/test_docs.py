"""The pages about metrics: tables say what metrics declare, code is that of the files, examples run."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import metricfit as mf
from metricfit.metrics import METRICS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / name for name in ("metrics.md", "add-a-metric.md")]
ROWS = re.findall(r"^\| `(.+?)` \|(.*)\|$", PAGES[0].read_text(), re.MULTILINE)
EXCERPTS = [
    (page.name, *found)
    for page in PAGES
    for found in re.findall(r'```python title="(.+?)"\n(.*?)```', page.read_text(), re.DOTALL)
]


def columns(text: str) -> list[str]:
    return [cell.strip() for cell in text.split("|")]


DECLARED = [(text, columns(rest)) for text, rest in ROWS if len(columns(rest)) == 5]


def test_tables_list_exactly_the_metrics():
    assert {text.split("(")[0] for text, _ in DECLARED} == set(METRICS)


@pytest.mark.parametrize(("text", "cells"), DECLARED, ids=[text for text, _ in DECLARED])
def test_tables_say_what_metrics_declare(text, cells):
    metric = mf.parse(text)
    _, better, curvature, smooth, _ = cells
    assert better == {1: "higher", -1: "lower", 0: "-"}[metric.direction]
    assert curvature == metric.curvature.value
    assert smooth == ("yes" if metric.smooth else "no")


@pytest.mark.parametrize(("page", "path", "code"), EXCERPTS)
def test_excerpts_are_those_of_the_files(page, path, code):
    assert code in (ROOT / path).read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page):
    result = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert target.startswith("https://") or (page.parent / target).exists()
