"""`metricfit demo`: an example on generated payments, from a base model to bound and prices."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from typing import Any

from metricfit.commands.errors import DONE
from metricfit.commands.terminal import summary
from metricfit.data.confusion import Confusion
from metricfit.metrics.verdicts import spelt_out
from metricfit.oracles import PluginOracle, Rows
from metricfit.policy import Policy
from metricfit.problem import Problem
from metricfit.report.expected import of_policy
from metricfit.result import Result
from metricfit.result.most_probable import of_most_probable
from metricfit.solving import solve, with_expected

ROWS, FITTED = 40_000, 20_000
CONSTRAINTS = ("precision('fraud') >= 0.9", "equal_opportunity(over='region', c='fraud') <= 0.05")

#: The same example in Python, with the same data and model, which gives the same numbers.
CODE = """\
import metricfit as mf
from metricfit.datasets import make_fraud_triage
from sklearn.ensemble import HistGradientBoostingClassifier

data = make_fraud_triage(n_rows=40_000, random_state=0)
model = HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=8, random_state=0)
limits = [mf.precision("fraud") >= 0.9, mf.equal_opportunity(over="region", c="fraud") <= 0.05]
clf = mf.MetricClassifier(model, "g_mean", limits, attributes=["region"])
clf.fit(data.X[:20_000], data.y[:20_000])
print(clf.result_)
decisions = clf.predict(data.X[20_000:])
"""


@dataclass(frozen=True, eq=False)
class Half:
    """One half of the data, on which policies are evaluated."""

    oracle: PluginOracle
    attributes: dict[str, Any]

    @classmethod
    def of(cls, proba: Any, y: Any, X: Any, classes: Any) -> Half:
        """Keep the rows with their attribute."""
        attributes = {"region": X["region"]}
        return cls(
            PluginOracle(Rows.of(proba, y, classes=classes, sensitive_features=attributes)), attributes
        )

    @property
    def argmax(self) -> Confusion:
        """The confusion of the most probable class."""
        confusion = of_most_probable(self.oracle)
        assert confusion is not None  # every class has a decision here
        return confusion

    def policy(self, policy: Policy) -> Confusion:
        """Return the expected confusion of a policy."""
        return of_policy(policy, self.oracle, self.attributes)


@dataclass(frozen=True, eq=False)
class Demo:
    """The results of the demo.

    One result with counted labels, one with the probabilities as soft labels, and one without the last constraint.
    """

    problem: Problem
    labels: Result
    calibrated: Result
    unfair: Result
    fitted: Half
    held_out: Half


def arguments(parser: ArgumentParser) -> None:
    """Declare no arguments: the data are generated."""


def run(options: Namespace) -> int:
    """Run the demo and print its results."""
    print(
        f"{ROWS:,} generated payments, four classes, two attributes; {FITTED:,} to fit, the others held out."
    )
    print("Base model: gradient boosting; class probabilities of the rows to fit by 5-fold cross-fitting.\n")
    print(report(compute()))
    return DONE


def compute() -> Demo:
    """Fit the base model on one half of the data, and two policies on its cross-fitted probabilities."""
    import numpy as np
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    from metricfit.datasets import make_fraud_triage
    from metricfit.trust.crossfit import cross_fit

    data = make_fraud_triage(n_rows=ROWS, random_state=0)
    X, y = data.X[:FITTED], data.y[:FITTED]
    model = HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=8, random_state=0)
    # Trees this small do not benefit from threads, and are much slower with them on a busy machine.
    with threadpool_limits(limits=1):
        proba = cross_fit(model, X, y, np.array(data.classes), cv=5).proba
        unseen = model.fit(X, y).predict_proba(data.X[FITTED:])
    fitted = Half.of(proba, y, X, data.classes)
    problem = Problem.of("g_mean", CONSTRAINTS)
    return Demo(
        problem,
        with_expected(problem, fitted.oracle, solve(problem, fitted.oracle)),
        solve(problem, PluginOracle(fitted.oracle.rows, "calibrated")),
        solve(Problem.of("g_mean", CONSTRAINTS[:1]), fitted.oracle),
        fitted,
        Half.of(unseen, data.y[FITTED:], data.X[FITTED:], data.classes),
    )


def report(demo: Demo) -> str:
    """Return the results of the demo as text."""
    policy, metric = demo.labels.policy, demo.problem.objective
    sides = [
        (title, part.argmax, part.policy(policy))
        for title, part in (("rows to fit", demo.fitted), ("held-out rows", demo.held_out))
    ]
    table = summary.constraints_table(
        demo.problem.constraints, demo.labels, demo.fitted.argmax, demo.held_out.policy(policy)
    )
    gain = 0.01 * demo.labels.constraints[0].price
    parity = demo.problem.constraints[1].metric
    values = [
        summary.number(parity(part.policy(demo.unfair.policy))) for part in (demo.fitted, demo.held_out)
    ]
    apart = f"{values[0]} (held out {values[1]})"
    unfair = summary.number(demo.unfair.value)
    rule = "-" * 96
    return "\n".join(
        [
            f"{summary.problem_text(demo.problem)}\n",
            summary.rates_table(sides),
            "\n  argmax: the most probable class. The policy's figures are expected values, not a draw.\n",
            table,
            f"\n  price: {metric} gained per unit of slack; a precision floor lower by 0.01 adds about {gain:.4f}.",
            f"  Without the last constraint {metric} is {unfair}, and its value {apart}.",
            "  The limits are met on the fitted rows. What to expect on new rows, from folds of the fitted rows:\n",
            _expectations(demo),
            "",
            _values(demo),
            "\n  proven: if the calibrated probabilities are right, no classifier exceeds the bound on these rows.",
            f"\nThe same in Python:\n{rule}\n{CODE}{rule}",
        ]
    )


def _expectations(demo: Demo) -> str:
    """Return what the rows to fit predict for new rows, and the values on the held-out rows."""
    expected, policy = demo.labels.expected, demo.labels.policy
    assert expected is not None  # every fold of the demo has a policy
    held_out = demo.held_out.policy(policy)
    lines = [
        f"  {demo.problem.objective}: fit {demo.labels.value:.3f}, expect {summary.interval_text(expected)}, "
        f"held out {demo.problem.objective(held_out):.3f}"
    ]
    for constraint, new in zip(demo.problem.constraints, expected.constraints, strict=True):
        lines.append(
            f"  {spelt_out(str(constraint))}: expect {summary.interval_text(new)}, {new.outlook}; "
            f"held out {constraint.metric(held_out):.3f}"
        )
    return "\n".join(lines)


def _values(demo: Demo) -> str:
    metric = demo.problem.objective
    rows = [
        [str(metric), "rows to fit", "held out", "bound", "gap", ""],
        [
            "argmax",
            *(summary.number(metric(part.argmax)) for part in (demo.fitted, demo.held_out)),
            "",
            "",
            "",
        ],
    ]
    named = {"policy, labels counted": demo.labels, "policy, calibrated probabilities": demo.calibrated}
    for name, result in named.items():
        held_out = summary.number(metric(demo.held_out.policy(result.policy)))
        known = ["", "", "none claimed"]
        if result.certified:
            known = [summary.number(result.bound), summary.gap_text(result.gap), "proven"]
        rows.append([name, summary.number(result.value), held_out, *known])
    return summary.table(rows)
