"""The benchmarks' own environments, with the tools that metricfit is compared with, from the package index."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent
# One environment for each file of rivals: their tools need different versions of the same libraries.
PACKAGES = {
    "rivals.py": ["xcolumns==0.0.2", "optimal-classification-cutoffs==0.6.0"],
    "fairness_rivals.py": ["fairlearn==0.15.0", "error-parity==0.3.12", "oxonfair==0.3"],
}


def python(script: str) -> Path:
    """Return the interpreter of a script's environment, which is made when it is not there."""
    folder = HERE / ".venv" / Path(script).stem
    found = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not (folder / "installed").exists():
        venv.create(folder, clear=True, with_pip=True)
        subprocess.run([found, "-m", "pip", "install", "--quiet", *PACKAGES[script]], check=True)
        (folder / "installed").write_text("\n".join(PACKAGES[script]))
    return found


def run_rivals(folder: Path, *arguments: object, script: str = "rivals.py") -> None:
    """Let the other tools decide the rows in a folder; see the script."""
    subprocess.run([python(script), HERE / script, folder, *map(str, arguments)], check=True)
