"""Macro-F1 against xcolumns (Frank-Wolfe) and optimal-classification-cutoffs (coordinate ascent), in one run.

    python benchmarks/peers/macro_f1.py [--seeds 8] [--only 20 | 50 | optimism]

All tools get the same probabilities and labels; values are macro-F1 on the rows they were fitted on and on as
many new rows. metricfit is called as users call it, ``mf.optimize(proba, y, "macro_f1")``, calibration and choice of
the counting included. Seconds are processor time of the whole call on one thread: the first one in the process, which
loads compiled code, and the best of some more (the other tools: after a first call on a few rows, which compiles). The
other tools run in an environment of their own. The last table shows the optimism (fit less new rows) of cross-fitted
probabilities on 1,000 rows and 10 classes.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
import warnings
from pathlib import Path

# Before NumPy is imported, and inherited by the other tools: idle threads of a linear algebra library spin, and that is
# counted as processor time.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
from data import gaussians, probabilities
from environment import run_rivals
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import metricfit as mf
from metricfit.exceptions import OverfitWarning
from metricfit.methods import Local

CASES = {20: (20_000, 2), 50: (100_000, 1)}


def ours(proba: np.ndarray, y: np.ndarray, repeats: int = 3) -> tuple[mf.Result, float, float]:
    """Return the answer of the default call, the seconds of the first call and the fewest of some more."""
    seconds = []
    for _ in range(1 + repeats):
        start = time.process_time()
        result = mf.optimize(proba, y, "macro_f1")
        seconds.append(time.process_time() - start)
    return result, seconds[0], min(seconds[1:])


def compare(classes: int, seed: int) -> bool:
    rows, repeats = CASES[classes]
    proba, y = probabilities(2 * rows, classes, seed)
    parts = {"fit": (proba[:rows].copy(), y[:rows]), "held": (proba[rows:].copy(), y[rows:])}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part, (p, _) in parts.items():
            np.save(folder / f"{part}.npy", p)
        np.save(folder / "labels.npy", y[:rows])
        run_rivals(folder, repeats)
        seconds = json.loads((folder / "seconds.json").read_text())
        decided = {tool: {part: np.load(folder / f"{tool} {part}.npy") for part in parts} for tool in seconds}
    result, first, seconds["metricfit"] = ours(*parts["fit"])
    decided["metricfit"] = {part: result.policy.decide(p) for part, (p, _) in parts.items()}
    decided["argmax"] = {part: p.argmax(axis=1) for part, (p, _) in parts.items()}
    values = {
        tool: [f1_score(parts[part][1], made[part], average="macro") for part in parts]
        for tool, made in decided.items()
    }
    for tool in ("argmax", "Frank-Wolfe", "coordinate ascent", "metricfit"):
        fit, held = values[tool]
        spent = seconds.get(tool, float("nan"))
        times = spent / seconds["metricfit"]
        print(
            f"{rows:7d} x {classes:2d}  {seed:4d}  {tool:18s} {fit:.4f}  {held:.4f}  {spent:8.3f}  {times:6.1f}"
        )
    rivals = [values["Frank-Wolfe"], values["coordinate ascent"]]
    kept = [values["metricfit"][i] >= max(v[i] for v in rivals) for i in (0, 1)]
    faster = seconds["coordinate ascent"] / seconds["metricfit"]
    print(
        f"{'':17s}  best on fit rows: {kept[0]}, on new rows: {kept[1]}, {faster:.1f} times as fast; first call "
        f"{first:.2f} s; {result.choice}\n",
        flush=True,
    )
    return kept[1]


def optimism(seeds: int) -> None:
    """Print macro-F1 on the 1,000 rows given, as estimated from them, and on 20,000 new rows, as means over seeds.

    The estimate is cross-fitted once more: the weights of each row's decision come from the other four fifths.
    """
    ways = {
        "cv=None": {"cv": None, "method": "auto"},
        "cv=5, labels only": {"cv": 5, "method": Local()},
        "cv=5, half": {"cv": 5, "method": Local(trust=0.5)},
        "cv=5": {"cv": 5, "method": "auto"},
    }
    table: dict[str, list[tuple[float, float, float]]] = {}
    warnings.simplefilter("ignore", OverfitWarning)  # what it warns of is what is measured
    for seed in range(seeds):
        x, y = gaussians(1_000, 10, seed, 0)
        new_x, new_y = gaussians(20_000, 10, seed, 1)
        model = LogisticRegression(max_iter=1000)
        proba = cross_val_predict(model, x, y, cv=5, method="predict_proba")
        plain = model.fit(x, y)
        values = [(y, plain.predict(x)), (y, proba.argmax(axis=1)), (new_y, plain.predict(new_x))]
        table.setdefault("argmax", []).append(tuple(f1_score(*pair, average="macro") for pair in values))
        for name, options in ways.items():
            tuned = mf.MetricClassifier(model, "macro_f1", random_state=seed, **options).fit(x, y)
            new = f1_score(new_y, tuned.predict(new_x), average="macro")
            estimate = np.nan if options["cv"] is None else estimated(proba, y, options["method"])
            table.setdefault(name, []).append((tuned.result_.value, estimate, new))
    print(f"optimism on 1,000 rows x 10 classes, means of {seeds} seeds")
    print("                    fit     estimate  new rows  optimism of fit  and of the estimate")
    for name, found in table.items():
        fit, estimate, new = np.mean(found, axis=0)
        print(
            f"{name:18s} {fit:.4f}  {estimate:8.4f}    {new:.4f}       {fit - new:+.4f}        {estimate - new:+8.4f}"
        )


def estimated(proba: np.ndarray, y: np.ndarray, method: str | Local) -> float:
    """Return macro-F1 of decisions whose weights were found on other rows."""
    decided = np.empty(len(y), y.dtype)
    for rest, fold in StratifiedKFold(5, shuffle=True, random_state=0).split(proba, y):
        decided[fold] = mf.optimize(proba[rest], y[rest], "macro_f1", method=method).policy.decide(
            proba[fold]
        )
    return float(f1_score(y, decided, average="macro"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--only", choices=[*map(str, CASES), "optimism"])
    options = parser.parse_args()
    if options.only == "optimism":
        return optimism(5)
    print("   rows x classes seed  tool               fit     new     seconds  times ours")
    kept = [
        compare(classes, seed)
        for classes in ([int(options.only)] if options.only else CASES)
        for seed in range(options.seeds if classes == 20 else max(1, options.seeds // 3))
    ]
    print(f"best on new rows in {sum(kept)} of {len(kept)} runs\n", flush=True)
    if not options.only:
        optimism(5)


if __name__ == "__main__":
    main()
