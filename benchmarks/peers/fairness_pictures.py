"""The pictures of docs/fairness.md: what a limit costs, seen and unseen, and what few rows do to it on new rows.

    python benchmarks/peers/fairness_pictures.py [--repeats 40]

Rows are generated, with the true probabilities of group and class, so that nothing but the tuning rows is at work:
default calls are tuned on them, and decisions are judged on 200,000 rows that were not used.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import matplotlib as mpl
import numpy as np

import metricfit as mf

mpl.use("svg")
import matplotlib.pyplot as plt

DOCS = Path(__file__).parents[2] / "docs" / "figures"
SHARES = np.array([[0.35, 0.15], [0.2, 0.3]])  # of group and class: base rates are 30 % and 60 %
NEW = 200_000


def draw(rows: int, seed: int, hint: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return P(group, class | x), groups and classes; ``hint`` is how far apart the groups' features are."""
    rng = np.random.default_rng(seed)
    pair = rng.choice(4, rows, p=SHARES.ravel())
    group, y = pair // 2, pair % 2
    x = np.stack([1.5 * y, hint * group], axis=1) + rng.normal(size=(rows, 2))
    means = np.stack([np.tile([0.0, 1.5], 2), np.repeat([0.0, hint], 2)], axis=1)
    density = SHARES.ravel() * np.exp(-0.5 * ((x[:, None] - means) ** 2).sum(axis=2))
    return (density / density.sum(axis=1, keepdims=True)).reshape(-1, 2, 2), group, y


def given_group(joint: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return P(class | x, group)."""
    own = joint[np.arange(len(group)), group]
    return own / own.sum(axis=1, keepdims=True)


def judged(
    policy: mf.Policy, blind: bool, joint: np.ndarray, group: np.ndarray, y: np.ndarray
) -> mf.Confusion:
    made = policy.decide(joint) if blind else policy.decide(given_group(joint, group), group)
    return mf.Confusion.from_predictions(y, made, group)


def cost(path: Path) -> None:
    """Draw accuracy on new rows against the limit on parity, with policies that see the group or do not."""
    limits = np.array([0.0, 0.02, 0.05, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3])
    fig, ax = plt.subplots(figsize=(5.2, 3.4))
    for blind, hint, label, style in (
        (False, 1.0, "sees the group", "o-"),
        (True, 2.5, "blind, features tell the group well", "s--"),
        (True, 0.7, "blind, features tell it badly", "^:"),
    ):
        fit, new = draw(20_000, 0, hint), draw(NEW, 1, hint)
        joint, group, y = fit
        proba = joint if blind else given_group(joint, group)
        values = []
        for limit in limits:
            parity = mf.demographic_parity("group", to="pairs") <= limit
            found = mf.optimize(proba, y, "accuracy", [parity], sensitive_features=group, blind=blind)
            values.append(mf.accuracy()(judged(found.policy, blind, *new)))
        ax.plot(limits, values, style, label=label)
    ax.set_xlabel("limit on demographic parity, between pairs")
    ax.set_ylabel("accuracy on new rows")
    ax.legend(frameon=False)
    save(fig, path)


def few_rows(path: Path, repeats: int) -> None:
    """Draw what a limit of 0.05 on 30 to 10,000 rows of the smaller class of a group becomes on new rows."""
    sizes = [100, 200, 500, 1000, 2000, 5000, 10_000, 30_000]
    metric = mf.equal_opportunity("group", 1, to="pairs")
    new = draw(NEW, 1)
    spread = []
    for size in sizes:
        seen = []
        for seed in range(2, 2 + repeats):
            joint, group, y = draw(size, seed)
            found = mf.optimize(
                given_group(joint, group), y, "accuracy", [metric <= 0.05], sensitive_features=group
            )
            seen.append(metric(judged(found.policy, False, *new)))
        spread.append(np.quantile(seen, [0.05, 0.5, 0.95]))
    low, middle, high = np.array(spread).T
    rows = np.array(sizes) * SHARES[0, 1]
    fig, ax = plt.subplots(figsize=(5.2, 3.4))
    ax.fill_between(rows, low, high, alpha=0.25, linewidth=0, label="90 % of the fits")
    ax.plot(rows, middle, "o-", label="median, on new rows")
    ax.axhline(0.05, color="0.3", linestyle="--", label="limit, met on the tuning rows")
    ax.set_xscale("log")
    ax.set_ylim(0, None)
    ax.set_xlabel("tuning rows of class 1 in the smaller group")
    ax.set_ylabel("difference of the recalls of two groups")
    ax.legend(frameon=False)
    save(fig, path)


def save(fig: object, path: Path) -> None:
    for ax in fig.axes:
        ax.spines[["top", "right"]].set_visible(False)
    fig.tight_layout()
    # No date and no drawn names in the file, so that an unchanged picture is an unchanged file.
    with mpl.rc_context({"svg.hashsalt": "metricfit", "svg.fonttype": "none"}):
        fig.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(fig)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=40)
    options = parser.parse_args()
    warnings.simplefilter("ignore", mf.exceptions.FewRowsWarning)
    cost(DOCS / "fairness_cost.svg")
    few_rows(DOCS / "fairness_few_rows.svg", options.repeats)


if __name__ == "__main__":
    main()
