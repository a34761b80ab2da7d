"""`metricfit completion`: a script that teaches a shell the commands, options and files of the command line."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from metricfit.commands import COMMANDS
from metricfit.commands.arguments.parser import build_parser
from metricfit.commands.errors import DONE, UsageError


def arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "example, for bash:\n"
        "  metricfit completion bash > ~/.local/share/bash-completion/completions/metricfit"
    )
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="your shell")


def run(options: Namespace) -> int:
    """Print the script for a shell."""
    try:
        import shtab
    except ImportError:
        raise UsageError("completion needs the package shtab: pip install shtab") from None
    whole, _ = build_parser(COMMANDS)
    print(shtab.complete(whole, shell=options.shell))
    return DONE
