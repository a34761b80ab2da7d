"""Finished cells: one CSV row each, written at once, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Task:
    """One cell of one experiment: its key and how to compute its values (one row, or several)."""

    key: tuple[object, ...]
    compute: Callable[[], dict[str, object] | list[dict[str, object]]]


class Table:
    """The rows of one experiment in a CSV file; the first columns are the key."""

    def __init__(self, path: Path, keys: tuple[str, ...], values: tuple[str, ...]) -> None:
        self.path, self.keys, self.columns = path, keys, keys + values
        self.rows: list[dict[str, str]] = []
        self.forgotten: dict[tuple[str, ...], dict[str, str]] = {}
        if path.exists():
            with path.open(newline="") as file:
                # A row cut off by an interruption lacks its last column.
                self.rows = [row for row in csv.DictReader(file) if row.get(self.columns[-1]) is not None]

    def done(self) -> set[tuple[str, ...]]:
        return {tuple(row[key] for key in self.keys) for row in self.rows}

    def add(self, key: tuple[object, ...], values: list[dict[str, object]]) -> None:
        new = [dict(zip(self.keys, map(str, key), strict=True)) for _ in values]
        for row, value in zip(new, values, strict=True):
            row.update({name: _text(value.get(name, "")) for name in self.columns[len(self.keys) :]})
        self.rows += new
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = not self.path.exists()
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, self.columns, lineterminator="\n")
            if fresh:
                writer.writeheader()
            writer.writerows(new)

    def forget(self, word: str) -> None:
        """Drop all cells with this word in their key, or with "all" every cell, to compute them again."""
        again = [word == "all" or word in [row[key] for key in self.keys] for row in self.rows]
        kept = [row for row, dropped in zip(self.rows, again, strict=True) if not dropped]
        self.forgotten |= {
            tuple(row[key] for key in self.keys): row
            for row, dropped in zip(self.rows, again, strict=True)
            if dropped
        }
        if len(kept) < len(self.rows):
            part = self.path.with_suffix(".part")
            with part.open("w", newline="") as file:
                writer = csv.DictWriter(file, self.columns, lineterminator="\n")
                writer.writeheader()
                writer.writerows(kept)
            part.replace(self.path)
            self.rows = kept

    def run(self, tasks: Iterable[Task]) -> None:
        """Compute what is missing, with a line of progress for each cell."""
        tasks, done = list(tasks), self.done()
        name = self.path.stem
        left = [task for task in tasks if tuple(map(str, task.key)) not in done]
        hint = "" if left else f"; --only {name} --again all computes them again"
        print(f"{name}: {len(tasks) - len(left)} of {len(tasks)} cells are there{hint}", flush=True)
        started = time.perf_counter()
        for count, task in enumerate(left, 1):
            before = time.perf_counter()
            values = task.compute()
            values = values if isinstance(values, list) else [values]
            now = time.perf_counter()
            self.add(task.key, values)
            for line in self.differences(task.key):
                print(f"{name} {' '.join(map(str, task.key))}: {line}", flush=True)
            rest = (now - started) / count * (len(left) - count)
            bar = "#" * round(20 * count / len(left))
            label = " ".join(map(str, task.key))
            shown = ", ".join(f"{k} {_text(v)}" for k, v in list(values[-1].items())[:4])
            print(
                f"[{bar:<20}] {count}/{len(left)} {name} {label}: {shown} "
                f"({now - before:.1f} s, {rest:.0f} s left)",
                flush=True,
            )

    def differences(self, key: tuple[object, ...]) -> list[str]:
        """Say in what the newest cell of a key differs from the one that was forgotten; times always differ."""
        before = self.forgotten.get(tuple(map(str, key)))
        if before is None:
            return []
        after = self.rows[-1]
        columns = [c for c in self.columns if c not in (*self.keys, "time")]
        return [f"{c} was {before[c]}, is {after[c]}" for c in columns if not _same(before[c], after[c])]


def _same(before: str, after: str) -> bool:
    try:
        return abs(float(before) - float(after)) <= 1e-6 or before == after
    except ValueError:
        return before == after


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
