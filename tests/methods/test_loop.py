"""The one loop: budgets, callbacks, interruption, history, progress and starts."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from methods.problems import PROBLEMS
from methods.reference import ReferenceOracle
from methods.truth import Sample

import metricfit as mf
from metricfit.exceptions import DivergenceWarning
from metricfit.methods import METHODS, ColumnGeneration, Record

STATUSES = {"optimal", "searched", "stalled", "max_calls", "max_seconds", "stopped"}
CASE = PROBLEMS["g_mean, parity"]
FREE = PROBLEMS["g_mean"]


class TestBudgets:
    @pytest.mark.parametrize("calls", [1, 2, 3, 4, 5, 7])
    @pytest.mark.filterwarnings("ignore::metricfit.exceptions.BrokenLimitWarning")
    def test_max_calls_is_exact(self, calls):
        result = CASE.solve(max_calls=calls)
        assert result.n_oracle_calls <= calls
        assert result.status == "max_calls"
        assert result.n_oracle_calls == calls
        assert CASE.sign * result.bound >= CASE.sign * CASE.best() - 1e-7

    @pytest.mark.parametrize("confusion", ["labels", "model"])
    def test_max_calls_counts_everything_that_is_asked(self, confusion):
        """Lines that are scanned for counted labels and the rules of a start are calls too."""
        first = FREE.solve(counting=confusion)
        again = FREE.solve(counting=confusion, start=first, max_calls=3)
        assert again.n_oracle_calls <= 3
        enough = FREE.solve(counting=confusion, max_calls=first.n_oracle_calls)
        assert enough.value == pytest.approx(first.value, abs=1e-12)

    def test_more_calls_are_never_worse(self):
        values = [FREE.solve(max_calls=calls, tol=0.0).value for calls in (1, 2, 4, 8)]
        assert all(more >= fewer - 1e-12 for fewer, more in pairwise(values))

    @pytest.mark.filterwarnings("ignore::metricfit.exceptions.BrokenLimitWarning")
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


class Wanderer(ColumnGeneration):
    """Asks for a rule and for its opposite in turn, and ends with the worse one."""

    def steps(self, program, walk):
        loss = program.loss(program.objective.gradient(program.uniform(walk.oracle.margins)))
        for t in range(120):
            yield walk.single(walk.ask((1 + t) * (-1) ** t * loss))


@pytest.mark.parametrize("option", [None, "pace"])
def test_only_methods_with_steps_to_set_warn_that_they_diverge(option, monkeypatch):
    monkeypatch.setattr(Wanderer, "step_option", option)
    told = (
        pytest.warns(DivergenceWarning, match="smaller steps, see its option pace")
        if option
        else nullcontext()
    )
    with told:
        PROBLEMS["accuracy"].solve(method=Wanderer(), max_calls=200)


@pytest.mark.parametrize("over", ["demographic_parity(over='g')", "demographic_parity(over='g', to='pairs')"])
@pytest.mark.parametrize("confusion", ["labels", "calibrated", "model"])
def test_a_bound_is_never_beyond_the_range_of_the_objective(over, confusion):
    """A difference of 0 is the least there can be, so a policy that reaches it is optimal."""
    rng = np.random.default_rng(0)
    y, g = rng.integers(0, 3, 300), rng.choice(["a", "b"], 300)
    scores = np.exp(rng.normal(size=(300, 3)) + np.eye(3)[y])
    proba = scores / scores.sum(axis=1, keepdims=True)
    limits, beside = ["macro_f1() >= 0.4"], {"sensitive_features": {"g": g}, "counting": confusion}
    result = mf.optimize(proba, y, over, limits, **beside)
    assert (result.calibrated or result).bound == pytest.approx(0, abs=1e-12)
    if confusion == "labels":
        assert str(result.calibrated).endswith("no classifier is below 0.000")
    else:
        assert result.status == "optimal"
        assert result.gap <= 1e-4


def drawn_rows() -> tuple[np.ndarray, np.ndarray]:
    """Return 600 rows with labels drawn from their probabilities."""
    rng = np.random.default_rng(20)
    proba = rng.dirichlet(np.ones(3), 600)
    return proba, (rng.random((600, 1)) > proba.cumsum(axis=1)).sum(axis=1)


class TestCallback:
    def test_gets_every_record(self):
        seen: list[Record] = []
        result = CASE.solve(callback=seen.append)
        assert tuple(seen) == result.history
        for record in seen:
            assert type(record) is Record
            assert type(record.calls) is int
            for field in ("seconds", "value", "bound", "violation"):
                assert isinstance(getattr(record, field), float)

    @pytest.mark.parametrize("confusion", ["labels", "calibrated", "model"])
    @pytest.mark.parametrize("constraints", [[], ["precision(0) >= 0.5"]])
    def test_gets_the_closing_records_too(self, confusion, constraints):
        proba, y = drawn_rows()
        seen: list[Record] = []
        result = mf.optimize(proba, y, "g_mean", constraints, counting=confusion, callback=seen.append)
        assert tuple(seen) == result.history
        assert seen[-1].value == pytest.approx(result.value, abs=1e-12)

    def test_a_stopped_search_on_labels_ends_at_once(self):
        proba, y = drawn_rows()
        whole = mf.optimize(proba, y, "g_mean", ["precision(0) >= 0.5"])
        result = mf.optimize(proba, y, "g_mean", ["precision(0) >= 0.5"], callback=lambda record: True)
        assert result.status == "stopped"
        assert result.n_oracle_calls < whole.n_oracle_calls / 4

    def test_true_stops(self):
        result = CASE.solve(callback=lambda record: record.calls >= 4)
        assert result.status == "stopped"
        assert result.n_oracle_calls <= 5

    @pytest.mark.parametrize("answer", [1, np.True_, "stop"])
    def test_anything_true_stops(self, answer):
        result = CASE.solve(callback=lambda record: answer)
        assert result.status == "stopped"
        assert len(result.history) == 2  # that of the first iteration, and the end

    @pytest.mark.parametrize("answer", [None, False, 0, ""])
    def test_nothing_true_does_not(self, answer):
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
        class Interrupted(ReferenceOracle):
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
        result = case.solve(counting=confusion, tol=1e-6)
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
        # After a search on calibrated probabilities the plain rules of the model's own are counted too.
        assert history[-1].calls <= result.n_oracle_calls
        assert confusion == "labels" or history[-1].calls == result.n_oracle_calls
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
        """The rules of a diagonal problem start a full one, and the other way round where possible."""
        diagonal, full = PROBLEMS["g_mean"].solve(), PROBLEMS["cost"].solve()
        assert (diagonal.policy.layout, full.policy.layout) == ("diagonal", "full")
        assert PROBLEMS["cost"].solve(start=diagonal).value == pytest.approx(full.value, abs=1e-4)
        assert PROBLEMS["g_mean"].solve(start=full).value == pytest.approx(diagonal.value, abs=1e-4)

    def test_without_groups(self):
        sample = Sample.draw(groups=0)
        first = mf.optimize(objective="g_mean", **sample.arguments(), counting="model")
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


# Which methods take a smooth concave objective, a ratio, and a concave one that is not smooth.
TAKEN_BY = {
    "g_mean": set(METHODS) - {"bisection"},
    "micro_f1": {"column_generation", "bisection", "local", "grid"},
    "min_recall": set(METHODS) - {"bisection", "frank_wolfe", "split_frank_wolfe"},
}


class TestEveryChoice:
    """Each documented value of each option runs."""

    @pytest.mark.filterwarnings("ignore::metricfit.exceptions.OverfitWarning")
    @pytest.mark.parametrize("method", ["auto", *METHODS])
    @pytest.mark.parametrize("confusion", ["labels", "model"])
    def test_method(self, method, confusion):
        for name, able in TAKEN_BY.items():
            options = {"method": method, "counting": confusion, "max_calls": 30}
            case = replace(PROBLEMS[name], sample=Sample.draw(groups=0))  # a grid has few weights
            if method not in {"auto", "local", *able}:
                with pytest.raises(ValueError, match="Try method="):
                    case.solve(**options)
                continue
            result = case.solve(**options)
            assert result.status in STATUSES
            assert result.certified == (confusion == "model" and np.isfinite(result.bound))
            auto = "column_generation" if confusion == "model" else "local"
            assert result.method == (auto if method == "auto" else method)

    def test_some_method_takes_each_problem_by_name(self):
        assert METHODS["column_generation"] is ColumnGeneration
        result = FREE.solve(method=ColumnGeneration(), counting="labels")
        assert result.method == "column_generation"

    def test_oracle_plugin(self):
        assert FREE.solve(oracle="plugin").value == FREE.solve().value

    @pytest.mark.parametrize(
        "option", [{"random_state": 3}, {"verbose": 0}, {"max_seconds": 60.0}, {"max_calls": 50}]
    )
    def test_others(self, option):
        assert FREE.solve(**option).status == "optimal"
