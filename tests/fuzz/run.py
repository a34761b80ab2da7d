"""Fuzz one target by coverage for some seconds: ``python tests/fuzz/run.py policy --seconds 20``.

Needs atheris, which has no build for every Python; without it this says so, and the tests with hypothesis are left.
A finding ends the run with a traceback, exit code 77 and the bytes in build/fuzz.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = ("policy", "models", "text", "tables")
# What decides on whether a file or text is accepted.
INSTRUMENTED = [
    *(
        "metricfit.policy",
        "metricfit.metrics",
        "metricfit.commands",
        "metricfit.data",
        "metricfit.oracles.files",
        "metricfit.tables",
    ),
    "json",
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=NAMES)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--corpus", help="folder of inputs to start from, and to add to")
    parser.add_argument("--repeat", help="run one input, such as a finding")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent))
    if options.repeat:
        import targets

        targets.TARGETS[options.target](Path(options.repeat).read_bytes())
        return 0
    if importlib.util.find_spec("atheris") is None:
        print(
            f"atheris is not installed (it may have no build for this Python); {options.target} is not fuzzed by it"
        )
        return 0
    if options.inside:
        fuzz(options.target, options.seconds, Path(options.corpus or options.inside))
    return watch()


def watch() -> int:
    """Fuzz in a process of its own, which libFuzzer ends without a word to Python, and clear up behind it."""
    in_memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="metricfit-fuzz-", dir=in_memory) as folder:
        corpus = Path(folder) / "corpus"
        corpus.mkdir()
        argv = [sys.executable, *sys.argv, "--inside", str(corpus)]
        return subprocess.run(argv, env=os.environ | {"TMPDIR": folder}).returncode


def fuzz(target: str, seconds: int, corpus: Path) -> None:
    """Fuzz from the target's seeds and what the corpus holds; does not return."""
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED):
        import targets

    found = Path("build/fuzz")
    found.mkdir(parents=True, exist_ok=True)
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(targets.SEEDS[target]):
        (corpus / f"seed-{number}").write_bytes(seed)
    limits = [f"-max_total_time={seconds}", "-timeout=30", "-rss_limit_mb=3000", "-max_len=20000"]
    quiet = ["-verbosity=1", "-print_final_stats=1", f"-artifact_prefix={found}/{target}-"]
    atheris.Setup([sys.argv[0], str(corpus), *limits, *quiet], targets.TARGETS[target])
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
