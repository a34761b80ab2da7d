"""What the explorer answers is what `optimize` finds."""

import json
from dataclasses import replace

import numpy as np
import pytest

import metricfit as mf
from metricfit.data.rows import Rows
from metricfit.exceptions import NotConvexError
from metricfit.explorer import workbench
from metricfit.explorer.answers import code, of_result
from metricfit.explorer.asked import Asked
from metricfit.explorer.choices import OBJECTIVES
from metricfit.explorer.workbench import Workbench
from metricfit.problem import Problem
from metricfit.result import ConstraintRecord
from metricfit.tradeoff import Chosen

FLOOR = "precision('fraud') >= 0.8"


@pytest.fixture
def optimize(payments, attributes):
    def run(*problem, counting="calibrated", **more):
        return mf.optimize(
            payments.proba, payments.y, *problem, sensitive_features=attributes, counting=counting, **more
        )

    return run


@pytest.mark.parametrize("kind", ["calibrated", "model", "labels"])
def test_a_solve_is_that_of_optimize(solve, optimize, kind):
    told, found = solve(constraints=[FLOOR], counting=kind), optimize("g_mean", [FLOOR], counting=kind)
    assert told["value"] == pytest.approx(found.value, abs=2e-4 if kind != "labels" else 0.02)
    assert told["counted"] == kind
    assert told["feasible"]
    limit = told["constraints"][0]
    assert limit["value"] >= 0.8 - 1e-9
    assert limit["holds"]
    if kind == "labels":
        assert told["bound"] is None
        assert told["calibrated"]["bound"] >= told["calibrated"]["value"] - 1e-9
    else:
        assert told["status"] == "optimal"
        assert told["bound"] == pytest.approx(found.bound, abs=2e-4)
        assert limit["price"] == pytest.approx(found.constraints[0].price, abs=0.02)
        matrix = np.array(told["confusion"]["matrix"])
        assert matrix.sum() == pytest.approx(1)
        assert matrix.shape == (4, 4)


def test_neighbouring_limits_start_from_what_is_known(solve, optimize):
    for limit in (0.6, 0.62, 0.64, 0.66, 0.64):
        told = solve(constraints=[f"precision('fraud') >= {limit}"])
        assert told["value"] == pytest.approx(
            optimize("g_mean", [f"precision('fraud') >= {limit}"]).value, abs=2e-4
        )
        assert told["constraints"][0]["limit"] == limit
        assert told["feasible"]


@pytest.mark.parametrize("objective", [text for text, _ in OBJECTIVES])
def test_every_metric_follows_a_slider(solve, objective):
    """Also those that are not convex: the second position of a slider is answered as the first one is."""
    values = []
    for limit in (0.4, 0.45, 0.5):
        told = solve(objective.replace("{c}", "'fraud'"), [f"recall('suspicious') >= {limit}"])
        assert told["feasible"]
        assert told["constraints"][0]["value"] >= limit - 1e-6
        values.append(told["value"])
    assert values[0] >= values[2] - 0.01


def test_a_limit_that_no_rate_can_have_is_refused(solve):
    told = solve(constraints=["precision('fraud') >= 2"])
    assert (told["status"], told["feasible"]) == ("infeasible", False)
    assert "No policy keeps this limit: precision('fraud') >= 2." in told["message"]
    assert told["achievable"][0]["nearest"] <= 1


def test_the_default_chooses_once_for_limits_on_the_same_metrics(solve, monkeypatch):
    asked = []

    def choose(problems, oracle, options):
        asked.append(str(problems[0]))
        return Chosen("labels", "rows not seen prefer it")

    monkeypatch.setattr(workbench, "choose_counting", choose)
    for limit in (0.3, 0.31):
        told = solve("accuracy", [f"recall('fraud') >= {limit}"], counting="auto")
        assert (told["counted"], told["choice"], told["bound"]) == ("labels", "rows not seen prefer it", None)
    assert len(asked) == 1
    assert solve("accuracy", ["recall('fraud') >= 0.31"])["counted"] == "calibrated"


@pytest.mark.parametrize(
    ("error", "status"), [(ValueError(), 422), (NotConvexError(), 422), (ImportError(), 501)]
)
def test_every_error_has_a_sentence(client, monkeypatch, error, status):
    def broken(self, asked, turn):
        raise error

    monkeypatch.setattr(Workbench, "solved", broken)
    response = client.post("/api/solve", json={"objective": "g_mean"})
    assert response.status_code == status
    assert type(error).__name__ in response.json()["error"]


def test_an_error_of_ours_is_told_as_one(client, monkeypatch):
    def broken(self, asked, turn):
        raise KeyError("a slip")

    monkeypatch.setattr(Workbench, "solved", broken)
    response = client.post("/api/solve", json={"objective": "g_mean"})
    assert response.status_code == 500
    assert "an internal error" in response.json()["error"]
    assert "a slip" in response.json()["error"]


