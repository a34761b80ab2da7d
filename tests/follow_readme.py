"""Follow README.md literally: its blocks of shell and Python, in order, as somebody does who copies them.

    python tests/follow_readme.py [--here]

clones the repository into an empty folder, without what is not committed, and runs every block there, the installation
among them, which needs a package index. With ``--here`` it is left out, and the present environment is used.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(sh|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text: str) -> list[tuple[str, str]]:
    """Return the language and the text of each block to follow, and of what it prints."""
    return BLOCK.findall(text)


def without_installation(shell: str) -> str:
    """Return the lines of a block of shell that install nothing."""
    return "".join(line for line in shell.splitlines(True) if not re.search(r"\b(venv|pip install)\b", line))


def script(found: list[tuple[str, str]], installs: bool) -> str:
    """Return one shell script of all blocks; each block of Python is a program, whose output is kept in a file."""
    lines = ["set -euo pipefail"]
    for number, (kind, block) in enumerate(found):
        if kind == "sh":
            lines.append(block if installs else without_installation(block))
        elif kind == "python":
            lines.append(f"cat > block_{number}.py <<'END_OF_BLOCK'\n{block}END_OF_BLOCK")
            lines.append(f"python block_{number}.py | tee block_{number}.txt")
    return "\n".join(lines)


def follow(folder: Path, text: str, installs: bool, path: str = "") -> list[str]:
    """Run all blocks in a folder; return the outputs of the blocks of Python that README shows the output of."""
    found = blocks(text)
    environment = os.environ | ({"PATH": os.pathsep.join([path, os.environ["PATH"]])} if path else {})
    subprocess.run(["bash", "-c", script(found, installs)], cwd=folder, env=environment, check=True)
    shown = [n for n in range(len(found) - 1) if found[n][0] == "python" and found[n + 1][0] == "text"]
    return [(folder / f"block_{n}.txt").read_text(encoding="utf-8") for n in shown]


def main() -> None:
    """Clone, and follow."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--here", action="store_true", help="leave the installation out")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        text = (clone / "README.md").read_text(encoding="utf-8")
        for output in follow(clone, text, not options.here, str(Path(sys.executable).parent)):
            print(output)
        print(
            "written:",
            *sorted(p.name for p in clone.glob("*.[chj]*") if p.suffix in (".csv", ".json", ".html")),
        )


if __name__ == "__main__":
    main()
