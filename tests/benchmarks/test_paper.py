"""What the paper's page rests on: its losses, its verdicts, its NumPy rival and its kept cells."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import metricfit as mf

FOLDER = Path(__file__).parents[2] / "benchmarks" / "paper"


@pytest.fixture(scope="module")
def paper():
    """Import the benchmark's modules, which stand on their own path, and forget them afterwards."""
    pytest.importorskip("matplotlib")
    before = set(sys.modules)
    sys.path.insert(0, str(FOLDER))
    names = ("cells", "scoring", "plain_numpy", "bars", "frames", "settings", "population", "pictures")
    names += ("published", "as_published", "completeness", "solving")
    try:
        yield SimpleNamespace(**{name: import_module(name) for name in names})
    finally:
        sys.path.remove(str(FOLDER))
        for name in set(sys.modules) - before:
            if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]


# Two groups, two classes: 10 + 10 rows of class 0, 5 + 15 of class 1.
TENSOR = np.array([[[8, 2], [1, 4]], [[6, 4], [6, 9]]]) / 40


def test_losses_have_the_values_of_their_formulas(paper):
    recalls = np.array([14 / 20, 13 / 20])
    s = paper.scoring
    assert s.h_mean_loss(TENSOR) == pytest.approx(1 - 2 / (1 / recalls).sum(), abs=1e-6)
    assert s.g_mean_loss(TENSOR) == pytest.approx(1 - np.sqrt(recalls.prod()))
    assert s.q_mean_loss(TENSOR) == pytest.approx(np.sqrt((0.3**2 + 0.35**2) / 2))
    assert s.min_max_loss(TENSOR) == pytest.approx(0.35)
    assert s.error(TENSOR) == pytest.approx(13 / 40)
    # 13 hits of class 1; 20 rows of it, 19 decided so.
    assert s.micro_f1_loss(TENSOR, default=0) == pytest.approx(1 - 2 * 13 / (20 + 19))
    assert s.coverage_violation(TENSOR) == pytest.approx(1 / 40 - 0.01)
    assert s.coverage_violation(TENSOR, np.array([0.5, 0.5]), limit=0) == pytest.approx(1 / 40)
    assert s.opportunity_violation(TENSOR, "mean") == pytest.approx(0.1 - 0.05)
    assert s.opportunity_violation(TENSOR, "overall") == pytest.approx(4 / 5 - 13 / 20 - 0.05)


