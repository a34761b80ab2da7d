"""The application: serves the page and answers its requests, which are JSON, with the token in a header or the address.

A body is ``{"objective": TEXT, "constraints": [TEXT, ...], "counting": NAME}``. Limits that conflict are an answer,
with the status ``"infeasible"``. A text that cannot be parsed gives 400 with ``error``, the field ``where`` and the
character ``at``; a request that a newer one has replaced gives 409.
"""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

import anyio
from anyio import to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from metricfit.exceptions import InfeasibleError
from metricfit.explorer import answers
from metricfit.explorer.asked import Asked, BadRequest, levels_of, read, traded_place
from metricfit.explorer.choices import offered
from metricfit.explorer.guard import LONGEST_BODY, Guard
from metricfit.explorer.turns import Job, Superseded, Turn, Turns
from metricfit.explorer.workbench import Workbench
from metricfit.metrics import Constraint
from metricfit.policy import file as policy_file
from metricfit.problem import Problem
from metricfit.tradeoff.levels import rounded

PAGE = files("metricfit.explorer") / "page"
TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
# Not an error: the page has sent a newer request.
SUPERSEDED = 409

Work = Callable[[Any, Turn], Any]


class Application:
    """Answers the page's requests on one workbench.

    Parameters
    ----------
    bench : Workbench
        The rows.
    problem : Problem
        The initial problem of the page.
    """

    def __init__(self, bench: Workbench, problem: Problem) -> None:
        self.bench, self.problem, self.turns = bench, problem, Turns()

    def guarded(self, port: int, token: str) -> Guard:
        """Return the application behind its guard."""
        routes = [
            Route("/", self._page),
            Route("/page/{name}", self._file),
            Route("/api/setup", self._setup),
            Route("/api/progress", self._progress),
            Route("/api/read", self._read, methods=["POST"]),
            *(
                Route(f"/api/{name}", self._working(work, kind), methods=["POST"])
                for name, work, kind in self._works()
            ),
        ]
        errors: Any = {
            BadRequest: _bad_request,
            Superseded: _superseded,
            ClientDisconnect: _superseded,
            ImportError: _missing,
            ValueError: _unsolvable,
            Exception: _broken,
        }
        return Guard(Starlette(routes=routes, exception_handlers=errors), port, token)

    def _works(self) -> list[tuple[str, Work, Job]]:
        return [
            ("solve", self._solve, "solve"),
            ("frontier", self._frontier, "frontier"),
            ("code", self._code, "download"),
            ("policy", self._policy, "download"),
            ("report", self._report, "download"),
        ]

    def _working(self, work: Work, kind: Job) -> Callable[[Request], Awaitable[Response]]:
        """Return a handler that answers a request in a thread, and stops if the browser disconnects."""

        async def answer(request: Request) -> Response:
            body = await _body(request)
            turn = self.turns.next(kind)

            def working() -> Any:
                with turn.taken():
                    return work(body, turn)

            async def watch() -> None:
                while (await request.receive())["type"] != "http.disconnect":
                    pass
                turn.end()

            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(watch)
                    made = await _unwrapped(working)
                    group.cancel_scope.cancel()
            finally:
                self.turns.done(turn)
            if isinstance(made, Exception):
                raise made
            return made if isinstance(made, Response) else JSONResponse(made)

        return answer

    # Pages

    async def _page(self, request: Request) -> Response:
        return _of_file("index.html")

    async def _file(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in {entry.name for entry in PAGE.iterdir()}:
            raise HTTPException(404)
        return _of_file(name)

    # Quick answers

    async def _setup(self, request: Request) -> Response:
        return JSONResponse(offered(self.bench, self.problem))

    async def _read(self, request: Request) -> Response:
        """Read the text of a metric or a constraint; a metric gets the limit that the last result keeps."""
        found = read((await _body(request)).get("text"), "text", self.bench.rows.axes)
        given = isinstance(found, Constraint)
        metric = found.metric if isinstance(found, Constraint) else found
        sense = found.sense if isinstance(found, Constraint) else "<=" if metric.direction < 0 else ">="
        latest = self.bench.latest
        value = float("nan") if latest is None else float(metric(latest.confusion))
        limit = found.limit if isinstance(found, Constraint) else _kept_limit(value, sense)
        return JSONResponse(
            {
                "text": str(found),
                "metric": str(metric),
                "sense": sense,
                "limit": limit,
                "value": answers.number(value),
                "constraint": given,
            }
        )

    async def _progress(self, request: Request) -> Response:
        """Return how far the newest slider's solve is."""
        return JSONResponse({"words": self.turns.progress})

    # Answers that solve, in a thread

    def _asked(self, body: Any) -> Asked:
        return self.bench.limited(Asked.of(body, self.bench.rows.axes, self.bench.kind))

    def _solve(self, body: Any, turn: Turn) -> Any:
        asked = self._asked(body)
        try:
            result = self.bench.solved(asked, turn)
        except InfeasibleError as error:
            return answers.of_infeasible(asked, error)
        before = self.bench.baseline(self.bench.chosen(asked, turn).counting)
        return answers.of_result(asked, result, before, self.bench.notes(asked))

    def _frontier(self, body: Any, turn: Turn) -> Any:
        asked = self._asked(body)
        try:
            front = self.bench.frontier(asked, traded_place(body, asked), levels_of(body), turn)
        except InfeasibleError as error:
            return {"points": [], "message": str(error)}
        return answers.of_frontier(front)

    def _code(self, body: Any, turn: Turn) -> Any:
        asked = self._asked(body)
        text = answers.code(asked.problem, self.bench.chosen(asked, turn).counting, self.bench.rows)
        return _download(text.encode(), "policy.py", "text/x-python")

    def _policy(self, body: Any, turn: Turn) -> Any:
        result = self.bench.finished(self._asked(body), turn)
        data = policy_file.encode(result.policy.to_dict())
        return _download(data, "policy.json", "application/json")

    def _report(self, body: Any, turn: Turn) -> Any:
        from metricfit.report.page import html

        asked = self._asked(body)
        result = self.bench.finished(asked, turn)
        return _download(html(result).encode(), "report.html", "text/html")


async def _unwrapped(working: Callable[[], Any]) -> Any:
    """Run in a thread; return an error rather than raise it, since a task group would wrap it."""

    def caught() -> Any:
        try:
            return working()
        except Exception as error:
            return error

    return await to_thread.run_sync(caught)


async def _body(request: Request) -> dict[str, Any]:
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > LONGEST_BODY:
            raise BadRequest(f"the body has more than {LONGEST_BODY} bytes", "body")
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the body is not JSON: {error}", "body") from error
    if not isinstance(body, dict):
        raise BadRequest('the body must be a JSON object such as {"objective": "g_mean"}', "body")
    return body


def _kept_limit(value: float, sense: str) -> float:
    """Return a limit of two digits that a value just keeps."""
    if not math.isfinite(value):
        return 0.5
    return rounded(value, 1 if sense == ">=" else -1, 2)


def _of_file(name: str) -> Response:
    kind = TYPES[name.rpartition(".")[2]]
    return Response((PAGE / name).read_bytes(), media_type=f"{kind}; charset=utf-8")


def _download(data: bytes, name: str, kind: str) -> Response:
    return Response(data, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})


async def _bad_request(request: Request, error: Any) -> Response:
    return JSONResponse({"error": str(error), "where": error.where, "at": error.at}, 400)


async def _superseded(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": "a newer request has come", "status": "superseded"}, SUPERSEDED)


async def _missing(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": _sentence(error)}, 501)


async def _unsolvable(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": _sentence(error)}, 422)


async def _broken(request: Request, error: Exception) -> Response:
    """Tell the page of an error of ours; the server prints it, too."""
    text = f"an internal error, which is printed where the explorer was started: {_sentence(error)}"
    return JSONResponse({"error": text}, 500)


def _sentence(error: Exception) -> str:
    """Return the message of an error, or its kind if it has none."""
    return str(error) or f"it could not be solved ({type(error).__name__}); choose another metric or limit"
