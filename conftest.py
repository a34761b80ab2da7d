"""What is not collected where an extra is missing."""

from importlib.util import find_spec

EXPLORER = all(find_spec(name) is not None for name in ("starlette", "uvicorn", "httpx"))
collect_ignore = [] if EXPLORER else ["tests/explorer", "src/metricfit/explorer"]
if find_spec("skops") is None:
    collect_ignore.append(
        "tests/fuzz/targets.py"
    )  # its doctests; the tests of the targets are skipped with a reason


def pytest_report_header():
    return [] if EXPLORER else ["without Starlette, uvicorn and httpx: the explorer is not tested"]
