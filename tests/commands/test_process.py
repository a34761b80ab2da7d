"""The command as a process: signals at any moment, pipes that close, disks that fill up."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from optional import needs

import metricfit as mf

SOURCE = str(Path(mf.__file__).parents[1])
FIT = [
    "fit",
    "scores.csv",
    "--label",
    "y",
    "--proba-prefix",
    "p_",
    "--maximize",
    "g_mean",
    "--out",
    "policy.json",
]
FIT += ["--subject-to", "precision('b') >= 0.5", "--counting", "model", "--force"]
APPLY = ["apply", "policy.json", "scores.csv", "--proba-prefix", "p_", "--out", "decisions.csv", "--force"]

# A process that sends itself Ctrl-C when a module is imported, as it would come from the keyboard.
ON_IMPORT = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            os.environ["INTERRUPT_AT"] = ""
            os.kill(os.getpid(), signal.SIGINT)
        return None
if os.environ.get("INTERRUPT_AT"):
    sys.meta_path.insert(0, Interrupt())
"""
# A process that says when the command has its answer to Ctrl-C, which is before it imports the command line.
SAYS_READY = """
import sys
class Ready:
    def find_spec(self, name, path=None, target=None):
        if name == "metricfit.cli":
            open("ready", "w").close()
        return None
sys.meta_path.insert(0, Ready())
"""
# A process that sends itself Ctrl-C when Python clears its modules, long after the last line of the command.
AT_THE_END = """
import os, signal
class Last:
    def __del__(self, kill=os.kill, process=os.getpid(), number=signal.SIGINT):
        kill(process, number)
last = Last()
"""
# A disk on which it takes long until what was written is safe.
SLOW_DISK = """
import os, time
safe = os.fsync
def fsync(number):
    open("writing", "w").close()
    time.sleep(60)
    safe(number)
os.fsync = fsync
"""


@pytest.fixture
def here(tmp_path):
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1, 1, 1], 400)
    labels = np.array(list("abc"))[(rng.random((400, 1)) > proba.cumsum(axis=1)).sum(axis=1)]
    pd.DataFrame(proba, columns=["p_a", "p_b", "p_c"]).assign(y=labels).to_csv(
        tmp_path / "scores.csv", index=False
    )
    return tmp_path


def command(folder, *argv, site="", **options):
    """Start the command, with some code that runs before it."""
    (folder / "site").mkdir(exist_ok=True)
    (folder / "site" / "sitecustomize.py").write_text(site)
    paths = [str(folder / "site"), SOURCE, os.environ.get("PYTHONPATH", "")]
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONUNBUFFERED": "",
        **options.pop("env", {}),
    }
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen(
        [sys.executable, "-m", "metricfit", *argv], cwd=folder, env=env, text=True, **options
    )


def run(folder, *argv, **options):
    process = command(folder, *argv, **options)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def files(folder):
    return sorted(path.name for path in folder.iterdir() if path.name not in ("site", "scores.csv"))


@pytest.mark.parametrize(
    "module", ["metricfit.cli", "argparse", "numpy", "metricfit.commands.fit", "pandas", "scipy"]
)
def test_ctrl_c_in_an_import(here, module):
    code, out, err = run(here, *FIT, site=ON_IMPORT, env={"INTERRUPT_AT": module})
    assert (code, out, err) == (130, "", "metricfit: interrupted\n")
    assert files(here) == []


def test_ctrl_c_when_all_is_done(here):
    """The command's own exit code stands: there is nothing left to interrupt."""
    code, out, err = run(here, "--version", site=AT_THE_END)
    assert (code, out, err) == (0, f"metricfit {mf.__version__}\n", "")


def wait_for(path, process):
    while not path.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    path.unlink()


