"""metricfit's side of the comparison of fairness tools: policies that see the group, and blind ones."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from fairness_data import Rows
from fairness_judged import Asked, Judged, counted
from sklearn.linear_model import LogisticRegression

import metricfit as mf
from metricfit.estimator.joint import fit_joint

LIMITS = (0.005, 0.025, 0.05, 0.08, 0.13)


@dataclass(frozen=True, eq=False)
class Side(ABC):
    """Policies that are tuned on probabilities, for one split of the rows."""

    rows: Rows
    proba: tuple[np.ndarray, np.ndarray]  # of the rows that tune, and of new rows
    seconds: float = 0.0  # of the model that the probabilities are from
    curves: dict[Asked, list[Judged]] = field(default_factory=dict)

    @abstractmethod
    def judged(self, asked: Asked, limit: float) -> tuple[Judged, float]:
        """Return what a policy under a limit does, and the seconds that it takes to find."""

    def curve(self, asked: Asked) -> list[Judged]:
        """Return what policies under some limits do."""
        if asked not in self.curves:
            self.curves[asked] = [self.judged(asked, limit)[0] for limit in LIMITS]
        return self.curves[asked]

    def _judged(
        self, asked: Asked, limit: float, parts: tuple[int, ...], blind: bool
    ) -> tuple[Judged, float]:
        (_, y, group), (_, y_new, group_new) = self.rows.of(*parts), self.rows.of(2)
        start = time.process_time()
        how = {"sensitive_features": {"group": group}, "blind": blind}
        result = mf.optimize(self.proba[0], y, "accuracy", [asked.metric <= limit], **how)
        seconds = time.process_time() - start
        made = result.policy.decide(self.proba[1], None if blind else {"group": group_new})
        return Judged.of(asked, result.confusion, counted(y_new, made, group_new), len(y_new)), seconds


class Seeing(Side):
    """On the base model's probabilities and the group."""

    def judged(self, asked: Asked, limit: float) -> tuple[Judged, float]:
        return self._judged(asked, limit, (1,), blind=False)


class Blind(Side):
    """On probabilities of group and class, cross-fitted once for all limits."""

    @classmethod
    def of(cls, rows: Rows) -> Blind:
        X, y, group = rows.of(0, 1)
        start = time.process_time()
        classes, labels = np.unique(y, return_inverse=True)
        groups, codes = np.unique(group, return_inverse=True)
        model, held_out = fit_joint(
            LogisticRegression(max_iter=500),
            X,
            (codes * len(classes) + labels).astype(np.int32),
            len(groups),
            classes,
            cv=5,
            sample_weight=None,
            n_jobs=None,
        )
        seconds = time.process_time() - start
        return cls(rows, (held_out.proba, model.joint_proba(rows.of(2)[0])), seconds)

    def judged(self, asked: Asked, limit: float) -> tuple[Judged, float]:
        return self._judged(asked, limit, (0, 1), blind=True)
