"""The room that a policy leaves to a claim, as a metric and row by row."""

from __future__ import annotations

import numpy as np
import pytest

import metricfit as mf
from metricfit.data.rows import Rows
from metricfit.exceptions import InfeasibleError
from metricfit.intervals import Evidence
from metricfit.trust.claims.claim import claims
from metricfit.trust.claims.room import room_by_row, room_metric, room_of
from metricfit.trust.decided import Decided


def some_rows(n: int = 900, weighted: bool = False) -> Rows:
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    proba = rng.dirichlet([2.0, 1.0, 1.0], n)
    weights = rng.uniform(0.5, 2.0, n) if weighted else None
    y = np.array([rng.choice(3, p=p) for p in proba])
    return Rows.of(proba, y, sensitive_features={"group": group}, sample_weight=weights)


def chances(n: int) -> np.ndarray:
    return np.random.default_rng(1).dirichlet([1.0, 1.0, 1.0], n)


LIMITS = [
    mf.recall(1) >= 0.3,
    mf.precision(2) >= 0.3,
    mf.coverage(0) <= 0.4,
    mf.recall(1).at(group="b") >= 0.3,
    mf.demographic_parity(over="group", c=1) <= 0.1,
    mf.equal_opportunity(over="group", c=2) <= 0.1,
    mf.disparity(mf.recall(0), over="group", to="pairs") <= 0.1,
]


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("limit", LIMITS, ids=str)
def test_a_limit_is_kept_where_no_claim_lacks_room(limit, weighted):
    """The least room of a difference is the limit minus the metric; that of a rate has its sign."""
    rows = some_rows(weighted=weighted)
    decided = Decided(rows, chances(len(rows)))
    confusion = decided.evidence().confusion
    found = [room_of(claim, confusion) for claim in claims(limit, rows.axes, rows.margins())]
    value = limit.metric(confusion)
    away = value - limit.limit if limit.sense == ">=" else limit.limit - value
    if "group" in str(limit) and ".at" not in str(limit):
        assert min(found) == pytest.approx(away)
    else:
        assert len(found) == 1
        assert np.sign(found[0]) == np.sign(away)


@pytest.mark.parametrize("limit", LIMITS, ids=str)
def test_rows_tell_the_error_of_the_room(limit):
    """The spread of the rooms over resampled rows of each label, for the cells and classes as they are."""
    rows = some_rows()
    decided = Decided(rows, chances(len(rows)))
    claim = claims(limit, rows.axes, rows.margins())[0]
    each = room_by_row(claim, decided, rows.proba)
    rng, drawn = np.random.default_rng(2), []
    for _ in range(300):
        places = rng.integers(0, len(rows), len(rows))
        seen = Evidence.of(rows.axes, rows.cells[places], rows.labels[places], decided.chances[places], None)
        drawn.append(room_of(claim, seen.confusion))
    assert each.error / np.sqrt(len(rows)) == pytest.approx(np.std(drawn), rel=0.2)


def test_probabilities_in_place_of_labels_say_the_same_on_the_average():
    rows = some_rows(4000)
    decided = Decided(rows, chances(len(rows)))
    claim = claims(mf.precision(2) >= 0.3, rows.axes, rows.margins())[0]
    each = room_by_row(claim, decided, rows.proba)
    assert each.by_proba.mean() == pytest.approx(each.by_label.mean(), abs=0.01)
    assert each.by_proba.std() < each.by_label.std()


def test_a_policy_can_be_asked_for_room():
    rows = some_rows()
    claim = claims(mf.recall(1).at(group="b") >= 0.3, rows.axes, rows.margins())[0]
    room = room_metric(claim, rows.axes, rows.margins())

    def keeping(least: float) -> mf.Result:
        groups = {"group": np.array(["a", "b", "c"])[rows.cells]}
        limits = [room >= least]
        return mf.optimize(
            rows.proba, rows.labels, "accuracy", limits, sensitive_features=groups, counting="model"
        )

    assert keeping(0.02).constraints[0].value >= 0.02 - 1e-6
    with pytest.raises(InfeasibleError):
        keeping(0.5)


def test_smooth_claims_have_no_metric_of_their_own():
    rows = some_rows()
    claim = claims(mf.g_mean() >= 0.2, rows.axes, rows.margins())[0]
    assert room_metric(claim, rows.axes, rows.margins()) is None
    decided = Decided(rows, chances(len(rows)))
    each = room_by_row(claim, decided, rows.proba)
    assert each.by_label.mean() == pytest.approx(0.0, abs=1e-6)
    assert room_of(claim, decided.evidence().confusion) == pytest.approx(
        mf.g_mean()(decided.evidence().confusion) - 0.2
    )
