"""`explore`: from probabilities and labels to a page with sliders for the limits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from metricfit.data.rows import Rows
from metricfit.explorer.asked import Asked
from metricfit.explorer.workbench import Workbench
from metricfit.messages import renamed
from metricfit.options import Options, check_options, threads
from metricfit.oracles.base import Counting
from metricfit.problem import ConstraintLike, ObjectiveLike, Problem

if TYPE_CHECKING:
    from metricfit.explorer.server import Explorer

NEEDED = 'the explorer needs Starlette and uvicorn: pip install ".[explore]" in a clone'


@renamed(confusion="counting")
def explore(
    proba: Any,
    y: Any,
    objective: ObjectiveLike = "g_mean",
    constraints: ConstraintLike | Iterable[ConstraintLike] = (),
    *,
    classes: Iterable[object] | None = None,
    decisions: Iterable[object] | None = None,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    counting: Counting = "auto",
    tol: float = 1e-4,
    n_jobs: int | None = None,
    port: int = 0,
    open_browser: bool = True,
) -> Explorer:
    """Serve a page on this machine to pick a metric, move limits with sliders, and see at once what they cost.

    The server runs in a separate thread until it is stopped or Python ends. The page can be opened only from this
    machine, and only with the token in its address. It needs the extra ``explore`` (Starlette and uvicorn).

    Parameters
    ----------
    proba, y, classes, decisions, sensitive_features, sample_weight, tol, n_jobs
        As in `optimize`; arrays in memory.
    objective, constraints
        The initial problem of the page.
    counting : {"auto", "calibrated", "labels", "model"}
        How rows are counted at first; the page can change it. "auto" chooses as `optimize` does, once for limits on the
        same metrics, so that values can be compared while sliders move.
    port : int
        The port; 0 for a free one.
    open_browser : bool
        Whether to open the page.

    Returns
    -------
    Explorer
        With ``url``, the address of the page, and ``stop()``; it can be used in a ``with`` statement.

    Examples
    --------
    >>> import metricfit as mf
    >>> data = mf.datasets.make_fraud_triage(n_rows=500, random_state=0)
    >>> explorer = mf.explore(data.proba, data.y, constraints=["precision('fraud') >= 0.8"], open_browser=False)
    >>> explorer.url.startswith("http://127.0.0.1:")
    True
    >>> explorer.stop()
    >>> explorer
    Explorer(stopped)
    """
    check_options(tol, None, None, counting)
    problem, options = Problem.of(objective, constraints), Options(tol=tol)
    rows = Rows.of(
        proba,
        y,
        classes=classes,
        decisions=decisions,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
    )
    explorer = served(problem, Workbench(rows, counting, options, threads(n_jobs)), port)
    if open_browser:
        explorer.open()
    return explorer


def served(problem: Problem, bench: Workbench, port: int = 0) -> Explorer:
    """Start a server on a workbench; the page begins with the problem."""
    try:
        from metricfit.explorer.app import Application
        from metricfit.explorer.server import Explorer
    except ModuleNotFoundError as error:
        raise ImportError(NEEDED) from error
    # The page sends texts, so the initial problem must have a text that can be parsed.
    texts = {"objective": str(problem.objective), "constraints": [str(c) for c in problem.constraints]}
    Asked.of(texts, bench.rows.axes, bench.kind)
    return Explorer(Application(bench, problem), port)
