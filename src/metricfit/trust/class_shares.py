"""Shares of classes in unlabelled new rows, and whether other shares explain their scores at all.

If only the shares of classes have changed, rows of a class score as they did at fit. The shares are those for which the
calibrated probabilities make the new rows most likely (Saerens, Latinne and Decaestecker, by EM).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metricfit.policy import Policy
from metricfit.policy.at_fit import AtFit
from metricfit.types import FloatArray

# Resamples of the bootstrap, and how many rows each has at most; the spread is scaled to the number of rows there are.
RESAMPLES, ROWS = 200, 4000
# The estimate uses at most so many rows, evenly spaced.
MOST_ROWS = 100_000
STEPS, CLOSE = 200, 1e-6


def class_shares(policy: Policy, proba: Any, sensitive_features: Any = None, *, random_state: int = 0) -> Any:
    """Return the shares of classes in unlabelled rows, with 95 % intervals.

    Parameters
    ----------
    policy : Policy
        A policy that knows its tuning rows (`Policy.at_fit`).
    proba : array-like of shape (N, n)
        Class probabilities of the new rows, as the model gives them.
    sensitive_features : frame, array-like or None
        The attributes of the policy.
    random_state : int, default=0
        Seed of the bootstrap.

    Returns
    -------
    pandas.DataFrame
        Indexed by class, with columns ``share``, ``low``, ``high`` and ``at_fit``. ``attrs["p_value"]`` belongs to the
        statement that other class shares explain the new scores; if it is small something else has changed too, and
        the shares should not be trusted. The intervals cover what is not known of the new rows and of the tuning rows.

    Examples
    --------
    >>> import numpy as np
    >>> import metricfit as mf
    >>> data = mf.datasets.make_fraud_triage(n_rows=3000, random_state=0)
    >>> policy = mf.optimize(data.proba, data.y, "g_mean", counting="calibrated").policy
    >>> new = mf.datasets.make_fraud_triage(n_rows=3000, random_state=1)
    >>> kept = (new.y == "legit") & (np.arange(3000) % 2 == 0) | (new.y != "legit")
    >>> found = mf.class_shares(policy, new.proba[kept])
    >>> true = np.mean(new.y[kept] == "legit")
    >>> bool(found.loc["legit", "low"] < true < found.loc["legit", "high"] < found.loc["legit", "at_fit"])
    True
    >>> found.attrs["p_value"] > 0.01
    True
    """
    import pandas as pd

    known = policy.at_fit
    if known is None:
        raise ValueError(
            "class_shares: the policy does not know its tuning rows: it was made by hand, by an older version, or does "
            "not see its attributes; fit it again"
        )
    calibrated = policy.calibrated(proba, sensitive_features)
    if not len(calibrated):
        raise ValueError("proba has no rows; give at least one")
    shares, ends, p_value = estimated(known, calibrated, random_state)
    columns = {"share": shares, "low": ends[0], "high": ends[1], "at_fit": known.classes}
    frame = pd.DataFrame(columns, index=pd.Index(policy.axes.classes, name="class", dtype=object))
    frame.attrs["p_value"] = p_value
    return frame


def estimated(known: AtFit, calibrated: FloatArray, seed: int = 0) -> tuple[FloatArray, FloatArray, float]:
    """Return the shares of classes, the ends of their 95 % intervals, (2, n), and the p-value of the test."""
    n_rows = len(calibrated)
    if n_rows > MOST_ROWS:
        calibrated = calibrated[np.linspace(0, n_rows - 1, MOST_ROWS).astype(np.intp)]
    base = known.expected
    shares = _likeliest(calibrated, base, base)
    rng = np.random.default_rng(seed)
    bins, drawn = known.bin_of(calibrated), min(ROWS, len(calibrated))
    spread = np.empty((2, RESAMPLES, shares.size))
    smooth = 0.5 / known.rows
    for b in range(RESAMPLES):
        some = rng.integers(0, len(calibrated), drawn)
        spread[0, b] = _likeliest(calibrated[some], base, shares) - shares
        # Other tuning rows would have led to other probabilities: as other, as shares of classes in the bins are.
        again = rng.multinomial(round(known.rows), known.scores.ravel() / known.scores.sum())
        factor = (again.reshape(known.scores.shape) / known.rows + smooth) / (known.scores + smooth)
        moved = calibrated[some] * factor[bins[some]]
        moved /= moved.sum(axis=1, keepdims=True)
        base_again = (
            base * (again.reshape(known.scores.shape).sum(axis=0) + 0.5) / (known.classes * known.rows + 0.5)
        )
        spread[1, b] = _likeliest(moved, base_again / base_again.sum(), shares) - shares - spread[0, b]
    both = spread[0] * np.sqrt(drawn / n_rows) + spread[1]
    low, high = shares - np.quantile(both, [0.975, 0.025], axis=0)
    ends = np.clip([low, high], 0.0, 1.0)
    return shares, ends, _p_value(known, calibrated, n_rows)


def _likeliest(calibrated: FloatArray, base: FloatArray, start: FloatArray) -> FloatArray:
    """Return the class shares of the largest likelihood, given probabilities at base shares.

    Examples
    --------
    >>> sure = np.repeat(np.eye(2), [30, 10], axis=0)
    >>> _likeliest(sure, np.array([0.5, 0.5]), np.array([0.5, 0.5])).tolist()
    [0.75, 0.25]
    """
    relative = calibrated / np.where(base > 0, base, np.inf)
    shares: FloatArray = np.maximum(start, 1e-9) * (base > 0)
    shares = shares / shares.sum()
    for _ in range(STEPS):
        first = _step(relative, shares)
        second = _step(relative, first)
        ahead, turn = first - shares, second - 2 * first + shares
        # Squared extrapolation (Varadhan and Roland): EM alone takes ever smaller steps where classes overlap.
        length = max(float(np.linalg.norm(ahead)) / max(float(np.linalg.norm(turn)), 1e-300), 1.0)
        far = np.maximum(shares + 2 * length * ahead + length**2 * turn, 1e-12 * (base > 0))
        new = _step(relative, far / far.sum())
        done = np.abs(new - shares).max() < CLOSE
        shares = new
        if done:
            break
    return shares


def _step(relative: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the shares after a step of EM."""
    likelihood = np.maximum(relative @ shares, 1e-300)
    new = shares * (relative.T @ (1 / likelihood))
    return np.asarray(new / new.sum())


