"""The one loop: budgets, callbacks, interruption, history, progress, starts, and data that must not matter."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from methods.problems import COST, PROBLEMS
from methods.truth import Sample

import metricfit as mf
from metricfit.layout import expand
from metricfit.methods import METHODS, ColumnGeneration, Record
from metricfit.methods.columns import Unsolved
from metricfit.oracles import Oracle, Vertex

STATUSES = {"optimal", "stalled", "max_calls", "max_seconds", "stopped"}
CASE = PROBLEMS["g_mean, parity"]
FREE = PROBLEMS["g_mean"]


class TestBudgets:
    @pytest.mark.parametrize("calls", [1, 2, 3, 4, 5, 7])
    def test_max_calls_is_exact(self, calls):
        result = CASE.solve(max_calls=calls)
        assert result.n_oracle_calls <= calls
        assert result.status == "max_calls"
        assert result.n_oracle_calls == calls
        assert CASE.sign * result.bound >= CASE.sign * CASE.best() - 1e-7

    @pytest.mark.parametrize("confusion", ["labels", "model"])
    def test_max_calls_counts_everything_that_is_asked(self, confusion):
        """Probes around counted labels and the rules of a start are calls too."""
        first = FREE.solve(confusion=confusion)
        again = FREE.solve(confusion=confusion, start=first, max_calls=3)
        assert again.n_oracle_calls <= 3
        assert FREE.solve(confusion=confusion, max_calls=first.n_oracle_calls).value == first.value

    def test_more_calls_are_never_worse(self):
        values = [FREE.solve(max_calls=calls, tol=0.0).value for calls in (1, 2, 4, 8)]
        assert values == sorted(values)

    def test_max_seconds(self):
        result = CASE.solve(max_seconds=1e-9)
        assert result.status == "max_seconds"
        assert result.n_oracle_calls == 1
        assert result.policy.n_rules >= 1

    def test_zero_tolerance_ends(self):
        result = CASE.solve(tol=0.0)
        assert result.status in ("optimal", "stalled")
        assert result.value == pytest.approx(CASE.best(), abs=1e-7)

    def test_huge_tolerance_ends_at_once(self):
        assert FREE.solve(tol=10.0).n_oracle_calls <= 3


class TestCallback:
    def test_gets_every_record(self):
        seen: list[Record] = []
        result = CASE.solve(callback=seen.append)
        assert tuple(seen) == result.history[: len(seen)]
        for record in seen:
            assert type(record) is Record
            assert type(record.calls) is int
            for field in ("seconds", "value", "bound", "violation"):
                assert isinstance(getattr(record, field), float)

    def test_true_stops(self):
        result = CASE.solve(callback=lambda record: record.calls >= 4)
        assert result.status == "stopped"
        assert result.n_oracle_calls <= 5

    @pytest.mark.parametrize("answer", [None, False, 0, "go on"])
    def test_anything_else_does_not(self, answer):
        assert FREE.solve(callback=lambda record: answer).status == "optimal"

    def test_interrupt_keeps_the_best_so_far(self):
        def interrupt(record: Record) -> None:
            if record.calls >= 4:
                raise KeyboardInterrupt

        result = CASE.solve(callback=interrupt)
        assert result.status == "stopped"
        assert result.value == result.history[-1].value
        assert CASE.sign * result.bound >= CASE.sign * CASE.best() - 1e-7
        result.policy.decide(CASE.sample.proba, CASE.sample.groups)

    def test_interrupt_before_anything_is_known_is_passed_on(self):
        class Interrupted(Reference):
            def __call__(self, loss, layout):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            mf.optimize(objective="g_mean", **FREE.sample.arguments(), oracle=Interrupted(FREE.sample))

    def test_errors_in_a_callback_are_not_swallowed(self):
        with pytest.raises(ZeroDivisionError):
            FREE.solve(callback=lambda record: 1 / 0)


class TestHistory:
    @pytest.mark.parametrize("name", ["g_mean, parity", "cost, odds", "micro_f1", "kld, recalls"])
    @pytest.mark.parametrize("confusion", ["labels", "model"])
    def test_is_monotone(self, name, confusion):
        case = PROBLEMS[name]
        result = case.solve(confusion=confusion, tol=1e-6)
        history = result.history
        assert [r.calls for r in history] == sorted(r.calls for r in history)
        assert [r.seconds for r in history] == sorted(r.seconds for r in history)
        bounds = [case.sign * r.bound for r in history[:-1]]
        if confusion == "model":  # of counted labels a bound is an estimate, which more rules can correct
            assert bounds == sorted(bounds, reverse=True)
        assert all(case.sign * r.bound >= case.sign * r.value - 1e-12 for r in history if r.violation <= 1e-9)
        kept = [case.sign * r.value for r in history[:-1] if r.violation <= 1e-9]
        assert kept == sorted(kept)
        assert history[-1].value == pytest.approx(result.value, abs=1e-12)
        assert history[-1].bound == pytest.approx(result.bound, abs=1e-12)
        assert history[-1].calls == result.n_oracle_calls
        assert 0 < history[-1].seconds <= result.seconds

    def test_verbose_prints_to_standard_error(self, capsys):
        result = CASE.solve(verbose=1)
        printed = capsys.readouterr()
        assert printed.out == ""
        lines = printed.err.splitlines()
        assert len(lines) >= len(result.history) - 1
        assert all(line.startswith("calls") and "bound" in line and "violation" in line for line in lines)

    def test_silent_by_default(self, capsys):
        CASE.solve()
        printed = capsys.readouterr()
        assert printed.out == printed.err == ""


class TestStart:
    @pytest.mark.parametrize("name", ["g_mean", "g_mean, parity", "several", "review, g_mean"])
    def test_saves_calls(self, name):
        case = PROBLEMS[name]
        first = case.solve()
        for start in (first, first.policy):
            again = case.solve(start=start)
            assert again.n_oracle_calls < first.n_oracle_calls
            assert again.value == pytest.approx(first.value, abs=1e-4)
            assert again.status == "optimal"

    def test_of_a_similar_problem(self):
        first = PROBLEMS["g_mean"].solve()
        again = CASE.solve(start=first)
        assert again.status == "optimal"
        assert again.value == pytest.approx(CASE.best(), abs=1e-4)

    def test_of_another_layout(self):
        """The rules of a diagonal problem start a full one, and the other way round where they can be said."""
        diagonal, full = PROBLEMS["g_mean"].solve(), PROBLEMS["cost"].solve()
        assert (diagonal.policy.layout, full.policy.layout) == ("diagonal", "full")
        assert PROBLEMS["cost"].solve(start=diagonal).value == pytest.approx(full.value, abs=1e-4)
        assert PROBLEMS["g_mean"].solve(start=full).value == pytest.approx(diagonal.value, abs=1e-4)

    def test_without_groups(self):
        sample = Sample.draw(groups=0)
        first = mf.optimize(objective="g_mean", **sample.arguments(), confusion="model")
        again = FREE.solve(start=first)
        assert again.status == "optimal"
        assert again.value == pytest.approx(FREE.best(), abs=1e-4)

    def test_of_other_classes_is_refused(self):
        policy = mf.optimize([[0.7, 0.3], [0.2, 0.8]], [0, 1], "g_mean").policy
        with pytest.raises(ValueError, match="same classes and decisions"):
            FREE.solve(start=policy)

    def test_of_something_else_is_refused(self):
        with pytest.raises(ValueError, match="start must be a Result or a Policy"):
            FREE.solve(start="yesterday")


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
            **{"confusion": "model", "tol": 1e-7, **options},
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
        options = dict(objective="g_mean", constraints=[mf.coverage(2) <= 0.2], confusion=confusion, tol=1e-6)
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
            confusion="model",
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


class TestEveryChoice:
    """Each documented value of each option runs."""

    @pytest.mark.filterwarnings("ignore::metricfit.methods.guard.OverfitWarning")
    @pytest.mark.parametrize("method", ["auto", *METHODS])
    @pytest.mark.parametrize("confusion", ["labels", "model"])
    def test_method(self, method, confusion):
        for name in ("g_mean", "micro_f1", "min_recall"):
            try:
                result = PROBLEMS[name].solve(method=method, confusion=confusion, max_calls=30)
            except ValueError as refusal:
                assert "Try method=" in str(refusal)
                assert method not in ("auto", "column_generation")
            else:
                assert result.status in STATUSES
                assert result.certified == (confusion == "model" and np.isfinite(result.bound))
                assert result.method in METHODS

    def test_some_method_takes_each_problem_by_name(self):
        assert METHODS["column_generation"] is ColumnGeneration
        result = FREE.solve(method=ColumnGeneration(probes=2), confusion="labels")
        assert result.method == "column_generation"

    def test_oracle_plugin(self):
        assert FREE.solve(oracle="plugin").value == FREE.solve().value

    @pytest.mark.parametrize(
        "option", [{"random_state": 3}, {"verbose": 0}, {"max_seconds": 60.0}, {"max_calls": 50}]
    )
    def test_others(self, option):
        assert FREE.solve(**option).status == "optimal"


class Reference:
    """An oracle in plain NumPy: nothing but the protocol."""

    def __init__(self, sample: Sample, decisions: tuple[object, ...] = (0, 1, 2)) -> None:
        from metricfit.confusion import Axes, Cells

        self.exact, self.proba = True, sample.proba
        cells, self.codes = Cells.observe(sample.groups, len(sample.y))
        self.axes = Axes((0, 1, 2), decisions, cells)
        self.weight = sample.weight / sample.weight.sum()
        self.margins = np.stack(
            [(self.proba * self.weight[:, None])[self.codes == a].sum(axis=0) for a in range(len(cells))]
        )
        self.asked = 0

    def decided(self, loss: np.ndarray) -> np.ndarray:
        scores = np.einsum("ri,rij->rj", self.proba, loss[self.codes])
        return scores.shape[1] - 1 - np.argmin(scores[:, ::-1], axis=1)  # ties go to the larger index

    def tensor(self, chances: np.ndarray) -> np.ndarray:
        found = np.zeros(self.axes.shape)
        for a, p, d, w in zip(self.codes, self.proba, chances, self.weight, strict=True):
            found[a] += w * np.outer(p, d)
        return found

    def __call__(self, loss, layout):
        self.asked += 1
        found = self.tensor(np.eye(self.axes.k)[self.decided(expand(loss, layout, self.axes))])
        if layout == "full":
            return Vertex(loss, found)
        counted = np.zeros((len(self.axes.cells), 2, self.axes.k))
        for j, i in enumerate(self.axes.match):
            counted[:, 0, j] = found[:, i, j] if i >= 0 else 0.0
        counted[:, 1] = found.sum(axis=1)
        return Vertex(loss, counted)

    def confusion(self, losses, weights, layout):
        chances = np.zeros((len(self.proba), self.axes.k))
        for t, loss in enumerate(losses):
            made = np.eye(self.axes.k)[self.decided(expand(loss, layout, self.axes))]
            chances += weights[self.codes, t][:, None] * made
        return self.tensor(chances)


class TestOracle:
    @pytest.mark.parametrize("name", ["g_mean", "cost, odds", "micro_f1, parity", "review", "turned round"])
    def test_any_object_with_the_protocol_will_do(self, name):
        case = PROBLEMS[name]
        oracle = Reference(case.sample, case.decisions or (0, 1, 2))
        assert isinstance(oracle, Oracle)
        result, expected = case.solve(oracle=oracle), case.solve()
        assert result.value == pytest.approx(expected.value, abs=1e-9)
        assert result.bound == pytest.approx(expected.bound, abs=1e-9)
        assert oracle.asked == result.n_oracle_calls == expected.n_oracle_calls

    def test_inexact_oracles_prove_nothing(self):
        oracle = Reference(FREE.sample)
        oracle.exact = False
        assert not FREE.solve(oracle=oracle).certified


class TestFailingSolvers:
    """No failing inner solver ends a run: there is always a policy and a bound."""

    @pytest.fixture(params=["always", "every second time"])
    def failing(self, request, monkeypatch):
        count = iter(range(10**6))

        def breaks(solver):
            def broken(*args):
                if request.param == "always" or next(count) % 2:
                    raise Unsolved("broken for the test")
                return solver(*args)

            return broken

        from metricfit.methods import cone, master, quadratic

        monkeypatch.setattr(master, "minimise_quadratic", breaks(quadratic.minimise_quadratic))
        monkeypatch.setattr(master, "solve_cone", breaks(cone.solve_cone))

    NAMES = (
        "g_mean",
        "cost, odds",
        "micro_f1, parity",
        "cost, g_mean",
        "several",
        "worst g_mean",
        "min_recall, kld",
    )

    @pytest.mark.parametrize("name", NAMES)
    def test_run_goes_on(self, failing, name):
        case = PROBLEMS[name]
        result = case.solve(max_calls=100)
        best = case.best()
        assert result.status in STATUSES
        assert result.feasible
        assert case.sign * result.bound >= case.sign * best - 1e-7
        # A curved constraint is followed along its tangent planes only.
        assert case.sign * result.value >= case.sign * best - (0.2 if name == "min_recall, kld" else 0.02)

    @pytest.mark.parametrize("name", NAMES)
    def test_not_even_the_last_resort(self, monkeypatch, failing, name):
        """Without any solver there is no mixture, but still a valid bound and a policy."""
        from metricfit.methods import linear

        def broken(*args):
            raise Unsolved("broken for the test")

        monkeypatch.setattr(linear, "minimise_linear", broken)
        case = PROBLEMS[name]
        result = case.solve(max_calls=30)
        assert case.sign * result.bound >= case.sign * case.best() - 1e-7
        assert result.policy.n_rules >= 1
