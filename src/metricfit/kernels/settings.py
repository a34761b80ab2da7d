"""When compiled code is worth loading, and how many rows it processes at a time."""

from __future__ import annotations

from typing import NamedTuple


class Settings(NamedTuple):
    """Numbers tuned on generated data: 10,000 to 1,000,000 rows of 2 to 1,000 classes, on two cores.

    Parameters
    ----------
    numpy_work : int
        Products up to which a pass stays in NumPy, where it then takes some milliseconds. Numba takes a second to
        import and load, and several to compile on first use: a job needs hundreds of passes to gain by it.
    loading_work : int
        Products from which one pass is worth the seconds in which numba is imported and compiles: NumPy takes about as
        long for them.
    numpy_rows : int
        Rows of a scan up to which NumPy is fast enough.
    loading_rows : int
        Rows that a process scans in NumPy, in many small scans, before it loads numba for all of them. NumPy takes
        about 2 seconds for them, which are several solves under a limit; loading takes half a second, compiling on
        first use 4.
    chunk : int
        Probabilities in a chunk: enough to make the cost of a call small in comparison, and few enough to be still
        in the cache when a chunk is read again.
    """

    numpy_work: int = 500_000
    loading_work: int = 300_000_000
    numpy_rows: int = 5_000
    loading_rows: int = 15_000_000
    chunk: int = 2**21


TUNED = Settings()
