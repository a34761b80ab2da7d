"""The provenance of a policy: what was asked for, achieved and expected, on how many rows, by which version.

The keys are all optional; values are strings, numbers or lists of these:

- ``objective``, ``direction`` ("maximize" or "minimize"), ``constraints``: as text that `metricfit.parse` reads;
- ``counting``, ``calibration``, ``confidence``, ``method``, ``status``, ``rows``, ``classes``, ``metricfit`` (the
  version);
- ``left_out``: the rates of groups that constraints do not bind, because they rest on few rows: as JSON
  texts ``[constraint, rate, rows, {attribute: value}]``;
- ``reached``: the objective, then the metric of each constraint, on the rows that decisions were tuned on;
- ``expected``, ``expected_low``, ``expected_high``: the same on new rows, with the ends of their 95 % intervals;
- ``alone``: the same of the deterministic rule of ``randomize="never"``, on the rows that decisions were tuned on;
- ``shortened``: the keys of which a part is missing, because a policy file has room for 65,536 characters of these.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

from metricfit.exceptions import NotJudgedWarning
from metricfit.messages import brief, some, warn
from metricfit.metrics import Constraint, Metric, parse
from metricfit.metrics.few_rows import ThinRate, without
from metricfit.policy.document import fits

# What is left of a text that is too long, in characters.
BEGINNING = 1000
# Lists of the values of the objective and of each constraint.
VALUES = ("reached", "expected", "expected_low", "expected_high", "alone")


def plain(value: Any) -> Any:
    """Return a value that JSON supports: lists, strings, numbers; NaN and infinity become None.

    Examples
    --------
    >>> plain((0.5, float("nan")))
    [0.5, None]
    """
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    raise ValueError(f"provenance holds texts, numbers and lists of them; got {value!r}")


def shortened(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return provenance that a policy file has room for; ``shortened`` names the keys of which a part is missing.

    Classes go first, because the policy has them anyway, then the ends of long texts, then the last constraints with
    their values and the rates that they leave out.

    Examples
    --------
    >>> found = shortened({"objective": "g_mean()", "classes": ["a" * 1000] * 100})
    >>> found
    {'objective': 'g_mean()', 'shortened': ['classes']}
    """
    made = dict(provenance)
    lost: list[str] = list(made.pop("shortened", ()))

    def told() -> dict[str, Any]:
        return {**made, **({"shortened": list(dict.fromkeys(lost))} if lost else {})}

    if "constraints" in lost:  # in an earlier step, so that lists of values that came later are too long
        _drop_values(made)
    if not fits(told()) and made.pop("classes", None):
        lost.append("classes")
    if not fits(told()):
        long = {name for name, value in made.items() if name != "left_out" and value != _beginning(value)}
        lost += [name for name in made if name in long]
        made |= {name: _beginning(made[name]) for name in long}
    while not fits(told()) and made.get("constraints"):
        made["constraints"] = made["constraints"][: len(made["constraints"]) // 2]
        _drop_values(made)
        lost.append("constraints")
    return told()


def _beginning(value: Any) -> Any:
    """Return a text, or the texts of a list, without the ends of long ones."""
    if isinstance(value, list):
        return [_beginning(entry) for entry in value]
    if not isinstance(value, str) or len(value) <= BEGINNING:
        return value
    return f"{value[:BEGINNING]}... ({len(value):,} characters)"


def _drop_values(made: dict[str, Any]) -> None:
    """Drop the values of constraints that are dropped, and the rates that these leave out."""
    kept = 1 + len(made["constraints"])
    made |= {name: made[name][:kept] for name in VALUES if isinstance(made.get(name), list)}
    if made.get("left_out"):
        known = set(made["constraints"])
        made["left_out"] = [text for text in made["left_out"] if _beginning(json.loads(text)[0]) in known]


def asked(provenance: Mapping[str, Any]) -> tuple[Metric | None, list[Constraint]]:
    """Return the objective and the constraints that a policy was fitted for.

    Warns
    -----
    NotJudgedWarning
        If some of them are no text that `metricfit.parse` reads, or were too long for the policy file; they are left
        out.

    Examples
    --------
    >>> asked({"objective": "g_mean()", "constraints": ["recall(1) >= 0.5"]})
    (<Metric g_mean() (concave, smooth, higher is better)>, [<Constraint ...>])
    """
    given = provenance.get("objective")
    objective = _read(given)
    listed = provenance.get("constraints")
    found = {str(text): _read(text) for text in listed} if isinstance(listed, list) else {}
    thin = _left_out(provenance.get("left_out"))
    missing = provenance.get("shortened")
    long = [name for name in ("objective", "constraints") if isinstance(missing, list) and name in missing]
    lost = [text for text, read in found.items() if not isinstance(read, Constraint)]
    goal = str(given) if given is not None and not isinstance(objective, Metric) else None
    if long:
        warn(
            f"the {' and the '.join(long)} that the policy was fitted for had too long a text for its file, so "
            f"{'it is' if long == ['objective'] else 'some are'} not evaluated; pass metrics=[...]",
            NotJudgedWarning,
        )
    lost, goal = [] if "constraints" in long else lost, None if "objective" in long else goal
    if lost or goal is not None:
        warn(_not_stored(goal, lost), NotJudgedWarning)
    return (
        objective if isinstance(objective, Metric) else None,
        [without(read, thin) for read in found.values() if isinstance(read, Constraint)],
    )


def left_out(thin: Iterable[ThinRate]) -> list[str]:
    """Return rates that constraints leave out as JSON texts."""
    return [
        json.dumps(
            [one.constraint, one.rate, one.rows, {name: plain(value) for name, value in one.group.items()}]
        )
        for one in thin
    ]


def _left_out(listed: Any) -> list[ThinRate]:
    """Read them again; anything else that a file may contain is left out."""
    found = []
    for text in listed if isinstance(listed, list) else []:
        try:
            constraint, rate, rows, group = json.loads(text)
            found.append(ThinRate(str(constraint), str(rate), dict(group), int(rows)))
        except (TypeError, ValueError):
            continue
    return found


def _not_stored(objective: str | None, constraints: list[str]) -> str:
    """Return the message about functions of the user's own, which a policy names but does not contain."""
    parts = [] if objective is None else [f"the objective {brief(objective)}"]
    if constraints:
        parts.append(f"the constraint{'s' if len(constraints) > 1 else ''} {some(constraints)}")
    if not constraints:
        why = "is a function and is not stored in the policy, so it is not evaluated"
    elif len(constraints) == 1 and objective is None:
        why = "uses a function that is not stored in the policy, so it is not evaluated"
    else:
        why = "use functions that are not stored in the policy, so they are not evaluated"
    return f"{' and '.join(parts)} {why}; pass metrics=[mf.custom(function), ...]"


def _read(text: object) -> Metric | Constraint | None:
    if not isinstance(text, str):
        return None
    try:
        return parse(text)
    except ValueError:
        return None  # a function of the user's, which has a name and no text
