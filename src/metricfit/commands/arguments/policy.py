"""The policy file of a command. Nothing here imports metrics or solvers, so commands without them start quickly."""

from __future__ import annotations

from argparse import ArgumentParser

from metricfit.commands.errors import DataError, blamed_on
from metricfit.exceptions import PolicyFileError
from metricfit.policy import Policy


def add_policy(parser: ArgumentParser) -> None:
    """Declare the policy file."""
    parser.add_argument("policy", metavar="POLICY", help="policy file that 'metricfit fit' wrote")


def load_policy(path: str) -> Policy:
    """Read a policy file; one that is missing or damaged is bad data."""
    with blamed_on(DataError, f"POLICY {path}: "):
        try:
            return Policy.load(path)
        except PolicyFileError as error:
            told = "POLICY is a file that 'metricfit fit' wrote, and comes before SCORES"
            raise DataError(f"{error}. {told}") from error
