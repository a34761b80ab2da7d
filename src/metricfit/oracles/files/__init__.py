"""Rows that are larger than memory: files and memory-mapped arrays, read block by block."""
