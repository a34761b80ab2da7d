"""Curves that come after another family: what they correct, and what they leave as it is."""

from dataclasses import replace

import numpy as np
import pytest
from calibration.generated import log_loss, right, wrong
from scipy.optimize import minimize

from metricfit.calibration import SETTINGS, Calibration, fit
from metricfit.calibration.curves import BENDS, KNOTS, Binned
from metricfit.calibration.folds import fold_rows


def too_small_in_the_tail(proba):
    """Return probabilities of two classes of which the second one is up to .07 too small around .83."""
    p = proba[:, 1]
    inside = (p > 0.7) & (p < 0.97)
    p = p - np.where(inside, 0.07 * np.sin(np.pi * (p - 0.7) / 0.27) ** 2, 0.0)
    return np.column_stack([1 - p, p])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_range_that_is_off_is_corrected_and_the_rest_stays(seed):
    """Off only around .83, where a floor cuts: no temperature, bias or matrix can follow that."""
    proba, labels = right(24_000, 2, seed, spread=1.5)
    calibration, report = fit(too_small_in_the_tail(proba), labels)
    assert report.family == calibration.family == "curves"
    new, _ = right(40_000, 2, seed + 100, spread=1.5)
    given = too_small_in_the_tail(new)
    made = calibration(given)
    off = new[:, 1] - given[:, 1] > 0.02
    assert (new - given)[off, 1].mean() > 0.035
    assert abs((new - made)[off, 1].mean()) < 0.5 * (new - given)[off, 1].mean()
    elsewhere = (new[:, 1] > 0.1) & (new[:, 1] < 0.6)
    assert np.abs(made - new)[elsewhere, 1].mean() < 0.012


def test_curves_where_nothing_else_fits():
    proba, labels = right(24_000, 2, spread=0.7)
    bent = 0.5 + 4 * (proba[:, 1] - 0.5) ** 3
    given = np.column_stack([1 - bent, bent])
    calibration, report = fit(given, labels)
    assert report.family == "curves"
    gained = log_loss(given, labels) - log_loss(calibration(given), labels)
    assert gained > 0.8 * (log_loss(given, labels) - log_loss(proba, labels))


def test_curves_come_after_the_family_that_fits_the_rest():
    proba, labels = right(20_000, 3)
    bent = np.log(proba) + 0.5 * np.sin(1.5 * np.log(proba))
    bent = np.exp(bent) / np.exp(bent).sum(axis=1, keepdims=True)
    matrix = np.array([[0.6, 0.3, -0.3], [0.2, 0.5, 0.0], [0.0, -0.2, 0.9]])
    given = wrong(bent, matrix=matrix, bias=np.array([0.5, -0.5, 0.0]))
    calibration, report = fit(given, labels)
    assert calibration.before is not None
    assert calibration.before.family == "dirichlet"
    losses = {candidate.name: candidate.log_loss for candidate in report.candidates}
    assert losses["curves"] < losses["dirichlet"] - 2e-3
    new, told = right(20_000, 3, 7)
    bent = np.log(new) + 0.5 * np.sin(1.5 * np.log(new))
    bent = np.exp(bent) / np.exp(bent).sum(axis=1, keepdims=True)
    given = wrong(bent, matrix=matrix, bias=np.array([0.5, -0.5, 0.0]))
    assert log_loss(calibration(given), told) < log_loss(calibration.before(given), told) - 2e-3


def test_right_probabilities_get_no_curves():
    chosen = [fit(*right(12_000, 3, seed))[1].family for seed in range(8)]
    assert chosen.count("curves") <= 1


def test_the_fit_is_that_of_a_general_minimiser():
    """Votes have few values, so that the rows of a bin are alike and bins lose nothing."""
    random = np.random.default_rng(0)
    votes = random.integers(1, 20, 4000) / 20
    labels = (random.random(4000) < votes**1.5).astype(int)
    weights = random.choice([1.0, 2.0], 4000)
    rows = fold_rows(np.column_stack([1 - votes, votes]), labels, weights, None, 10_000, 5)
    ridge = np.r_[3.0, 3.0, np.full(len(BENDS), 3.0)]
    fold = rows.folds[2]
    found = Binned.of(rows, rows.proba).fitted(ridge, 2)[1]
    rest = np.delete(np.arange(4000), np.r_[fold])
    logit = np.log(rows.proba[rest, 1] / rows.proba[rest, 0])
    design = np.column_stack([np.ones(len(rest)), logit, np.maximum(logit[:, None] - BENDS, 0)])
    y, w = rows.labels[rest], rows.weights[rest]

    def penalised(params):
        z = logit + design @ params
        loss = w @ (np.logaddexp(0, z) - y * z) + ridge @ params**2 / 2
        return loss, design.T @ (w * (1 / (1 + np.exp(-z)) - y)) + ridge * params

    expected = minimize(penalised, np.zeros(ridge.size), jac=True, method="BFGS", options={"gtol": 1e-6}).x
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_curves_rise_everywhere():
    """Labels that contradict the model make a curve nearly flat; rows keep their order."""
    proba, labels = right(2000, 2)
    rows = fold_rows(proba, labels, None, None, 10_000, 5)
    binned = Binned.of(rows, rows.proba)
    params = np.zeros((2, 2 + len(BENDS)))
    same = binned.curves(params, SETTINGS)[0][1]
    np.testing.assert_allclose(same[1:-1], 1 / (1 + np.exp(-KNOTS)), rtol=1e-9)
    params[0, 1] = -2.0
    x, falling = binned.curves(params, SETTINGS)[0]
    assert (np.diff(falling) > 0).all()
    assert (np.diff(x) > 0).all()


