from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import joblib
import numba
import numpy as np
import pytest
from kernel_data import assert_close, make

from metricfit.data.rows import RowArrays
from metricfit.kernels import _counting_jit as _jit
from metricfit.kernels.counting import confusion, count, decide
from metricfit.kernels.counting_numba import _chunks
from metricfit.kernels.settings import Settings

NUMBA = {"engine": "numba"}
NUMPY = {"engine": "numpy"}


# Rows do not depend on their neighbours, chunks and threads do not show -------------------------------


SMALL_CHUNKS = {"engine": "numba", "settings": Settings(chunk=2**12)}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["diagonal", "full"])
@pytest.mark.parametrize("n", [7, 40])
class TestChunks:
    def test_threads_change_no_bit(self, n, layout, dtype):
        P, y, cell, weight, loss, match = make(3001, n, n, 3, dtype, layout)
        assert len(_chunks(P, 0, 2**12)) > 3
        for labels in (y, None):
            one = count(RowArrays(P, labels, cell, weight), loss, match, layout=layout, **SMALL_CHUNKS)
            two = count(
                RowArrays(P, labels, cell, weight), loss, match, layout=layout, threads=2, **SMALL_CHUNKS
            )
            np.testing.assert_array_equal(one, two)
            assert_close(one, count(RowArrays(P, labels, cell, weight), loss, match, layout=layout, **NUMPY))
        one = decide(P, cell, loss, match, layout=layout, **SMALL_CHUNKS)
        two = decide(P, cell, loss, match, layout=layout, threads=-1, **SMALL_CHUNKS)
        np.testing.assert_array_equal(one, two)
        arguments = RowArrays(P, y, cell, weight), one, 3, n
        np.testing.assert_array_equal(
            confusion(*arguments, **SMALL_CHUNKS), confusion(*arguments, threads=2, **SMALL_CHUNKS)
        )

    def test_a_row_alone_is_decided_as_among_others(self, n, layout, dtype):
        P, _, cell, _, loss, match = make(300, n, n, 3, dtype, layout)
        together = decide(P, cell, loss, match, layout=layout, **NUMBA)
        for r in (0, 79, 80, 299):
            alone = decide(P[r : r + 1], cell[r : r + 1], loss, match, layout=layout, **NUMBA)
            assert alone[0] == together[r]
        np.testing.assert_array_equal(
            decide(P[::-1].copy(), cell[::-1], loss, match, layout=layout, **NUMBA), together[::-1]
        )


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_arrays_of_any_order_are_read_and_none_is_written(engine):
    P, y, cell, weight, loss, match = make(200, 7, 7, 2, np.float32)
    expected = count(RowArrays(P, y, cell, weight), loss, match, layout="diagonal", engine=engine)
    given = [np.asfortranarray(P), y[::-1].copy()[::-1], cell, weight, loss, match]
    kept = [a.copy() for a in given]
    for a in given:
        a.flags.writeable = False
    np.testing.assert_array_equal(
        count(RowArrays(*given[:4]), *given[4:], layout="diagonal", engine=engine), expected
    )
    for a, b in zip(given, kept, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("N", [5, 200])
@pytest.mark.parametrize("k", [3, 40])
def test_rows_that_are_no_numbers_stay_inside_the_statistic(k, N):
    P, loss = np.full((N, k), np.nan), np.random.default_rng(0).normal(size=(1, 2, k))
    decisions = decide(P, None, loss, np.arange(k), layout="diagonal", **NUMBA)
    assert decisions.min() >= 0
    assert decisions.max() < k


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_decisions_are_put_where_asked(engine):
    P, _, cell, _, loss, match = make(200, 7, 7, 2)
    out = np.full(200, -1, np.int32)
    assert decide(P, cell, loss, match, layout="diagonal", out=out, engine=engine) is out
    np.testing.assert_array_equal(out, decide(P, cell, loss, match, layout="diagonal", engine=engine))


def _count_threaded(seed):
    P, y, cell, weight, loss, match = make(3001, 7, 7, 3, np.float32, seed=seed)
    return count(RowArrays(P, y, cell, weight), loss, match, layout="diagonal", threads=2, **SMALL_CHUNKS)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("workers", ["fork", "joblib"])
def test_workers_count_as_their_parent(workers):
    expected = [_count_threaded(seed) for seed in range(2)]
    if workers == "joblib":
        found = joblib.Parallel(n_jobs=2)(joblib.delayed(_count_threaded)(seed) for seed in range(2))
    else:
        with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
            found = list(pool.map(_count_threaded, range(2)))
    for a, b in zip(found, expected, strict=True):
        assert_close(a, b)


# Choices ---------------------------------------------------------------------------------------------------


def test_a_small_job_does_not_import_numba():
    code = """
import sys
import numpy as np
from metricfit.data.rows import RowArrays
from metricfit.kernels import counting as kernels
P = np.full((1000, 4), 0.25)
for layout, loss in (("diagonal", np.zeros((1, 2, 4))), ("full", np.zeros((1, 4, 4)))):
    kernels.count(RowArrays(P, np.zeros(1000, int), None, None), loss, np.arange(4), layout=layout)
assert "numba" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_kernels_need_no_folder_to_keep_compiled_code_in(monkeypatch):
    def njit(cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return numba.njit(**options)

    monkeypatch.setattr(_jit, "njit", njit)
    assert _jit._kernel(lambda x: x + 1)(1) == 2


def test_auto_takes_numpy_up_to_its_limit():
    code = """
import sys
import numpy as np
from metricfit.kernels.counting import decide
from metricfit.kernels.settings import Settings
P, loss, layout = np.full(({rows}, 5), 0.2), np.zeros((1, {height}, 10)), "{layout}"
decide(P, None, loss, np.arange(10) % 5, layout=layout, settings=Settings(numpy_work=100))
print("numba" in sys.modules)
"""
    for rows, layout, compiled in [(10, "diagonal", False), (11, "diagonal", True), (10, "full", True)]:
        script = code.format(rows=rows, layout=layout, height=2 if layout == "diagonal" else 5)
        done = subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.PIPE, text=True)
        assert done.stdout.strip() == str(compiled)


@pytest.mark.parametrize(("option", "value"), [("layout", "diag"), ("engine", "cupy")])
def test_unknown_choices_are_named(option, value):
    with pytest.raises(ValueError, match=f"{option} must be .*'{value}'"):
        decide(np.eye(2), None, np.zeros((1, 2, 2)), np.arange(2), **{"layout": "full", option: value})
