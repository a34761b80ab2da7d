"""`metricfit datasets build`: a folder with the paper's data sets."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from metricfit.commands.errors import DONE, DataError, blamed_on


def arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", metavar="build", choices=["build"], help="what to do: build")
    parser.add_argument("folder", metavar="FOLDER", help="where the files go; METRICFIT_DATA should name it")
    parser.add_argument("--only", metavar="NAME", nargs="+", help="only these data sets")
    parser.add_argument(
        "--originals",
        metavar="FOLDER",
        help="a folder with copies of the sources, which need not be fetched then",
    )


def run(options: Namespace) -> int:
    """Make the files, with a line for each."""
    from metricfit.datasets import build

    with blamed_on(DataError):
        for line in build(options.folder, options.only, options.originals):
            print(line, flush=True)
    return DONE
