"""Pictures of achievable sets: section 3 of the paper, and the walks of its methods through them."""

from __future__ import annotations

from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from population import line, on_line
from style import COLOURS, LABELS, save

import metricfit as mf
from metricfit.datasets import example
from metricfit.methods import METHODS, Walk
from metricfit.methods.base import Budget
from metricfit.methods.dual.rules import Merged
from metricfit.oracles import PluginOracle, Rows
from metricfit.oracles.base import OracleBase
from metricfit.problem import Problem


def achievable_sets(folder: Path) -> None:
    """fig:example-feasible-conf: class densities above, achievable (C00, C11) below."""
    fig, axes = plt.subplots(2, 3, figsize=(9.5, 5.4), height_ratios=(1, 2))
    x = np.linspace(-4, 4, 801)
    for (top, low), name in zip(axes.T, ("Unif", "NormBal", "NormImbal"), strict=True):
        d = example(name)
        for i in range(2):
            if name == "Unif":
                left, right = d.intervals[i]
                density = ((x >= left) & (x <= right)) / (right - left)
            else:
                density = np.exp(-((x - d.means[i, 0]) ** 2) / 2) / np.sqrt(2 * np.pi)
            top.plot(x, d.priors[i] * density, color=f"C{i}", label=f"class {i}")
            top.fill_between(x, d.priors[i] * density, color=f"C{i}", alpha=0.15)
        top.set(title=name, xlabel="x", ylabel="$\\pi_i\\,p(x \\mid i)$" if name == "Unif" else "")
        top.set_xlim(-1.5, 2.5) if name == "Unif" else top.set_xlim(-4, 4)
        top.set_ylim(bottom=0)
        outline = d.boundary()
        low.fill(*outline.T, color="tab:purple", alpha=0.15, lw=0)
        low.plot(*np.vstack([outline, outline[:1]]).T, color="tab:purple", lw=1.8)
        corners = {"always 0": (d.priors[0], 0), "always 1": (0, d.priors[1])}
        for text, (a, b) in corners.items():
            low.plot(a, b, "o", color="0.25", ms=4)
            low.annotate(
                text,
                (a, b),
                (-4, 6) if a else (6, -3),
                textcoords="offset points",
                fontsize=8,
                ha="right" if a else "left",
            )
        low.set(xlabel="$C_{00}$", ylabel="$C_{11}$" if name == "Unif" else "")
        low.margins(0.08)
    axes[0, 0].legend(frameon=False, fontsize=8)
    save(fig, folder / "paper_sets.png")


def contours(folder: Path) -> None:
    """fig:contours-corner-point: the best achievable point of a monotone metric lies on the boundary."""
    fig, axes = plt.subplots(1, 2, figsize=(8.6, 4))
    for ax, name in zip(axes, ("Unif", "NormBal"), strict=True):
        d = example(name)
        _h_mean_contours(ax, d.priors)
        ax.fill(*d.boundary().T, facecolor="none", edgecolor="tab:purple", lw=2)
        c00 = np.linspace(1e-3, d.priors[0], 4001)
        c11 = d.upper(c00)
        best = np.argmin(_h_mean_loss(c00, c11, d.priors))
        ax.plot(c00[best], c11[best], "o", color="tab:red", ms=8, label="best achievable $C^*$", zorder=5)
        ax.plot(*d.priors, "o", color="black", ms=8, label="best of all matrices", clip_on=False, zorder=5)
        ax.set(title=name, xlabel="$C_{00}$", ylabel="$C_{11}$")
    axes[1].legend(fontsize=8, loc="lower left")
    save(fig, folder / "paper_contours.png")


def three_classes(folder: Path) -> None:
    """fig:3-class-best-classifiers: the best rules for the 0-1 and the H-mean loss on three Gaussians."""
    rows, eta, _ = line("Norm3", 4001)
    x = rows[:, 0]
    fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    for ax, metric, title in zip(axes, ("accuracy", "h_mean"), ("0-1 loss", "H-mean loss"), strict=True):
        result = on_line("Norm3", metric)
        decided = result.policy.decision_proba(eta)
        shares = result.confusion.matrix.sum(axis=0)
        for i in range(3):
            inside = x[(decided[:, i] > 0.5) & (np.abs(x) <= 4)]
            ax.plot(x, eta[:, i], color=f"C{i}", lw=1.8, label=f"class {i}")
            ax.axvspan(inside.min(), inside.max(), color=f"C{i}", alpha=0.18, lw=0)
            ax.text(inside.mean(), 1.03, f"{i} in {shares[i]:.0%}", color=f"C{i}", ha="center", fontsize=9)
        ax.set(title=f"best rule for the {title}", xlabel="x", xlim=(-4, 4), ylim=(0, 1.12))
    axes[0].set_ylabel("$\\eta_i(x)$; shaded: decided")
    axes[0].legend(fontsize=8, loc="center left", frameon=False)
    save(fig, folder / "paper_three_classes.png")


