"""Decide and count: the inner loops, each compiled one beside its NumPy twin."""
