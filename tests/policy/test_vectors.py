"""The test vectors of the policy file: kept by the package, and by a reader that was written from the page alone."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from metricfit.policy import Policy
from metricfit.policy.file import decode
from metricfit.policy.row_hash import cell_keys, key_words, uniform, uniform_of_keys

CASES = json.loads((Path(__file__).parents[2] / "docs" / "policy-vectors.json").read_text(encoding="utf-8"))
WAYS = {
    "never": {"randomize": "never"},
    "hash": {},
    "hash, salt 7": {"salt": 7},
    "hash, key": {},
}
spec = importlib.util.spec_from_file_location("reference", Path(__file__).with_name("reference.py"))
reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reference)

each_case = pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])


def test_the_vectors_cover_what_a_policy_may_have():
    policies = [case["policy"] for case in CASES]
    assert {policy["layout"] for policy in policies} == {"full", "diagonal"}
    families = {policy["calibration"] and policy["calibration"]["family"] for policy in policies}
    assert families == {None, "bias", "temperature_bias", "vector", "dirichlet", "isotonic", "curves"}
    assert any(len(cell["rules"]) == 3 for policy in policies for cell in policy["cells"])
    rows = [row["decisions"] for case in CASES for row in case["rows"]]
    # A reader that ignores the hash, the salt, or the key fails.
    assert all(sum(row["hash"] != row[way] for row in rows) >= 5 for way in WAYS if way != "hash")


@each_case
@pytest.mark.parametrize("way", WAYS)
def test_the_package_keeps_the_vectors(case, way):
    policy = Policy.from_dict(decode(json.dumps(case["policy"]).encode()))
    rows = case["rows"]
    proba = np.array([row["probabilities"] for row in rows])
    names = policy.axes.cells.names
    values = zip(*(row["attributes"] for row in rows), strict=True)
    attributes = {name: list(column) for name, column in zip(names, values, strict=True)} or None
    options = {name: WAYS[way][name] for name in ("randomize",) if name in WAYS[way]}
    options |= {"random_state": WAYS[way].get("salt")}
    options |= {"key": [row["key"] for row in rows]} if way == "hash, key" else {}
    made = policy.decide(proba, attributes, **options)
    assert made.tolist() == [row["decisions"][way] for row in rows]


@each_case
def test_the_package_keeps_the_hash(case):
    values = [tuple(cell) for cell in case["policy"]["attributes"]["values"]]
    keys = cell_keys(values)
    assert [f"{int(key):016x}" for key in keys] == case["cell_keys"]
    cell = np.array([values.index(tuple(row["attributes"])) for row in case["rows"]])
    proba = np.array([row["probabilities"] for row in case["rows"]])
    assert uniform(proba, cell, keys).tolist() == [row["uniform"] for row in case["rows"]]
    words = key_words([row["key"] for row in case["rows"]], len(cell))
    assert uniform_of_keys(words).tolist() == [row["key_uniform"] for row in case["rows"]]


@each_case
def test_a_reader_written_from_the_page_keeps_the_vectors(case):
    document = reference.load(json.dumps(case["policy"]))
    cells = document["attributes"]["values"]
    assert [f"{reference.cell_key(cell):016x}" for cell in cells] == case["cell_keys"]
    for row in case["rows"]:
        given = row["probabilities"], row["attributes"]
        assert reference.uniform(*given) == row["uniform"]
        assert reference.uniform_of_key(row["key"]) == row["key_uniform"]
        for way, options in WAYS.items():
            key = row["key"] if way == "hash, key" else None
            assert reference.decide(document, *given, **options, key=key) == row["decisions"][way]


def test_a_changed_policy_fails_its_checksum():
    document = {**CASES[0]["policy"], "layout": "diagonal"}
    with pytest.raises(ValueError, match="checksum"):
        reference.load(json.dumps(document))