def trajectories(folder: Path) -> None:
    """fig:trajectories-unconstrained and fig:trajectories-constrained: iterates in the achievable set."""
    # C00 - C11 >= 0.2 for equal priors, by the recalls that the H-mean reads too, so that F lies in the shaded part.
    limit = [0.5 * mf.recall(0) - 0.5 * mf.recall(1) >= 0.2]
    pictures = (
        ("NormImbal", (), ("frank_wolfe", "gda", "ellipsoid", "column_generation"), "paper_trajectories.png"),
        (
            "NormBal",
            limit,
            ("split_frank_wolfe", "gda", "ellipsoid", "column_generation"),
            "paper_trajectories_constrained.png",
        ),
    )
    for name, constraints, methods, file in pictures:
        d = example(name)
        optimum = on_line(name, "h_mean", constraints, tol=1e-7).confusion.matrix.diagonal()
        zero_one = on_line(name, "accuracy").confusion.matrix.diagonal()
        fig, axes = plt.subplots(1, 4, figsize=(13, 3.6), sharey=True)
        for ax, method in zip(axes, methods, strict=True):
            _h_mean_contours(ax, d.priors)
            ax.fill(*d.boundary().T, facecolor="none", edgecolor="tab:purple", lw=1.8)
            if constraints:
                corner = np.array([0.2, d.priors[0], d.priors[0]])
                ax.fill(corner, [0, d.priors[0] - 0.2, 0], color="tab:red", alpha=0.12, lw=0)
            path = iterates(method, name, constraints)
            ax.plot(*path.T, "-", color=COLOURS[method], lw=1)
            ax.scatter(*path.T, s=14, c=np.log(1 + np.arange(len(path))), cmap="viridis", zorder=4)
            if method == "split_frank_wolfe":
                ax.plot(*feasible_iterates(name, constraints).T, "-", color="goldenrod", lw=1.8, label="F")
                ax.legend(fontsize=7, loc="lower left")
            ax.plot(*path[0], "s", color="black", ms=5, zorder=5)
            ax.plot(*optimum, "*", color="tab:red", ms=13, zorder=6, label="optimum")
            ax.plot(*zero_one, "X", color="tab:blue", ms=7, zorder=5, label="0-1 optimum")
            ax.set(title=LABELS[method], xlabel="$C_{00}$", xlim=(0, d.priors[0]), ylim=(0, d.priors[1]))
        axes[0].set_ylabel("$C_{11}$")
        axes[0].legend(fontsize=7, loc="lower left")
        save(fig, folder / file)


class FromZeroOne(OracleBase):
    """An oracle whose first answers are the 0-1 rule.

    Walks then begin there and not at the balanced rule, which is optimal on NormImbal.
    """

    exact = True

    def __init__(self, asked: PluginOracle, answers: int) -> None:
        self.asked, self.axes, self.margins, self.left = asked, asked.axes, asked.margins, answers

    def __call__(self, loss: np.ndarray, layout: str) -> object:
        if self.left:
            self.left -= 1
            loss = np.zeros_like(loss)
            loss[:, 0] = -1.0
        return self.asked(loss, layout)

    def confusion(self, losses: np.ndarray, weights: np.ndarray, layout: str) -> np.ndarray:
        return self.asked.confusion(losses, weights, layout)


def iterates(method: str, name: str, constraints: object, steps: int = 300, calls: int = 400) -> np.ndarray:
    """Return (C00, C11) of the first iterates of a method on the exact distribution."""
    walk = beginning(method, name, constraints, calls)
    program = walk.program
    walker = METHODS[method](prune="none") if method in ("gda", "split_frank_wolfe") else METHODS[method]()
    path = []
    for iterate in islice(walker.steps(program, walk), steps):
        shares = np.atleast_2d(iterate.weights)[0]
        mixed = sum(w * walk.vertices[t].statistic[0] for t, w in enumerate(shares) if w > 0)
        path.append(mixed[0] if program.layout == "diagonal" else mixed.diagonal())
        if (
            iterate.bound > -np.inf
            and program.value(iterate.u) - iterate.bound < 1e-6
            and program.excess(iterate.u) <= 1e-9
        ):
            break
    return np.array(path)


def beginning(method: str, name: str, constraints: object, calls: int) -> Walk:
    """Return a walk on the exact distribution that has not begun."""
    _, proba, weight = line(name)
    rows = Rows.of(proba, proba.argmax(axis=1), classes=range(2), sample_weight=weight)
    oracle = PluginOracle(rows, "model")
    if not constraints:
        # The others open with two rules.
        oracle = FromZeroOne(oracle, 1 if method == "frank_wolfe" else 2)
    program = Problem.of("h_mean", constraints).bind(oracle.axes, oracle.margins)
    return Walk(program, oracle, tol=1e-6, budget=Budget(calls))


def feasible_iterates(name: str, constraints: object, steps: int = 300, calls: int = 400) -> np.ndarray:
    """Return (C00, C11) of the feasible vectors F of SplitFW."""
    walk = beginning("split_frank_wolfe", name, constraints, calls)
    walker = METHODS["split_frank_wolfe"](prune="none")
    for _ in walker.opened(walk.program, walk):
        pass
    matrix, constant = walk.program.matrix.toarray(), walk.program.constant
    # An entry of u that reads nothing but C00, and one that reads nothing but C11.
    lonely = np.count_nonzero(matrix, axis=1) == 1
    alone = [int(np.flatnonzero(lonely & (matrix[:, j] != 0))[0]) for j in range(2)]
    scale = matrix[alone, [0, 1]]
    pairs = islice(walker.pairs(walk.program, Merged(walk)), steps)
    return np.array([(pair.f[alone] - constant[alone]) / scale for pair in pairs])


def _h_mean_loss(c00: np.ndarray, c11: np.ndarray, priors: np.ndarray) -> np.ndarray:
    return 1 - 2 / (priors[0] / np.maximum(c00, 1e-12) + priors[1] / np.maximum(c11, 1e-12))


def _h_mean_contours(ax: plt.Axes, priors: np.ndarray) -> None:
    a, b = np.meshgrid(np.linspace(1e-4, priors[0], 200), np.linspace(1e-4, priors[1], 200))
    ax.contour(a, b, _h_mean_loss(a, b, priors), levels=12, cmap="Greys_r", linewidths=0.7)


def draw(folder: Path) -> None:
    for picture in (achievable_sets, contours, three_classes, trajectories):
        partial(picture, folder)()
