"""The table of scores of a command: which file, which columns, which decisions."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from metricfit.commands.arguments.outputs import table_format
from metricfit.commands.errors import DataError, UsageError
from metricfit.oracles.files.scores import ScoreFiles
from metricfit.policy import Policy

# Advice in errors about arrays, and the same advice in terms of the command line.
SAID_HERE = {
    "divide by the sums: normalize=True": "add --normalize to divide by the sums",
    "fit with unseen='overall'": "fit with --unseen overall",
    "with missing='cell'": "with 'metricfit fit --missing cell'",
    "sensitive_features column": "attribute column",
    "sensitive_features has": "an attribute has",
}


def add_scores(parser: ArgumentParser) -> None:
    """Declare the table and its probabilities."""
    parser.add_argument(
        "scores",
        metavar="SCORES",
        help="table of scores: .csv, .parquet or .arrow, or a folder of such files; SCORES comes before the options",
    )
    parser.add_argument(
        "--proba-prefix",
        metavar="P",
        default="p_",
        help="prefix P: the probability of class c is in the column Pc (default: p_)",
    )
    parser.add_argument(
        "--normalize", action="store_true", help="divide each row's probabilities by their sum"
    )


def add_labelled(parser: ArgumentParser) -> None:
    """Declare the columns of labelled rows."""
    parser.add_argument("--label", metavar="COL", required=True, help="column of the true classes")
    parser.add_argument("--weight", metavar="COL", help="column of the weights of the rows")


def add_attributes(parser: ArgumentParser, told: str) -> None:
    """Declare columns of attributes, with a help text that says what they are for."""
    parser.add_argument("--attribute", metavar="COL", nargs="+", action="extend", default=[], help=told)


def add_rows(parser: ArgumentParser) -> None:
    """Declare the rows that a problem is solved on, and the decisions."""
    add_scores(parser)
    add_labelled(parser)
    add_attributes(parser, "column of an attribute of the rows, such as region; may be given several times")
    parser.add_argument(
        "--decision",
        metavar="D",
        nargs="+",
        action="extend",
        default=[],
        help="all decisions (default: the classes); they may include some that are not classes, such as review",
    )


def score_table(
    options: Namespace,
    *,
    label: str | None = None,
    attributes: Sequence[str] = (),
    by: Sequence[str] = (),
    weight: str | None = None,
    policy: Policy | None = None,
    copied: Sequence[tuple[str, str]] = (),
) -> ScoreFiles:
    """Return the table of scores that the options name.

    Parameters
    ----------
    options : Namespace
        With ``scores``, ``proba_prefix`` and ``normalize``.
    label, weight : str, optional
        Columns of labels and of weights.
    attributes, by : sequence of str
        Columns of attributes: of ``--attribute``, and of ``--by``.
    policy : Policy, optional
        The policy that the rows are for: its classes and attributes must be in the table. Without it, the column names
        define the classes.
    copied : sequence of (option, column)
        Other columns that will be read.
    """
    prefix = options.proba_prefix
    if not prefix:
        raise UsageError("--proba-prefix is empty; give the prefix of the names of the probability columns")
    if not os.path.isdir(options.scores):
        table_format(options.scores, "SCORES")
    fitted = () if policy is None else policy.axes.cells.names
    asked = {name: f"{option} {name}" for option, name in copied}
    asked |= {name: f"--by {name}" for name in by}
    asked |= {name: f"--attribute {name}" for name in attributes}
    asked |= {name: f"the policy needs the attribute {name!r}" for name in fitted}
    asked |= {
        name: f"{option} {name}"
        for option, name in (("--label", label), ("--weight", weight))
        if name is not None
    }
    asked[f"{prefix}*"] = f"--proba-prefix {prefix}"
    classes = None if policy is None else policy.axes.classes
    if classes is not None and len(set(map(str, classes))) < len(classes):
        raise DataError(
            "the policy has classes whose columns have one name, such as 1 and '1'; a table cannot tell them apart, so "
            "decide with Policy.decide in Python"
        )
    named = list(dict.fromkeys([*fitted, *attributes, *by]))
    with reading(options.scores):
        return ScoreFiles(options.scores, label, prefix, named, weight, classes, options.normalize, asked)


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Attribute errors about the content of a table to its file, in terms of command-line options."""
    try:
        yield
    except ValueError as error:
        text = str(error)
        for said, here in SAID_HERE.items():
            text = text.replace(said, here)
        raise DataError(text if text.startswith(f"{path}: ") else f"{path}: {text}") from error
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from error
