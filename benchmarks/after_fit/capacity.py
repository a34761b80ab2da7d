"""Capacity: kept in random batches, at the cost of a linear program, and how long a million rows take.

python benchmarks/after_fit/capacity.py --batches 10000 --programs 300 --rows 1000000
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.optimize import linprog

from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.policy import Policy, Rule
from metricfit.policy.assignment import cheapest


def drawn(rng: np.random.Generator) -> Policy:
    """Return a policy of random rules for 2 to 4 classes, up to 2 more decisions and two groups."""
    n = int(rng.integers(2, 5))
    axes = Axes(tuple(range(n)), tuple(range(n + int(rng.integers(0, 3)))), Cells(("g",), (("a",), ("b",))))
    rules = [[Rule(w, rng.random((n, axes.k))) for w in (0.3, 0.7)] for _ in range(2)]
    return Policy(axes, "full", rules)


def batch(rng: np.random.Generator, policy: Policy, rows: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return probabilities, rounded in every second batch so that many rows tie, and groups."""
    n = policy.axes.n
    proba = rng.dirichlet(np.full(n, rng.choice([0.3, 1.0, 3.0])), rows)
    if rng.random() < 0.5:
        proba = rng.multinomial(5, np.full(n, 1 / n), rows) / 5
    return proba, {"g": rng.choice(["a", "b"], rows)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batches", type=int, default=10_000)
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    rng = np.random.default_rng(0)

    kept = binding = 0
    for _ in range(options.batches):
        policy = drawn(rng)
        rows = int(rng.integers(1, 120))
        limited = rng.permutation(policy.axes.k)[: rng.integers(1, policy.axes.k)]
        capacity = {int(j): int(rng.integers(0, rows + 1)) for j in limited}
        found = policy.capped(*(given := batch(rng, policy, rows))[:1], capacity, given[1])
        counts = np.bincount(found.made, minlength=policy.axes.k)
        kept += all(counts[j] <= most for j, most in capacity.items())
        binding += bool(found.cost > 0)
    print(f"capacity kept in {kept:,} of {options.batches:,} batches; it binds in {binding:,}")

    equal, worst = 0, 0.0
    for _ in range(options.programs):
        rows, columns = int(rng.integers(5, 60)), int(rng.integers(2, 6))
        costs = rng.random((rows, columns))
        costs = costs.round(1) if rng.random() < 0.5 else costs
        costs -= costs.min(axis=1, keepdims=True)
        most = np.append(rng.integers(0, rows // 2 + 1, columns - 1), rows)
        made = cheapest(costs, most)
        use = np.kron(np.ones(rows), np.eye(columns))
        supply = np.kron(np.eye(rows), np.ones(columns))
        best = linprog(costs.ravel(), A_ub=use, b_ub=most, A_eq=supply, b_eq=np.ones(rows)).fun
        apart = abs(costs[np.arange(rows), made].sum() - best)
        equal += bool(apart <= 1e-7 and np.all(np.bincount(made, minlength=columns) <= most))
        worst = max(worst, apart)
    print(f"total cost that of a linear program in {equal} of {options.programs}, at most {worst:.1e} apart")

    axes = Axes(("ok", "fraud", "odd"), ("ok", "fraud", "odd", "review", "block"))
    loss = [[0, 1, 1, 0.3, 0.6], [5, 0, 1, 0.3, 0.5], [1, 1, 0, 0.3, 0.2]]
    policy = Policy(axes, "full", [[Rule(0.5, loss), Rule(0.5, rng.random((3, 5)))]])
    proba = rng.dirichlet((0.3, 0.3, 0.3), options.rows)
    start = time.perf_counter()
    policy.decide(proba)
    plain = time.perf_counter() - start
    several = {"review": options.rows // 50, "block": options.rows // 20, "fraud": options.rows // 20}
    for capacity in ({"review": options.rows // 50}, several):
        start = time.perf_counter()
        policy.decide(proba, capacity=capacity)
        seconds = time.perf_counter() - start
        print(
            f"{options.rows:,} rows, {len(capacity)} limits: {seconds:.1f} s; {plain:.1f} s without a capacity"
        )


if __name__ == "__main__":
    main()
