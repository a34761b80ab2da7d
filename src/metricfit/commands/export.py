"""`metricfit export`: a policy's deterministic rule for programs that do not run this package."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from metricfit.commands.arguments.outputs import add_force, check_output
from metricfit.commands.arguments.policy import add_policy, load_policy
from metricfit.commands.errors import DONE, DataError, UsageError, blamed_on, blamed_on_text
from metricfit.commands.terminal.interrupt import kept
from metricfit.messages import count
from metricfit.policy import Policy
from metricfit.policy import file as policy_file
from metricfit.policy.export.dialects import DIALECTS

#: Options that only SQL has, with their defaults.
OF_SQL: dict[str, Any] = {"dialect": "duckdb", "table": "scores", "proba_prefix": "p_", "keep": []}


def arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "example:\n"
        "  metricfit export policy.json --to sql --dialect duckdb --table scores --keep id --out rule.sql"
    )
    add_policy(parser)
    parser.add_argument("--to", choices=("sql", "onnx", "python"), required=True, help="what to write")
    parser.add_argument(
        "--dialect",
        choices=tuple(DIALECTS),
        default=OF_SQL["dialect"],
        help="SQL dialect (default: %(default)s)",
    )
    parser.add_argument(
        "--table",
        metavar="NAME",
        default="scores",
        help="table of the query, such as scores or schema.scores",
    )
    parser.add_argument(
        "--proba-prefix",
        metavar="P",
        default="p_",
        help="the probability of class c is in the column Pc (default: p_)",
    )
    parser.add_argument(
        "--keep", metavar="COL", nargs="+", action="extend", default=[], help="columns to copy to the result"
    )
    parser.add_argument("--out", metavar="FILE", help="file to write; without it, SQL and Python are printed")
    add_force(parser)


def run(options: Namespace) -> int:
    """Write the rule to a file, or print it."""
    if options.out is None and options.to == "onnx":
        raise UsageError("--to onnx writes a binary file; name it with --out")
    if options.out is not None:
        check_output(options.out, options.policy, force=options.force)
    for name, default in OF_SQL.items():
        if options.to != "sql" and getattr(options, name) != default:
            raise UsageError(f"--{name.replace('_', '-')} belongs to --to sql")
    policy = load_policy(options.policy)
    with blamed_on_text(f"--to {options.to}"):
        made = _exported(policy, options)
    if options.out is None:
        print(made.decode(), end="")
        return DONE
    with blamed_on(DataError, f"--out {options.out}: "), kept():
        policy_file.write(options.out, made)
    mixed = sum(len(mixture) > 1 for mixture in policy.rules)
    print(f"the rule of {options.policy} for randomize=never, written to {options.out}")
    if mixed:
        print(
            f"  {mixed} of {count(len(policy.rules), 'cell')} {'mixes' if mixed == 1 else 'mix'} rules; the export has "
            f"a single rule for {'it' if mixed == 1 else 'each of them'}"
        )
    for line in policy.deterministic.about:
        print(f"  {line}")
    return DONE


def _exported(policy: Policy, options: Namespace) -> bytes:
    if options.to == "python":
        return policy.to_python().encode()
    if options.to == "onnx":
        return bytes(policy.to_onnx().SerializeToString())
    query = policy.to_sql(
        options.dialect,
        table=options.table.split("."),
        proba_prefix=options.proba_prefix,
        keep=options.keep,
    )
    return query.encode()
