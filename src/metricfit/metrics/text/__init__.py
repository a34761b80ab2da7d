"""Metrics and constraints as text: how they are written, and how they are read back."""
