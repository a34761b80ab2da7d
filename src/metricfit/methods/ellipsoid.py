"""The ellipsoid method for convex metrics, smooth or not (Algorithms 3 and 7, Theorems 14 and 18)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from metricfit.functions.curvature import Curvature
from metricfit.methods.base import Iterate, Walk
from metricfit.methods.dual.domain import Domain
from metricfit.methods.dual.paper_method import Aid, PaperMethod
from metricfit.methods.dual.pruning import Prune, check_prune, pruned
from metricfit.methods.dual.rules import Merged, check_policy, classifier
from metricfit.methods.dual.slack import slack_step
from metricfit.methods.parameters import positive
from metricfit.policy import Policy
from metricfit.problem import Program
from metricfit.types import FloatArray


class Ellipsoid(PaperMethod):
    r"""Maximise the dual function by shrinking an ellipsoid around the best multipliers.

    .. math::

        f(\lambda, \mu) = \min_{C, \xi} \psi(\xi) + \langle \lambda, C - \xi \rangle
        + \langle \mu, \phi(\xi) \rangle

    An ellipsoid around the best multipliers is cut at its centre by the super-gradient
    :math:`[C - \xi, \phi(\xi)]` and replaced by the smallest one around what is left. Both inner minima are
    exact: C by the oracle, :math:`\xi` in closed form or by a convex program. So every centre proves the
    bound :math:`f(\lambda, \mu)`, and a cut may go as deep as the best bound allows. The answer is the best
    mixture of all the oracle's rules.

    Symbols: ``centre`` is :math:`[\lambda, \mu]`, ``shape`` is A, ``cut`` is w; :math:`\phi_k` is the
    largest function of constraint k. Centres outside the ball, or with a negative :math:`\mu`, are cut off
    without an oracle call.

    Parameters
    ----------
    radius : float
        Radius a of the first ellipsoid, a ball around zero. Theorem 18 asks for more than
        :math:`2(L + (L + 1) / r)`.
    deep : bool, optional
        Cut as deep as the bounds allow; False always cuts through the centre.
    as_published : bool
        Begin with no rules but ``h0``, cut through the centre by the oracle's own answer, use up all calls, and
        mix whole rules in the end.
    feasible_start : bool, optional
        Begin with rules from column generation, a mixture of which keeps the constraints.
    cuts : {"cheapest", "oracle"}, optional
        The C of a cut: where labels are counted, an older rule may be cheaper than the oracle's answer.
    prune : {"objective", "whole", "linear"}, optional
        The final mixture of all rules found: the best one, cell by cell or of whole rules (line 14 of Algorithm 3,
        line 16 of Algorithm 7), or that of the linear program of section 8.2.
    early_stop : bool, optional
        Stop when bound and mixture prove the tolerance, or the ellipsoid is too small to gain a tenth of it.
    h0 : Policy, optional
        A strictly feasible classifier, which joins the rules that are mixed in the end.

    Examples
    --------
    >>> import numpy as np
    >>> import metricfit as mf
    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> result = mf.optimize(proba, [0, 0, 1, 1], "h_mean", method="ellipsoid", counting="model")
    >>> result.status, result.certified
    ('optimal', True)
    """

    name = "ellipsoid"
    reference = "Algorithms 3 and 7"
    accepts = frozenset({Curvature.LINEAR, Curvature.CONVEX})
    constrained = True
    default_calls = 1000
    aids: ClassVar = {
        "feasible_start": Aid(True, False),
        "deep": Aid(True, False),
        "cuts": Aid("cheapest", "oracle"),
        "early_stop": Aid(True, False),
        "prune": Aid("objective", "whole"),
    }

    def __init__(
        self,
        radius: float = 1000.0,
        deep: bool | None = None,
        as_published: bool = False,
        feasible_start: bool | None = None,
        cuts: Literal["cheapest", "oracle"] | None = None,
        prune: Prune | None = None,
        early_stop: bool | None = None,
        h0: Policy | None = None,
    ) -> None:
        self.radius = positive("radius", radius)
        self.publish(as_published)
        self.deep: bool = self.option("deep", deep)
        self.feasible_start: bool = self.option("feasible_start", feasible_start)
        self.cuts: str = self.option("cuts", cuts)
        if self.cuts not in ("cheapest", "oracle"):
            raise ValueError(f"cuts must be 'cheapest' or 'oracle', got {cuts!r}")
        self.prune = check_prune(self.option("prune", prune))
        if self.prune == "none":
            raise ValueError(
                "prune: the ellipsoid method has no iterate to return but a mixture of its rules"
            )
        self.early_stop: bool = self.option("early_stop", early_stop)
        self.h0 = None if h0 is None else check_policy("h0", h0)

    def finish(self, program: Program, walk: Walk, best: Iterate) -> Iterate:
        """Return the best mixture of the rules found, which is the last line of the paper's algorithms."""
        return best if best.final else super().finish(program, walk, best)

    def steps(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield each centre's bound with the best mixture so far, which is recomputed at ever longer intervals."""
        given = None if self.h0 is None else classifier(self.h0, program, walk)
        rules = Merged(walk, len(walk.vertices) if given is not None else 0)
        if self.feasible_start:
            yield from self.opened(program, walk)
            rules = Merged(walk, rules.first)
        best, due = None, 0
        for bound in self._bounds(program, rules):
            if best is None or walk.calls >= due or walk.budget.left == 0:
                found = walk.single(len(walk.vertices) - 1)
                best, due = pruned(program, walk, found, self.prune, given), 3 * walk.calls // 2
            last = given is not None and walk.budget.left == 0
            yield replace(best, bound=bound, settled=self.early_stop and walk.oracle.exact, final=last)

    def _bounds(self, program: Program, rules: Merged) -> Iterator[float]:
        """Yield the value of the dual function at the centres of the ellipsoids."""
        dual = _Dual(program, rules, self.cuts)
        d, a = program.constant.size, self.radius
        centre: FloatArray = np.zeros(d + len(program.limits))
        shape: FloatArray = a**2 * np.eye(centre.size)
        while True:
            norm, mu, least = float(np.linalg.norm(centre)), centre[d:], 0.0
            if norm > a:
                cut: FloatArray = -centre
                depth = norm * (norm - a)
            elif mu.min(initial=0.0) < 0:
                cut = np.concatenate([np.zeros(d), np.maximum(-mu, 0.0)])
                depth = float(cut @ cut)
            else:
                value, cut = dual(centre)
                depth, least = dual.best() - value, rules.walk.tol / 10 * self.early_stop
                yield value
            smaller = john_loewner(shape, centre, cut, depth if self.deep else 0.0, least)
            if smaller is None:
                return
            shape, centre = smaller


class _Dual:
    """The dual function: its value and super-gradient at multipliers, and the best value known."""

    def __init__(self, program: Program, rules: Merged, cuts: str) -> None:
        self.rules, self.limits = rules, program.bounds
        self.own = cuts == "oracle" or rules.walk.oracle.exact
        self.width = program.constant.size
        self.slack = slack_step(program, Domain.of(program, rules.walk.oracle.margins))
        self.value, self.least = -np.inf, -np.inf
        self.lam: FloatArray = np.zeros(self.width)

    def __call__(self, centre: FloatArray) -> tuple[float, FloatArray]:
        lam, mu = centre[: self.width], centre[self.width :]
        place = self.rules.call(lam)
        xi, _, least = self.slack(lam, mu)
        c = self.rules.walk.vectors[place] if self.own else self.cheapest(lam)
        value = least + float(lam @ c)
        if value > self.best():
            self.value, self.least, self.lam = value, least, lam
        return value, np.concatenate([c - xi, [node.value(xi).max() for node in self.limits]])

    def cheapest(self, lam: FloatArray) -> FloatArray:
        """Return the cheapest confusion vector known."""
        vectors = self.rules.walk.vectors
        return vectors[int(np.argmin(vectors @ lam))]

    def best(self) -> float:
        """Return the best value; where labels are counted, a new rule may have lowered it."""
        if not self.own and np.isfinite(self.least):
            self.value = self.least + float(self.lam @ self.cheapest(self.lam))
        return self.value


def john_loewner(
    shape: FloatArray, centre: FloatArray, cut: FloatArray, depth: float, least: float = 0.0
) -> tuple[FloatArray, FloatArray] | None:
    """Return the smallest ellipsoid around the part with ``cut @ (x - centre) >= depth``; None if empty.

    Algorithm 3(a). The inverse and the square root of the shape A are never formed: the update of the paper,
    :math:`A' = A / b + (1 / a - 1 / b) A w w' A / w' A w`, is of rank one. For a cut through the centre its
    formulas are the ones below with ``alpha = 0``. ``least`` is the gain along the cut below which the
    ellipsoid counts as a point.
    """
    n = centre.size
    ray = shape @ cut
    width = float(np.sqrt(max(float(cut @ ray), 0.0)))
    if not width > max(depth, least):
        return None
    alpha = max(depth, 0.0) / width
    ray = ray / width
    centre = centre + (1 + n * alpha) / (n + 1) * ray
    if n == 1:
        return shape * ((1 - alpha) / 2) ** 2, centre
    shrink = 2 * (1 + n * alpha) / ((n + 1) * (1 + alpha))
    shape = n**2 * (1 - alpha**2) / (n**2 - 1) * (shape - shrink * np.outer(ray, ray))
    return (shape + shape.T) / 2, centre
