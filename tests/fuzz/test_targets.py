"""The fuzz targets by hypothesis: what they start from, changed a little, and anything at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow")
pytest.importorskip("skops")

from fuzz.targets import SEEDS, TARGETS

ROUGH = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_accepted(name):
    for seed in SEEDS[name]:
        TARGETS[name](seed)


@pytest.mark.parametrize("name", TARGETS)
@ROUGH
@given(st.data())
def test_changed_bytes(name, data):
    content = bytearray(data.draw(st.sampled_from(SEEDS[name])))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, max(len(content) - 1, 0)))
        end = place + data.draw(st.integers(0, 4))
        content[place:end] = data.draw(st.one_of(st.binary(max_size=6), st.sampled_from(TOKENS)))
    TARGETS[name](bytes(content))


TOKENS = [
    *(b"[", b"]", b"{", b"}", b",", b":", b'"', b"null", b"1e999", b"-0", b"NaN", b"(", b")", b".at("),
    *(
        b"\n",
        b"\r\n",
        b"\x00",
        b"\xff",
        b";",
        b"9" * 30,
        b"0x1",
        b"True",
        b"**",
        b"\xef\xbb\xbf",
        b"PK\x01\x02",
    ),
]


@pytest.mark.parametrize("name", TARGETS)
@ROUGH
@given(content=st.binary(max_size=300))
def test_any_bytes(name, content):
    TARGETS[name](content)


METRIC = st.recursive(
    st.sampled_from(
        ["g_mean", "recall('a')", "f1(0)", "0.5", "-1e-9", "mcc()", "cost([[0, 1], [2, 0]])", "True", "'a'"]
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" + ", " - ", " * ", " / ", " <= ", " >= ", " < "]), inner).map(
            "".join
        ),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"-{text}"),
        inner.map(lambda text: f"minimum({text}, g_mean)"),
        inner.map(lambda text: f"worst({text}, over='sex')"),
        inner.map(lambda text: f"({text}).at(sex='F')"),
        inner.map(lambda text: f"abs({text})"),
    ),
    max_leaves=12,
)


@ROUGH
@given(text=METRIC)
def test_any_expression(text):
    TARGETS["text"](text.encode())


def test_a_second_of_fuzzing():
    """With atheris the driver fuzzes; without it, it says so and the tests above are what there is."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("run.py")), "text", "--seconds", "1"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert "Done " in said or "atheris is not installed" in said
    if "atheris is not installed" in said:
        pytest.skip(said.strip())
