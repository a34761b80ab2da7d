"""The server: on this machine only, in a separate thread."""

from __future__ import annotations

import errno
import secrets
import socket
import sys
import threading
import time
import webbrowser
from typing import Any

import uvicorn

from metricfit.explorer.app import Application

HOST = "127.0.0.1"
# Seconds that a request may go on after the server was told to stop.
PATIENCE = 2


class Explorer:
    """A running explorer: its address, and how to stop it.

    Parameters
    ----------
    application : Application
        The application that answers requests.
    port : int
        The port; 0 for a free one.

    Attributes
    ----------
    url : str
        The address of the page, with the token of this start.
    port : int
    token : str
    """

    def __init__(self, application: Application, port: int = 0) -> None:
        self._socket = bound(port)
        self.port: int = self._socket.getsockname()[1]
        self.token = secrets.token_urlsafe(24)
        self.url = f"http://{HOST}:{self.port}/?token={self.token}"
        self._application = application
        config = uvicorn.Config(
            application.guarded(self.port, self.token),
            log_level="error",
            access_log=False,
            lifespan="off",
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=PATIENCE,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, name="metricfit-explorer", daemon=True)
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.005)

    def _serve(self) -> None:
        self._server.run(sockets=[self._socket])

    @property
    def running(self) -> bool:
        """Whether it still answers."""
        return self._thread.is_alive()

    def open(self) -> bool:
        """Open the page in a browser; return whether there is one."""
        return webbrowser.open(self.url)

    def wait(self) -> None:
        """Wait until it is stopped, from another thread or by Ctrl-C."""
        while self._thread.is_alive():
            self._thread.join(0.2)  # a wait without end would not see Ctrl-C on every system

    def stop(self) -> None:
        """Stop the server: a running solve is given up, and the port is free again."""
        self._application.turns.end_all()
        self._server.should_exit = True
        self._thread.join(PATIENCE + 3)
        self._socket.close()

    def __enter__(self) -> Explorer:
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Explorer({self.url if self.running else 'stopped'})"

    def _repr_html_(self) -> str:
        """Return a link, for a notebook."""
        if not self.running:
            return "metricfit explorer, stopped"
        return f'<a href="{self.url}" target="_blank" rel="noopener">metricfit explorer</a>: {self.url}'


def bound(port: int) -> socket.socket:
    """Return a socket on this machine's own address; raise if the port is taken or not permitted."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
        raise ValueError(f"port must be a whole number from 0 to 65535, got {port!r}; 0 takes a free one")
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # Lets a server start again at once on the port it had. On Windows the option would let two servers share a port.
    if sys.platform != "win32":
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((HOST, port))
        made.listen()
    except OSError as error:
        made.close()
        why = "it is in use" if error.errno == errno.EADDRINUSE else error.strerror
        raise ValueError(
            f"port {port} is not available: {why}; give another one, or 0 for a free one"
        ) from error
    return made
