"""The report: one self-contained HTML file about a result."""

from __future__ import annotations

import os

import numpy as np

from metricfit.policy import Policy
from metricfit.policy.file import write
from metricfit.report.page.facts import Facts
from metricfit.result import Result


def write_report(
    result: Result, path: str | os.PathLike[str], *, title: str | None = None, made_by: str | None = None
) -> None:
    """Write the report of a result, see `metricfit.Result.report`."""
    write(path, html(result, title=title, made_by=made_by).encode("utf-8"))


def html(result: Result, *, title: str | None = None, made_by: str | None = None) -> str:
    """Return the report of a result as a page."""
    try:
        import jinja2
    except ImportError:
        raise ImportError('the report needs Jinja2: pip install ".[plot]" in a clone') from None

    if not isinstance(result.policy, Policy):
        raise ValueError("a report needs a policy on probabilities; this one decides by retrained models")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("metricfit", "report/page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "percent": percent}
    return environment.get_template("report.html.jinja").render(**Facts(result, title, made_by).all())


def number(value: float | None) -> str:
    """Return a number with four decimals; a dash if there is none.

    Examples
    --------
    >>> number(0.72429), number(None), number(float("nan"))
    ('0.7243', '–', '–')
    """
    return "–" if value is None or not np.isfinite(value) else f"{value:.4f}"


def percent(value: float | None) -> str:
    """Return a share in percent; a dash if there is none.

    Examples
    --------
    >>> percent(0.1234), percent(None)
    ('12.3 %', '–')
    """
    return "–" if value is None or not np.isfinite(value) else f"{100 * value:.1f} %"
