"""The report: one self-contained HTML file about a result."""

from metricfit.report.page.rendering import html, write_report

__all__ = ["html", "write_report"]
