"""What the paper's methods share: aids, which are options with a name, and the final mixture of the rules found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from metricfit.methods.base import FEASIBLE, Iterate, Method, Walk
from metricfit.methods.dual.feasible_start import opening
from metricfit.methods.dual.pruning import Prune, mixture, pruned
from metricfit.methods.master.fewer_rules import fewer_rules
from metricfit.problem import Program


class Aid(NamedTuple):
    """What an option of a method is unless it is given: by default, where it helps, and with ``as_published=True``."""

    ours: object
    published: object


class PaperMethod(Method):
    """A method of the paper. ``aids`` names the options by which it differs from the paper's pseudo-code.

    ``as_published`` turns off all aids that are not given.
    """

    aids: ClassVar[dict[str, Aid]] = {}
    as_published: bool = False
    prune: Prune = "objective"

    def publish(self, as_published: bool) -> None:
        """Say whether the method is run as published: on counted labels, and not for the best iterate seen."""
        self.as_published, self.best_seen = as_published, not as_published
        if as_published:
            self.counts = "labels"

    def option(self, name: str, given: Any) -> Any:
        """Return the value of an aid."""
        if given is not None:
            return given
        return self.aids[name].published if self.as_published else self.aids[name].ours

    def opened(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Find rules of which a mixture is feasible; yield it only if the final answer may be such a mixture."""
        for iterate in opening(program, walk):
            if self.prune != "none":
                yield iterate

    def finish(self, program: Program, walk: Walk, best: Iterate) -> Iterate:
        """Return what pruning makes of the rules found."""
        answer = pruned(program, walk, best, self.prune)
        if self.prune == "linear" and not self.as_published and program.excess(answer.u) > FEASIBLE:
            # If no mixture of whole rules keeps the constraints, one with separate weights for each cell may.
            return mixture(program, walk)
        return answer

    def polish(self, program: Program, walk: Walk, best: Iterate, slack: float) -> Iterate:
        """Drop rules that the mixture can do without."""
        if not self.best_seen or best.weights.ndim == 1:
            return best
        return fewer_rules(program, walk, best, max(slack, walk.tol / 10))
