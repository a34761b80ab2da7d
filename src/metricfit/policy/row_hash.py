"""A uniform number for each row that depends on the row alone, not on its place among others.

The number decides which rule of a mixture a row gets, so the same row gets the same decision in any order, in
any batch and on any machine.

A row is identified by its probabilities and cell, or by a key that the user gives, such as the number of a case. A key
is a 64-bit word: a whole number from -2**63 to 2**64 - 1 is the word itself (negative ones in two's complement), any
other number its float64 bits, and a text, or a larger whole number written in decimal digits, the first 8 bytes of the
SHA-256 of its UTF-8 bytes, little-endian. Its number is ``mix(mix(salt) ^ word) >> 11`` times ``2**-53``.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from metricfit.data.columns import distinct_objects, factorize, is_frame, read_frame
from metricfit.data.validation import check_lengths, row_blocks, unmasked
from metricfit.types import FloatArray, IntArray, Label

UInt64Array = npt.NDArray[np.uint64]
WORD = (1 << 64) - 1
# Types whose values have the same text if they are equal.
PLAIN = {str, float, int, bool, type(None)}


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
    """Return a 64-bit key for each cell, from its values, because its number may differ from fit to fit.

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
    """Return a value such that equal values have equal text, as 1, 1.0 and True."""
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
    start = mix(keys ^ mix(np.array([salt & WORD], dtype=np.uint64)))
    return _unit(mix(row_words(proba) ^ start[cell]))


def row_words(rows: FloatArray) -> UInt64Array:
    """Return a 64-bit word for each row of numbers, which count in single precision.

    Examples
    --------
    >>> import numpy as np
    >>> words = row_words(np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]]))
    >>> bool(words[0] == words[1]), bool(words[0] == words[2])
    (True, False)
    """
    count, columns = rows.shape
    # A sum of products with fixed odd keys tells rows apart in one pass over the block; `mix` spreads it.
    column_keys = mix(np.arange(columns, dtype=np.uint64)) | np.uint64(1)
    words: UInt64Array = np.empty(count, dtype=np.uint64)
    for block in row_blocks(count, columns):
        with np.errstate(under="ignore"):
            single: Any = rows[block].astype(np.float32)
        single += np.float32(0)  # -0.0 and 0.0 have different bits
        words[block] = single.view(np.uint32).astype(np.uint64) @ column_keys
    return words


def key_words(key: Any, n_rows: int) -> UInt64Array:
    """Return the 64-bit words of the keys of some rows.

    Parameters
    ----------
    key : array-like of shape (n_rows,)
        Whole numbers, texts or other finite numbers: a list, an array, or a column of a frame.
    n_rows : int
        The number of rows.

    Returns
    -------
    uint64 ndarray of shape (n_rows,)

    Raises
    ------
    ValueError
        For missing keys (NaN, None), infinite ones, and those that are neither numbers nor texts.

    Examples
    --------
    >>> key_words([1, 1.0, -1, "1"], 4).tolist() == [1, 1, 2**64 - 1, key_words(["1"], 1)[0]]
    True
    """
    key = unmasked(key)
    kind = getattr(getattr(key, "dtype", None), "kind", "")
    array = np.asarray(key) if kind in ("i", "u") else np.zeros(0)
    if array.dtype.kind in "iu" and array.ndim == 1:  # nothing to look up
        words = array.astype(np.int64).view(np.uint64) if kind == "i" else array.astype(np.uint64)
    else:
        values, codes = factorize(key, "key")
        words = np.array([_word(value) for value in values], dtype=np.uint64)[codes]
    check_lengths(**{"the data": n_rows, "key": len(words)})
    return words


def _word(value: Label) -> int:
    plain = _canonical(value)
    if isinstance(plain, float):
        return int.from_bytes(struct.pack("<d", plain), "little")
    if isinstance(plain, int) and -(1 << 63) <= plain <= WORD:
        return plain & WORD
    digest = hashlib.sha256(str(plain).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "little")


