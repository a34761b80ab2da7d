"""Many solves in one process: interrupted at random moments, repeated, and policies shared by threads.

``make soak`` does more of the same: 200 interrupted solves and 500 repeated ones.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import metricfit as mf

psutil = pytest.importorskip("psutil")

TIMES = int(os.environ.get("METRICFIT_SOAK", "1"))
RNG = np.random.default_rng(0)
PROBA = RNG.dirichlet([1, 1, 1, 1], 3000)
Y = (RNG.random((3000, 1)) > PROBA.cumsum(axis=1)).sum(axis=1)
GROUP = RNG.integers(0, 3, 3000)
LIMITS = [mf.precision(0) >= 0.5, mf.demographic_parity("group") <= 0.05]
MODEL = {"counting": "model", "sensitive_features": GROUP}


def solve(**options):
    return mf.optimize(PROBA, Y, "g_mean", LIMITS, **{**MODEL, **options})


@pytest.fixture(scope="module")
def reference():
    solve()
    return solve()


class Interrupted:
    """Ctrl-C after some seconds, as a signal to this process; waits for it at the end, so that it hits nobody else."""

    def __init__(self, seconds):
        self.timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))

    def __enter__(self):
        self.timer.start()
        return self

    def __exit__(self, *_):
        self.timer.cancel()
        self.timer.join()


def interrupted_solve(seconds):
    """Return the result, or None if it was interrupted before there was one."""
    found = None
    try:
        with Interrupted(seconds):
            found = solve()
            time.sleep(0.001)
    except KeyboardInterrupt:
        pass
    return found


@pytest.fixture
def ctrl_c():
    """Ctrl-C as Python has it; a process in the background may be told to ignore it."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals come to the main thread, and this is another")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def check_what_is_left(result, reference):
    """A policy that decides; where it keeps the limits, it is no better than anything can be."""
    chances = result.policy.decision_proba(PROBA[:50], GROUP[:50])
    assert chances.sum(axis=1) == pytest.approx(np.ones(50))
    # The reference's bound is a proof for these probabilities, and so is what is left of the stopped solve's own.
    assert not result.feasible or result.value <= reference.bound + 1e-6
    assert result.bound >= reference.value - 1e-6


def test_interrupts_at_random_moments(reference, ctrl_c):
    """A solve that is stopped gives what it has, or nothing; the next one is not touched by it."""
    rng = np.random.default_rng(1)
    seen = {"none": 0, "stopped": 0, "optimal": 0}
    for number in range(10 * TIMES):
        # The first one at once: however busy the machine is, it comes before a solve can end.
        result = interrupted_solve(reference.seconds * 1.3 * rng.random() if number else 0.0)
        seen["none" if result is None else result.status] += 1
        if result is not None:
            check_what_is_left(result, reference)
        if number % 10 == 9:
            again = solve()
            assert again.value == reference.value
            assert again.policy == reference.policy
    print(seen)
    assert seen["none"] + seen["stopped"] > 0


@pytest.mark.parametrize("iteration", [1, 2])
def test_an_interrupt_between_iterations_keeps_the_best(reference, ctrl_c, iteration):
    """As at a random moment, but one where there is something to keep on any machine."""
    records = []

    def interrupt(record):
        records.append(record)
        if len(records) == iteration:
            os.kill(os.getpid(), signal.SIGINT)

    result = solve(callback=interrupt, tol=0)
    assert result.status == "stopped"
    assert len(records) == iteration
    check_what_is_left(result, reference)


def test_a_policy_shared_by_threads(reference):
    """Eight threads share one policy that has decided nothing yet, and all give what one thread gives."""
    expected = reference.policy.decide(PROBA, GROUP).tolist()
    chances = reference.policy.decision_proba(PROBA, GROUP)
    for _ in range(3 * TIMES):
        fresh = mf.Policy.from_dict(reference.policy.to_dict())
        start = threading.Barrier(8)

        def work(number, fresh=fresh, start=start):
            start.wait()
            if number % 2:
                return fresh.decide(PROBA, GROUP).tolist() == expected
            return np.array_equal(fresh.decision_proba(PROBA, GROUP), chances)

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(work, range(8)))


def test_repeated_solves_do_not_grow(reference):
    """The memory of the process after many solves is that after some."""
    process = psutil.Process()

    def after(times):
        for _ in range(times):
            solve()
        gc.collect()
        return process.memory_info().rss

    first = after(5 * TIMES)
    second = after(20 * TIMES)
    print(f"{first / 2**20:.1f} MB after {5 * TIMES} solves, {second / 2**20:.1f} MB after {25 * TIMES}")
    assert second - first < 8 << 20
