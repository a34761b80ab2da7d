"""`metricfit explore`: a page on this machine where limits are moved."""

from __future__ import annotations

import sys
from argparse import Namespace
from contextlib import suppress

from metricfit.commands.errors import DONE, UsageError, blamed_on_text
from metricfit.commands.fit import rows_of
from metricfit.commands.interrupt import kept
from metricfit.explorer.asked import BadRequest
from metricfit.explorer.door import served
from metricfit.explorer.workbench import Workbench
from metricfit.options import Options, threads
from metricfit.problem import Problem


def run(options: Namespace) -> int:
    """Serve the page until Ctrl-C."""
    with blamed_on_text("--objective"):
        Problem.of(options.objective)
    with blamed_on_text("--subject-to"):
        problem = Problem.of(options.objective, options.subject_to)
    bench = Workbench(rows_of(options), options.confusion, Options(tol=options.tol), threads(-1))
    try:
        explorer = served(problem, bench, options.port)
    except BadRequest as error:
        with blamed_on_text("--objective" if error.where == "objective" else "--subject-to"):
            raise ValueError(str(error)) from error
    except ValueError as error:
        raise UsageError(f"--port: {error}") from error
    except ImportError as error:
        raise UsageError(str(error)) from error
    with explorer, kept(), suppress(KeyboardInterrupt):
        print(f"The explorer is at {explorer.url}\nPress Ctrl-C to stop it.", flush=True)
        if not options.no_browser and not explorer.open():
            print("metricfit: no browser was found; open the address above", file=sys.stderr)
        explorer.wait()
    return DONE
