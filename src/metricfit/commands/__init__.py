"""The commands of the `metricfit` command line, one module each, and what they share.

A command module has ``run(options) -> int``: it reads, works, writes, prints, and returns an exit code. It is
imported when its command is run, by `metricfit.cli`.
"""
