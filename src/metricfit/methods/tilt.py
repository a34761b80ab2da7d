"""Prices for counted labels: what the plug-in rule should be asked so that its *counted* cost is small.

Where labels are counted, the rule that probabilities make best for a loss need not have the smallest counted
cost: they may be miscalibrated, and labels are noisy. Scaling the probability of class i by ``exp(tilt[i])``
before the rule is applied gives rules of the same family. The tilt starts where the mean probability of each
class meets its share of the labels, and moves to whatever probe around it gained something.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from metricfit.methods.base import Walk
from metricfit.types import FloatArray

# Widths of the probes, in turn: noise is met close by, miscalibration further off.
SPREADS = (0.05, 0.1, 0.3, 1.0)


class Tilt:
    """Asks tilted losses, and probes around the tilt until several probes in a row have gained nothing."""

    def __init__(self, walk: Walk, probes: int) -> None:
        self.walk, self.probes = walk, 0 if walk.oracle.exact else probes
        self.random = np.random.default_rng(0 if walk.seed is None else walk.seed)
        self.center: FloatArray = np.zeros(walk.program.axes.n)
        if self.probes and hasattr(walk.oracle, "prior_shift"):
            self.center = walk.oracle.prior_shift
        self.tried: FloatArray | None = None
        self.drawn: deque[tuple[FloatArray, FloatArray]] = deque()
        self.value, self.misses, self.count = np.inf, 0, 0

    @property
    def started(self) -> bool:
        """Whether probing has begun."""
        return self.count > 0

    @property
    def done(self) -> bool:
        """Whether there is no more to expect of probes."""
        return self.misses >= self.probes

    def ask(self, loss: FloatArray) -> int:
        """Ask the oracle for a loss, tilted where labels are counted; return the place of its answer."""
        return self.walk.ask(self._tilted(loss, self.center) if self.probes else loss)

    def probe(self, loss: FloatArray, value: float) -> int | None:
        """Judge the last probe by the value it led to, and ask for another unless enough of them gained nothing."""
        if self.tried is not None:
            gained = self.value - value
            self.misses = self.misses + 1 if gained < self.walk.tol else 0
            if gained > self.walk.tol / 10:
                self.center = self.tried
                self.drawn.clear()
        self.value = min(self.value, value)
        if self.done:
            return None
        if not self.drawn:
            self._draw(loss)
        self.count += 1
        self.tried, asked = self.drawn.popleft()
        return self.walk.ask(asked)

    def _draw(self, loss: FloatArray) -> None:
        """Draw the probes that are asked one by one as long as none of them gains anything."""
        for number in range(self.count, self.count + self.probes - self.misses):
            spread = SPREADS[number % len(SPREADS)]
            tilt = self.center + spread * self.random.normal(size=self.center.size)
            noise = np.exp(spread * self.random.normal(size=loss.shape))
            self.drawn.append((tilt, self._tilted(loss, tilt) * noise))
        self.walk.expect([asked for _, asked in self.drawn])

    def _tilted(self, loss: FloatArray, tilt: FloatArray) -> FloatArray:
        program, scale = self.walk.program, np.exp(tilt)
        if program.layout == "full":
            return loss * scale[None, :, None]
        tilted = loss.copy()
        named = program.axes.match >= 0
        tilted[:, 0, named] *= scale[program.axes.match[named]]
        return tilted
