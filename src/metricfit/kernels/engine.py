"""The engine that computes: NumPy, or compiled code, for which numba must be loaded first."""

from __future__ import annotations

from typing import Literal

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