@pytest.mark.parametrize("seed", range(4))
def test_ctrl_c_at_a_random_moment(here, seed):
    """Nothing is printed but that it was interrupted, or the command was done; no file is half there."""
    process = command(here, *FIT, site=SAYS_READY)
    wait_for(here / "ready", process)
    time.sleep(2.9 * np.random.default_rng(seed).random())
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert "Traceback" not in err
    assert process.returncode in (0, 3, 130)
    if process.returncode == 130:
        assert err == "metricfit: interrupted\n"
    assert files(here) in ([], ["policy.json"])
    if files(here):
        assert mf.Policy.load(here / "policy.json").axes.classes == ("a", "b", "c")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_an_end_while_writing_leaves_the_old_file(here, number):
    (here / "policy.json").write_text("an older policy")
    process = command(here, *FIT, site=SLOW_DISK)
    wait_for(here / "writing", process)
    process.send_signal(number)
    _, err = process.communicate(timeout=300)
    assert (here / "policy.json").read_text() == "an older policy"
    left = [name for name in files(here) if name.startswith(".")]
    if number == signal.SIGINT:
        assert (process.returncode, err, left) == (130, "metricfit: interrupted\n", [])
    else:
        assert process.returncode == -signal.SIGKILL
        assert len(left) == 1  # nobody was left to remove what was written beside it
    assert run(here, *FIT)[0] == 0
    assert mf.Policy.load(here / "policy.json").axes.classes == ("a", "b", "c")


@pytest.mark.parametrize("older", [None, "an older table"])
def test_a_full_disk_leaves_no_half_file(here, older):
    """The system refuses to write more than 300 bytes to any file."""
    assert run(here, *FIT)[0] == 0
    policy = (here / "policy.json").read_bytes()
    if older:
        (here / "decisions.csv").write_text(older)

    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))

    for argv, name in ((APPLY, "decisions.csv"), (FIT, "policy.json")):
        code, _, err = run(here, *argv, preexec_fn=small)
        assert code == 4
        assert err.endswith(f"{name}: File too large\n")
        assert "Traceback" not in err
    assert (here / "policy.json").read_bytes() == policy
    assert files(here) == (["decisions.csv", "policy.json"] if older else ["policy.json"])
    assert not older or (here / "decisions.csv").read_text() == older


@pytest.mark.parametrize(
    "ending", ["csv", *(pytest.param(e, marks=needs("pyarrow")) for e in ("parquet", "arrow"))]
)
def test_a_full_disk_is_blamed_on_what_is_written(here, ending):
    """Also where the first rows are refused while later ones are still read."""
    assert run(here, *FIT)[0] == 0
    pd.concat([pd.read_csv(here / "scores.csv")] * 30).to_csv(here / "scores.csv", index=False)
    argv = [f"decisions.{ending}" if word == "decisions.csv" else word for word in APPLY]

    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))

    code, out, err = run(here, *argv, "--keep", "y", "p_a", preexec_fn=small)
    assert (code, out) == (4, "")
    assert err == f"metricfit: decisions.{ending}: File too large\n"
    assert files(here) == ["policy.json"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("argv", [["metrics"], ["--help"], ["fit", "--help"]])
def test_output_that_cannot_be_written(here, argv):
    with open("/dev/full", "w") as full:
        code, _, err = run(here, *argv, stdout=full)
    assert (code, err) == (2, "metricfit: the output cannot be written: No space left on device\n")


@pytest.mark.parametrize("argv", [["metrics"], ["--help"], ["--version"]])
def test_readers_that_leave_early(here, argv):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        code, _, err = run(here, *argv, stdout=closed)
    assert (code, err) == (141, "")


def test_without_any_output(here):
    """As by >&- 2>&- in a shell."""

    def closed():
        os.close(1)
        os.close(2)

    assert run(here, "metrics", preexec_fn=closed)[0] == 0
    assert run(here, "metrics", "g_men", preexec_fn=closed)[0] == 2


def test_names_that_are_no_text(here):
    """A file's name may be any bytes; what is printed then shows them."""
    name = os.fsdecode(b"\xff.csv")
    os.rename(here / "scores.csv", here / name)
    code, out, err = run(here, *[name if word == "scores.csv" else word for word in FIT])
    assert code == 0, err
    assert "\\udcff.csv" in out
