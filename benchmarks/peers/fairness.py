"""Fairness against fairlearn, error-parity and OxonFair, on the paper's data sets and on generated rows.

    METRICFIT_DATA=... python benchmarks/peers/fairness.py [--sets adult compas] [--limit 0.05] [--splits 5]

A logistic regression without the attribute is trained on a third of the rows; tools that work on its probabilities
are tuned on the second third, and all are judged on the last. ExponentiatedGradient, which trains models of its own,
gets the first two thirds, and so does metricfit's blind policy, its rival: neither sees the attribute when it decides.
The objective is accuracy. Each tool is given the limit in its own meaning (ExponentiatedGradient: distance from
overall; the others: between pairs of groups; ThresholdOptimizer has no tolerance for equalized odds), and metricfit is
then given the violation that the tool itself has on its tuning rows, in the same meaning, so that objectives can be
compared: the last column. For ExponentiatedGradient, whose own training rows flatter it, the last column also compares
at the violation that it has on new rows. Seconds are processor time of one thread: on our side without the base model,
which is trained once for all constraints (for a blind policy its seconds stand in brackets). Numbers are means over
splits; of the violation on tuned rows the largest. ``--sets large`` has the seconds of solves with many cells.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

# Before NumPy is imported: idle threads of a linear algebra library spin, and that is counted as processor time.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
from environment import run_rivals
from fairness_data import REAL, Rows, generated, real
from sklearn.linear_model import LogisticRegression

import metricfit as mf
from metricfit.estimator.joint import fit_joint

CONSTRAINTS = {
    "parity": lambda to: mf.demographic_parity("group", 1, to=to),
    "opportunity": lambda to: mf.equal_opportunity("group", 1, to=to),
    "odds": lambda to: mf.equalized_odds("group", 1, to=to),
}
DRAWS = 400
LIMITS = (0.005, 0.02, 0.04, 0.06, 0.09, 0.13)


@dataclass(frozen=True)
class Asked:
    """A constraint and what its bound means."""

    constraint: str
    to: str

    @property
    def metric(self) -> mf.Metric:
        return CONSTRAINTS[self.constraint](self.to)

    def violations(self, tensors: np.ndarray) -> np.ndarray:
        """Return by how much groups differ under each of some tensors (tensors, groups, classes, decisions).

        By hand, so that tools are not judged by the code of one of them.
        """
        rates = self._rates(tensors)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a group without rows has no rate
            if self.to == "pairs":
                apart = np.nanmax(rates, axis=1) - np.nanmin(rates, axis=1)
            else:
                apart = np.nanmax(np.abs(rates - self._rates(tensors.sum(axis=1, keepdims=True))), axis=1)
        return np.nanmax(apart, axis=1)

    def _rates(self, tensors: np.ndarray) -> np.ndarray:
        """Return the shares of decisions in each group, of all its rows or of those of a class."""
        if self.constraint == "parity":
            tensors = tensors.sum(axis=2, keepdims=True)
        elif self.constraint == "opportunity":
            tensors = tensors[:, :, 1:2]
        with np.errstate(invalid="ignore"):
            shares = tensors / tensors.sum(axis=3, keepdims=True)
        return (shares[..., 1:2] if self.constraint == "opportunity" else shares).reshape(
            *shares.shape[:2], -1
        )


@dataclass(frozen=True)
class Judged:
    """A decision rule on the rows it was tuned on and on new ones."""

    accuracy: float
    tuned: float
    new: float
    low: float
    high: float

    @classmethod
    def of(cls, asked: Asked, tuned: mf.Confusion, new: mf.Confusion, rows: int) -> Judged:
        """Compare, with a 95 % interval of the violation from redrawn new rows."""
        rng = np.random.default_rng(0)
        draws = rng.multinomial(rows, new.values.ravel() / new.values.sum(), DRAWS)
        low, high = np.quantile(asked.violations(draws.reshape(-1, *new.values.shape)), [0.025, 0.975])
        seen, met = (float(asked.violations(made.values[None])[0]) for made in (tuned, new))
        return cls(mf.accuracy()(new), seen, met, float(low), float(high))


def counted(y: np.ndarray, made: np.ndarray, group: np.ndarray) -> mf.Confusion:
    return mf.Confusion.from_predictions(y, made, {"group": group}, classes=sorted(set(y.tolist())))


@dataclass(frozen=True, eq=False)
class Seeing:
    """metricfit on the base model's probabilities and the group."""

    rows: Rows
    proba: tuple[np.ndarray, np.ndarray]

    def judged(self, asked: Asked, limit: float) -> tuple[Judged, float]:
        (_, y, group), metric = self.rows.of(1), asked.metric
        start = time.process_time()
        result = mf.optimize(
            self.proba[0], y, "accuracy", [metric <= limit], sensitive_features={"group": group}
        )
        seconds = time.process_time() - start
        _, y_new, group_new = self.rows.of(2)
        made = result.policy.decide(self.proba[1], {"group": group_new})
        return Judged.of(asked, result.confusion, counted(y_new, made, group_new), len(y_new)), seconds


