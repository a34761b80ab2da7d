"""The state of a monitor as a small JSON file with a checksum, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metricfit.exceptions import MonitorFileError, PolicyFileError
from metricfit.messages import brief
from metricfit.policy import Policy
from metricfit.policy import file as policy_file
from metricfit.trust.monitoring.bets import Bets
from metricfit.types import FloatArray

FORMAT, VERSION = "metricfit.monitor", 1
KEYS = ("format", "version", "policy", "level", "batches", "bets", "alarms")
# A bet takes about 8 kB, a batch 80 bytes.
MAX_BYTES = 1 << 24
# Digits of the logarithm of a wealth, which is rounded down: a proof is a proof after saving, too.
DIGITS = 4


@dataclass(frozen=True, eq=False)
class Stored:
    """The entries of a state file."""

    level: float
    batches: dict[str, str]
    bets: list[Any]
    alarms: list[Any]


def fingerprint(policy: Policy) -> str:
    """Return a hash of what a policy is, whichever version of the package wrote its file."""
    document = {
        name: entry for name, entry in policy.to_dict().items() if name not in ("metricfit", "version")
    }
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def write(
    path: str | os.PathLike[str],
    policy: Policy,
    level: float,
    batches: Mapping[str, str],
    bets: Sequence[Bets],
    rows: Sequence[float],
    alarms: Iterable[Any],
) -> None:
    """Write the state of a monitor."""
    scale = 10.0**DIGITS
    told = [
        {
            "batches": one.batches,
            "rows": number,
            "logs": (np.floor(one.logs * scale) / scale).tolist() if one.batches else None,
        }
        for one, number in zip(bets, rows, strict=True)
    ]
    document = {
        "format": FORMAT,
        "version": VERSION,
        "policy": fingerprint(policy),
        "level": level,
        "batches": dict(batches),
        "bets": told,
        "alarms": [[one.name, one.kind, one.batch, one.told] for one in alarms],
    }
    policy_file.write(path, policy_file.encode(document))


def read(path: str | os.PathLike[str], policy: Policy) -> Stored:
    """Return the state in a file, if it is that of a monitor of this policy."""
    where = f"cannot load a monitor from {os.fspath(path)!r}: "
    try:
        document = policy_file.verified(policy_file.read(path, MAX_BYTES), _check)
    except PolicyFileError as error:
        raise MonitorFileError(f"{where}{error}") from error
    if document["policy"] != fingerprint(policy):
        raise MonitorFileError(
            f"{where}it belongs to another policy; give each policy a state file of its own"
        )
    stored = Stored(*(document[name] for name in KEYS[3:]))
    texts = isinstance(stored.batches, dict) and all(isinstance(one, str) for one in stored.batches.values())
    listed = isinstance(stored.bets, list) and isinstance(stored.alarms, list)
    known = listed and all(isinstance(one, list) and len(one) == 4 for one in stored.alarms)
    if not (texts and known and isinstance(stored.level, float) and 0 < stored.level < 1):
        raise MonitorFileError(f"{where}its entries are not those of a monitor; begin a new one")
    return stored


def bets_of(path: Any, stored: Stored, values: Sequence[FloatArray]) -> tuple[list[Bets], list[float]]:
    """Return the bets of a state, and how many rows each has counted."""
    bets, rows = [], []
    try:
        for entry, tested in zip(stored.bets, values, strict=True):
            new = Bets.on(tested)
            logs = new.logs if entry["logs"] is None else np.array(entry["logs"], dtype=float)
            if logs.shape != new.logs.shape:
                raise ValueError("bets of other values")
            bets.append(Bets(tested, logs, int(entry["batches"])))
            rows.append(float(entry["rows"]))
    except (KeyError, TypeError, ValueError) as error:
        raise MonitorFileError(
            f"cannot load a monitor from {os.fspath(path)!r}: its bets are not those of this policy ({error}); begin a "
            "new one"
        ) from error
    return bets, rows


def _check(document: Mapping[str, Any]) -> None:
    if document.get("format") != FORMAT:
        raise PolicyFileError(f'it is no state of a monitor: "format" is {brief(document.get("format"))}')
    if document.get("version") != VERSION or set(document) - {"checksum"} != set(KEYS):
        raise PolicyFileError("it was written by another version of metricfit; begin a new one")
