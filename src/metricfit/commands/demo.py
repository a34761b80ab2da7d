"""`metricfit demo`: a team that can act on 100 of 1,000 generated payments, before and after, fitted and held out."""

from __future__ import annotations

import os
import textwrap
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from typing import Any

import numpy as np

from metricfit.commands.arguments.outputs import add_force, check_output
from metricfit.commands.errors import DONE, DataError, blamed_on
from metricfit.commands.terminal import summary
from metricfit.data.confusion import Confusion
from metricfit.metrics import accuracy
from metricfit.oracles import PluginOracle, Rows
from metricfit.policy import Policy
from metricfit.policy import file as policy_file
from metricfit.problem import Problem
from metricfit.report.expected import of_policy
from metricfit.result import Result
from metricfit.result.most_probable import of_most_probable
from metricfit.solving import solve, with_expected

ROWS, FITTED = 40_000, 20_000
TABLES = ("scores.csv", "new.csv")
OBJECTIVE, LIMIT = "g_mean", "coverage('legit') >= 0.9"

#: The same example in Python, with the same data and model, which gives the same numbers.
CODE = """\
import metricfit as mf
from metricfit.datasets import make_fraud_triage
from sklearn.ensemble import HistGradientBoostingClassifier

data = make_fraud_triage(n_rows=40_000, random_state=0)
model = HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=8, random_state=0)
clf = mf.MetricClassifier(model, "g_mean", [mf.coverage("legit") >= 0.9])
clf.fit(data.X[:20_000], data.y[:20_000])
print(clf.result_)
decisions = clf.predict(data.X[20_000:])
"""


@dataclass(frozen=True, eq=False)
class Half:
    """One half of the data, on which policies are evaluated."""

    oracle: PluginOracle

    @classmethod
    def of(cls, proba: Any, y: Any, classes: Any) -> Half:
        """Keep the rows."""
        return cls(PluginOracle(Rows.of(proba, y, classes=classes), "auto"))

    @property
    def argmax(self) -> Confusion:
        """The confusion of the most probable class."""
        confusion = of_most_probable(self.oracle)
        assert confusion is not None  # every class has a decision here
        return confusion

    def policy(self, policy: Policy) -> Confusion:
        """Return the expected confusion of a policy, by labels."""
        return of_policy(policy, self.oracle, None)


@dataclass(frozen=True, eq=False)
class Demo:
    """The problem, its result, and the two halves of the data."""

    problem: Problem
    result: Result
    fitted: Half
    held_out: Half


def arguments(parser: ArgumentParser) -> None:
    """Declare the arguments; the data are generated."""
    parser.add_argument(
        "--save",
        metavar="FOLDER",
        help="also write the payments as tables of scores: FOLDER/scores.csv, those to fit, and FOLDER/new.csv",
    )
    add_force(parser)


def run(options: Namespace) -> int:
    """Run the demo and print its results."""
    paths = [] if options.save is None else [os.path.join(options.save, name) for name in TABLES]
    for path in paths:
        check_output(path, force=options.force, option="--save")
    print(
        f"{ROWS:,} generated payments: legit ones, and three rare kinds that somebody should act on.\n"
        "A gradient boosting model gives probabilities. The team can act on 100 of 1,000 payments.\n"
        "Which ones, so that every kind is found?\n"
    )
    demo = compute()
    print(report(demo))
    for path, half in zip(paths, (demo.fitted, demo.held_out), strict=False):
        with blamed_on(DataError, f"--save {options.save}: "):
            _save(path, half)
    if paths:
        print(f"\nThe scores are in {' and '.join(paths)}.")
    return DONE


def _save(path: str, half: Half) -> None:
    """Write a table of scores: label and probabilities."""
    import pandas as pd

    rows = half.oracle.rows
    labels = np.array(rows.axes.classes)[rows.labels]
    table = pd.DataFrame(rows.proba, columns=[f"p_{name}" for name in rows.axes.classes]).round(6)
    policy_file.write(path, table.assign(y=labels).to_csv(index=False).encode())


def compute() -> Demo:
    """Fit the base model on one half of the data, and a policy on its cross-fitted probabilities."""
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
    fitted, problem = Half.of(proba, y, data.classes), Problem.of(OBJECTIVE, [LIMIT])
    result = with_expected(problem, fitted.oracle, solve(problem, fitted.oracle))
    return Demo(problem, result, fitted, Half.of(unseen, data.y[FITTED:], data.classes))


def report(demo: Demo) -> str:
    """Return the results of the demo as text."""
    result, expected = demo.result, demo.result.expected
    assert expected is not None  # every fold of the demo has a policy
    (record,), (new,) = result.constraints, expected.constraints
    held_out = demo.held_out.policy(result.policy)
    rule = "-" * 96
    assert result.certified  # the calibrated answer is preferred here, which has a proof
    return "\n".join(
        [
            f"{summary.problem_text(demo.problem)}\n",
            _sides(demo),
            "",
            f"  {record.name}",
            f"    fit {record.value:.3f}, expect {summary.interval_text(new)} on new payments, held out "
            f"{demo.problem.constraints[0].metric(held_out):.3f}: {new.outlook}",
            f"  {demo.problem.objective}, by calibrated probabilities",
            f"    fit {result.value:.3f}, expect {summary.interval_text(expected)} on new payments",
            f"    proven: if the calibrated probabilities are right, no classifier exceeds {result.bound:.4f}",
            f"    price: to act on 10 more of 1,000 payments adds about {0.01 * record.price:.3f}",
            *(
                textwrap.fill(f"decides {line}", 96, initial_indent="  ", subsequent_indent="    ")
                for line in result.rule_in_words
            ),
            f"\nThe same in Python:\n{rule}\n{CODE}{rule}",
        ]
    )


def _sides(demo: Demo) -> str:
    """Return what is found before and after, on both halves, in the same words; all by counted labels."""
    sides = [
        side
        for half in (demo.fitted, demo.held_out)
        for side in (half.argmax, half.policy(demo.result.policy))
    ]
    found = [summary.rates(side) for side in sides]
    legit = sides[0].classes.index("legit")
    rare = [(i, name) for i, name in enumerate(sides[0].classes) if i != legit]
    lines = [("acts on, of 1,000 payments", [f"{1000 * (1 - shares[legit]):.0f}" for _, _, shares in found])]
    lines += [(f"{name}: found", [f"{recall[i]:.0%}" for _, recall, _ in found]) for i, name in rare]
    lines += [(f"{name}: right, if decided", [f"{p[i]:.0%}" for p, _, _ in found]) for i, name in rare]
    for metric in (accuracy(), demo.problem.objective):
        lines.append((str(metric), [f"{metric(side):.3f}" for side in sides]))
    head = f"{'':34}{f'{FITTED:,} payments to fit':>28}{f'{ROWS - FITTED:,} held-out payments':>32}"
    names = f"{'':34}" + f"{'most probable':>18}{'policy':>10}" + f"{'most probable':>22}{'policy':>10}"
    widths = (18, 10, 22, 10)
    rows = [
        f"  {name:32}" + "".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        for name, cells in lines
    ]
    return "\n".join([head, names, *rows])
