"""Shares of classes in unlabelled new rows, and whether other shares explain their scores at all.

If only the shares of classes have changed, rows of a class score as they did at fit. The shares are those for which the
calibrated scores, in the bins of `AtFit`, are likeliest, found by EM as in Saerens, Latinne and Decaestecker. The
likelihood by the calibrated probabilities themselves was tried: on five data sets its 95 % intervals contained the true
share in .25 to .86 of the cases, those by bins in .75 to 1, because probabilities that are right on average are not
right for every shift.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metricfit.policy import Policy
from metricfit.policy.at_fit import AtFit
from metricfit.types import FloatArray

# Resamples of the bootstrap.
RESAMPLES = 200
# Steps of EM, when they end, how far they may be extrapolated, and the smallest share.
STEPS, CLOSE, LONGEST, FLOOR = 200, 1e-7, 1e3, 1e-9


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
    """Return the shares of classes, the ends of their 95 % intervals, (2, n), and the p-value of the test.

    Each resample of the bootstrap has other new rows and other tuning rows.
    """
    n_rows, rng = len(calibrated), np.random.default_rng(seed)
    seen = known.shares_of_bins(calibrated)
    shares = _likeliest(known.scores, seen, known.classes)
    again = np.empty((RESAMPLES, shares.size))
    for b in range(RESAMPLES):
        table = rng.multinomial(round(known.rows), known.scores.ravel() / known.scores.sum())
        drawn = rng.multinomial(n_rows, seen / seen.sum()) / n_rows
        again[b] = _likeliest(table.reshape(known.scores.shape) / known.rows, drawn, shares)
    return shares, np.quantile(again, [0.025, 0.975], axis=0), _p_value(known, seen, n_rows)


def _likeliest(scores: FloatArray, seen: FloatArray, start: FloatArray) -> FloatArray:
    """Return the class shares that make the bins of new rows likeliest, given those of each class.

    Examples
    --------
    >>> scores = np.array([[0.4, 0.1], [0.1, 0.4]])
    >>> _likeliest(scores, np.array([0.35, 0.65]), np.array([0.5, 0.5])).round(3).tolist()
    [0.25, 0.75]
    """
    classes = scores.sum(axis=0)
    # A bin without tuning rows says nothing of any class.
    by_class = np.maximum(scores / np.where(classes > 0, classes, np.inf), FLOOR) * (classes > 0)
    shares: FloatArray = np.maximum(start, FLOOR) * (classes > 0)
    shares = shares / shares.sum()
    for _ in range(STEPS):
        first = _step(by_class, seen, shares)
        second = _step(by_class, seen, first)
        ahead, turn = first - shares, second - 2 * first + shares
        # Squared extrapolation (Varadhan and Roland): EM alone takes ever smaller steps where classes overlap.
        length = np.clip(np.linalg.norm(ahead) / max(float(np.linalg.norm(turn)), 1e-12), 1.0, LONGEST)
        far = np.maximum(shares + 2 * length * ahead + length**2 * turn, FLOOR * (classes > 0))
        new = _step(by_class, seen, far / far.sum())
        done = np.abs(new - shares).max() < CLOSE
        shares = new
        if done:
            break
    return shares


def _step(by_class: FloatArray, seen: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the shares after a step of EM."""
    expected = by_class @ shares
    new = shares * (by_class.T @ np.divide(seen, expected, out=np.zeros(seen.size), where=seen > 0))
    return np.asarray(new / new.sum())


def _p_value(known: AtFit, seen: FloatArray, n_rows: int) -> float:
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