def uniform_of_keys(words: UInt64Array, salt: int = 0) -> FloatArray:
    """Return a number in [0, 1) for each row, from the word of its key and a salt.

    Examples
    --------
    >>> uniform_of_keys(key_words([1000000000000, 1000000000001], 2)).round(4).tolist()
    [0.8686, 0.4118]
    """
    return _unit(mix(mix(np.array([salt & WORD], dtype=np.uint64)) ^ words))


def _unit(word: UInt64Array) -> FloatArray:
    return np.asarray((word >> np.uint64(11)) * 2.0**-53)


def feature_words(X: Any, n_rows: int) -> UInt64Array:
    """Return a 64-bit word for each row of features: numbers and texts, in an array, a frame or a sparse matrix.

    Real numbers count in single precision, so that a float32 copy gives the same words; zeros add nothing, so that a
    sparse matrix gives the words of a dense one.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> rows = [[0.0, 1.5], [2.0, 0.0]]
    >>> bool((feature_words(rows, 2) == feature_words(csr_array(rows), 2)).all())
    True
    """
    if hasattr(X, "tocsr"):  # a sparse matrix; SciPy is not imported for those who have none
        rows = X.tocsr()
        products = _number_words(rows.data) * _column_keys(rows.shape[1])[rows.indices]
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(products, dtype=np.uint64)])
        return np.asarray(sums[rows.indptr[1:]] - sums[rows.indptr[:-1]])
    if hasattr(X, "iloc"):  # its columns may have any names, or the same
        columns = [X.iloc[:, j] for j in range(X.shape[1])]
    elif is_frame(X):
        columns = list(read_frame(X, "X").values())
    else:
        array = X if hasattr(X, "dtype") else np.asarray(X, dtype=None if _numbers(X) else object)
        array = np.asarray(array).reshape(n_rows, -1)
        if array.dtype.kind in "biuf":
            return _array_words(array)
        columns = list(array.T)
    words = np.zeros(n_rows, dtype=np.uint64)
    for column, column_key in zip(columns, _column_keys(len(columns)), strict=True):
        words += _column_words(column) * column_key
    return words


def _array_words(rows: Any) -> UInt64Array:
    """Return the words of rows of numbers, in one pass over blocks of them."""
    column_keys = _column_keys(rows.shape[1])
    blocks = [_number_words(rows[block]) @ column_keys for block in row_blocks(*rows.shape)]
    return np.concatenate([np.zeros(0, np.uint64), *blocks])


def _numbers(X: Any) -> bool:
    try:
        return np.asarray(X).dtype.kind in "biuf"
    except ValueError:  # rows of several lengths
        return False


def _column_keys(columns: int) -> UInt64Array:
    return mix(np.arange(columns, dtype=np.uint64)) | np.uint64(1)


def _column_words(column: Any) -> UInt64Array:
    if str(getattr(column, "dtype", "")) == "category" and hasattr(column, "cat"):
        codes = column.cat.codes.to_numpy()
        places = [*range(len(column.cat.categories)), *([-1] if (codes < 0).any() else [])]
        # Each category once; what is missing comes last, where -1 finds it.
        known = type(column.array).from_codes(places, dtype=column.dtype)
        return _column_words(np.asarray(known))[codes]
    column = np.asarray(column)
    if column.dtype.kind in "biuf":
        return _number_words(column)
    values: list[Any] = column.tolist()
    if not set(map(type, values)) <= PLAIN:  # other types may be equal and have different texts
        values = [_text_of(value) for value in values]
    known, codes = distinct_objects(values, "X")
    digests = (hashlib.sha256(_text_of(value).encode("utf-8", "surrogatepass")).digest() for value in known)
    return np.array([int.from_bytes(digest[:8], "little") for digest in digests], dtype=np.uint64)[codes]


def _text_of(value: Any) -> str:
    """Numbers that are equal have the same text, whatever their type."""
    return repr(float(value)) if isinstance(value, bool | int | float | np.number) else str(value)


def _number_words(values: Any) -> UInt64Array:
    with np.errstate(under="ignore", over="ignore"):
        single: Any = np.asarray(values).astype(np.float32) + np.float32(
            0
        )  # -0.0 and 0.0 have different bits
    single[np.isnan(single)] = np.nan  # the same bits for every NaN
    return np.asarray(np.ascontiguousarray(single).view(np.uint32).astype(np.uint64))
