"""`metricfit completion`: a script that teaches a shell the commands, options and files of the command line."""

from __future__ import annotations

from argparse import Namespace

from metricfit.commands.errors import DONE, UsageError


def run(options: Namespace) -> int:
    """Print the script for a shell."""
    try:
        import shtab
    except ImportError:
        raise UsageError("completion needs the package shtab: pip install shtab") from None
    print(shtab.complete(options.parser, shell=options.shell))
    return DONE
