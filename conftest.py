"""What is not collected where an extra is missing."""

import doctest
from importlib.util import find_spec

import pytest

EXPLORER = all(find_spec(name) is not None for name in ("starlette", "uvicorn", "httpx"))
collect_ignore = [] if EXPLORER else ["tests/explorer", "src/metricfit/explorer"]
if find_spec("skops") is None:
    collect_ignore.append(
        "tests/fuzz/targets.py"
    )  # its doctests; the tests of the targets are skipped with a reason


def pytest_report_header():
    return [] if EXPLORER else ["without Starlette, uvicorn and httpx: the explorer is not tested"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Skip an example of a docstring that ends because a library of an extra is not installed, and say which."""
    try:
        return (yield)
    except doctest.UnexpectedException as failure:
        error = failure.exc_info[1]
        if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("metricfit"):
            pytest.skip(str(error))
        if 'pip install ".[' in str(error):
            pytest.skip(str(error))
        raise
