"""Deciding with a policy file needs NumPy alone; the other public names are imported when asked for."""

from __future__ import annotations

import ast
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import metricfit as mf
from metricfit.cli import main
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.kernels.settings import TUNED
from metricfit.policy import Policy, Rule
from metricfit.policy.deciding import engine_for

HEAVY = {
    "scipy",
    "pandas",
    "sklearn",
    "cvxpy",
    "numba",
    "clarabel",
    "joblib",
    "pyarrow",
    "matplotlib",
    "onnx",
}
# Reads a policy, decides rows given in the ways that need no other library, and tells what was imported.
PROGRAM = """
import json, sys
import numpy as np
from metricfit.policy import Policy

policy = Policy.load(sys.argv[1])
proba = np.full((100_000, 2), 0.5)
proba[::2] = 0.9, 0.1
made = [policy.decide(proba, given) for given in ({"sex": ["F"] * 100_000}, np.full(100_000, "F"))]
assert (made[0] == made[1]).all()
policy.decision_proba(proba[:10], {"sex": ["M"] * 10})
own = {name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names)
print(json.dumps({"modules": sorted(own), "made": made[0][:4].tolist()}))
"""


@pytest.fixture
def saved(tmp_path):
    rules = [[Rule(0.5, [[0, 1], [5, 0]]), Rule(0.5, [[0, 1], [1, 0]])], [Rule(1, [[0, 5], [1, 0]])]]
    path = tmp_path / "policy.json"
    Policy(Axes(("no", "yes"), (), Cells(("sex",), (("F",), ("M",)))), "full", rules).save(path)
    return path


def run(program: str, *arguments: object) -> str:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_loading_and_deciding_import_numpy_alone(saved):
    told = json.loads(run(PROGRAM, saved))
    assert HEAVY.isdisjoint(told["modules"])
    assert {"metricfit", "numpy"} <= set(told["modules"])
    policy, proba = Policy.load(saved), [[0.9, 0.1], [0.5, 0.5]] * 2
    assert told["made"] == policy.decide(proba, {"sex": ["F"] * 4}).tolist()


def test_deciding_works_where_nothing_but_numpy_is_installed(saved):
    """Modules set to None in sys.modules cannot be imported, as if they were not installed."""
    blocked = f"import sys\nsys.modules.update(dict.fromkeys({sorted(HEAVY)!r}))\n"
    # Many decisions of many rows: more work than what numba would be loaded for.
    large = (
        "from metricfit.policy.deciding import engine_for\nassert engine_for(10**12) == 'numpy'\n"
        "assert len(policy.decide(proba, {'sex': ['F'] * 100_000})) == 100_000"
    )
    program = f"{blocked}{PROGRAM}\n{large}"
    assert "modules" in run(program, saved)


@pytest.fixture
def server(tmp_path):
    """A command line that finds NumPy and this package, and nothing else that is installed."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in ("numpy", "numpy.libs"):
        source = Path(np.__file__).parents[1] / name
        if source.exists():
            (packages / name).symlink_to(source)
    (packages / "metricfit").symlink_to(Path(mf.__file__).parent)

    def command(*arguments: object) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-S", "-m", "metricfit", *map(str, arguments)]  # -S: no site-packages
        environment = {**os.environ, "PYTHONPATH": str(packages)}
        return subprocess.run(
            program, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
        )

    return command


SCORES = (
    'case,sex,p_no,p_yes,note\n1,F,0.9,0.1,=1+1\n2,M,0.4,0.6,"a, ""b"""\n3,F,0.25,0.75,-1.5\n007,M,1,0,\n'
)


def test_apply_decides_csv_files_with_numpy_alone_as_with_pandas(saved, server, tmp_path, monkeypatch):
    (tmp_path / "scores.csv").write_text(SCORES)
    how = ["--keep", "case", "sex", "note", "--key", "case", "--with-probabilities"]
    done = server("apply", saved, "scores.csv", "--out", "light.csv", *how)
    assert (done.returncode, done.stderr) == (0, "")
    assert "4 rows of scores.csv decided" in done.stdout
    monkeypatch.chdir(tmp_path)
    assert main(["apply", str(saved), "scores.csv", "--out", "full.csv", *how]) == 0
    assert Path("light.csv").read_bytes() == Path("full.csv").read_bytes()
    assert Path("light.csv").read_text().splitlines()[4].startswith("007,M,,no,")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            ["fit", "scores.csv", "--label", "sex", "--maximize", "accuracy", "--out", "x.json"],
            "needs the package",
        ),
        (["metrics"], "needs the package scipy"),
        (["apply", "policy.json", "scores.csv", "--out", "x.parquet"], 'pip install ".[io]"'),
    ],
)
def test_other_commands_say_what_they_lack(saved, server, tmp_path, command, told):
    (tmp_path / "scores.csv").write_text(SCORES)
    done = server(*command)
    assert done.returncode == 2
    assert done.stderr.startswith("metricfit: ")
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("x.*"))


