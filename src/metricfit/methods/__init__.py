"""Methods: how to walk the set of achievable confusion tensors."""

from __future__ import annotations

import difflib

from metricfit.exceptions import OverfitWarning
from metricfit.methods.base import FEASIBLE, Iterate, Method, Outcome, Record, Status, Walk, run
from metricfit.methods.bisection import Bisection
from metricfit.methods.column_generation import ColumnGeneration
from metricfit.methods.ellipsoid import Ellipsoid
from metricfit.methods.frank_wolfe import FrankWolfe
from metricfit.methods.gda import GDA
from metricfit.methods.grid import Grid
from metricfit.methods.local import Local
from metricfit.methods.plugin import Plugin
from metricfit.methods.split_frank_wolfe import SplitFrankWolfe
from metricfit.problem import Program

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        ColumnGeneration,
        FrankWolfe,
        SplitFrankWolfe,
        GDA,
        Ellipsoid,
        Bisection,
        Local,
        Grid,
    )
}


def choose(method: str | Method, program: Program) -> Method:
    """Return the named method, or for "auto" the first that accepts the problem; errors list the methods that would."""
    if isinstance(method, Method):
        wanted = method
    elif method == "auto":
        for kind in METHODS.values():
            if kind().refusal(program) is None:
                return kind()
        raise ValueError(f"no method takes this problem: {ColumnGeneration().refusal(program)}")
    elif method in METHODS:
        wanted = METHODS[method]()
    else:
        near = difflib.get_close_matches(str(method), METHODS, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: 'auto', {', '.join(map(repr, METHODS))}"
        raise ValueError(f"unknown method {method!r}; {hint}")
    refusal = wanted.refusal(program)
    if refusal is not None:
        able = [repr(kind.name) for kind in METHODS.values() if kind().refusal(program) is None]
        raise ValueError(f"{refusal}. Try method={' or '.join(able) if able else repr('auto')}")
    return wanted


__all__ = [
    "FEASIBLE",
    "GDA",
    "METHODS",
    "Bisection",
    "ColumnGeneration",
    "Ellipsoid",
    "FrankWolfe",
    "Grid",
    "Iterate",
    "Local",
    "Method",
    "Outcome",
    "OverfitWarning",
    "Plugin",
    "Record",
    "SplitFrankWolfe",
    "Status",
    "Walk",
    "choose",
    "run",
]
