"""The scripts in examples/: they run, and print what the page about them shows, up to the numbers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import metricfit as mf

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
NEEDED = {"xgboost_classifier": "xgboost", "lightgbm_classifier": "lightgbm"}
NUMBER = re.compile(r"-?\b\d[\d,]*(\.\d+)?(e[-+]?\d+)?\b")


# On which side of its limit an estimate lies may be a processor's, too.
OUTLOOK = re.compile(r"(?<=on new rows, )(likely met|open|likely violated)$", re.MULTILINE)


def shown() -> dict[str, str]:
    """What each script prints, by the page."""
    page = (ROOT / "docs/examples.md").read_text(encoding="utf-8")
    blocks = re.findall(r'```python title="examples/(\w+)\.py"\n.*?```text\n(.*?)```', page, re.DOTALL)
    return dict(blocks)


def words(text: str) -> list[list[str]]:
    """The words of each line, with a sign in place of each number: the last digits are those of a processor."""
    return [NUMBER.sub("#", line).split() for line in OUTLOOK.sub("?", text).splitlines() if line.strip()]


def test_every_script_is_on_the_page():
    assert sorted(shown()) == [script.stem for script in SCRIPTS]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_examples_run_and_print_what_the_page_shows(script, tmp_path):
    package = NEEDED.get(script.stem)
    if package is not None and find_spec(package) is None:
        pytest.skip(f'{package} is not installed: pip install ".[examples]"')
    # Without the data sets, so that every machine runs the same.
    env = {name: value for name, value in os.environ.items() if name != "METRICFIT_DATA"}
    paths = [str(Path(mf.__file__).parents[1]), env.get("PYTHONPATH", "")]
    env |= {"PYTHONPATH": os.pathsep.join(paths), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert words(done.stdout) == words(shown()[script.stem])
