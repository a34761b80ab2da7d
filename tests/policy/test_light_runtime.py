"""Deciding with a policy file needs NumPy alone; the other public names are imported when asked for."""

from __future__ import annotations

import ast
import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import metricfit as mf
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