def _p_value(known: AtFit, calibrated: FloatArray, n_rows: int) -> float:
    """Return the p-value of "the bins of new rows are a mixture of those of the classes at fit".

    The statistic is the distance of the new rows' bins from the nearest mixture, in units of the covariance of both
    samples; it has a chi-squared distribution with as many degrees as bins less classes.
    """
    from scipy import optimize, stats

    present = np.flatnonzero(known.classes > 0)
    by_class = known.scores[:, present] / known.classes[present]
    degrees = len(by_class) - present.size
    if degrees < 1:
        return float("nan")
    seen = known.shares_of_bins(calibrated)
    shares = known.classes[present]
    value = np.inf
    for _ in range(4):
        expected = np.maximum(by_class @ shares, 1e-12)
        spread = (np.diag(expected) - np.outer(expected, expected)) / n_rows
        for share, c, one in zip(shares, known.classes[present], by_class.T, strict=True):
            spread += share**2 * (np.diag(one) - np.outer(one, one)) / (known.rows * c)
        root = np.linalg.cholesky(np.linalg.inv(spread[:-1, :-1] + 1e-12 * np.eye(len(spread) - 1))).T
        # The last share is 1 less the others, so only differences from the last class are free.
        system = root @ (by_class[:-1, :-1] - by_class[:-1, [-1]])
        target = root @ (seen[:-1] - by_class[:-1, -1])
        found = optimize.lsq_linear(system, target, (0.0, 1.0))
        shares = np.append(found.x, max(1.0 - found.x.sum(), 0.0))
        shares, value = shares / shares.sum(), 2 * found.cost
    return float(stats.chi2.sf(value, degrees))
