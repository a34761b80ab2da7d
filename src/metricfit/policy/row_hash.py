"""A uniform number for each row that depends on the row alone, not on its place or company.

The number decides which rule of a mixture a row gets, so the same row gets the same decision in any order, in
any batch and on any machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from metricfit.data.validation import row_blocks
from metricfit.types import FloatArray, IntArray, Label

UInt64Array = npt.NDArray[np.uint64]
WORD = (1 << 64) - 1


def mix(word: UInt64Array) -> UInt64Array:
    """Scramble 64-bit words, one to one: the step and finaliser of the generator SplitMix64.

    Examples
    --------
    >>> import numpy as np
    >>> hex(int(mix(np.zeros(1, dtype=np.uint64))[0]))
    '0xe220a8397b1dcdaf'
    """
    word = word + np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def cell_keys(values: Iterable[tuple[Label, ...]]) -> UInt64Array:
    """Return a 64-bit key for each cell, from its values: a cell's number may differ from fit to fit.

    Examples
    --------
    >>> keys = cell_keys([("F", 1), ("F", 1.0), ("M", 1)])
    >>> bool(keys[0] == keys[1]), bool(keys[0] == keys[2])
    (True, False)
    """
    texts = (json.dumps([_canonical(value) for value in cell]) for cell in values)
    digests = (hashlib.sha256(text.encode()).digest() for text in texts)
    return np.array([int.from_bytes(digest[:8], "little") for digest in digests], dtype=np.uint64)


def _canonical(value: Label) -> str | int | float:
    """Equal values must give equal text: 1, 1.0 and True do."""
    return value if isinstance(value, str) or value != int(value) else int(value)


def salt_of(random_state: Any) -> int:
    """Return the salt that ``random_state`` asks for; 0 for None."""
    if random_state is None:
        return 0
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise ValueError(
            f"random_state must be an integer or None for randomize='hash'; got {random_state!r}"
        )
    return int(random_state)


def uniform(proba: FloatArray, cell: IntArray, keys: UInt64Array, salt: int = 0) -> FloatArray:
    """Return a number in [0, 1) for each row, from its probabilities, its cell and a salt.

    Probabilities count in single precision, so that a float32 copy of the rows gives the same numbers.

    Parameters
    ----------
    proba : ndarray of shape (N, n)
        Probabilities.
    cell : int ndarray of shape (N,)
        Each row's cell.
    keys : uint64 ndarray of shape (A,)
        Each cell's key, see `cell_keys`.
    salt : int, default=0
        Other salts give other, independent numbers.

    Returns
    -------
    float64 ndarray of shape (N,)

    Examples
    --------
    >>> import numpy as np
    >>> rows, cell, keys = np.array([[0.2, 0.8], [0.5, 0.5]]), np.zeros(2, dtype=int), cell_keys([()])
    >>> u = uniform(rows, cell, keys)
    >>> bool((uniform(rows[::-1], cell, keys) == u[::-1]).all())
    True
    """
    rows, columns = proba.shape
    # A sum of products with fixed odd keys tells rows apart in one pass over the block; `mix` spreads it.
    column_keys = mix(np.arange(columns, dtype=np.uint64)) | np.uint64(1)
    start = mix(keys ^ mix(np.array([salt & WORD], dtype=np.uint64)))
    numbers: FloatArray = np.empty(rows, dtype=np.float64)
    for block in row_blocks(rows, columns):
        with np.errstate(under="ignore"):
            single: Any = proba[block].astype(np.float32)
        single += np.float32(0)  # -0.0 and 0.0 have different bits
        word = mix((single.view(np.uint32).astype(np.uint64) @ column_keys) ^ start[cell[block]])
        numbers[block] = (word >> np.uint64(11)) * 2.0**-53
    return numbers
