"""`metricfit completion`: a script that teaches a shell the commands, options and files of the command line."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from metricfit.commands import COMMANDS
from metricfit.commands.arguments.parser import build_parser
from metricfit.commands.errors import DONE, UsageError

SHELLS = ("bash", "zsh", "fish", "tcsh")


def arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "examples, for bash and for fish:\n"
        "  metricfit completion bash > ~/.local/share/bash-completion/completions/metricfit\n"
        "  metricfit completion fish > ~/.config/fish/completions/metricfit.fish"
    )
    parser.add_argument("shell", choices=SHELLS, help="your shell")


def run(options: Namespace) -> int:
    """Print the script for a shell."""
    try:
        import shtab
    except ImportError:
        raise UsageError("completion needs the package shtab: pip install shtab") from None
    if options.shell not in shtab.SUPPORTED_SHELLS:
        raise UsageError(f"the installed shtab does not know {options.shell}: pip install --upgrade shtab")
    whole, _ = build_parser(COMMANDS)
    print(shtab.complete(whole, shell=options.shell))
    return DONE