@dataclass(frozen=True, eq=False)
class Blind:
    """metricfit on probabilities of group and class, cross-fitted once for all limits."""

    rows: Rows
    held_out: np.ndarray
    new: np.ndarray
    seconds: float

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
        return cls(rows, held_out.proba, model.joint_proba(rows.of(2)[0]), seconds)

    def judged(self, asked: Asked, limit: float) -> tuple[Judged, float]:
        (_, y, group), metric = self.rows.of(0, 1), asked.metric
        start = time.process_time()
        result = mf.optimize(
            self.held_out, y, "accuracy", [metric <= limit], sensitive_features={"group": group}, blind=True
        )
        seconds = time.process_time() - start
        _, y_new, group_new = self.rows.of(2)
        made = result.policy.decide(self.new)
        return Judged.of(asked, result.confusion, counted(y_new, made, group_new), len(y_new)), seconds

    def at_new_violation(self, asked: Asked, violation: float) -> float:
        """Return the accuracy on new rows where the violation on new rows is a given one, between some limits.

        A model that is judged on the rows it was trained on, as that of ExponentiatedGradient is, keeps a limit there
        better than elsewhere; held-out probabilities do not. So they are compared where both are judged on new rows.
        """
        found = sorted((one.new, one.accuracy) for one in (self.judged(asked, limit)[0] for limit in LIMITS))
        return float(np.interp(violation, *np.array(found).T))


