"""Known calibrations are found again, the simplest family that fits is chosen, and bad input does no harm."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from calibration.generated import log_loss, right, softmax, wrong

from metricfit.calibration import SETTINGS, Calibration, fit
from metricfit.calibration.folds import fold_rows

N = 6000


def test_calibrated_probabilities_stay():
    stayed = sum(fit(*right(800, 4, seed))[0].is_identity for seed in range(20))
    assert stayed >= 14


def test_few_rows_choose_little():
    proba, labels = right(40, 5)
    assert fit(wrong(proba, steepness=0.9), labels)[1].family in ("none", "temperature")


def test_temperature():
    proba, labels = right(N, 4)
    calibration, report = fit(wrong(proba, steepness=0.5), labels)
    assert report.family == "temperature"
    assert calibration.steepness[0] == pytest.approx(0.5, abs=0.03)
    np.testing.assert_allclose(calibration(wrong(proba, steepness=0.5)), proba, atol=0.02)


def test_bias():
    proba, labels = right(N, 3)
    bias = np.array([0.8, -0.5, -0.3])
    calibration, report = fit(wrong(proba, bias=bias), labels)
    assert report.family == "bias"
    np.testing.assert_allclose(calibration.bias[0], bias, atol=0.1)


def test_temperature_and_bias():
    proba, labels = right(N, 3)
    given = wrong(proba, steepness=0.6, bias=np.array([0.8, -0.5, -0.3]))
    calibration, report = fit(given, labels)
    assert report.family == "temperature_bias"
    assert calibration.steepness[0] == pytest.approx(0.6, abs=0.04)
    np.testing.assert_allclose(calibration(given), proba, atol=0.05)


def test_factor_of_each_class():
    proba, labels = right(N, 3)
    factors = np.array([0.5, 1.0, 1.8])
    given = wrong(proba, matrix=np.diag(factors))
    calibration, report = fit(given, labels)
    assert report.family in ("vector", "dirichlet", "curves")
    losses = {candidate.name: candidate.log_loss for candidate in report.candidates}
    assert losses["vector"] < losses["temperature_bias"] - 0.005
    assert log_loss(calibration(given), labels) < log_loss(given, labels) - 0.05


def test_matrix():
    proba, labels = right(3 * N, 3)
    # Rows with equal sums: the scale of a row of probabilities then cancels, and the matrix is found exactly.
    matrix = np.array([[1.0, 0.4, -0.4], [0.2, 0.8, 0.0], [0.0, -0.2, 1.2]])
    given = wrong(proba, matrix=matrix)
    calibration, report = fit(given, labels)
    assert report.family == "dirichlet"
    # Rows of the matrix are known up to a row that is added to all of them.
    found = calibration.matrix - calibration.matrix.mean(axis=0)
    np.testing.assert_allclose(found, matrix - matrix.mean(axis=0), atol=0.12)


def test_floor_where_labels_are_below_it():
    """Votes of few trees say never, and are wrong in 3 % of the rows."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, 4000)
    told = np.where(random.random(4000) < 0.03, random.integers(0, 3, 4000), labels)
    calibration, report = fit(np.eye(3)[told], labels)
    assert report.log_loss_after < 0.2
    assert calibration(np.eye(3)[:1])[0, 0] == pytest.approx(0.98, abs=0.01)


def test_the_report():
    proba, labels = right(N, 4)
    _, report = fit(wrong(proba, steepness=0.5), labels)
    assert report.log_loss_before > report.log_loss_after + 0.05
    assert report.log_loss_after == pytest.approx(log_loss(proba, labels), abs=0.01)
    assert (report.class_error_after < report.class_error_before).all()
    assert [c.name for c in report.candidates][:2] == ["none", "temperature"]
    assert report.rows == N
    assert report.effective_rows == pytest.approx(N)
    assert "temperature; log loss" in str(report)
    assert " -> " in str(report)


def test_the_report_on_probabilities_that_need_no_calibration_tells_of_no_change():
    _, report = fit(*right(N, 4))
    assert report.family == "none"
    assert str(report).startswith("calibration: none, because no family gains more than noise; log loss ")
    assert "->" not in str(report)


def test_the_promise_is_kept_on_new_rows():
    gaps = []
    for seed in range(8):
        proba, labels = right(1000, 5, seed)
        new, new_labels = right(20_000, 5, seed + 100)
        calibration, report = fit(wrong(proba, steepness=0.6), labels)
        gaps.append(report.log_loss_after - log_loss(calibration(wrong(new, steepness=0.6)), new_labels))
    assert abs(np.mean(gaps)) < 0.02


@pytest.mark.parametrize("scale", [1e8, 1e-9])
def test_weights_have_no_scale(scale):
    proba, labels = right(500, 3)
    given = wrong(proba, steepness=0.5)
    weights = np.random.default_rng(0).uniform(1, 2, 500)
    (one, _), (other, report) = fit(given, labels, weights), fit(given, labels, scale * weights)
    assert one.family == other.family
    np.testing.assert_allclose(one(given), other(given), atol=1e-6)
    assert report.effective_rows < 500


