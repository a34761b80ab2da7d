"""Measure what the paper's theorems say: ``python benchmarks/theory`` writes docs/theory.md and its picture."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
# Exact distributions and the style of pictures are those of the paper's benchmarks.
sys.path.append(str(HERE.parent / "paper"))

if __name__ == "__main__":
    import page
    from studies import gaps, loss_matrices, regrets, rules

    from metricfit.exceptions import CalibrationWarning, DivergenceWarning

    # GDA with the constants of Theorem 17 is still far away after thousands of calls, which the page says.
    warnings.simplefilter("ignore", DivergenceWarning)
    # The rows have exact probabilities; the most probable class only stands where a label must.
    warnings.simplefilter("ignore", CalibrationWarning)
    page.write(list(gaps()), list(rules()), list(loss_matrices()), list(regrets()))
