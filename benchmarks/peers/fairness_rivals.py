"""Runs in an environment of its own: fit each fairness tool on the rows in a folder, and leave its decisions there.

python fairness_rivals.py FOLDER LIMIT SECONDS

``rows.npz`` has the features of the training and tuning rows (``X``, ``y``, ``group``), the base model's probabilities
of the classes for tuning and new rows (``tune``, ``new``), their groups, and the new rows' features. Only the call that
fits is timed, in processor time. A tool that takes more than SECONDS of it is stopped.
"""

from __future__ import annotations

import json
import signal
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from error_parity import RelaxedThresholdOptimizer
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.reductions import (
    DemographicParity,
    EqualizedOdds,
    ExponentiatedGradient,
    TruePositiveRateParity,
)
from linear_post import LinearPost
from oxonfair import FairPredictor, group_metrics
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

warnings.simplefilter("ignore")
Decisions = tuple[
    Callable[[], np.ndarray], Callable[[], np.ndarray]
]  # of the rows it was tuned on, and of new ones


class Given(ClassifierMixin, BaseEstimator):
    """A fitted model whose features are its probabilities already."""

    classes_ = np.array([0, 1])
    fitted_ = True

    def fit(self, X: Any, y: Any) -> Given:
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return X

    def predict(self, X: np.ndarray) -> np.ndarray:
        return X.argmax(axis=1)


def exponentiated_gradient(rows: Any, constraint: str, limit: float) -> Decisions:
    kinds = {"parity": DemographicParity, "opportunity": TruePositiveRateParity, "odds": EqualizedOdds}
    tool = ExponentiatedGradient(LogisticRegression(max_iter=500), kinds[constraint](difference_bound=limit))
    tool.fit(rows["X"], rows["y"], sensitive_features=rows["group"])
    return lambda: tool.predict(rows["X"], random_state=0), lambda: tool.predict(
        rows["X_new"], random_state=0
    )


def threshold_optimizer(rows: Any, constraint: str, limit: float) -> Decisions:
    names = {
        "parity": "demographic_parity",
        "opportunity": "true_positive_rate_parity",
        "odds": "equalized_odds",
    }
    tool = ThresholdOptimizer(
        estimator=Given(),
        constraints=names[constraint],
        prefit=True,
        predict_method="predict_proba",
        tol=None if constraint == "odds" else limit,
    )
    tool.fit(rows["tune"], rows["y_tune"], sensitive_features=rows["group_tune"])

    def decide(part: str) -> np.ndarray:
        return tool.predict(rows[part], sensitive_features=rows[f"group_{part}"], random_state=0)

    return lambda: decide("tune"), lambda: decide("new")


def error_parity(rows: Any, constraint: str, limit: float) -> Decisions:
    names = {
        "parity": "demographic_parity",
        "opportunity": "true_positive_rate_parity",
        "odds": "equalized_odds",
    }
    tool = RelaxedThresholdOptimizer(
        predictor=lambda X: X[:, 1], constraint=names[constraint], tolerance=limit, seed=0
    )
    tool.fit(rows["tune"], rows["y_tune"], group=rows["group_tune"])

    def decide(part: str) -> np.ndarray:
        return tool.predict(rows[part], group=rows[f"group_{part}"])

    return lambda: decide("tune"), lambda: decide("new")


def oxonfair(rows: Any, constraint: str, limit: float) -> Decisions:
    measures = {
        "parity": group_metrics.demographic_parity,
        "opportunity": group_metrics.equal_opportunity,
        "odds": group_metrics.equalized_odds_max,
    }

    def table(part: str) -> dict[str, Any]:
        return {"data": rows[part], "target": rows[f"y_{part}"], "groups": rows[f"group_{part}"]}

    tool = FairPredictor(None, table("tune"))
    tool.fit(group_metrics.accuracy, measures[constraint], limit)
    return lambda: tool.predict(table("tune")), lambda: tool.predict(table("new"))


def linear_post(rows: Any, constraint: str, limit: float) -> Decisions:
    tool = LinearPost(constraint, limit).fit(rows["tune"], rows["group_tune"])
    return lambda: tool.predict(rows["tune"], rows["group_tune"]), lambda: tool.predict(
        rows["new"], rows["group_new"]
    )


TOOLS = {
    "ExponentiatedGradient": exponentiated_gradient,
    "ThresholdOptimizer": threshold_optimizer,
    "error-parity": error_parity,
    "OxonFair": oxonfair,
    "LinearPost": linear_post,
}


def stop(signum: int, frame: object) -> None:
    raise TimeoutError


def main(folder: Path, limit: float, seconds: int) -> None:
    rows = dict(np.load(folder / "rows.npz"))
    signal.signal(signal.SIGPROF, stop)
    told = {}
    for name, tool in TOOLS.items():
        for constraint in ("parity", "opportunity", "odds"):
            start = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, seconds)
            try:
                tuned, new = tool(rows, constraint, limit)
                told[f"{name} {constraint}"] = time.process_time() - start
                signal.setitimer(signal.ITIMER_PROF, 0)
                np.savez(
                    folder / f"{name} {constraint}.npz", tuned=np.asarray(tuned()), new=np.asarray(new())
                )
            except TimeoutError:
                told[f"{name} {constraint}"] = f"more than {seconds} s"
            except Exception as error:  # a tool that cannot do it says so in the table
                told[f"{name} {constraint}"] = f"{type(error).__name__}: {error}"[:80]
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
    (folder / "told.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
