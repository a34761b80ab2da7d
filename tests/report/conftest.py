import pytest

import metricfit as mf
from metricfit.datasets import make_fraud_triage

matplotlib = pytest.importorskip("matplotlib", reason="pictures need the extra 'plot'")
matplotlib.use("Agg")


@pytest.fixture(scope="session")
def data():
    return make_fraud_triage(n_rows=2000, random_state=0)


@pytest.fixture(scope="session")
def result(data):
    return mf.optimize(
        data.proba,
        data.y,
        "g_mean",
        [mf.precision("fraud") >= 0.85, mf.demographic_parity(over="region") <= 0.5],
        sensitive_features=data.X[["region"]],
        counting="model",
        random_state=3,
    )


@pytest.fixture(autouse=True)
def _no_figures_left():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
