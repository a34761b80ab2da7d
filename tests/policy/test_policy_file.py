"""Policy files: what is saved comes back bit for bit, and anything else is refused with a reason."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metricfit.calibration import Calibration
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.exceptions import PolicyFileError
from metricfit.policy import Policy, Rule
from metricfit.policy import file as policy_file
from metricfit.policy.document import KEYS

AXES = Axes(("ok", "fraud"), ("ok", "fraud", "review"), Cells(("sex", "old"), (("F", True), ("M", False))))


def make():
    rng = np.random.default_rng(0)
    rules = [
        [Rule(0.1, rng.normal(size=(2, 3))), Rule(0.9, rng.normal(size=(2, 3)))],
        [Rule(1, rng.normal(size=(2, 3)))],
    ]
    return Policy(AXES, "full", rules, [1, 0])


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "policy.json"
    make().save(path)
    return path


def rewrite(path, change):
    """Change the document and sign it again, so that only the content is wrong."""
    document = json.loads(path.read_bytes())
    document.pop("checksum")
    document = change(document) or document
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    document["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(document))


def test_round_trip(saved):
    loaded = Policy.load(saved)
    assert loaded == make()
    assert Policy.load(str(saved)) == loaded
    assert [type(value) for value in loaded.axes.cells.values[0]] == [str, bool]
    proba, frame = np.array([[0.3, 0.7], [0.6, 0.4]]), {"sex": ["F", "M"], "old": [True, False]}
    assert loaded.decide(proba, frame).tolist() == make().decide(proba, frame).tolist()


def test_the_document_as_promised(saved):
    document = json.loads(saved.read_text())
    assert list(document) == [*KEYS, "checksum"]
    assert (document["format"], document["version"]) == ("metricfit.policy", 3)
    assert document["attributes"] == {"names": ["sex", "old"], "values": [["F", True], ["M", False]]}
    assert [len(cell["rules"]) for cell in document["cells"]] == [2, 1]
    assert [cell["single"] for cell in document["cells"]] == [1, 0]


CALIBRATION = Calibration("dirichlet", [[0.1, 0.2], [0.3, -0.4]], [[1.5, 0.25], [0.0, 1.0]], [1.0, 0.5])
PROVENANCE = {"objective": "g_mean()", "rows": 3000, "weighted": False, "limits": [0.9, None]}


def calibrated():
    policy = make()
    return Policy(AXES, "full", policy.rules, policy.single, CALIBRATION, PROVENANCE)


def test_calibration_and_provenance_round_trip(tmp_path):
    path, policy = tmp_path / "policy.json", calibrated()
    policy.save(path)
    loaded = Policy.load(path)
    assert loaded == policy != make()
    assert loaded.calibration == CALIBRATION
    assert loaded.provenance == PROVENANCE
    proba = np.random.default_rng(0).dirichlet([1, 1], 200)
    frame = {"sex": ["F", "M"] * 100, "old": [True, False] * 100}
    assert loaded.decide(proba, frame).tolist() == policy.decide(proba, frame).tolist()
    np.testing.assert_array_equal(loaded.decision_proba(proba, frame), policy.decision_proba(proba, frame))


@pytest.mark.parametrize("version", [1, 2])
def test_files_of_older_versions_are_read(saved, version):
    def older(document):
        for key in ("at_fit", *(("calibration", "provenance", "overall", "blind") if version == 1 else ())):
            del document[key]
        document["version"] = version

    rewrite(saved, older)
    loaded = Policy.load(saved)
    assert loaded == make()
    assert loaded.calibration is None
    assert loaded.provenance == {}


def test_a_file_of_version_1_has_no_calibration(saved):
    rewrite(saved, put("version", value=1))
    with pytest.raises(PolicyFileError, match="unknown 'calibration', 'provenance'"):
        Policy.load(saved)


def test_a_file_laid_out_anew_still_loads(saved):
    saved.write_text(json.dumps(json.loads(saved.read_text()), indent=2, sort_keys=True))
    assert Policy.load(saved) == make()


@pytest.mark.parametrize(
    "labels", [("a", "b"), (0, 1), (0.5, 1.0), (False, True), (1, "1"), ("\x00", '\ud800é"\\')]
)
def test_labels_keep_their_types(tmp_path, labels):
    policy = Policy(
        Axes(labels, cells=Cells(("g",), tuple((label,) for label in labels))),
        "full",
        [[Rule(1, np.eye(2))]] * 2,
    )
    policy.save(tmp_path / "p.json")
    loaded = Policy.load(tmp_path / "p.json")
    for made in (loaded.axes.classes, loaded.axes.decisions, [cell[0] for cell in loaded.axes.cells.values]):
        assert [(type(value), value) for value in made] == [(type(value), value) for value in labels]


LABELS = st.one_of(
    st.text(max_size=5), st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False)
)


@st.composite
def policies(draw):
    classes = draw(st.lists(LABELS, min_size=1, max_size=4, unique=True))
    decisions = draw(st.lists(LABELS, min_size=1, max_size=4, unique=True))
    values = draw(st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=3, unique=True))
    layout = draw(st.sampled_from(["full", "diagonal"]))
    axes = Axes(tuple(classes), tuple(decisions), Cells(("u", "v"), tuple(values)))
    shape = (2 if layout == "diagonal" else axes.n, axes.k)
    entry = st.floats(allow_nan=False, allow_infinity=False)
    loss = st.lists(entry, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])
    rules = []
    for _ in values:
        parts = np.array(draw(st.lists(st.integers(1, 1000), min_size=1, max_size=3)), dtype=float)
        rules.append([Rule(part / parts.sum(), np.reshape(draw(loss), shape)) for part in parts])
    return Policy(axes, layout, rules, [draw(st.integers(0, len(cell) - 1)) for cell in rules])


@settings(max_examples=60)
@given(policies())
def test_any_policy_round_trips_bit_for_bit(policy):
    data = policy_file.encode(policy.to_dict())
    loaded = Policy.from_dict(policy_file.decode(data))
    assert loaded == policy
    assert policy_file.encode(loaded.to_dict()) == data


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not valid JSON"),
        (b"\x00\x01\x02", "not valid JSON"),
        (b"\x80\x04\x95pickle", "not valid JSON"),
        (b'{"format": "metricfit.policy"', "not valid JSON"),
        (b"[1, 2]", "holds a JSON list"),
        (b"null", "holds a JSON NoneType"),
        (b"{}", '"format" is None'),
        (b'{"format": "other"}', "\"format\" is 'other'"),
        (b'{"format": "metricfit.policy"}', '"version" must be a positive integer; it is None'),
        (b'{"format": "metricfit.policy", "version": true}', '"version" must be'),
        (b'{"format": "metricfit.policy", "version": "1"}', '"version" must be'),
        (
            b'{"format": "metricfit.policy", "version": 4, "metricfit": "9.1"}',
            r"newer metricfit \('9.1'\).*upgrade",
        ),
        (b'{"format": "metricfit.policy", "version": 1}', "checksum does not match"),
        (b'{"format": "metricfit.policy", "format": "x"}', "same key twice"),
        (b'{"format": NaN}', "holds NaN"),
        (b'{"format": -Infinity}', "holds -Infinity"),
        (b"[" * 20_000 + b" " * 200_000, "nested too deeply"),
        (b'{"a long name":' * 100_000, "nested too deeply"),
        (b'{"format": "metricfit.policy", "version": 1, "x": ' + b"9" * 5000 + b"}", "not valid JSON"),
        (b'{"format": "metricfit.policy", "version": 1, "x": 1e999}', "not valid JSON"),
    ],
)
def test_files_that_are_no_policy(tmp_path, data, words):
    path = tmp_path / "bad.json"
    path.write_bytes(data)
    with pytest.raises(PolicyFileError, match=words) as raised:
        Policy.load(path)
    assert str(path) in str(raised.value)


def test_every_cut_of_a_file_is_refused(saved):
    data = saved.read_bytes()
    for size in range(0, len(data) - 2, 37):
        saved.write_bytes(data[:size])
        with pytest.raises(PolicyFileError):
            Policy.load(saved)


def test_every_changed_digit_is_noticed(saved):
    data = saved.read_bytes()
    start = data.index(b'"classes"')
    digits = [i for i in range(start, len(data)) if data[i : i + 1].isdigit()]
    for place in digits[::5]:
        changed = bytearray(data)
        changed[place] = ord("1") + (changed[place] == ord("1"))
        saved.write_bytes(bytes(changed))
        with pytest.raises(PolicyFileError):
            Policy.load(saved)


def put(*path, value):
    def change(document):
        inner = document
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value

    return change


HUGE = 10**400


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda document: document.pop("layout"), "lacks 'layout'"),
        (put("extra", value=1), "unknown 'extra'"),
        (put("layout", value="sparse"), "unknown layout 'sparse'"),
        (put("layout", value=3), '"layout" must be a string'),
        (put("classes", value="ab"), '"classes" must be an array'),
        (put("classes", value=["ok"]), "shape"),
        (put("classes", value=["ok", "ok"]), "same label twice"),
        (put("classes", value=["ok", None]), '"classes" holds None'),
        (put("classes", value=["ok", ["fraud"]]), '"classes" holds'),
        (put("classes", value=[]), "classes is empty"),
        (put("classes", value=list(range(100_000))), "shape"),
        (put("decisions", value=[]), '"decisions" is empty'),
        (put("decisions", value=[{}, {}, {}]), '"decisions" holds'),
        (put("attributes", value=[]), '"attributes" must be an object'),
        (put("attributes", "names", value=["sex", 1]), '"names" holds 1'),
        (put("attributes", "names", value=["sex"]), "one value for each attribute"),
        (put("attributes", "names", value=["sex", "sex"]), "names must differ"),
        (put("attributes", "values", value=[["F", True], ["F", True]]), "cells must differ"),
        (put("attributes", "values", value=["F", "M"]), "which is no list"),
        (put("attributes", "values", value=[]), "at least one cell"),
        (put("cells", value=[]), "one entry per cell"),
        (put("cells", value={}), '"cells" must be an array'),
        (put("cells", 0, value=7), "which is no dict"),
        (put("cells", 0, "rules", value=[]), "sum to 1"),
        (put("cells", 0, "rules", value=[[]]), "which is no dict"),
        (put("cells", 0, "single", value=2), "single must name a rule"),
        (put("cells", 0, "single", value=-1), "single must name a rule"),
        (put("cells", 0, "single", value=True), '"single" holds True'),
        (put("cells", 0, "single", value=0.0), '"single" holds 0.0'),
        (put("cells", 0, "rules", 0, "weight", value=0.2), "sum to 1"),
        (put("cells", 0, "rules", 0, "weight", value=-0.1), "at least 0"),
        (put("cells", 0, "rules", 0, "weight", value="0.1"), "\"weight\" holds '0.1'"),
        (put("cells", 1, "rules", 0, "weight", value=True), '"weight" holds True'),
        (put("cells", 0, "rules", 0, "weight", value=HUGE), "does not make sense"),
        (put("cells", 0, "rules", 0, "loss", value=[[1, 2, 3]]), "shape"),
        (put("cells", 0, "rules", 0, "loss", value=[]), "shape"),
        (put("cells", 0, "rules", 0, "loss", value=[[1, 2, 3], [1, 2]]), "equally long"),
        (put("cells", 0, "rules", 0, "loss", value=[[1, 2, 3], [1, 2, "3"]]), "a row of a loss holds '3'"),
        (put("cells", 0, "rules", 0, "loss", value=[[1, 2, 3], [1, 2, False]]), "holds False"),
        (put("cells", 0, "rules", 0, "loss", value=[[1, 2, 3], [1, 2, HUGE]]), "does not make sense"),
        (put("cells", 0, "rules", 0, "loss", value={"__reduce__": "os.system"}), '"loss" must be an array'),
        (put("calibration", value=[]), "a calibration must be an object"),
        (put("calibration", value={"family": "none"}), "a calibration must be an object with the keys"),
        (put("calibration", value={**CALIBRATION.to_dict(), "steepness": [0.0]}), "positive"),
        (put("calibration", value={**CALIBRATION.to_dict(), "bias": [[HUGE, 0]]}), "int too large"),
        (put("calibration", value=Calibration("bias", [[0, 1, 2]]).to_dict()), "calibration has 3 classes"),
        (put("calibration", value=Calibration("bias", [[0, 1]] * 3).to_dict()), "calibration has 3 cells"),
        (put("provenance", value=None), "provenance must be an object"),
        (put("provenance", value={"a": {}}), "provenance 'a' must be"),
        (put("provenance", value={"a": [[1]]}), "provenance 'a' must be"),
        (put("provenance", value={"a": "x" * 70_000}), "more than 65536 characters"),
    ],
)
def test_signed_nonsense_is_refused(saved, change, words):
    rewrite(saved, lambda document: change(document) and None)
    with pytest.raises(PolicyFileError, match=words):
        Policy.load(saved)


def test_from_dict_checks_too_and_changes_nothing():
    document = make().to_dict()
    before = copy.deepcopy(document)
    assert Policy.from_dict(document) == make()
    assert document == before
    for wrong in (
        [],
        None,
        {**document, "version": 9},
        {**document, "format": "x"},
        {"format": "metricfit.policy"},
    ):
        with pytest.raises(PolicyFileError):
            Policy.from_dict(wrong)


def test_size_limit(saved):
    with pytest.raises(PolicyFileError, match=r"larger than 100 bytes.*max_bytes"):
        Policy.load(saved, max_bytes=100)
    assert Policy.load(saved, max_bytes=saved.stat().st_size) == make()


def peak_while_refused(path):
    """Return the most memory in use while a file is found to be no policy."""
    tracemalloc.start()
    try:
        with pytest.raises(PolicyFileError):
            Policy.load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("repeated", ["[],", "0.1,", '"ab",', "[0.1,0.2,0.3],"])
@pytest.mark.parametrize("where", ["classes", "anything"])
def test_memory_is_bounded_by_the_size_of_the_file(tmp_path, repeated, where):
    """What fills a file once took 28 times its size."""
    head = {"format": "metricfit.policy", "version": 1, where: "HERE", "checksum": "0"}
    data = json.dumps(head).replace('"HERE"', "[" + repeated * (400_000 // len(repeated)) + "1]").encode()
    (tmp_path / "bomb.json").write_bytes(data)
    size = len(data)
    del data
    peak = peak_while_refused(tmp_path / "bomb.json")
    assert peak < 18 * size + (1 << 21)


@pytest.mark.parametrize("entry", ['"{:x}":1', '"{:x}" :{{}}', '"{:x}":[]', '"{:09x}":1'])
def test_memory_is_bounded_for_keys_too(tmp_path, entry):
    data = "{" + ",".join(entry.format(number) for number in range(60_000)) + "}"
    (tmp_path / "bomb.json").write_text(data)
    peak = peak_while_refused(tmp_path / "bomb.json")
    assert peak < 18 * len(data) + (1 << 21)


def test_policies_of_many_small_cells_have_not_too_many_keys(tmp_path):
    """The most keys that a policy can have for its size: cells with short names, and one rule of two classes each."""
    cells = Cells(("g",), tuple((number,) for number in range(9000)))
    policy = Policy(Axes((0, 1), cells=cells), "full", [[Rule(1, np.zeros((2, 2)))]] * 9000)
    policy.save(tmp_path / "policy.json")
    assert Policy.load(tmp_path / "policy.json") == policy


def test_the_default_limit_fits_real_policies(tmp_path):
    """20 rules of 1,000 classes are far below it, and so is one with a loss for each pair of 1,000 classes."""
    sizes = [
        len(policy_file.encode(_many_classes(layout, rules).to_dict()))
        for layout, rules in (("diagonal", 20), ("full", 1))
    ]
    assert max(sizes) < policy_file.MAX_BYTES // 2


def _many_classes(layout, rules):
    shape = (2 if layout == "diagonal" else 1000, 1000)
    draw = np.random.default_rng(0).normal(size=(rules, *shape))
    return Policy(Axes(tuple(range(1000))), layout, [[Rule(1 / rules, loss) for loss in draw]])


def test_the_checksum_is_that_of_the_compact_text():
    document = {**make().to_dict(), "b": {"y": [1], "x": None}, "a": [], "text": "ä"}
    for some in (document, {}, {"a": [[1.5, {"b": 2, "a": 1}]]}):
        text = json.dumps(some, sort_keys=True, separators=(",", ":"))
        assert json.loads(policy_file.encode(some))["checksum"] == hashlib.sha256(text.encode()).hexdigest()


def test_a_missing_file_is_not_a_damaged_one(tmp_path):
    with pytest.raises(FileNotFoundError):
        Policy.load(tmp_path / "none.json")
    with pytest.raises(FileNotFoundError):
        make().save(tmp_path / "no folder" / "policy.json")


def test_a_failed_save_leaves_the_old_file_and_nothing_else(saved, monkeypatch):
    before = saved.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    for step in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, fail)
            with pytest.raises(OSError, match="disk full"):
                Policy(Axes((0, 1)), "full", [[Rule(1, np.eye(2))]]).save(saved)
        assert saved.read_bytes() == before
        assert [path.name for path in saved.parent.iterdir()] == ["policy.json"]


def test_what_is_no_plain_file_is_not_replaced(tmp_path):
    """A device would be replaced by a file where one has the right to do so, for all programs."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "link", "folder"):
        with pytest.raises(
            ValueError, match=f"{name}' is not a regular file; give the name of a file to write"
        ):
            make().save(tmp_path / name)
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "link", "pipe"]


def test_saving_replaces_and_follows_links(saved):
    link = saved.with_name("link.json")
    link.symlink_to(saved)
    other = Policy(Axes((0, 1)), "full", [[Rule(1, np.eye(2))]])
    other.save(link)
    assert link.is_symlink()
    assert Policy.load(saved) == other


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="No such folder; create it first") as caught:
        policy_file.write(tmp_path / "nowhere" / "policy.json", b"{}")
    assert caught.value.filename == str(tmp_path / "nowhere")
