"""README.md can be followed: its blocks run as copied, in order, and print what it shows."""

from __future__ import annotations

import re
import stat
import sys
from pathlib import Path

import pytest
from follow_readme import blocks, follow, without_installation
from optional import absent
from test_docs import NearlyShown

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_can_be_followed(tmp_path, monkeypatch):
    if missing := absent(("matplotlib", "jinja2")):
        pytest.skip(f"{', '.join(missing)} is not installed")
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, words in {"python": "", "metricfit": " -m metricfit"}.items():
        (commands / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{words} "$@"\n', encoding="utf-8")
        (commands / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    folder = tmp_path / "clone"
    folder.mkdir()
    outputs = follow(folder, TEXT, installs=False, path=str(commands))
    shown = [block for kind, block in blocks(TEXT) if kind == "text"]
    assert len(outputs) == len(shown) > 0
    for output, block in zip(outputs, shown, strict=True):
        assert NearlyShown().check_output(block, output, 0)
        assert "open" in output
    assert {path.name for path in folder.iterdir()} >= {
        "scores.csv", "new.csv", "policy.json", "report.html", "decisions.csv"
    }  # fmt: skip
    _, *rows = (folder / "decisions.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 20_000
    assert 0.88 < sum(row.endswith("legit") or ",legit" in row for row in rows) / len(rows) < 0.92


def test_only_the_installation_is_left_out():
    left = "".join(without_installation(block) for kind, block in blocks(TEXT) if kind == "sh")
    assert left.splitlines()[0].startswith("metricfit demo")
    whole = "".join(block for kind, block in blocks(TEXT) if kind == "sh")
    assert len(whole.splitlines()) == len(left.splitlines()) + 2


def test_it_is_short_and_opens_with_what_a_stranger_looks_for():
    assert len(TEXT.split()) <= 700
    order = [
        TEXT.index(part)
        for part in ("**Fit the metric", "<picture>", "## Install", "```python", "metricfit fit ")
    ]
    assert order == sorted(order)
    for name in re.findall(r'(?:src|srcset)="([^"]+)"', TEXT):
        assert (ROOT / name).exists()
