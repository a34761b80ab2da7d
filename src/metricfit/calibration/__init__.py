"""Calibration: probabilities are corrected with the labels before anything is decided on them.

Importing this package needs only NumPy; what fitting needs is imported when a calibration is fitted.
"""

from metricfit.calibration.choice import fit
from metricfit.calibration.model import Calibration
from metricfit.calibration.refutation import Refutation, refuted
from metricfit.calibration.report import Report
from metricfit.calibration.settings import SETTINGS, Settings

__all__ = ["SETTINGS", "Calibration", "Refutation", "Report", "Settings", "fit", "refuted"]
