"""Libraries of extras in tests: where one is not installed, the tests that touch it are skipped, and no others."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterable
from typing import Any

import pytest


def optional(name: str) -> Any:
    """Import a module; what stands in its place where it is missing skips the test that touches it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        return Absent(error.name)


class Absent:
    """A library that is not installed, or anything made with it while tests are collected."""

    def __init__(self, library: str) -> None:
        self._library = library

    def _touched(self) -> Absent:
        if "PYTEST_CURRENT_TEST" in os.environ:
            pytest.skip(f"{self._library} is not installed")
        return self

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._touched()

    def __call__(self, *args: object, **options: object) -> Absent:
        return self._touched()

    def __iter__(self) -> Any:
        self._touched()
        return iter(())

    def __len__(self) -> int:
        self._touched()
        return 0

    def __array__(self, *args: object, **options: object) -> Any:
        self._touched()
        raise TypeError(f"{self._library} is not installed")


def absent(libraries: Iterable[str]) -> list[str]:
    """Return those of some libraries that are not installed."""
    return [library for library in libraries if importlib.util.find_spec(library) is None]


def needs(library: str) -> pytest.MarkDecorator:
    """Mark tests of what the package does with a library that may be missing."""
    return pytest.mark.skipif(bool(absent([library])), reason=f"{library} is not installed")
