"""What a terminal shows: the same words and numbers, in tables of rich."""

import io

import pytest
from rich.console import Console

from metricfit.commands.terminal import printing as terminal
from metricfit.commands.terminal import summary
from metricfit.methods.walk.history import Record
from metricfit.methods.walk.progress import Progress


def shown(*blocks, colour=False, width=100):
    file = io.StringIO()
    system = "standard" if colour else None
    console = Console(file=file, force_terminal=colour, width=width, highlight=False, color_system=system)
    terminal.render(console, blocks)
    return file.getvalue()


def test_tables_have_the_same_cells_on_a_terminal():
    rows = [["constraint", "limit", "price"], ["[bold]precision('a')", ">= 0.9", "0.371"], ["b", "<= 1", "0"]]
    text = summary.table(rows)
    assert [line.split() for line in shown(text).splitlines()] == [line.split() for line in text.splitlines()]
    assert shown("maximize [red]x", text).startswith("maximize [red]x\n\n")


def test_terminals_get_colours_and_files_do_not():
    line = "  status  optimal: the gap between value and bound is at most the tolerance"
    assert "\x1b[" in shown(line, colour=True)
    assert shown(line) == line + "\n"


def test_files_get_plain_text(capsys):
    text = summary.table([["class", "recall"], ["a", "0.5"]])
    terminal.show("head", "", text)
    assert capsys.readouterr().out == f"head\n\n{text}\n"


RECORD = Record(7, 0.25, 0.5, 0.625, -0.001)
LINE = "calls     7      0.25 s  value 0.500000  bound 0.625000  violation -1.00e-03"


@pytest.mark.parametrize(("verbose", "lines"), [(0, []), (1, [LINE] * 2), (2, [LINE] * 2)])
def test_progress_elsewhere_is_a_line_per_iteration(capsys, verbose, lines):
    progress = Progress(verbose)
    for _ in range(2):
        progress(RECORD)
    progress.close()
    assert capsys.readouterr().err.splitlines() == lines


def test_progress_on_a_terminal_is_one_line(capsys, monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    progress = Progress(1)
    assert progress.live is not None
    for _ in range(2):
        progress(RECORD)
    progress.close()
    printed = capsys.readouterr().err
    assert "value 0.500000  bound 0.625000" in printed
    assert printed.endswith("\n\x1b[?25h")  # the line is left, and the cursor is there again
