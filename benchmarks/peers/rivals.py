"""Runs in the benchmark's own environment: fit each tool on the rows in a folder, and leave decisions and times there.

python rivals.py FOLDER REPEATS

The folder has ``fit.npy`` and ``held.npy`` (probabilities) and ``labels.npy`` (of the fit rows). Only the solver
call is timed, in processor time, the best of all repeats, after a call on a few rows that compiles what is
compiled.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from optimal_cutoffs.optimize import find_optimal_threshold_multiclass
from xcolumns.frank_wolfe import find_classifier_using_fw
from xcolumns.metrics import macro_f1_score_on_conf_matrix

Decide = Callable[[np.ndarray], np.ndarray]


def coordinate_ascent(proba: np.ndarray, y: np.ndarray) -> Decide:
    return find_optimal_threshold_multiclass(y, proba, metric="f1", method="coord_ascent").predict


def frank_wolfe(proba: np.ndarray, y: np.ndarray) -> Decide:
    truth = np.eye(proba.shape[1])[y]
    found = find_classifier_using_fw(
        truth, proba, macro_f1_score_on_conf_matrix, 1, init_classifier="top", seed=0
    )
    return lambda rows: found.predict(rows, seed=0).argmax(axis=1)


def timed(
    tool: Callable[[np.ndarray, np.ndarray], Decide], proba: np.ndarray, y: np.ndarray
) -> tuple[Decide, float]:
    start = time.process_time()
    decide = tool(proba, y)
    return decide, time.process_time() - start


def main(folder: Path, repeats: int) -> None:
    fit, held, y = (np.load(folder / f"{name}.npy") for name in ("fit", "held", "labels"))
    few = np.concatenate([np.flatnonzero(y == i)[:5] for i in range(fit.shape[1])])
    seconds = {}
    for name, tool in {"coordinate ascent": coordinate_ascent, "Frank-Wolfe": frank_wolfe}.items():
        tool(fit[few], y[few])
        runs = [timed(tool, fit, y) for _ in range(repeats)]
        seconds[name] = min(spent for _, spent in runs)
        for rows, part in (("fit", fit), ("held", held)):
            np.save(folder / f"{name} {rows}.npy", runs[0][0](part))
    (folder / "seconds.json").write_text(json.dumps(seconds))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
