"""Printed reports: formatted by rich on a terminal, otherwise the same as plain text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Self


class TextTable(str):
    """A table as text that also keeps its rows.

    Examples
    --------
    >>> TextTable.of("a  1", [["a", "1"]]).rows
    [['a', '1']]
    """

    rows: Sequence[Sequence[str]]

    @classmethod
    def of(cls, text: str, rows: Sequence[Sequence[str]]) -> Self:
        """Return the text with its rows; the first row is the header."""
        made = cls(text)
        made.rows = rows
        return made


def show(*blocks: str) -> None:
    """Print the non-empty blocks of a report, separated by empty lines."""
    told = [block for block in blocks if block]
    if not sys.stdout.isatty() or find_spec("rich") is None:
        print("\n\n".join(told))
        return
    from rich.console import Console

    render(Console(highlight=False), told)


def render(console: Any, blocks: Sequence[str]) -> None:
    """Print blocks to a rich console; words such as proven and violated are highlighted, nothing else changes."""
    from rich.table import Table
    from rich.text import Text

    for place, block in enumerate(blocks):
        if place:
            console.print()
        if not isinstance(block, TextTable):
            text = Text(block)
            text.highlight_regex(r"\b(optimal|proven|met)\b", "green")
            text.highlight_regex(r"\b(estimated|unknown|max_calls|max_seconds|stopped|stalled)\b", "yellow")
            text.highlight_regex(r"(?m)^  (value|bound|status|policy)\b", "bold")
            console.print(text, soft_wrap=True)
            continue
        header, *rows = block.rows
        table = Table(box=None, pad_edge=True, padding=(0, 1), header_style="bold")
        for j, name in enumerate(header):
            table.add_column(Text(name), justify="right" if j else "left", overflow="fold", no_wrap=bool(j))
        for row in rows:
            table.add_row(*map(Text, row))
        console.print(table)
