"""An explorer on generated payments, asked over loopback."""

import httpx
import pytest

import metricfit as mf
from metricfit.data.rows import Rows
from metricfit.explorer.app import Application
from metricfit.explorer.server import Explorer
from metricfit.explorer.workbench import Workbench
from metricfit.problem import Problem

FLOOR = "precision('fraud') >= 0.8"


@pytest.fixture(scope="session")
def payments():
    return mf.datasets.make_fraud_triage(n_rows=2000, random_state=0)


@pytest.fixture(scope="session")
def attributes(payments):
    return payments.X[["region"]].astype(str)


@pytest.fixture(scope="session")
def running(payments, attributes):
    rows = Rows.of(payments.proba, payments.y, sensitive_features=attributes)
    with Explorer(Application(Workbench(rows, "calibrated"), Problem.of("g_mean", [FLOOR]))) as made:
        yield made


@pytest.fixture
def client(running):
    headers = {"x-metricfit-token": running.token}
    with httpx.Client(base_url=f"http://127.0.0.1:{running.port}", headers=headers, timeout=120) as made:
        yield made


@pytest.fixture
def solve(client):
    def ask(objective="g_mean", constraints=(), **more):
        response = client.post(
            "/api/solve", json={"objective": objective, "constraints": list(constraints), **more}
        )
        assert response.status_code == 200, response.text
        return response.json()

    return ask
