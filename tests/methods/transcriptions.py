"""The paper's pseudo-code in plain NumPy and SciPy, on counted labels: lines are numbered as in the paper.

Vectors are as in section 8.2: the recalls of all classes, then the shares of all decisions. Metrics are minimised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import sqrtm
from scipy.optimize import linprog

Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Rows:
    """Probabilities and labels, and the plug-in oracle on them (Algorithm 9)."""

    proba: np.ndarray
    y: np.ndarray

    @classmethod
    def draw(cls, seed: int, rows: int = 500) -> Rows:
        """Draw labels that the probabilities describe only roughly, so that the plug-in rule is not the cheapest."""
        random = np.random.default_rng(seed)
        proba = random.dirichlet([3.0, 1.5, 0.8], rows)
        skewed = proba**0.6 * [1.0, 1.3, 0.9]
        return cls(proba, np.array([random.choice(3, p=p / p.sum()) for p in skewed]))

    @property
    def prior(self) -> np.ndarray:
        return np.bincount(self.y) / len(self.y)

    def confusion(self, loss: np.ndarray) -> np.ndarray:
        """Return the counted confusion matrix of the plug-in rule of a loss; ties go to the larger index."""
        scores = self.proba @ loss
        decided = 2 - np.argmin(scores[:, ::-1], axis=1)
        return np.array([[np.mean((self.y == i) & (decided == j)) for j in range(3)] for i in range(3)])

    def lmo(self, direction: np.ndarray) -> np.ndarray:
        """Return recalls and shares under the rule for a direction; a short direction is one of recalls only."""
        recalls, shares = direction[:3], np.resize(direction[3:], 3) if direction.size > 3 else np.zeros(3)
        counted = self.confusion(np.diag(recalls / self.prior) + shares)
        return np.concatenate([np.diag(counted) / self.prior, counted.sum(axis=0)])[: direction.size]


def h_mean(r: np.ndarray) -> float:
    return -3 / np.sum(1 / r[:3])


def h_mean_gradient(r: np.ndarray) -> np.ndarray:
    return np.append(-3 / np.sum(1 / r[:3]) ** 2 / r[:3] ** 2, np.zeros(r.size - 3))


def frank_wolfe(lmo: Function, gradient: Function, start: np.ndarray, T: int) -> np.ndarray:
    """Algorithm 1."""
    C = lmo(start)  # 2
    for t in range(1, T + 1):  # 3
        L = gradient(C)
        C_new = lmo(L / np.abs(L).max())  # 4, 5
        C = (1 - 2 / (t + 1)) * C + 2 / (t + 1) * C_new  # 7
    return C


def onto_simplex(v: np.ndarray, total: float = 1.0) -> np.ndarray:
    """Return the nearest point with entries >= 0 that sum to a total."""
    falling = np.sort(v)[::-1]
    shifts = (np.cumsum(falling) - total) / np.arange(1, v.size + 1)
    return np.maximum(v - shifts[np.flatnonzero(falling > shifts)[-1]], 0.0)


def into_domain(xi: np.ndarray) -> np.ndarray:
    """Project onto the box of recalls and the simplex of shares."""
    return np.concatenate([np.clip(xi[:3], 0, 1), onto_simplex(xi[3:]) if xi.size > 3 else xi[3:]])


@dataclass(frozen=True)
class Game:
    """Algorithm 6, of which Algorithm 2 is the case without constraints: ``matrix @ xi <= right``."""

    gradient: Function
    xi: np.ndarray
    matrix: np.ndarray
    right: np.ndarray
    radius: float
    corner: float
    project: Function = into_domain

    def play(self, lmo: Function, T: int, down: float, up: float) -> np.ndarray:
        def ball(x: np.ndarray) -> np.ndarray:
            return x * min(1.0, self.radius / np.linalg.norm(x))

        def corner(x: np.ndarray) -> np.ndarray:
            kept = np.maximum(x, 0.0)
            return kept if kept.sum() <= self.corner else onto_simplex(x, self.corner)

        xi, lam, mu = self.xi, ball(self.gradient(self.xi)), np.zeros(self.right.size)
        total = np.zeros(xi.size)
        for _ in range(T):  # 4
            C = lmo(lam / np.linalg.norm(lam))  # 5, 6
            xi_new = self.project(xi - down * (self.gradient(xi) - lam + self.matrix.T @ mu))  # 7
            lam = ball(lam + up * (C - xi))  # 8
            mu = corner(mu + up * (self.matrix @ xi - self.right))  # 9
            xi, total = xi_new, total + C
        return total / T  # 11


def jle(A: np.ndarray, centre: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Algorithm 3(a)."""
    t = 1 / (centre.size + 1)
    a, b = 1 / (1 - t) ** 2, (1 - 2 * t) / (1 - t) ** 2  # 3
    half = np.real(sqrtm(A))
    w = half @ w / np.linalg.norm(half @ w)  # 4
    B_inverse = a * np.outer(w, w) + b * (np.eye(w.size) - np.outer(w, w))  # 5
    back = np.linalg.inv(half)
    return np.linalg.inv(back @ B_inverse @ back), centre + t * half @ w  # 6, 7


