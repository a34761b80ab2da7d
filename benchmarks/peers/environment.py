"""The benchmark's own environment, with the tools that metricfit is compared with, from the package index."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent
PACKAGES = ["xcolumns==0.0.2", "optimal-classification-cutoffs==0.6.0"]


def python() -> Path:
    """Return the interpreter of the environment, which is made when it is not there."""
    folder = HERE / ".venv"
    found = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not (folder / "installed").exists():
        venv.create(folder, clear=True, with_pip=True)
        subprocess.run([found, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        (folder / "installed").write_text("\n".join(PACKAGES))
    return found


def run_rivals(folder: Path, repeats: int) -> None:
    """Let the other tools decide the rows in a folder; see `rivals.py`."""
    subprocess.run([python(), HERE / "rivals.py", folder, str(repeats)], check=True)
