"""The pages about concepts, methods and oracles: examples run, excerpts are those of the files, links lead somewhere."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from metricfit.methods import METHODS, Method

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs" / name for name in ("concepts.md", "add-a-method.md", "add-an-oracle.md")]
EXCERPTS = [
    (page.name, *found)
    for page in PAGES
    for found in re.findall(r'```python title="(.+?)"\n(.*?)```', page.read_text(encoding="utf-8"), re.DOTALL)
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page):
    result = doctest.testfile(
        str(page), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS
    )
    assert result.attempted > 5
    assert result.failed == 0


@pytest.mark.parametrize(("page", "path", "code"), EXCERPTS)
def test_excerpts_are_those_of_the_files(page, path, code):
    assert code in (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_files_exist(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("https://") or (page.parent / target).exists()
    for path in re.findall(r"`((?:tests|src)/[\w/.]+)`", text):
        assert (ROOT / path).exists()


def test_declarations_are_all_explained():
    text = (ROOT / "docs" / "add-a-method.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    declared = set(Method.__annotations__) - {"name", "reference"}
    assert declared <= explained
    assert all(issubclass(kind, Method) for kind in METHODS.values())
