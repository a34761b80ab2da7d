"""A folder with the paper's data sets, made from the files that their authors have published."""

from __future__ import annotations

import hashlib
import os
import pickle
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from metricfit.datasets.files import check, load
from metricfit.datasets.sources import NOT_BUILT, RECIPES, Source
from metricfit.exceptions import DatasetError
from metricfit.messages import unknown

# Seconds that a server may take to answer.
PATIENCE = 60


def build(
    folder: str | os.PathLike[str],
    names: Sequence[str] | None = None,
    originals: str | os.PathLike[str] | None = None,
) -> Iterator[str]:
    """Make the files that `load` reads, from the repositories in which their sources are public.

    Every source is checked by its SHA-256 before it is read, and every array before it is written. Files that are there
    and whole are kept.

    Parameters
    ----------
    folder : path
        Where the files go; it is made if there is none.
    names : sequence of str, optional
        The data sets; by default all of the paper that can be made.
    originals : path, optional
        A folder with copies of the sources, which are looked for there before they are fetched.

    Yields
    ------
    str
        A line about each data set: that it is there, or why it cannot be made.

    Raises
    ------
    DatasetError
        When a name is unknown, the folder cannot be written, or a source cannot be fetched or is not the known one.

    Examples
    --------
    >>> from metricfit.datasets import build
    >>> list(build("data", ["abalon"]))
    Traceback (most recent call last):
    ...
    metricfit.exceptions.DatasetError: unknown data set 'abalon'; did you mean 'abalone'? Known: ...
    """
    known = [*RECIPES, *NOT_BUILT]
    for name in names or ():
        if name not in known:
            raise DatasetError(f"{unknown('data set', name, known)}.")
    place = Path(folder)
    with _writing(place):
        place.mkdir(parents=True, exist_ok=True)
    for name in names or RECIPES:
        if name in NOT_BUILT:
            yield f"{name}: cannot be made from public files, because {NOT_BUILT[name]}"
        elif _is_whole(name, place):
            yield f"{name}: is there"
        else:
            _make(name, place, None if originals is None else Path(originals))
            yield f"{name}: made from {', '.join(source.file for source in RECIPES[name].sources)}"


def _is_whole(name: str, place: Path) -> bool:
    try:
        load(name, place)
    except DatasetError:
        return False
    return True


def _make(name: str, place: Path, originals: Path | None) -> None:
    contents = [checked(source, content(source, originals)) for source in RECIPES[name].sources]
    try:
        arrays = RECIPES[name].convert(contents)
    except (pickle.UnpicklingError, KeyError, ValueError) as error:
        raise DatasetError(f"the source of {name} cannot be read ({error}).") from error
    check(name, arrays, f"What was made of the source of {name}", "Please report this.")
    path, part = place / f"{name}.npz", place / f".{name}.part.npz"
    with _writing(place):
        try:
            np.savez_compressed(part, allow_pickle=False, **arrays)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def content(source: Source, originals: Path | None) -> bytes:
    """Return the bytes of a source, from the folder of originals or from where it is published."""
    if originals is not None and (path := originals / source.file).is_file():
        return path.read_bytes()
    try:
        with urllib.request.urlopen(source.url, timeout=PATIENCE) as answer:
            return bytes(answer.read())
    except OSError as error:
        raise DatasetError(
            f"{source.url} cannot be fetched ({error}). Get the file in another way, put it into a folder, and give "
            "that: metricfit datasets build FOLDER --originals THAT_FOLDER"
        ) from error


def checked(source: Source, found: bytes) -> bytes:
    """Return the bytes of a source if they are the known ones."""
    actual = hashlib.sha256(found).hexdigest()
    if actual != source.sha256:
        raise DatasetError(
            f"{source.file} is not the file that is known: its SHA-256 is {actual}, it should be {source.sha256}. "
            f"Get it from {source.url}"
        )
    return found


@contextmanager
def _writing(place: Path) -> Iterator[None]:
    """Turn an error of the system into one that names the folder."""
    try:
        yield
    except OSError as error:
        raise DatasetError(
            f"folder={os.fspath(place)!r} cannot be written ({error.strerror}). Give a folder that you own."
        ) from error