def test_a_few_rows_at_an_end_do_not_move_the_many_beside_them():
    """Of 4,000 rows 70 % are right at .6 to .8, of 30 rows beyond none: both classes' curves must stay near .7."""
    random = np.random.default_rng(0)
    p = np.concatenate([random.uniform(0.02, 0.4, 8000), random.uniform(0.6, 0.8, 4000), np.full(30, 0.97)])
    labels = (random.random(len(p)) < np.where(p > 0.5, 0.7, 0.1)).astype(int)
    labels[-30:] = 0
    calibration, report = fit(np.column_stack([1 - p, p]), labels)
    assert report.family == "curves"
    made = calibration(np.array([[0.3, 0.7], [0.22, 0.78]]))[:, 1]
    np.testing.assert_allclose(made, 0.7, atol=0.03)


def test_probabilities_of_0_and_1_and_of_no_row():
    proba = np.array([[0.0, 1.0, 0.0], [1e-300, 0.0, 1.0], [1.0, 0.0, 0.0], [0.2, 0.8, 0.0]] * 500)
    labels = np.array([1, 2, 0, 1] * 500)
    labels[::7] = 0
    weights = np.ones(2000)
    weights[3] = 1e8
    for given in (None, weights):
        calibration, _ = fit(proba, labels, given, settings=replace(SETTINGS, curve_rows=0))
        made = calibration(proba)
        assert np.isfinite(made).all()
        np.testing.assert_allclose(made.sum(axis=1), 1)


def test_cells_differ_after_curves():
    proba, labels = right(24_000, 2, spread=1.5)
    given = too_small_in_the_tail(proba)
    cells = np.random.default_rng(1).integers(0, 2, len(labels))
    shifted = wrong(given, bias=np.array([0.0, 1.0]))
    given = np.where(cells[:, None] == 1, shifted, given)
    calibration, report = fit(given, labels, None, cells, 2)
    assert report.cells_differ
    if calibration.curves is not None:
        with pytest.raises(ValueError, match="cells"):
            calibration(given)
    assert log_loss(calibration(given, cells), labels) < log_loss(proba, labels) + 0.004


def test_what_may_come_before():
    curve = [([0.1, 0.9], [0.1, 0.8])] * 2
    first = Calibration("bias", [[0.0, 1.0]])
    made = Calibration("curves", [[0.0, 0.0]], curves=curve, before=first)
    given = np.array([[0.3, 0.7], [0.0, 1.0]])
    alone = Calibration("curves", [[0.0, 0.0]], curves=curve)
    np.testing.assert_array_equal(made(given), alone(first(given)))
    kept = given.copy()
    made(given, out=given)
    np.testing.assert_array_equal(given, made(kept))
    for wrong_one in (
        made,
        Calibration("bias", [[0.0, 1.0, 0.0]]),
        Calibration("bias", [[0.0, 1.0], [1.0, 0.0]]),
    ):
        with pytest.raises(ValueError, match="before must be a calibration of 2 classes and one cell"):
            Calibration("curves", [[0.0, 0.0]], curves=curve, before=wrong_one)
    with pytest.raises(ValueError, match="belongs to curves"):
        Calibration("bias", [[0.0, 0.0]], before=first)


def test_the_document_of_curves_after_a_family():
    curve = [([0.1, 0.9], [0.1, 0.8])] * 2
    made = Calibration("curves", [[0.0, 0.0]], curves=curve, before=Calibration("bias", [[0.0, 1.0]]))
    entry = made.to_dict()
    again = Calibration.from_dict(entry)
    assert again == made
    assert again.before == made.before
    assert "before" not in entry["before"]
    entry["before"]["before"] = made.before.to_dict()
    with pytest.raises(ValueError, match="a calibration must be an object with the keys"):
        Calibration.from_dict(entry)
