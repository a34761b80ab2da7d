"""Where a command writes: files, overwritten only with ``--force``, and JSON instead of text."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from importlib.util import find_spec
from pathlib import Path

from metricfit.commands.errors import UsageError, blamed_on
from metricfit.messages import brief
from metricfit.tables.formats import Format, format_of


def add_json(parser: ArgumentParser) -> None:
    """Declare ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON for scripts instead of text")


def add_force(parser: ArgumentParser) -> None:
    """Declare ``--force``."""
    parser.add_argument("--force", action="store_true", help="replace existing files")


def add_table(parser: ArgumentParser) -> None:
    """Declare ``--out`` of a command that writes a table, and ``--escape-formulas``."""
    parser.add_argument(
        "--out", metavar="TABLE", required=True, help="table to write: .csv, .parquet or .arrow"
    )
    parser.add_argument(
        "--escape-formulas",
        action="store_true",
        help="in a .csv table, write an apostrophe before texts that a spreadsheet would run as a formula",
    )


def check_escape(escape: bool, path: str) -> None:
    """Refuse an escape that nothing needs: only spreadsheets that open a CSV file run texts."""
    if escape and table_format(path, "--out") != "csv":
        raise UsageError("--escape-formulas is for --out tables that end in .csv; leave it out")


def table_format(path: str, option: str) -> Format:
    """Return the format of a table to read or write; an unknown one is a usage error."""
    with blamed_on(UsageError, f"{option} "):
        return format_of(path)


def check_output(path: str, *inputs: str, force: bool = False, option: str = "--out") -> None:
    """Refuse an output that cannot be written or already exists, before any work is done."""
    try:
        target = Path(os.path.realpath(path))
        os.stat(target)
    except FileNotFoundError:
        pass
    except (
        OSError
    ) as error:  # a name that is too long, a file used as a folder, a folder without read permission
        raise UsageError(f"{option} {brief(path)}: {error.strerror}; give another name") from error
    if not target.parent.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {str(target.parent)!r}; create it first")
    # Writing ends with a rename, which would replace a device such as /dev/null by a regular file.
    if target.exists() and not target.is_file():
        raise UsageError(f"{option} {path}: it exists and is not a regular file; give the name of a file")
    if not os.access(target.parent, os.W_OK):
        raise UsageError(f"{option} {path}: the folder {str(target.parent)!r} cannot be written to")
    for name in inputs:
        if target.exists() and Path(name).exists() and os.path.samefile(target, name):
            raise UsageError(f"{option} {path}: this is the input {name}; give another name")
    if target.exists() and not force:
        raise UsageError(f"{option} {path}: it exists; give another name, or --force to replace it")


def check_pictures(option: str) -> None:
    """Refuse to begin work that ends in pictures if matplotlib or Jinja2 is missing."""
    if find_spec("matplotlib") is None or find_spec("jinja2") is None:
        raise UsageError(f'{option} needs matplotlib and Jinja2: pip install ".[plot]" in a clone')