def test_rows_without_weight_do_not_count():
    proba, labels = right(600, 3)
    given = wrong(proba, steepness=0.5)
    weights = np.repeat([1.0, 0.0], 300)
    spoilt = np.where(weights > 0, labels, 0)
    np.testing.assert_array_equal(
        fit(given, labels, weights)[0](given), fit(given, spoilt, weights)[0](given)
    )


def test_one_row_with_all_the_weight_chooses_nothing():
    proba, labels = right(600, 3)
    weights = np.full(600, 1e-9)
    weights[0] = 1e8
    calibration, report = fit(wrong(proba, steepness=0.5), labels, weights)
    assert report.effective_rows == pytest.approx(1)
    assert np.isfinite(calibration(proba)).all()


@pytest.mark.parametrize("shape", ["temperature", "bias", "matrix"])
def test_numbers_of_classes_do_not_matter(shape):
    proba, labels = right(1500, 4)
    matrix = np.eye(4) + 0.3 * np.eye(4, k=1)
    given = wrong(
        proba,
        steepness=0.6 if shape == "temperature" else 1.0,
        bias=np.array([0.5, -0.5, 0.3, -0.3]) if shape == "bias" else 0.0,
        matrix=matrix if shape == "matrix" else None,
    )
    order = np.array([2, 0, 3, 1])
    one, report = fit(given, labels)
    other, again = fit(given[:, order], np.argsort(order)[labels])
    assert report.family == again.family
    np.testing.assert_allclose(one(given)[:, order], other(given[:, order]), atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_rows_and_classes_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    proba, labels = right(300, 3, seed)
    given = wrong(proba, steepness=0.75, bias=np.array([0.0, -0.3, 0.2]))
    weights = rng.choice([0.0, 1.0, 2.0], 300)
    cells = rng.integers(0, 2, 300)
    one, report = fit(given, labels, weights, cells, 2)
    for _ in range(4):
        rows, classes = rng.permutation(300), rng.permutation(3)
        moved = given[rows][:, classes], np.argsort(classes)[labels][rows], weights[rows], 1 - cells[rows]
        other, again = fit(*moved, 2)
        assert again.family == report.family
        np.testing.assert_allclose(other(moved[0], moved[3]), one(given, cells)[rows][:, classes], atol=1e-5)


def test_rows_that_are_alike_share_folds_in_any_order():
    votes = np.array([[0.6, 0.4, 0.0], [0.4, 0.6, 0.0], [0.2, 0.2, 0.6]])
    rng = np.random.default_rng(0)
    proba, labels = votes[rng.integers(0, 3, 90)], rng.integers(0, 3, 90)

    def content(order):
        rows = fold_rows(proba[order], labels[order], None, None, 1000, 5)
        return np.column_stack([rows.proba, rows.labels])

    np.testing.assert_array_equal(content(np.arange(90)), content(rng.permutation(90)))


def test_cells_get_their_own_and_shrink():
    proba, labels = right(4000, 2)
    cells = np.random.default_rng(5).integers(0, 2, 4000)
    shift = np.array([[0.4, -0.4], [-0.4, 0.4]])
    given = softmax(np.log(proba) - shift[cells])
    calibration, report = fit(given, labels, None, cells, 2)
    assert report.cells_differ
    assert calibration.cells == 2
    np.testing.assert_allclose(calibration.bias, shift, atol=0.12)
    np.testing.assert_allclose(calibration(given, cells), proba, atol=0.08)
    few = np.arange(4000) % 100 == 0
    small, _ = fit(given[few], labels[few], None, cells[few], 2)
    assert np.abs(small.bias).max() < np.abs(calibration.bias).max()
    assert len(report.cells) == 2
    assert report.cells[0].log_loss_after < report.cells[0].log_loss_before


def test_cells_that_do_not_differ_are_not_told_apart():
    told = 0
    for seed in range(10):
        proba, labels = right(1500, 3, seed)
        cells = np.random.default_rng(seed).integers(0, 4, 1500)
        told += fit(proba, labels, None, cells, 4)[1].cells_differ
    assert told <= 4


def bad_input():
    random = np.random.default_rng(0)
    proba, labels = right(300, 4)
    flat = np.full((300, 4), 0.25)
    sure = np.eye(4)[labels]
    yield "a class without rows", proba[labels != 3], labels[labels != 3], None
    one = np.append(np.flatnonzero(labels != 3), np.flatnonzero(labels == 3)[:1])
    yield "a class with one row", proba[one], labels[one], None
    yield "one class only", proba, np.zeros(300, int), None
    yield "all equal", flat, labels, None
    yield "sure and right", sure, labels, None
    yield "sure and wrong", np.eye(4)[(labels + 1) % 4], labels, None
    yield "sure and by chance", np.eye(4)[random.integers(0, 4, 300)], labels, None
    yield "one row", proba[:1], labels[:1], None
    yield "no rows", proba[:0], labels[:0], None
    yield "twelve rows", proba[:12], labels[:12], None
    yield "fewer rows than classes", *right(30, 50), None
    yield "945 classes", *right(400, 945, spread=0.1), None
    yield "a cell without a class", proba, labels, np.where(labels == 2, 0, random.integers(0, 3, 300))
    yield "a cell without rows", proba, labels, np.where(labels == 2, 0, 2)
    yield "float32", proba.astype(np.float32), labels, None


@pytest.mark.parametrize("given", list(bad_input()), ids=lambda given: given[0])
def test_bad_input(given):
    _, proba, labels, cells = given
    n_cells = 1 if cells is None else 3
    calibration, report = fit(proba, labels, None, cells, n_cells)
    assert isinstance(calibration, Calibration)
    n = proba.shape[1]
    corners = np.concatenate([proba, np.eye(n)[:50], np.full((1, n), 1 / n)])
    for cell in range(n_cells):
        made = calibration(corners, np.full(len(corners), cell))
        assert np.isfinite(made).all()
        assert (made >= 0).all()
        np.testing.assert_allclose(made.sum(axis=1), 1, atol=1e-5)
    assert np.isfinite([report.log_loss_before, report.log_loss_after]).all()
    # With a dozen rows the losses of held-out rows differ by chance from one choice of folds to the next.
    assert report.log_loss_after <= report.log_loss_before + 0.02 + 1 / max(len(labels), 1)


def test_a_model_against_the_labels_turns_flat_not_upside_down():
    proba, labels = right(3000, 2)
    calibration, _ = fit(proba[:, ::-1], labels)
    steps = np.linspace(0.05, 0.95, 10)
    made = calibration(np.column_stack([1 - steps, steps]))[:, 1]
    assert (np.diff(made) >= -1e-12).all()


def test_fits_are_the_same_each_time():
    proba, labels = right(2000, 4)
    given = wrong(proba, steepness=0.7)
    one, other = (fit(given, labels, seed=3) for _ in range(2))
    assert one[0] == other[0]
    assert one[1].log_loss_after == other[1].log_loss_after


def test_large_samples_are_cut():
    proba, labels = right(4000, 3)
    settings = replace(SETTINGS, choice_rows=1000, entries=6000, least_rows=10)
    calibration, report = fit(wrong(proba, steepness=0.5), labels, settings=settings)
    assert report.rows == 1000
    assert calibration.steepness[0] == pytest.approx(0.5, abs=0.05)


def test_inputs_stay_as_they_are():
    proba, labels = right(500, 3)
    weights, cells = np.ones(500), np.arange(500) % 2
    kept = [each.copy() for each in (proba, labels, weights, cells)]
    fit(proba, labels, weights, cells, 2)
    for before, after in zip(kept, (proba, labels, weights, cells), strict=True):
        np.testing.assert_array_equal(before, after)


def test_single_precision_says_the_same():
    proba, labels = right(12_000, 4)
    given = wrong(proba, steepness=0.6, bias=np.array([0.5, -0.5, 0.0, 0.0]))
    exact = replace(SETTINGS, single_precision=10**9)
    (rough, report), (fine, again) = fit(given, labels), fit(given, labels, settings=exact)
    assert report.family == again.family
    np.testing.assert_allclose(rough(given), fine(given), atol=1e-3)


def test_candidates_are_numbered_from_simple_to_rich():
    proba, labels = right(3000, 3)
    matrix = np.array([[0.5, 0.4, -0.4], [0.2, 0.4, 0.0], [0.0, -0.2, 0.8]])
    given = wrong(proba, bias=np.array([0.8, -0.5, -0.3]), matrix=matrix)
    names = [name for name, _ in itertools.groupby(c.name for c in fit(given, labels)[1].candidates)]
    assert names[:6] == ["none", "temperature", "bias", "temperature_bias", "vector", "dirichlet"]


def test_families_that_promise_nothing_are_not_fitted():
    tried = [len(fit(*right(800, 4, seed))[1].candidates) for seed in range(20)]
    # None itself, and now and then one that chance speaks for.
    assert np.median(tried) <= 3


@pytest.mark.parametrize("family", ["none", "temperature", "bias", "temperature_bias", "vector", "curves"])
def test_one_family_is_fitted_as_among_all(family):
    """Rich families start from temperature and bias, so that these are tried too."""
    shapes = {
        "temperature": {"steepness": 0.5},
        "bias": {"bias": np.array([0.8, -0.5, -0.3])},
        "temperature_bias": {"steepness": 0.6, "bias": np.array([0.8, -0.5, -0.3])},
        "vector": {"matrix": np.diag([0.5, 1.0, 1.8])},
    }
    proba, labels = right(N, 3)
    given = wrong(proba, **shapes.get(family, {}))
    calibration, report = fit(given, labels, settings=SETTINGS.only(family, False))
    if family != "curves":  # which come after any of the others
        assert {candidate.name for candidate in report.candidates} <= {"none", "temperature_bias", family}
        assert calibration.family in ("none", "temperature_bias", family)
    everything = fit(given, labels)[1]
    if everything.family == family:
        assert report.family == family
        losses = [{c.name: c.log_loss for c in one.candidates}[family] for one in (report, everything)]
        assert losses[0] == pytest.approx(losses[1], abs=1e-6)
