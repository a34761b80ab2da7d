"""Reading results and the paper's numbers."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

REFERENCE = Path(__file__).parent / "reference"


@lru_cache
def printed() -> pd.DataFrame:
    """Return the numbers printed in the paper, with their plus-minus of two standard errors."""
    return pd.read_csv(REFERENCE / "printed.csv").set_index(["table", "dataset", "method", "quantity"])


@lru_cache
def stored() -> pd.DataFrame:
    """Return means and deviations of the authors' stored results, and of their code run again."""
    return pd.read_csv(REFERENCE / "stored.csv").set_index(["experiment", "dataset", "method", "quantity"])


def read(results: Path, name: str) -> pd.DataFrame | None:
    """Return the finished cells of an experiment, or None."""
    path = results / f"{name}.csv"
    if not path.exists():
        return None
    frame = pd.read_csv(path, keep_default_na=True, dtype={"to": str, "status": str, "solver": str})
    return frame if len(frame) else None


def current(frame: pd.DataFrame, budgets: dict[str, int]) -> pd.DataFrame:
    """Keep the cells of the present budgets; earlier ones stay in the file."""
    wanted = frame["method"].map(budgets).fillna(0).astype(int)
    return frame[frame["budget"] == wanted]


def two_errors(values: pd.Series) -> float:
    """Return two standard errors, the paper's plus-minus."""
    return float(2 * values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def paper(table: str, dataset: str, method: str, quantity: str = "test_loss") -> tuple[float, float]:
    """Return a printed number and its plus-minus, NaN where there is none."""
    key = (table, dataset, method, quantity)
    if key not in printed().index:
        return float("nan"), float("nan")
    row = printed().loc[key]
    return float(row["value"]), float(row["plus_minus"])


def authors(experiment: str, dataset: str, method: str, quantity: str) -> tuple[float, float]:
    """Return a stored mean and two standard errors."""
    key = (experiment, dataset, method, quantity)
    if key not in stored().index:
        return float("nan"), float("nan")
    row = stored().loc[key]
    return float(row["mean"]), float(2 * row["std"] / np.sqrt(row["n"]))
