"""Benchmarks run as scripts with their folder first on the path, so none may have the name of an installed module."""

from __future__ import annotations

import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("folder", ["kernels", "peers", "scale", "trust", "worlds"])
def test_no_benchmark_hides_an_installed_module(folder):
    names = {path.stem for path in (BENCHMARKS / folder).glob("*.py")}
    assert names
    assert names & (set(packages_distributions()) | sys.stdlib_module_names) == set()
