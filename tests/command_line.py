"""The commands as functions, for tests."""

import os

from metricfit.cli import main

CLASSES = ["chargeback", "fraud", "legit", "suspicious"]
PROBA = [f"p_{c}" for c in CLASSES]
FLOOR = "precision('fraud') >= 0.85"


# With --force, as tests fit to the same file again; what happens without it has tests of its own.


def fit(*extra, scores="scores.csv", goal=("--maximize", "g_mean"), out="policy.json"):
    return main(
        ["fit", scores, "--label", "label", "--proba-prefix", "p_", *goal, "--out", out, "--force", *extra]
    )


def apply(*extra, policy="policy.json", scores="scores.csv", out="decisions.csv"):
    return main(["apply", policy, scores, "--proba-prefix", "p_", "--out", out, "--force", *extra])


def fails(capsys, code, *words):
    """Check the exit codes, returned and expected, and that the error has these words and no traceback."""
    returned, expected = code
    error = capsys.readouterr().err
    assert returned == expected, error
    assert error.startswith("metricfit: ")
    assert "Traceback" not in error
    for word in words:
        assert word in error


def written(folder):
    return sorted(set(os.listdir(folder)) - {"scores.csv"})
