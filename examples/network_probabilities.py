"""Probabilities that a network wrote to a file: the network itself is not needed.

With METRICFIT_DATA set, these are the probabilities of a network for the 55 sections of Debian's packages, and the
script takes half a minute. Otherwise they are generated, and overconfident, as networks are.
"""

import os
from pathlib import Path

import numpy as np

import metricfit as mf


def stored_or_generated():
    """Return probabilities and labels."""
    path = Path(os.environ.get("METRICFIT_DATA", ""), "debian_section_mlp.npz")
    if os.environ.get("METRICFIT_DATA") and path.exists():
        stored = np.load(path)
        proba = stored["P"].astype(np.float32)  # half precision: its rows sum to 1 only roughly
        return proba / proba.sum(axis=1, keepdims=True), stored["y"]
    random = np.random.default_rng(0)
    honest = random.dirichlet(np.linspace(0.1, 1.0, 20), size=8000)
    labels = (honest.cumsum(axis=1) > random.random((8000, 1))).argmax(axis=1)
    sure = honest**1.5  # overconfident: a probability of 90 % comes true less often
    return sure / sure.sum(axis=1, keepdims=True), labels


proba, labels = stored_or_generated()
half = len(labels) // 2
result = mf.optimize(proba[:half], labels[:half], "macro_f1", expect=True)
print(result)

# How far the network's probabilities are off, before and after calibration on the labels.
print(result.calibration)

new = result.policy.decide(proba[half:])
alone = proba[half:].argmax(axis=1)
score = [mf.macro_f1()(mf.Confusion.from_predictions(labels[half:], made)) for made in (alone, new)]
print(f"macro-F1 on the other half: most probable class {score[0]:.3f}, policy {score[1]:.3f}")