def ellipsoid(
    lmo: Function,
    xi_step: Callable[..., np.ndarray],
    phi: Function,
    pool: list[np.ndarray],
    d: int,
    calls: int,
) -> list[np.ndarray]:
    """Algorithm 7 with radius 1,000, of which Algorithm 3 is the case without constraints; returns all C."""
    K, a = phi(np.zeros(d)).size, 1000.0
    centre, A, pool = np.zeros(d + K), a**2 * np.eye(d + K), list(pool)  # 3
    while calls:  # 4
        lam, mu = centre[:d], centre[d:]
        if np.linalg.norm(centre) > a:  # 5
            cut = -centre
        elif np.any(mu < 0):  # 8
            cut = np.append(np.zeros(d), np.maximum(-mu, 0))
        else:
            C, calls = lmo(lam), calls - 1  # 12
            xi = xi_step(lam, mu)  # 13
            pool, cut = [*pool, C], np.append(C - xi, phi(xi))
        A, centre = jle(A, centre, cut)  # 6, 9, 14
    return pool


def best_min_recall(pool: list[np.ndarray], matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Line 16 of Algorithm 7 for the largest smallest recall where ``matrix @ u <= right``; returns u."""
    V = np.array(pool)
    cost = np.append(np.zeros(len(V)), -1.0)
    recalls = np.hstack([-V[:, :3].T, np.ones((3, 1))])
    limits = np.hstack([matrix @ V.T, np.zeros((right.size, 1))])
    found = linprog(
        cost,
        np.vstack([recalls, limits]),
        np.append(np.zeros(3), right),
        np.append(np.ones(len(V)), 0.0)[None],
        [1.0],
    )
    return found.x[:-1] @ V


def bisection(lmo: Callable[[float], np.ndarray], psi: Callable[[np.ndarray], float], T: int) -> float:
    """Algorithm 4; returns the loss of the last classifier that was kept."""
    alpha, beta, kept = 0.0, 1.0, np.nan
    for _ in range(T):
        gamma = (alpha + beta) / 2  # 5
        C = lmo(gamma)  # 6, 7
        if psi(C) <= gamma:  # 8
            beta, kept = gamma, psi(C)
        else:
            alpha = gamma
    return kept


def split_frank_wolfe(
    lmo: Function, gradient: Function, matrix: np.ndarray, right: np.ndarray, T: int, over_t: bool
) -> np.ndarray:
    """Algorithm 5 on recalls with the appendix's settings: zeta = 10, its schedule of eta, gamma = 2 / (t + 2)."""

    def feasible(b: np.ndarray) -> np.ndarray:
        return linprog(b, matrix, right, bounds=(0, 1)).x

    C, F, lam = lmo(-np.ones(3)), feasible(gradient(np.full(3, 1 / 3))), np.zeros(3)  # 2
    best, nearest = C, np.inf
    for t in range(1, T + 1):  # 3
        pull = lam + 10 * (C - F)
        C_new, F_new = lmo(gradient(C) + pull), feasible(gradient(F) - pull)  # 4, 5, 6
        gamma = 2 / (t + 2)  # 7
        C, F = (1 - gamma) * C + gamma * C_new, (1 - gamma) * F + gamma * F_new  # 9, 10
        eta = (0.5, 0.1, 0.001)[3 * (t - 1) // T]
        lam = lam + eta / (t if over_t else 1) * (C - F)  # 11
        if t > T / 2 and np.linalg.norm(C - F) < nearest:  # 13
            best, nearest = C, np.linalg.norm(C - F)
    return best


def constrained_bisection(
    inner: Callable[[float], np.ndarray], psi: Callable[[np.ndarray], float], T: int
) -> np.ndarray:
    """Algorithm 8 with the test of line 7 as in Algorithm 4: the printed one would maximise the loss."""
    alpha, beta, kept = 0.0, 1.0, np.zeros(0)
    for _ in range(T):
        gamma = (alpha + beta) / 2
        C = inner(gamma)
        if psi(C) <= gamma:
            beta, kept = gamma, C
        else:
            alpha = gamma
    return kept
