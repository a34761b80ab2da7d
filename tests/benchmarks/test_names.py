"""Benchmarks run as scripts with their folder first on the path, so none may hide a module that a library looks for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("folder", ["kernels", "peers", "scale", "trust", "worlds"])
def test_libraries_can_be_imported_from_the_folder_of_benchmarks(folder):
    # numba looks for a module named coverage, whether that is installed or not.
    code = f"import sys; sys.path.insert(0, {str(BENCHMARKS / folder)!r}); import numba, pandas, sklearn"
    subprocess.run([sys.executable, "-c", code], check=True)
