"""What a policy decides, in words: thresholds of two classes, weights and offsets of more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from metricfit.data.axes import Axes
from metricfit.data.layout import Layout
from metricfit.messages import count, cut
from metricfit.policy.mixture import diagonal_of
from metricfit.policy.thresholds import Threshold
from metricfit.types import FloatArray, Label

if TYPE_CHECKING:
    from metricfit.policy.policy import Policy

#: How many different rules, classes of one rule and groups of one rule are listed.
RULES, CLASSES, GROUPS = 6, 8, 6


def in_words(policy: Policy, randomize: str = "hash") -> list[str]:
    r"""Return lines that say what a policy decides, cells with the same rule together.

    Examples
    --------
    >>> from metricfit.data.cells import Cells
    >>> from metricfit.policy import Policy, Rule
    >>> cells = Cells(("sex",), (("F",), ("M",)))
    >>> rules = [[Rule(1, [[0, 1], [3, 0]])], [Rule(0.5, [[0, 1], [1, 0]]), Rule(0.5, [[0, 2], [1, 0]])]]
    >>> print("\n".join(in_words(Policy(Axes(("no", "yes"), cells=cells), "full", rules))))
    sex F: yes if its probability is at least 0.25
    sex M: yes if its probability is at least 0.5 for 50 % of the rows or 0.6667 for 50 % of the rows
    >>> print(*in_words(Policy(Axes(("a", "b", "c")), "diagonal", [[Rule(1, [[-1, -2.5, -4], [0, 0, 0.1]])]])))
    the largest of 1 p(a), 2.5 p(b), 4 p(c) - 0.1
    """
    axes, names = policy.axes, policy.axes.cells.names
    if axes.seen is not axes:
        return [f"by the probability of each pair of {' and '.join(names)} and class"]
    if axes.n == 2:
        told = [(cell, _cuts(list(cuts), axes)) for cell, cuts in groupby(policy.cuts(randomize), _cell)]
    else:
        cells = zip(axes.cells.values, policy.rules, policy.single, strict=True)
        told = []
        for cell, rules, alone in cells:
            used = [(rule.weight, rule.loss) for rule in rules if rule.weight]
            used = [(1.0, rules[alone].loss)] if randomize == "never" else used
            text = _mixed(used, policy.layout, axes)
            told.append((cell, text if policy.calibration is None else f"{text} (calibrated)"))
        if policy.overall is not None:
            told += [((), " ".join(in_words(policy.overall, randomize)))]
    grouped: dict[str, list[tuple[Label, ...]]] = {}
    for cell, text in told:
        grouped.setdefault(text, []).append(cell)
    if len(grouped) == 1:
        return list(grouped)
    lines = [f"{_groups(names, cells)}: {text}" for text, cells in list(grouped.items())[:RULES]]
    left = len(grouped) - len(lines)
    return lines + ([f"and {count(left, 'more rule')} for other groups"] if left else [])


def of_single(provenance: Mapping[str, Any]) -> list[str]:
    r"""Return lines that say what a policy was fitted for, and what its single rule reaches beside the mixture.

    Examples
    --------
    >>> known = {"objective": "g_mean()", "direction": "maximize", "constraints": ["recall(1) >= 0.5"]}
    >>> print(*of_single({**known, "reached": [0.81734, 0.5], "alone": [0.8051, 0.502]}), sep="\n")
    fitted to maximize g_mean() subject to recall(1) >= 0.5
    on the rows it was fitted on: g_mean() 0.8051 (the mixture of rules: 0.8173), recall(1) >= 0.5: 0.502 (0.5)
    >>> of_single({})
    []
    """
    names = [provenance.get("objective"), *_list(provenance, "constraints")]
    if not all(isinstance(name, str) for name in names):
        return []
    objective, *limits = (_text(name) for name in names)
    limited = f" subject to {' and '.join(limits)}" if limits else ""
    lines = [f"fitted to {_text(provenance.get('direction', 'reach'))} {objective}{limited}"]
    mixed = _list(provenance, "reached")
    alone = _list(provenance, "alone") or mixed
    if len(mixed) == len(alone) == len(names) and all(isinstance(x, Real) for x in (*mixed, *alone)):
        told = [f"{objective} {alone[0]:.4g} (the mixture of rules: {mixed[0]:.4g})"]
        told += [
            f"{name}: {a:.4g} ({m:.4g})" for name, a, m in zip(limits, alone[1:], mixed[1:], strict=True)
        ]
        if alone is mixed:  # one rule in each cell anyway
            told = [f"{objective} {mixed[0]:.4g}"]
            told += [f"{name}: {m:.4g}" for name, m in zip(limits, mixed[1:], strict=True)]
        lines.append(f"on the rows it was fitted on: {', '.join(told)}")
    return lines


def _list(provenance: Mapping[str, Any], name: str) -> list[Any]:
    found = provenance.get(name)
    return found if isinstance(found, list) else []


def _text(label: Any) -> str:
    """Return a label as it is, if that is one printable line."""
    return cut(str(label) if str(label).isprintable() else repr(label))


def _cell(one: Threshold) -> tuple[Label, ...]:
    return one.cell


def _groups(names: Sequence[str], cells: Sequence[tuple[Label, ...]]) -> str:
    """Return the groups that have a rule in common."""
    shown = [", ".join(map(_text, cell)) if cell else "any other" for cell in cells[:GROUPS]]
    more = [] if len(cells) <= GROUPS else [f"{len(cells) - GROUPS} more"]
    return f"{' x '.join(names)} {'; '.join(shown + more)}"


def _cuts(cuts: list[Threshold], axes: Axes) -> str:
    """Return the rules of one cell of two classes."""
    if axes.k > 2 or any(one.decision != axes.classes[1] for one in cuts):
        return ", ".join(f"{_text(one.decision)} from {_at(one)}{_share(one.share)}" for one in cuts)
    positive = _text(cuts[0].decision)
    if len(cuts) == 1 and cuts[0].at in (0.0, np.inf):
        return f"{'always' if cuts[0].at == 0 else 'never'} {positive}"
    return (
        f"{positive} if its probability is at least {_listed(_at(one) + _share(one.share) for one in cuts)}"
    )


def _at(one: Threshold) -> str:
    if not np.isfinite(one.at):
        return "infinity"
    return f"{one.at:.4g}" + ("" if one.calibrated == one.at else f" ({one.calibrated:.4g} calibrated)")


def _share(share: float) -> str:
    return "" if share == 1 else f" for {100 * share:.3g} % of the rows"


def _listed(parts: Iterable[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} or {last}" if first else last


def _mixed(rules: Sequence[tuple[float, FloatArray]], layout: Layout, axes: Axes) -> str:
    """Return the rules of one cell of several classes."""
    parts = [f"{_scores(loss, layout, axes)}{_share(weight)}" for weight, loss in rules]
    return "; or ".join(parts)


def _scores(loss: FloatArray, layout: Layout, axes: Axes) -> str:
    """Return a rule as what is compared: the weight of each class, and what is added to it."""
    whole = loss[None] if layout == "diagonal" else diagonal_of(loss[None], axes)
    if whole is None:
        return f"the lowest expected cost by a table of {axes.n} x {axes.k} costs"
    plain = whole[0]
    slope, offset = np.where(axes.match >= 0, -plain[0], 0.0), plain[1].min() - plain[1]
    size = np.abs(slope[slope != 0]).min(initial=np.inf)
    size = size if np.isfinite(size) else 1.0
    parts = []
    for label, a, b, named in list(zip(axes.decisions, slope / size, offset / size, axes.match, strict=True))[
        :CLASSES
    ]:
        if named < 0:
            parts.append(f"{b:.3g} for {_text(label)}")
        else:
            parts.append(
                f"{a:.3g} p({_text(label)})" + (f" {'-' if b < 0 else '+'} {abs(b):.3g}" if b else "")
            )
    more = f" and {axes.k - CLASSES} more" if axes.k > CLASSES else ""
    return f"the largest of {', '.join(parts)}{more}"