def test_the_expected_tensor_is_that_of_the_decision_probabilities(paper):
    decisions = np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    C = paper.scoring.expected(decisions, np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    expected = [[[0.25, 0.75], [0.5, 0.5]], [[1, 0], [0, 1]]]
    np.testing.assert_allclose(C, np.array(expected) / 4)


def test_the_numpy_rival_walks_as_frank_wolfe_does(paper):
    rng = np.random.default_rng(0)
    P = rng.dirichlet([0.5] * 3, 600)
    y = (P.cumsum(axis=1) < rng.random((600, 1))).sum(axis=1)
    weights, gains, path = paper.plain_numpy.frank_wolfe(P, y, paper.plain_numpy.h_mean_gradient, 200)
    assert weights.sum() == pytest.approx(1)
    C = paper.scoring.expected(paper.plain_numpy.mixture(P, weights, gains), y)
    np.testing.assert_allclose(paper.scoring.recalls(C), path[-1])
    # Ours ends with the best mixture of its rules, so it is somewhat better.
    ours = mf.optimize(P, y, "h_mean", method="frank_wolfe", max_calls=200)
    assert ours.value - 0.01 <= 3 / (1 / path[-1]).sum() <= ours.value
    r, step = np.array([0.3, 0.6, 0.8]), 1e-6
    for gradient, loss in (
        (paper.plain_numpy.h_mean_gradient, lambda r: 1 - 3 / (1 / r).sum()),
        (paper.plain_numpy.min_max_gradient, lambda r: 1 - r.min()),
    ):
        slopes = [(loss(r + step * e) - loss(r - step * e)) / (2 * step) for e in np.eye(3)]
        np.testing.assert_allclose(gradient(r), slopes, atol=1e-6)


def test_finished_cells_are_kept_and_not_run_again(paper, tmp_path, capsys):
    ran = []

    def task(split, method, fails=False):
        def compute():
            if fails:
                raise KeyboardInterrupt
            ran.append((split, method))
            return {"loss": split / 4}

        return paper.cells.Task((split, method), compute)

    def table():
        return paper.cells.Table(tmp_path / "results" / "hmean.csv", ("split", "method"), ("loss", "calls"))

    with pytest.raises(KeyboardInterrupt):
        table().run([task(0, "gda"), task(1, "gda", fails=True), task(2, "gda")])
    with (tmp_path / "results" / "hmean.csv").open("a") as file:
        file.write("1,gda,0.2")  # cut off: it lacks its last column
    table().run([task(0, "gda"), task(2, "gda")])
    assert ran == [(0, "gda"), (2, "gda")]
    assert "1 of 2 cells are there" in capsys.readouterr().out


def test_cells_of_a_word_can_be_forgotten(paper, tmp_path):
    table = paper.cells.Table(tmp_path / "hmean.csv", ("split", "method"), ("loss",))
    for split, method in ((0, "gda"), (0, "auto"), (1, "gda")):
        table.add((split, method), [{"loss": 0.5}])
    table.forget("gda")
    kept = paper.cells.Table(table.path, ("split", "method"), ("loss",))
    assert kept.done() == {("0", "auto")}


def verdicts(paper, folder, loss):
    """Return the verdicts on Abalone's H-mean where the default reaches a loss on both of two splits."""
    table = paper.cells.Table(folder / "hmean.csv", ("dataset", "split", "method", "budget"), ("test_loss",))
    for split in range(2):
        table.add(("abalone", split, "auto", 0), [{"test_loss": loss}])
    settings = replace(paper.settings.FULL, results=folder)
    return [row[-1] for row in paper.bars.unconstrained(settings)]


def test_a_bar_is_the_best_of_the_papers_methods_plus_its_error(paper, tmp_path):
    best, error = min(paper.frames.paper("hmean", "abalone", m) for m in ("frank_wolfe", "gda", "ellipsoid"))
    assert 0 < error < best < 1
    assert verdicts(paper, tmp_path / "within", best + 0.9 * error) == ["passed"]
    assert verdicts(paper, tmp_path / "beyond", best + 1.1 * error) == ["missed"]


@pytest.mark.filterwarnings("ignore::metricfit.exceptions.CalibrationWarning")
@pytest.mark.parametrize(
    ("constraints", "method"),
    [((), "frank_wolfe"), ((), "ellipsoid"), ("coverage(1) <= 0.3", "split_frank_wolfe")],
)
def test_walks_through_the_achievable_set_end_near_the_optimum(paper, constraints, method):
    """The pictures of the paper's page: first iterates of a method on an exact distribution."""
    best = paper.population.on_line("NormImbal", "h_mean", constraints).confusion.matrix.diagonal()
    path = paper.pictures.iterates(method, "NormImbal", constraints, steps=60, calls=150)
    away = np.abs(path - best).max(axis=1)
    assert path.shape == (60, 2)
    assert away[-1] < 0.01
    assert away[0] > 0.02


def test_what_differs_from_the_stored_cell_is_said(paper, tmp_path, capsys):
    path, keys, values = tmp_path / "hmean.csv", ("split", "method"), ("loss", "status", "time")
    table = paper.cells.Table(path, keys, values)
    for split in (0, 1):
        table.add((split, "gda"), [{"loss": 0.5, "status": "searched", "time": 3}])
    table = paper.cells.Table(path, keys, values)
    table.forget("all")
    losses = {0: 0.5 + 1e-9, 1: 0.25}
    table.run(
        paper.cells.Task((k, "gda"), lambda k=k: {"loss": losses[k], "status": "searched", "time": 9})
        for k in losses
    )
    said = [line for line in capsys.readouterr().out.splitlines() if " was " in line]
    assert said == ["hmean 1 gda: loss was 0.5, is 0.25"]
    table.run([paper.cells.Task((0, "gda"), dict)])
    assert "1 of 1 cells are there; --only hmean --again all computes them again" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::metricfit.exceptions.BrokenLimitWarning")
def test_published_runs_are_chosen_by_the_papers_rule(paper, monkeypatch):
    """Among the runs that keep the constraint the one with the lowest training loss, else the least violation."""
    rng = np.random.default_rng(0)
    P = rng.dirichlet([2.0, 1.0, 1.0], 300)
    y = (P.cumsum(axis=1) < rng.random((300, 1))).sum(axis=1)
    data = SimpleNamespace(P=P, y=y, Pt=P[:50], yt=np.resize([0, 1, 2], 50), g=None, gt=None)
    monkeypatch.setattr(paper.published, "cached", lambda *_: data)
    row = paper.published.cell("coverage", "abalone", 0, "gda", 60)
    assert row["calls"] == 9 * 60
    assert row["train_violation"] <= 1e-6
    down, up = map(float, row["step"].split())
    options = {"as_published": True, "prune": "linear"}
    limit = [mf.coverage_deviation() <= 0.01]
    values = {}
    for a in paper.published.GRID:
        for b in paper.published.GRID:
            found = mf.optimize(
                P, y, "h_mean", limit, method=mf.methods.GDA(step=(a, b), **options), max_calls=60
            )
            assert found.counting == "labels"
            if found.constraints[0].violation <= 1e-6:
                values[a, b] = found.value
    assert values[down, up] == pytest.approx(max(values.values()), abs=1e-6)
    assert 1 - row["train_loss"] == pytest.approx(values[down, up], abs=1e-5)


def test_published_budgets_are_the_papers(paper):
    full = paper.settings.FULL
    assert paper.published.methods("hmean", full) == {
        "frank_wolfe": 5000, "gda": 5000, "ellipsoid": 1000, "auto": 0, "labels": 0
    }  # fmt: skip
    for problem in ("coverage", "equalopp", "equalopp01"):
        calls = paper.published.methods(problem, full)
        assert (calls["split_frank_wolfe"], calls["gda"], calls["ellipsoid"]) == (10_000, 10_000, 1000)


def test_every_entry_of_the_paper_is_here_or_has_a_reason(paper):
    states = {paper.completeness.HERE, paper.completeness.PART, paper.completeness.NOT}
    for what, state, reason in paper.completeness.ITEMS:
        assert state in states, what
        assert reason, what
    named = " ".join(what for what, *_ in paper.completeness.ITEMS)
    for label in (
        "fig:app-gmean-eqopp-2",
        "tab:cifar10",
        "tab:algorithms-con",
        "prop:opt-classifier-constrained",
    ):
        assert label in named
