"""Access control: only pages of this server, on this machine, with the token of this start."""

from __future__ import annotations

import secrets
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse

NAMES = ("127.0.0.1", "localhost")
TOKEN_HEADER = "x-metricfit-token"
#: Files of the page hold nothing of the rows, and a page cannot add a header to what it links to.
OPEN = "/page/"
LONGEST_BODY = 256 * 1024

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Refuses requests that do not come from the page itself, and adds security headers.

    It checks the Host header, to refuse another domain name that resolves to this machine; the Origin, to refuse pages
    of other sites; and the token, to refuse other users of this machine.

    Parameters
    ----------
    app : ASGI application
        The application behind the guard.
    port : int
        The port of the server.
    token : str
        The token of this start.
    """

    def __init__(self, app: Any, port: int, token: str) -> None:
        self.app, self.token = app, token
        self.hosts = {f"{name}:{port}" for name in NAMES} | (set(NAMES) if port == 80 else set())
        self.origins = {f"http://{host}" for host in self.hosts}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":  # there are no web sockets here
            return
        refused = self.refused(scope)

        async def closed(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *own]}
            await send(message)

        await (self.app if refused is None else refused)(scope, receive, closed)

    def refused(self, scope: Any) -> Any:
        """Return the answer to a request that is refused; None for one that may pass."""
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self.hosts:
            return _refusal(421, "the Host header names another machine; open the address that was printed")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in self.origins:
            return _refusal(403, "requests of other pages are refused")
        if not scope["path"].startswith(OPEN) and not self._known(scope, headers):
            text = "the token is missing or from an earlier start; open the address that was printed"
            if scope["path"].startswith("/api/"):
                return _refusal(403, text)
            return PlainTextResponse(f"metricfit: {text}\n", 403)
        if scope["method"] == "POST":
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                return _refusal(415, "the body must be JSON, with the content type application/json")
            length = headers.get("content-length", "0")
            if not length.isdecimal() or int(length) > LONGEST_BODY:
                return _refusal(413, f"the body has more than {LONGEST_BODY} bytes")
        return None

    def _known(self, scope: Any, headers: Headers) -> bool:
        asked = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        given = headers.get(TOKEN_HEADER) or headers.get("authorization", "").removeprefix("Bearer ") or asked
        return secrets.compare_digest(given.encode(), self.token.encode())


def _refusal(status: int, text: str) -> JSONResponse:
    return JSONResponse({"error": text}, status)