def test_exports_are_written_with_numpy_alone(saved, server, tmp_path):
    for kind, name in (("python", "rule.py"), ("sql", "rule.sql")):
        done = server("export", saved, "--to", kind, "--out", name)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / name).stat().st_size > 100


def test_damaged_tables_are_refused_with_numpy_alone(saved, server, tmp_path):
    head = "sex,p_no,p_yes\n"
    for text, told in {
        head + "F,0.5\n": "is NaN or infinite in 1 row (0)",
        head + "F,0.5,0.5,1\n": "more fields than columns in 1 row (0); the first surplus one is '1'",
        head + "F,0.5,1_0\n": "it holds '1_0' in 1 row (0)",
        head + 'F,0.5,"0.5\n': "cannot be read as CSV",
        "": "the file is empty",
        "\n\n": "no columns to read",
        head + ",0.5,0.5\n": "is missing (NaN or None) in 1 row (0)",
    }.items():
        (tmp_path / "scores.csv").write_text(text)
        done = server("apply", saved, "scores.csv", "--out", "x.csv")
        assert done.returncode == 4, (text, done.stderr)
        assert told in done.stderr, (text, done.stderr)


def test_importing_the_package_imports_nothing_heavy():
    told = run("import sys, metricfit; dir(metricfit); print(*sorted(sys.modules))").split()
    assert HEAVY.isdisjoint(told)
    assert "numpy" not in told


@pytest.mark.parametrize("layout", ["full", "diagonal"])
def test_numpy_and_numba_decide_alike(layout):
    pytest.importorskip("numba")
    random = np.random.default_rng(0)
    proba = random.dirichlet(np.ones(5), 3 * TUNED.numpy_work // 10)
    cells = Cells(("g",), ((0,), (1,)))
    losses = random.normal(size=(2, 5 if layout == "full" else 2, 5))
    policy = Policy(Axes(tuple(range(5)), (), cells), layout, [[Rule(1, loss)] for loss in losses])
    group = random.integers(0, 2, len(proba))
    made = policy.decide(proba, group)
    assert engine_for(proba.size) == "numba"  # it is loaded, and this is enough work
    blocks = np.array_split(np.arange(len(proba)), 40)
    assert engine_for(blocks[0].size * 25) == "numpy"
    small = [policy.decide(proba[rows], group[rows]) for rows in blocks]
    np.testing.assert_array_equal(made, np.concatenate(small))


# The public names


def test_every_public_name_is_importable_listed_and_known_to_type_checkers():
    tree = ast.parse(Path(mf.__file__).read_text(encoding="utf-8"))
    (guarded,) = [
        node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    homes = {
        alias.name: node.module
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    lazy = {**mf._HOME, **dict.fromkeys(mf._MODULES, "metricfit")}
    assert homes == lazy
    assert sorted(mf.__all__) == sorted(lazy)
    assert set(mf.__all__) <= set(dir(mf))
    for name in mf.__all__:
        assert getattr(mf, name) is not None
    everything: dict[str, object] = {}
    exec("from metricfit import *", everything)
    assert set(mf.__all__) <= set(everything)


def test_modules_are_attributes_of_the_package():
    program = (
        "import metricfit as mf; assert issubclass(mf.exceptions.PolicyFileError, ValueError);"
        "assert mf.methods.GDA.name == 'gda'; assert callable(mf.datasets.make_fraud_triage);"
        "assert callable(mf.report.FrontierDisplay.from_frontier); assert callable(mf.calibration.fit);"
        "assert callable(mf.oracles.PluginOracle)"
    )
    assert run(program) == ""


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'optimise'"):
        mf.optimise  # noqa: B018
    with pytest.raises(ImportError, match="optimise"):
        exec("from metricfit import optimise", {})


def test_lazy_names_are_pickled_by_their_homes():
    for name in ("Policy", "MetricClassifier", "optimize"):
        assert pickle.loads(pickle.dumps(getattr(mf, name))) is getattr(mf, name)
