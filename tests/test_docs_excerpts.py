"""The docs show what the files say, and their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXCERPT = re.compile(r'```python title="([^"]+)"\n(.*?)```', re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    assert all((page.parent / link).exists() for link in links)


@pytest.mark.parametrize(
    "page", [p for p in PAGES if EXCERPT.search(p.read_text())], ids=lambda page: page.name
)
def test_excerpts_stand_in_the_files(page):
    for path, code in EXCERPT.findall(page.read_text()):
        assert code in (ROOT / path).read_text()