def line(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def told(found: list[Judged]) -> tuple[str, ...]:
    mean = {
        name: np.mean([getattr(one, name) for one in found]) for name in ("accuracy", "new", "low", "high")
    }
    return (
        f"{mean['accuracy']:.4f}",
        f"{max(one.tuned for one in found):.4f}",
        f"{mean['new']:.3f} ({mean['low']:.3f} to {mean['high']:.3f})",
    )


def mean_of(gains: list[float]) -> str:
    text = f"{np.mean(gains):+.4f}"
    return text if len(gains) < 2 else f"{text} (s.e. {np.std(gains, ddof=1) / np.sqrt(len(gains)):.4f})"


@dataclass
class Line:
    """What one tool did for one constraint, split by split."""

    theirs: list[Judged] = field(default_factory=list)
    ours: list[Judged] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    our_seconds: list[float] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    new_gains: list[float] = field(default_factory=list)
    model_seconds: list[float] = field(default_factory=list)
    refused: str = ""


def compare(rows: Rows, limit: float, seconds: int, lines: dict[str, Line]) -> None:
    """Let all tools decide one split, and add what they did to the lines."""
    X, y, _ = rows.of(0)
    model = LogisticRegression(max_iter=500).fit(X, y)
    (X_tune, y_tune, group_tune), (X_new, y_new, group_new) = rows.of(1), rows.of(2)
    proba = model.predict_proba(X_tune), model.predict_proba(X_new)
    seeing, blind = Seeing(rows, proba), Blind.of(rows)
    for side in (seeing, blind):  # what is compiled or imported on first use
        side.judged(Asked("odds", "pairs"), limit)
    X_all, y_all, group_all = rows.of(0, 1)
    tables = {"X": X_all, "y": y_all, "group": group_all, "X_new": X_new, "tune": proba[0][:, 1]}
    tables |= {"y_tune": y_tune, "group_tune": group_tune, "new": proba[1][:, 1]}
    tables |= {"y_new": y_new, "group_new": group_new}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        np.savez(folder / "rows.npz", **tables)
        run_rivals(folder, limit, seconds, script="fairness_rivals.py")
        spent = json.loads((folder / "told.json").read_text())
        for key, time_spent in spent.items():
            tool, constraint = key.rsplit(" ", 1)
            found = lines.setdefault(key, Line())
            to = "overall" if tool == "ExponentiatedGradient" else "pairs"
            side, asked = (blind if to == "overall" else seeing), Asked(constraint, to)
            ours, our_seconds = side.judged(asked, limit)
            found.ours.append(ours)
            found.our_seconds.append(our_seconds)
            if side is blind:
                found.model_seconds.append(blind.seconds)
            if isinstance(time_spent, str):
                found.refused = time_spent
                continue
            made = np.load(folder / f"{key}.npz")
            y_fit, group_fit = (y_all, group_all) if side is blind else (y_tune, group_tune)
            tuned = counted(y_fit, made["tuned"].astype(int), group_fit)
            new = counted(y_new, made["new"].astype(int), group_new)
            theirs = Judged.of(asked, tuned, new, len(y_new))
            same, _ = side.judged(asked, max(theirs.tuned, 1e-4))
            found.theirs.append(theirs)
            found.seconds.append(time_spent)
            found.gains.append(same.accuracy - theirs.accuracy)
            if side is blind:
                found.new_gains.append(blind.at_new_violation(asked, theirs.new) - theirs.accuracy)


def show(name: str, lines: dict[str, Line]) -> None:
    """Print two lines for each constraint and tool: ours at the limit, and theirs with the comparison."""
    for key, found in lines.items():
        tool, constraint = key.rsplit(" ", 1)
        who = "metricfit, blind" if tool == "ExponentiatedGradient" else "metricfit"
        our_seconds = float(np.mean(found.our_seconds))
        model = f" (model {np.mean(found.model_seconds):.2f})" if found.model_seconds else ""
        line(name, constraint, who, *told(found.ours), f"{our_seconds:.2f}{model}", "", "")
        if not found.theirs:
            line(name, constraint, tool, found.refused, "", "", "", "", "")
            continue
        seconds, gain = float(np.mean(found.seconds)), mean_of(found.gains)
        if found.new_gains:
            gain += f"; on new rows {mean_of(found.new_gains)}"
        ratio = f"{seconds / our_seconds:.2g}"
        line(name, constraint, tool, *told(found.theirs), f"{seconds:.2f}", ratio, gain)


def many_classes(groups: int, classes: int, limit: float) -> None:
    """Print what no peer here does: groups and classes beyond two."""
    rows = generated(60_000, groups, classes, 0)
    X, y, _ = rows.of(0)
    model = LogisticRegression(max_iter=500).fit(X, y)
    proba = model.predict_proba(rows.of(1)[0]), model.predict_proba(rows.of(2)[0])
    (_, y_tune, group_tune), (_, y_new, group_new) = rows.of(1), rows.of(2)
    for constraint, metric in {
        "parity": mf.demographic_parity("group", to="pairs"),
        "opportunity": mf.equal_opportunity("group", 1, to="pairs"),
        "odds": mf.equalized_odds("group", to="pairs"),
    }.items():
        start = time.process_time()
        how = {"sensitive_features": {"group": group_tune}}
        result = mf.optimize(proba[0], y_tune, "accuracy", [metric <= limit], **how)
        seconds = time.process_time() - start
        made = result.policy.decide(proba[1], {"group": group_new})
        new = counted(y_new, made, group_new)
        found = Judged.of(Asked(constraint, "pairs"), result.confusion, new, len(y_new))
        name = f"{groups} groups, {classes} classes"
        line(name, constraint, "metricfit", *told([found]), f"{seconds:.2f}", "", "")


def large() -> None:
    """Print processor seconds of solves with many cells and 60,000 rows, after a first one that loads everything."""
    line("problem", "confusion", "s", "value", "bound", "calls")
    line(*["---"] * 6)
    soft = "model", "calibrated"
    for groups, classes, objective, constraint, counts in (
        (20, 10, "g_mean", mf.demographic_parity("group") <= 0.05, (*soft, "labels")),
        (30, 8, "accuracy", mf.equalized_odds("group") <= 0.05, soft),
    ):
        rows = generated(60_000, groups, classes, 0)
        model = LogisticRegression(max_iter=500).fit(rows.X[:20_000], rows.y[:20_000])
        proba = model.predict_proba(rows.X)
        for confusion in counts:
            for few in (True, False):
                part = slice(20_000 if few else None)
                loose = mf.demographic_parity("group") <= 1 if few else constraint
                how = {"sensitive_features": {"group": rows.group[part]}, "confusion": confusion}
                start = time.process_time()
                result = mf.optimize(proba[part], rows.y[part], objective, [loose], **how)
                seconds = time.process_time() - start
            name = f"{objective}, {constraint}, {groups} groups, {classes} classes"
            line(
                name,
                confusion,
                f"{seconds:.2f}",
                f"{result.value:.4f}",
                f"{result.bound:.4f}",
                result.n_oracle_calls,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    names = [*REAL, "generated", "classes", "large"]
    parser.add_argument("--sets", nargs="*", default=names, choices=names)
    parser.add_argument("--limit", type=float, default=0.05)
    parser.add_argument(
        "--seconds", type=int, default=300, help="of processor time, after which a tool is stopped"
    )
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore", mf.exceptions.FewRowsWarning)
    if "large" in options.sets:
        large()
        options.sets.remove("large")
    if not options.sets:
        return
    line(
        "data",
        "constraint",
        "tool",
        "accuracy, new",
        "violation, tuned",
        "violation, new (95 %)",
        "s",
        "ratio",
        "ours - theirs",
    )
    line(*["---"] * 9)
    for name in options.sets:
        if name == "classes":
            for groups, classes in ((2, 5), (5, 5), (20, 10)):
                many_classes(groups, classes, options.limit)
            continue
        for groups in (2, 5, 20) if name == "generated" else (0,):
            lines: dict[str, Line] = {}
            for split in range(options.splits):
                rows = generated(30_000, groups, 2, split) if groups else real(name, split)
                compare(rows, options.limit, options.seconds, lines)
            show(f"{groups} groups" if groups else name, lines)


if __name__ == "__main__":
    main()
