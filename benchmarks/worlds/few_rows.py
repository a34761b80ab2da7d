"""Limits over groups of which some have a handful of rows: what leaving their rates out does on rows not used.

    METRICFIT_DATA=... python benchmarks/worlds/few_rows.py [--draws 4] [--least 0 5 10 20 30]

Income of Adult by race (five groups, the smallest .8 % of the rows), accuracy under equalized odds. `--census FOLDER`
takes employment in Massachusetts by race instead (nine groups, the smallest 15 in a million), from the Parquet files
``employment_MA_*.pq`` that the package nannyml 0.13.1 ships under ``nannyml/datasets/data``. Odds are the largest
difference to all rows among groups of at least 2 % of the new rows, and among the smaller ones.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from rows import folder
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import metricfit as mf

LIMIT = "equalized_odds(over='race') <= 0.05"
LARGE = 0.02
RACES = slice(67, 72)  # the indicator columns of Adult in the a9a coding, after sex was moved to the front


def adult() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return features, labels and race."""
    with np.load(folder() / "adult.npz") as z:
        X, y = z["X"].astype(float), z["y"].astype(int)
    return pd.DataFrame(X), y, X[:, RACES].argmax(axis=1)


def census(files: Path) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return features, labels and race."""
    later = pd.read_parquet(files / "employment_MA_analysis.pq")
    later = later.merge(pd.read_parquet(files / "employment_MA_analysis_target.pq"), on="id")
    table = pd.concat([pd.read_parquet(files / "employment_MA_reference.pq"), later])
    known = ["id", "employed", "year", "prediction", "predicted_probability"]
    X = table.drop(columns=known).astype(float).fillna(-1).reset_index(drop=True)
    return X, table["employed"].astype(int).to_numpy(), table["RAC1P"].astype(int).to_numpy()


def model_of(kind: str, X: pd.DataFrame):
    """Return a model; codes of the census are categories."""
    if kind == "boosted":
        return HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=15, random_state=0)
    if "AGEP" not in X:
        return LogisticRegression(max_iter=500)
    coded = make_column_transformer(
        (StandardScaler(), ["AGEP"]), remainder=OneHotEncoder(handle_unknown="ignore")
    )
    return make_pipeline(coded, LogisticRegression(max_iter=500))


def judged(policy, Q, z, race) -> tuple[float, float, float]:
    """Return accuracy and the largest differences of large and of small groups on new rows."""
    known = np.isin(race, [values[0] for values in policy.axes.cells.values])
    Q, z, race = Q[known], z[known], race[known]
    chances = policy.decision_proba(Q, {"race": race})

    def rates(rows: np.ndarray) -> np.ndarray:
        return np.array([chances[rows & (z == c)][:, 1].mean() for c in (0, 1)])

    overall, apart = rates(np.ones(len(z), bool)), {True: [0.0], False: [0.0]}
    for group in np.unique(race):
        inside = race == group
        if len(np.unique(z[inside])) == 2:
            apart[bool(inside.mean() >= LARGE)].append(float(np.abs(rates(inside) - overall).max()))
    return float(chances[np.arange(len(z)), z].mean()), max(apart[True]), max(apart[False])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--least", type=int, nargs="+", default=[0, 5, 10, 20, 30])
    parser.add_argument("--census", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y, race = adult() if given.census is None else census(given.census)
    names = ("promised", "new rows", "odds, large", "odds, small", "left out")
    print(f"{'model':8} {'min_rows':>8}", *(f"{name:>11}" for name in names))
    for kind in ("linear", "boosted"):
        found: dict[int, list] = {least: [] for least in given.least}
        for seed in range(given.draws):
            order = np.random.default_rng(seed).permutation(len(y))
            a, b = order[: given.rows], order[given.rows : given.rows + 40_000]
            model, folds = model_of(kind, X), StratifiedKFold(5, shuffle=True, random_state=0)
            P = cross_val_predict(model, X.iloc[a], y[a], cv=folds, method="predict_proba")
            Q = model.fit(X.iloc[a], y[a]).predict_proba(X.iloc[b])
            for least, lines in found.items():
                result = mf.optimize(
                    P, y[a], "accuracy", [LIMIT], sensitive_features={"race": race[a]}, min_rows=least
                )
                new = judged(result.policy, Q, y[b], race[b])
                lines.append([result.value, *new, len(result.left_out)])
        for least, lines in found.items():
            print(f"{kind:8} {least:8d}", *(f"{value:11.4f}" for value in np.mean(lines, axis=0)), flush=True)


if __name__ == "__main__":
    main()
