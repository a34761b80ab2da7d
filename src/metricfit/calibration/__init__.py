"""Calibration: probabilities set right by the labels before anything is decided on them."""
