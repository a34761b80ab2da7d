"""What must not matter: order, form, type and names of the data, and nothing handed in changes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from methods.problems import COST, PROBLEMS
from methods.truth import Sample

import metricfit as mf


class TestWhatMustNotMatter:
    """The same data in another form gives the same answer."""

    case = PROBLEMS["several"]

    def answer(self, proba, y, groups, weight, **options):
        return mf.optimize(
            proba,
            y,
            self.case.objective,
            self.case.constraints,
            sensitive_features=groups,
            sample_weight=weight,
            **{"counting": "model", "tol": 1e-7, **options},
        )

    @pytest.fixture
    def reference(self):
        s = self.case.sample
        return self.answer(s.proba, s.y, s.groups, s.weight)

    def test_row_order(self, reference):
        s, order = self.case.sample, np.random.default_rng(0).permutation(36)
        result = self.answer(s.proba[order], s.y[order], s.groups.iloc[order], s.weight[order])
        assert result.value == pytest.approx(reference.value, abs=1e-7)
        np.testing.assert_allclose(result.confusion.margins, reference.confusion.margins, atol=1e-12)

    @pytest.mark.parametrize("confusion", ["labels", "model"])
    def test_weights_are_repeated_rows(self, confusion):
        s = Sample.draw(seed=2, rows=60)
        times = np.random.default_rng(1).integers(1, 4, 60)
        rows = np.repeat(np.arange(60), times)
        # Folds of a calibration are drawn row by row, so that without them weights are exactly repeated rows.
        options = dict(objective="g_mean", constraints=[mf.coverage(2) <= 0.2], counting=confusion, tol=1e-6)
        options["method"] = "column_generation"
        weighted = mf.optimize(s.proba, s.y, sensitive_features=s.groups, sample_weight=times, **options)
        repeated = mf.optimize(s.proba[rows], s.y[rows], sensitive_features=s.groups.iloc[rows], **options)
        assert weighted.value == pytest.approx(repeated.value, abs=1e-6)
        assert weighted.n_oracle_calls == repeated.n_oracle_calls

    def test_scale_of_the_weights(self, reference):
        s = self.case.sample
        for scale in (1e-9, 1e9):
            result = self.answer(s.proba, s.y, s.groups, s.weight * scale)
            assert result.value == pytest.approx(reference.value, abs=1e-7)

    def test_rows_of_weight_zero(self, reference):
        s = self.case.sample
        result = self.answer(
            np.vstack([s.proba, s.proba[:5]]),
            np.append(s.y, s.y[:5]),
            pd.concat([s.groups, s.groups[:5]]),
            np.append(s.weight, np.zeros(5)),
        )
        assert result.value == pytest.approx(reference.value, abs=1e-7)

    def test_single_precision(self, reference):
        s = self.case.sample
        result = self.answer(s.proba.astype(np.float32), s.y, s.groups, s.weight, tol=1e-5)
        assert result.status == "optimal"
        assert result.value == pytest.approx(reference.value, abs=2e-5)

    @pytest.mark.parametrize("n_jobs", [1, 2, -1])
    def test_threads(self, reference, n_jobs):
        s = self.case.sample
        result = self.answer(s.proba, s.y, s.groups, s.weight, n_jobs=n_jobs)
        assert result.value == pytest.approx(reference.value, abs=1e-9)

    def test_forms_of_the_data(self, reference):
        s = self.case.sample
        lists = self.answer(s.proba.tolist(), s.y.tolist(), s.groups.to_dict("list"), s.weight.tolist())
        frames = self.answer(pd.DataFrame(s.proba), pd.Series(s.y), s.groups, pd.Series(s.weight))
        columns = self.answer(np.asfortranarray(s.proba), s.y.astype(np.int8), s.groups, s.weight)
        for result in (lists, frames, columns):
            assert result.value == pytest.approx(reference.value, abs=1e-9)

    def test_names_of_the_classes(self, reference):
        names = np.array(["ok", "minor", "fraud"])
        s = self.case.sample
        result = mf.optimize(
            s.proba,
            names[s.y],
            "g_mean",
            [
                mf.precision("minor") >= 0.4,
                mf.coverage("fraud") <= 0.18,
                mf.demographic_parity(over="sex") <= 0.05,
                mf.cost(COST) <= 0.9,
            ],
            classes=names,
            sensitive_features=s.groups,
            sample_weight=s.weight,
            counting="model",
            tol=1e-7,
        )
        assert result.value == pytest.approx(reference.value, abs=1e-7)
        assert set(result.policy.decide(s.proba, s.groups)) <= set(names)

    def test_nothing_handed_in_changes(self):
        s = self.case.sample
        given = [s.proba.copy(), s.y.copy(), s.weight.copy()]
        for array in given:
            array.flags.writeable = False
        groups = s.groups.copy()
        constraints = self.case.constraints
        before = list(map(str, constraints))
        mf.optimize(
            given[0], given[1], "g_mean", constraints, sensitive_features=groups, sample_weight=given[2]
        )
        pd.testing.assert_frame_equal(groups, s.groups)
        assert list(map(str, constraints)) == before
        np.testing.assert_array_equal(given[0], s.proba)
