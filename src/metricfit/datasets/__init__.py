"""Data whose answers are known: generators, example distributions, and loaders of the paper's data sets.

=========================  =====================================================================
`make_fraud_triage`        a generated triage problem with four imbalanced classes
`make_gaussians`           rows of the paper's 3-class Gaussian problem (section 8.3)
`example`                  the paper's example distributions, with exact confusion matrices
`load`, `names`            the paper's data sets, from a folder or from OpenML
`build`                    makes that folder from the files that the authors have published
=========================  =====================================================================

Nothing here is needed to use the rest of the package.
"""

from __future__ import annotations

from metricfit.datasets.distributions import Distribution
from metricfit.datasets.examples import EXAMPLES, Sample, example, make_gaussians
from metricfit.datasets.files import Dataset, load, names
from metricfit.datasets.folder import build
from metricfit.datasets.fraud import FraudTriage, make_fraud_triage
from metricfit.datasets.gaussians import Gaussians
from metricfit.datasets.uniforms import Uniforms
from metricfit.exceptions import DatasetError

__all__ = [
    "EXAMPLES",
    "Dataset",
    "DatasetError",
    "Distribution",
    "FraudTriage",
    "Gaussians",
    "Sample",
    "Uniforms",
    "build",
    "example",
    "load",
    "make_fraud_triage",
    "make_gaussians",
    "names",
]
