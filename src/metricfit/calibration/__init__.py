"""Calibration: probabilities set right by the labels before anything is decided on them.

Importing it needs NumPy only; what it fits with is imported when something is fitted.
"""

from metricfit.calibration.choice import fit
from metricfit.calibration.model import Calibration
from metricfit.calibration.refutation import Refutation, refuted
from metricfit.calibration.report import Report
from metricfit.calibration.settings import SETTINGS, Settings

__all__ = ["SETTINGS", "Calibration", "Refutation", "Report", "Settings", "fit", "refuted"]