def test_a_stricter_limit_costs(solve):
    values = [solve(constraints=[f"precision('fraud') >= {limit}"])["value"] for limit in (0.5, 0.7, 0.85)]
    assert values == sorted(values, reverse=True)
    assert values[0] - values[2] > 0.01


def test_rates_are_those_of_the_matrix(solve):
    told = solve(constraints=[FLOOR])
    matrix = np.array(told["confusion"]["matrix"])
    for i, one in enumerate(told["classes"]):
        assert one["recall"] == pytest.approx(matrix[i, i] / matrix[i].sum())
        assert one["precision"] == pytest.approx(matrix[i, i] / matrix[:, i].sum())
        assert one["share"] == pytest.approx(matrix[i].sum())


def test_groups_are_those_of_the_result(solve, optimize):
    (told,) = solve(constraints=[FLOOR])["groups"]
    frame = optimize("g_mean", [FLOOR]).by_group("recall('fraud')")
    assert (told["attribute"], told["class"]) == ("region", "fraud")
    assert [one["group"] for one in told["groups"]] == list(frame.index)
    found = [one["after"]["recall"] for one in told["groups"]]
    assert found == pytest.approx(frame[("value", "recall('fraud')")].tolist(), abs=0.02)


def test_what_to_expect_comes_on_request(solve):
    assert solve("balanced_accuracy")["expected"] is None
    loose = solve("balanced_accuracy", expect=True, constraints=["coverage('legit') >= 0.01"])["expected"]
    assert [one["outlook"] for one in loose["constraints"]] == ["likely met"]
    seen = solve("balanced_accuracy", expect=True)["expected"]
    assert seen["low"] < seen["value"] < seen["high"]
    assert seen["rows"] == 2000


def test_what_cannot_be_kept_is_answered_by_what_can(solve):
    told = solve(constraints=[FLOOR, "recall('fraud') >= 0.99"])
    assert told["status"] == "infeasible"
    assert not told["feasible"]
    assert told["conflict"] == [FLOOR, "recall('fraud') >= 0.99"]
    assert "No policy keeps these limits together" in told["message"]
    nearest = [f"{one['metric']} {one['sense']} {one['nearest']}" for one in told["achievable"]]
    assert all(one["nearest"] < one["limit"] for one in told["achievable"])
    assert solve(constraints=nearest)["feasible"]
    assert all(one["alone"] > one["limit"] for one in told["achievable"])


def test_the_curve_is_that_of_frontier(client, payments, attributes):
    body = {"objective": "g_mean", "constraints": [FLOOR], "trade": 0, "levels": 10}
    told = client.post("/api/frontier", json=body).json()
    front = mf.frontier(
        payments.proba,
        payments.y,
        "g_mean",
        mf.precision("fraud"),
        10,
        sensitive_features=attributes,
        counting="calibrated",
    )
    assert [point["level"] for point in told["points"]] == pytest.approx(
        [p.levels[0] for p in front], abs=0.01
    )
    assert [point["value"] for point in told["points"]] == pytest.approx(
        [p.result.value for p in front], abs=0.01
    )
    values = [point["value"] for point in told["points"]]
    assert values == sorted(values, reverse=True)


def test_the_policy_is_one_that_loads_and_keeps_its_limits(client, payments, attributes, tmp_path):
    response = client.post("/api/policy", json={"objective": "g_mean", "constraints": [FLOOR]})
    assert response.headers["content-disposition"] == 'attachment; filename="policy.json"'
    (tmp_path / "policy.json").write_bytes(response.content)
    policy = mf.Policy.load(tmp_path / "policy.json")
    assert policy.provenance["constraints"] == [FLOOR]
    assert len(policy.decide(payments.proba, attributes)) == 2000
    assert policy.provenance["rows"] == 2000


def test_the_code_finds_the_same_policy(client, payments, attributes, solve):
    code = client.post("/api/code", json={"objective": "g_mean", "constraints": [FLOOR]}).text
    for told in (
        "# proba: ",
        "2,000 rows",
        "# y: ",
        "# data: a frame of the same rows with the columns ['region']",
    ):
        assert told in code
    names = {"proba": payments.proba, "y": payments.y, "data": attributes}
    exec(code.replace('result.policy.save("policy.json")', ""), names)
    assert names["result"].value == pytest.approx(solve(constraints=[FLOOR])["value"], abs=2e-4)


