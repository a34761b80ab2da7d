"""`metricfit adapt`: solve a policy's problem again for the class shares of new rows, which need no labels."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from metricfit.commands.arguments.outputs import add_force, add_json, check_output
from metricfit.commands.arguments.parser import Parser
from metricfit.commands.arguments.policy import add_policy, load_policy
from metricfit.commands.arguments.problem import Infeasible, infeasible
from metricfit.commands.arguments.rows import add_labelled, add_scores, reading, score_table
from metricfit.commands.arguments.shares import shares_in, told_of_shares
from metricfit.commands.errors import DONE, DataError, UsageError, blamed_on
from metricfit.commands.terminal import as_json
from metricfit.commands.terminal.interrupt import kept
from metricfit.commands.terminal.printing import show
from metricfit.exceptions import InfeasibleError
from metricfit.options import Options
from metricfit.oracles.choice import oracle_for
from metricfit.policy.provenance import asked
from metricfit.problem import Problem
from metricfit.solving.adapt import checked_shares, solved_for


def arguments(parser: Parser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "example:\n  metricfit adapt policy.json tuning.parquet --label y --to new.parquet --out adapted.json\n"
        "SCORES is the table that the policy was fitted on."
    )
    parser.needless = {"--attribute": "the policy file names the attributes that its rules use"}
    add_policy(parser)
    add_scores(parser)
    add_labelled(parser)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "--to", metavar="NEW", help="table of new rows, without labels, whose class shares are estimated"
    )
    where.add_argument(
        "--shares", metavar="C=S", nargs="+", help="the share of each class, such as fraud=0.1 legit=0.9"
    )
    parser.add_argument("--out", metavar="FILE", required=True, help="policy file to write")
    add_force(parser)
    add_json(parser)


def run(options: Namespace) -> int:
    """Write the policy for the new shares, and print these and what to expect."""
    given = [options.scores, options.policy, *([options.to] if options.to else [])]
    check_output(options.out, *given, force=options.force)
    policy = load_policy(options.policy)
    objective, constraints = asked(policy.provenance)
    if objective is None:
        raise UsageError(
            f"POLICY {options.policy}: it does not say what it was fitted for; use 'metricfit fit'"
        )
    shares, told = _shares(policy, options)
    tuning = score_table(options, label=options.label, weight=options.weight, policy=policy)
    counting: Any = "auto" if "choice" in policy.provenance else policy.provenance.get("counting", "auto")
    with reading(options.scores):
        oracle = oracle_for(tuning, None, decisions=policy.axes.decisions, counting=counting)
    problem = Problem.of(objective, constraints)
    try:
        with kept(), blamed_on(DataError, f"{options.scores}: "):
            result = solved_for(problem, oracle, counting, Options(), shares)
    except InfeasibleError as error:
        raise infeasible(error, problem) from error
    with blamed_on(DataError, f"--out {options.out}: "), kept():
        result.policy.save(options.out)
    if options.json:
        as_json.show({"out": options.out, "shares": told, **as_json.of_result(result)})
    else:
        show(told_of_shares(told), str(result), f"written to {options.out}")
    if not result.feasible:
        raise Infeasible("the policy does not keep all limits. Relax them, or fit again with new labels")
    return DONE


def _shares(policy: Any, options: Namespace) -> tuple[Any, dict[str, Any]]:
    """Return the new class shares in order, and what is known of them."""
    classes = policy.axes.classes
    if options.to is None:
        names, found = {str(c): c for c in classes}, {}
        for told in options.shares:
            name, _, number = told.rpartition("=")
            try:
                found[names.get(name, name)] = float(number)
            except ValueError as error:
                raise UsageError(
                    f"--shares {told}: write a class, = and its share, such as fraud=0.1"
                ) from error
        with blamed_on(UsageError, "--shares: "):
            shares = checked_shares(found, classes)
        rows = [{"class": c, "share": share} for c, share in zip(classes, shares.tolist(), strict=True)]
        return shares, {"classes": rows}
    table = score_table(Namespace(**{**vars(options), "scores": options.to}), policy=policy)
    with reading(options.to), blamed_on(DataError):
        frame = shares_in(policy, table)
    rows = frame.reset_index().to_dict("records")
    return frame["share"].to_numpy(), {"classes": rows, "p_value": frame.attrs["p_value"]}
