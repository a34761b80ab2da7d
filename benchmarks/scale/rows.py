"""The rows and the clock that the other scripts here share."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

BLOCK = 100_000


def blocks(rows: int, classes: int, seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield labels and calibrated probabilities: shares like 1/i, and classes that are unequally hard to tell."""
    world, random = np.random.default_rng(0), np.random.default_rng([1, seed])
    prior = 1 / np.arange(1.0, classes + 1)
    prior = world.permutation(prior / prior.sum())
    shift = world.uniform(1, 4, classes).astype(np.float32)
    constant = (np.log(prior) - shift**2 / 2).astype(np.float32)
    # Many classes make large blocks: what is only scratch here must not be what memory is measured by.
    step = max(1, min(BLOCK, 10**7 // classes))
    for start in range(0, rows, step):
        y = random.choice(classes, min(step, rows - start), p=prior)
        # Coordinate i is normal with mean shift[i] in class i and 0 elsewhere; Bayes' rule gives the probabilities.
        x = random.standard_normal((len(y), classes), dtype=np.float32)
        x[np.arange(len(y)), y] += shift[y]
        x *= shift
        x += constant
        x -= x.max(axis=1, keepdims=True)
        np.exp(x, out=x)
        x /= x.sum(axis=1, keepdims=True)
        yield y, x


def arrays(rows: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities and labels in memory."""
    proba, labels = np.empty((rows, classes), np.float32), np.empty(rows, np.int32)
    start = 0
    for y, x in blocks(rows, classes):
        proba[start : start + len(y)], labels[start : start + len(y)] = x, y
        start += len(y)
    return proba, labels


def best(work: Callable[[], object], repeats: int) -> tuple[float, object]:
    """Return the least processor time of some repeats in seconds, and the last answer."""
    shortest = np.inf
    for _ in range(repeats):
        started = time.process_time()
        answer = work()
        shortest = min(shortest, time.process_time() - started)
    return shortest, answer


def resident() -> float:
    """Return the largest resident memory of this process in GB."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says includes the process that started this one
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        return int(lines["VmHWM"].split()[0]) * 1024 / 1e9
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def forget_peak() -> float:
    """Let the largest resident memory be the current one from now on, where the system can, and return it in GB."""
    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5")
    return resident()
