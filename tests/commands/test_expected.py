"""The confusion of a policy on labelled rows, counted by its own decisions."""

from __future__ import annotations

import numpy as np

from metricfit.calibration import Calibration
from metricfit.data.rows import Rows
from metricfit.oracles import PluginOracle
from metricfit.policy import Policy, Rule
from metricfit.report.expected import of_policy


def test_a_policy_is_judged_with_its_calibration():
    random = np.random.default_rng(0)
    proba, y, group = (
        random.dirichlet([1, 1], 400),
        random.integers(0, 2, 400),
        random.choice(["a", "b"], 400),
    )
    rows = Rows.of(proba, y, sensitive_features={"g": group})
    calibration = Calibration("bias", [[0.0, 1.0], [1.0, 0.0]])
    mixture = [Rule(0.3, [[0, 1], [1, 0]]), Rule(0.7, [[0, 1], [3, 0]])]
    policy = Policy(rows.axes, "full", [mixture, mixture], calibration=calibration)
    chances = policy.decision_proba(proba, {"g": group})
    codes = np.searchsorted(["a", "b"], group)
    expected = np.zeros((2, 2, 2))
    np.add.at(expected, (codes, y), chances / 400)
    values = of_policy(policy, PluginOracle(rows), {"g": group}).values
    np.testing.assert_allclose(values, expected, atol=1e-12)
