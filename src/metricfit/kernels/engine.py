"""The engine that computes: NumPy, or compiled code, for which numba must be loaded first."""

from __future__ import annotations

import sys
from typing import Literal

from metricfit.kernels.settings import TUNED

Engine = Literal["auto", "numpy", "numba"]


def in_numpy(engine: Engine, work: int, most: int) -> bool:
    """Whether NumPy computes: if asked to, or by itself for work up to ``most``, where loading numba would take longer.

    Examples
    --------
    >>> in_numpy("auto", 1_000, most=5_000), in_numpy("auto", 9_000, most=5_000)
    (True, False)
    """
    if engine not in ("auto", "numpy", "numba"):
        raise ValueError(f"engine must be 'auto', 'numpy' or 'numba', got {engine!r}")
    return engine == "numpy" or (engine == "auto" and work <= most)


class Repeated:
    """Small work that one process does again and again.

    A single small job does not gain what loading numba costs. Once NumPy has computed for about as long as loading
    takes, loading pays; and where the module of the compiled twins was loaded for larger work, nothing is left to pay.
    Twins must agree bit for bit, or answers would depend on what was computed before.

    Examples
    --------
    >>> scans = Repeated(most=5_000, loading=7_000)
    >>> scans.in_numpy("auto", 4_000), scans.in_numpy("auto", 4_000)
    (True, False)
    """

    def __init__(self, most: int, loading: int, twins: str = "") -> None:
        self.most, self.loading, self.twins, self.done = most, loading, twins, 0

    @property
    def loaded(self) -> bool:
        """Whether the compiled twins are loaded, or so much was done that they are worth it."""
        return self.done > self.loading or self.twins in sys.modules

    def in_numpy(self, engine: Engine, work: int) -> bool:
        """Whether NumPy computes: as `in_numpy`, until it has done so for ``loading``."""
        self.done += work
        return in_numpy(engine, work, -1 if self.loaded else self.most)


SCANS = Repeated(TUNED.numpy_rows, TUNED.loading_rows, "metricfit.kernels._scan_jit")