def test_the_code_names_classes_in_the_order_of_the_columns(payments):
    classes = [str(c) for c in payments.classes][::-1]
    weights = np.linspace(1, 2, len(payments.y))
    rows = Rows.of(payments.proba[:, ::-1], payments.y, classes=classes, sample_weight=weights)
    text = code(Problem.of("accuracy"), "model", rows)
    names = {"proba": payments.proba[:, ::-1], "y": payments.y, "weights": weights}
    exec(text.replace('result.policy.save("policy.json")', ""), names)
    asked = {"sample_weight": weights, "counting": "model"}
    same = mf.optimize(payments.proba, payments.y, "accuracy", classes=classes[::-1], **asked)
    assert names["result"].value == pytest.approx(same.value, abs=1e-9)


def test_the_report_is_a_page(client):
    pytest.importorskip("matplotlib", reason="the report needs the extra 'plot'")
    pytest.importorskip("jinja2", reason="the report needs the extra 'plot'")
    page = client.post("/api/report", json={"objective": "g_mean", "constraints": [FLOOR]}).text
    assert page.startswith("<!doctype html>")
    assert "precision of fraud" in page


def test_a_metric_is_read_with_the_limit_that_is_kept_now(client, solve):
    told = solve("accuracy")
    read = client.post("/api/read", json={"text": "recall('legit')"}).json()
    now = next(one["recall"] for one in told["classes"] if one["class"] == "legit")
    assert read["value"] == pytest.approx(now)
    assert now - 0.01 <= read["limit"] <= now
    assert (read["metric"], read["sense"], read["constraint"]) == ("recall('legit')", ">=", False)


def test_setup_tells_the_rows(client):
    told = client.get("/api/setup").json()
    assert told["rows"] == 2000
    assert [one["text"] for one in told["classes"]] == ["'chargeback'", "'fraud'", "'legit'", "'suspicious'"]
    assert told["start"]["constraints"] == [{"metric": "precision('fraud')", "sense": ">=", "limit": 0.8}]


@pytest.mark.parametrize("part", ["objectives", "limits"])
def test_every_choice_is_a_metric(client, part):
    for one in client.get("/api/setup").json()[part]:
        text = one["text"].replace("{c}", "'fraud'").replace("{over}", "'region'")
        assert client.post("/api/read", json={"text": text}).json()["metric"] == text


@pytest.mark.parametrize(
    ("body", "where", "word"),
    [
        ({"objective": "g_men"}, "objective", "did you mean 'g_mean'"),
        ({}, "objective", "expected the text"),
        ({"objective": "recall('fraud') >= 1"}, "objective", "is a constraint"),
        ({"objective": "g_mean", "constraints": ["recall('nobody') >= 0.5"]}, "constraints[0]", "nobody"),
        (
            {"objective": "g_mean", "constraints": [FLOOR, "recall('fraud')"]},
            "constraints[1]",
            "has no limit",
        ),
        ({"objective": "g_mean", "constraints": "no list"}, "constraints", "list"),
        ({"objective": "demographic_parity(over='sex')"}, "objective", "sex"),
        ({"objective": "g_mean", "counting": "guess"}, "counting", "guess"),
        ({"objective": "g_mean", "expect": 1}, "expect", "true or false"),
        ({"objective": "g_mean", "constraint": [FLOOR]}, "body", "did you mean 'constraints'"),
    ],
)
def test_what_cannot_be_read_is_named(client, body, where, word):
    response = client.post("/api/solve", json=body)
    assert response.status_code == 400
    assert response.json()["where"] == where
    assert word in response.json()["error"]


def test_the_character_is_pointed_at(client):
    told = client.post("/api/solve", json={"objective": "g_mean + * 3"}).json()
    assert told["at"] == 10


@pytest.mark.parametrize("trade", [None, 1, -1, True])
def test_a_curve_needs_one_of_the_limits(client, trade):
    body = {"objective": "g_mean", "constraints": [FLOOR], "trade": trade}
    response = client.post("/api/frontier", json=body)
    assert (response.status_code, response.json()["where"]) == (400, "trade")


@pytest.mark.parametrize("data", [b"{", b"[]", b"[" * 100_000, b"\xff"])
def test_a_body_that_is_no_object_is_refused(client, data):
    response = client.post("/api/solve", content=data, headers={"content-type": "application/json"})
    assert response.status_code == 400
    assert json.loads(response.content)["where"] == "body"


def test_a_result_that_breaks_its_limits_offers_what_it_reaches():
    constraint = mf.precision("fraud") >= 0.9999
    asked = Asked(Problem.of("g_mean", [constraint]), "model")
    data = mf.datasets.make_fraud_triage(n_rows=500, random_state=0)
    kept = mf.optimize(data.proba, data.y, "g_mean", "precision('fraud') >= 0.5", counting="model")
    broken = replace(kept, constraints=(ConstraintRecord(str(constraint), 0.99815, 0.9999, 0.00175, 1.0),))
    told = of_result(asked, broken, None)
    assert not told["feasible"]
    assert told["achievable"][0]["nearest"] == 0.998
    assert "The nearest limits that can be kept: precision('fraud') >= 0.998." in told["message"]
