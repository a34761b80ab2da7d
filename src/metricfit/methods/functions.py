"""All constraint functions of a problem as one vector, by one matrix where they are linear."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricfit.methods.polyhedron import Polyhedron, is_polyhedral
from metricfit.problem import Program
from metricfit.types import FloatArray


class Functions:
    """The functions that must be <= 0, with their slopes."""

    def __init__(self, program: Program) -> None:
        self.nodes = [limit.node for limit in program.limits if limit.node is not None]
        self.cuts = np.cumsum([node.size for node in self.nodes])[:-1]
        self.size = sum(node.size for node in self.nodes)
        self.width = program.constant.size
        self.forms = self._forms()

    def _forms(self) -> list[tuple[Any, FloatArray]] | None:
        if not all(is_polyhedral(node, sign) for node in self.nodes for sign in (1, -1)):
            return None
        body = Polyhedron(self.width)
        return [body.form(node) for node in self.nodes]

    def value(self, u: FloatArray) -> FloatArray:
        """Return all values."""
        if self.forms is None:
            parts = [node.value(u) for node in self.nodes]
        else:
            parts = [matrix @ u + constant for matrix, constant in self.forms]
        return np.concatenate([np.zeros(0), *parts])

    def slope(self, u: FloatArray, mu: FloatArray) -> FloatArray:
        """Return the slope of ``mu @ value``."""
        shares = np.split(mu, self.cuts)
        if self.forms is None:
            parts = [node.slope(u, share) for node, share in zip(self.nodes, shares, strict=True)]
        else:
            parts = [matrix.T @ share for (matrix, _), share in zip(self.forms, shares, strict=False)]
        return np.sum([np.zeros(self.width), *parts], axis=0)
