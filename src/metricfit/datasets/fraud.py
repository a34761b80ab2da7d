"""A generated fraud-triage problem: rare classes, two attributes, and the true class probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metricfit.datasets._checks import positive_int

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

#: Sorted, so that column i of the probabilities is the i-th of the sorted labels.
CLASSES = ("chargeback", "fraud", "legit", "suspicious")
REGIONS = ("east", "north", "south", "west")
CHANNELS = ("app", "phone", "web")
REGION_SHARES = (0.2, 0.4, 0.3, 0.1)
CHANNEL_SHARES = (0.5, 0.15, 0.35)

# Shifts of the log odds against "legit", columns (chargeback, fraud, suspicious). Mild, so that an attribute
# alone decides nothing, and yet a rule that ignores it treats regions and channels differently.
REGION_SHIFTS = np.array([[0.1, 0.5, 0.1], [-0.2, -0.4, -0.2], [0.0, 0.0, 0.0], [0.3, 0.9, 0.4]])
CHANNEL_SHIFTS = np.array([[-0.2, -0.4, -0.1], [0.4, 0.7, 0.4], [0.0, 0.0, 0.0]])


@dataclass(frozen=True, eq=False)
class FraudTriage:
    """Rows of the fraud-triage problem.

    Attributes
    ----------
    X : pandas.DataFrame
        Eight numeric columns and the two attributes as categorical columns, which
        `HistGradientBoostingClassifier` takes as they are.
    y : ndarray of str, shape (n_rows,)
        The labels, among `classes`.
    attributes : tuple of str
        The columns of `X` that hold the attributes: ``("region", "channel")``.
    classes : tuple of str
        The class names in sorted order, which is the order of the columns of `proba`.
    proba : ndarray, shape (n_rows, 4)
        The true class probabilities the labels were drawn from.

    Examples
    --------
    >>> from metricfit.datasets import make_fraud_triage
    >>> make_fraud_triage(n_rows=100).attributes
    ('region', 'channel')
    """

    X: pd.DataFrame
    y: NDArray[np.str_]
    attributes: tuple[str, ...]
    classes: tuple[str, ...]
    proba: NDArray[np.float64]


def make_fraud_triage(
    n_rows: int = 20_000, random_state: int | np.random.Generator | None = 0
) -> FraudTriage:
    """Generate payments to be sorted into legit, suspicious, chargeback and fraud.

    The rare classes make up 1 to 3 % each. Taking the most probable class misses more than three in four
    payments of two of them; the rule of the best G-mean finds them, but more than half of its fraud alarms
    are false. A floor of 0.9 on the precision of "fraud" is above what either gives: it binds, and it can be
    kept.

    Parameters
    ----------
    n_rows : int, default 20000
        How many payments.
    random_state : int, numpy.random.Generator or None, default 0
        The seed; None draws a fresh one.

    Returns
    -------
    FraudTriage
        Features, labels, names of the attributes, and the true class probabilities.

    Examples
    --------
    >>> from metricfit.datasets import make_fraud_triage
    >>> data = make_fraud_triage(n_rows=1000, random_state=0)
    >>> data.X.shape, data.y.shape, data.proba.shape
    ((1000, 10), (1000,), (1000, 4))
    >>> data.classes
    ('chargeback', 'fraud', 'legit', 'suspicious')
    """
    import pandas as pd

    n_rows = positive_int("n_rows", n_rows)
    rng = np.random.default_rng(random_state)
    region = rng.choice(len(REGIONS), size=n_rows, p=REGION_SHARES)
    channel = rng.choice(len(CHANNELS), size=n_rows, p=CHANNEL_SHARES)

    def counts(rate: float, spread: float, largest: int) -> NDArray[np.int64]:
        # Overdispersed counts, cut where a bank would act anyway (an account locks after five failed logins).
        return np.minimum(rng.poisson(rate * np.exp(spread * rng.normal(size=n_rows))), largest)

    X = pd.DataFrame(
        {
            "amount": np.round(np.exp(3.6 + 0.8 * rng.normal(size=n_rows)), 2),
            "distance_km": np.maximum(0.1, np.round(np.exp(2.0 + 1.1 * rng.normal(size=n_rows)), 1)),
            "device_risk": np.round(1.0 / (1.0 + np.exp(1.5 - 1.5 * rng.normal(size=n_rows))), 3),
            "account_age_days": np.ceil(np.exp(6.0 + 1.1 * rng.normal(size=n_rows))),
            "transactions_24h": counts(1.65, 0.7, 9),
            "past_disputes": counts(0.3, 0.9, 4),
            "failed_logins": counts(0.35, 1.1, 5),
            "hour": rng.integers(0, 24, size=n_rows),
            "region": pd.Categorical.from_codes(region, list(REGIONS)),
            "channel": pd.Categorical.from_codes(channel, list(CHANNELS)),
        }
    )
    proba = _class_probabilities(X, region, channel)
    drawn = (rng.random((n_rows, 1)) > proba.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return FraudTriage(X, np.array(CLASSES)[drawn], ("region", "channel"), CLASSES, proba)


def _class_probabilities(
    X: pd.DataFrame, region: NDArray[np.int64], channel: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Softmax of log odds against "legit"; a function of the columns as published, rounding included."""
    value = {name: X[name].to_numpy() for name in X.columns[:8]}
    size = np.log(value["amount"]) - 3.6
    youth = 6.0 - np.log(value["account_age_days"])
    distance = np.log(value["distance_km"]) - 2.0
    night = value["hour"] < 6
    takeover = 2.4 * value["failed_logins"] + 6.5 * value["device_risk"] + 0.65 * distance + 0.5 * night
    chargeback = -6.5 + 1.65 * value["past_disputes"] + 0.4 * size + 0.5 * youth
    suspicious = -7.0 + 0.75 * value["transactions_24h"] + 0.7 * size + 0.5 * youth
    against_legit = np.column_stack([chargeback, takeover - 11.8, suspicious])
    against_legit += REGION_SHIFTS[region] + CHANNEL_SHIFTS[channel]
    logits = np.insert(against_legit, CLASSES.index("legit"), 0.0, axis=1)
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    proba: NDArray[np.float64] = odds / odds.sum(axis=1, keepdims=True)
    return proba
