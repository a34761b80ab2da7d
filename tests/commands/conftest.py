import numpy as np
import pandas as pd
import pytest
from command_line import PROBA

from metricfit.datasets import make_fraud_triage


@pytest.fixture(scope="module")
def frame():
    data = make_fraud_triage(n_rows=3000, random_state=0)
    table = pd.DataFrame(data.proba, columns=PROBA)
    return table.assign(
        label=data.y,
        region=data.X["region"].astype(str),
        channel=data.X["channel"].astype(str),
        id=[f"{i:05d}" for i in range(len(table))],
        weight=np.where(data.y == "fraud", 2.0, 1.0),
    )


@pytest.fixture
def folder(tmp_path, monkeypatch, frame):
    """An empty folder to work in, but for the table as a CSV file."""
    monkeypatch.chdir(tmp_path)
    frame.to_csv("scores.csv", index=False)
    return tmp_path
