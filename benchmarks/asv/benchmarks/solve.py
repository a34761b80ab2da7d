"""Times of whole solves and single passes over the rows, for asv: `asv run` in benchmarks/asv."""

from __future__ import annotations

import numpy as np

import metricfit as mf
from metricfit.oracles import PluginOracle, Rows


def scores(rows: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((rows, classes), dtype=np.float32) * 1.5
    logits += np.linspace(0, -3, classes, dtype=np.float32)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=1, keepdims=True)
    y = np.minimum((logits.cumsum(axis=1) < rng.random((rows, 1))).sum(axis=1), classes - 1)
    return logits, y


class Pass:
    """One oracle call, beside one read of the array."""

    params = ([(400_000, 7), (200_000, 100)], ["labels", "model"])
    param_names = ("shape", "confusion")

    def setup(self, shape: tuple[int, int], confusion: str) -> None:
        self.proba, y = scores(*shape)
        self.oracle = PluginOracle(Rows.of(self.proba, y), confusion)
        self.loss = np.zeros((1, 2, shape[1]))
        self.loss[0, 0] = -np.linspace(1, 5, shape[1])
        self.oracle(self.loss, "diagonal")

    def time_read(self, shape: tuple[int, int], confusion: str) -> None:
        self.proba.sum()

    def time_call(self, shape: tuple[int, int], confusion: str) -> None:
        self.oracle(self.loss, "diagonal")


class Solve:
    """Whole solves."""

    params = ("g_mean", "h_mean", "min_recall", "macro_f1", "cohen_kappa(weights='quadratic')")
    param_names = ("objective",)

    def setup(self, objective: str) -> None:
        self.proba, self.y = scores(20_000, 10)
        mf.optimize(self.proba, self.y, objective, max_calls=5)

    def time_alone(self, objective: str) -> None:
        mf.optimize(self.proba, self.y, objective)

    def time_constrained(self, objective: str) -> None:
        mf.optimize(self.proba, self.y, objective, ["coverage_deviation() <= 0.01"])

    def track_calls(self, objective: str) -> int:
        return mf.optimize(self.proba, self.y, objective).n_oracle_calls


class Import:
    """Start-up."""

    def timeraw_import(self) -> str:
        return "import metricfit"
