"""The server: one process, on 127.0.0.1 alone, until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import importlib.util
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from promptpex.core.errors import ConfigError
from promptpex.web.interfaces import Ports
from promptpex.web.security import ENTER, App, BrowserSessions, fresh_secret

if TYPE_CHECKING:
    import uvicorn

HOST = "127.0.0.1"
DEFAULT_PORT = 8765
MOST_TRIES = 50
"""Ports that are tried, one after the other, where the wanted one is taken."""

TAKEN = (errno.EADDRINUSE, errno.EACCES) if sys.platform == "win32" else (errno.EADDRINUSE,)
"""What a system says of a port that another program listens on."""

LAST_WORDS_S = 1
"""Seconds for requests that are being answered when the server is stopped."""

REQUEST_S = 10
"""Seconds, and at most as many more, that a connection may be open without a whole request."""

NEEDS = ("starlette", "uvicorn")


def require_extra() -> None:
    """Raises ConfigError where the libraries of the extra ``web`` are not installed."""
    missing = [name for name in NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(f"the local page needs {' and '.join(missing)}: pip install 'promptpex[web]'")


def listening(port: int) -> socket.socket:
    """A socket that listens on this port of 127.0.0.1, or on the next one that is free; 0: on any.

    Raises:
        ConfigError: none of them can be used.
    """
    for candidate in range(port, min(port + MOST_TRIES, 65_536)):
        # With the protocol named, asyncio sends the parts of a response at once instead of waiting 40 ms in between.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            if os.name == "posix":  # a server that was killed leaves its port waiting; elsewhere this would share ports
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((HOST, candidate))
            listener.listen(128)
        except OSError as error:
            listener.close()
            if error.errno not in TAKEN:
                raise ConfigError(f"port {candidate} cannot be used ({error.strerror}); choose --port") from error
        else:
            return listener
    raise ConfigError(f"port {port} and those after it are taken; choose another with --port")


class LocalServer:
    """A server that is ready to run: its address is known, and browsers that come now wait for it.

    Args:
        listener: where it listens.
        ports: what it shows.
        say: told what went wrong in a page, in a sentence.
        further: told the link for the next browser, each time one was used.
        leave: called where a stopped server does not come to its end.
        debug: whether a page that fails shows a traceback in the terminal.
        make: makes secrets, see ``BrowserSessions``.
    """

    def __init__(
        self,
        listener: socket.socket,
        ports: Ports,
        say: Callable[[str], None],
        further: Callable[[str], None],
        leave: Callable[[], None] = lambda: None,
        debug: bool = False,
        make: Callable[[], str] = fresh_secret,
    ) -> None:
        from promptpex.web.app import build_app

        self._listener, self._say, self._leave, self._debug = listener, say, leave, debug
        self.port: int = listener.getsockname()[1]
        self._sessions = BrowserSessions(make, lambda: further(self.link))
        self._uvicorn = _uvicorn(build_app(ports, self._sessions, self.port, self._failed))

    @property
    def link(self) -> str:
        return f"http://{HOST}:{self.port}{ENTER}?token={self._sessions.token}"

    def run(self, begun: Callable[[], None] = lambda: None) -> None:
        """Serves until Ctrl-C, SIGTERM or ``stop``; what is being answered then has a second.

        Args:
            begun: called once signals are heeded.
        """
        with _signals(self._uvicorn, self._leave):
            begun()
            self._uvicorn.run(sockets=[self._listener])

    def stop(self) -> None:
        """Ends ``run``, from any thread."""
        self._uvicorn.should_exit = True

    def _failed(self, error: Exception) -> None:
        self._say(f"promptpex: a page failed ({type(error).__name__}: {str(error)[:300]}); please report it")
        if self._debug:
            self._say("".join(traceback.format_exception(error)))


def _uvicorn(app: App) -> uvicorn.Server:
    """Uvicorn without its logs, its signals and what a page for one person does not need."""
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Impatient(H11Protocol):
        """Closes a connection on which no whole request has come for some time."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.loop.call_later(REQUEST_S, self._look)

        def _look(self) -> None:
            if self.cycle is None or self.cycle.more_body or self.cycle.response_complete:
                self.transport.close()
            else:
                self.loop.call_later(REQUEST_S, self._look)

    class Quiet(uvicorn.Server):
        """Leaves signals to us: uvicorn sends them on to the process once it has stopped."""

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    return Quiet(
        uvicorn.Config(
            app,
            http=Impatient,
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="critical",
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=LAST_WORDS_S,
        )
    )


@contextlib.contextmanager
def _signals(server: uvicorn.Server, leave: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM stop the server. A second one, or a page that is still being made after the last words, calls
    ``leave``: a thread cannot be stopped."""
    hurry = threading.Timer(2 * LAST_WORDS_S, leave)
    hurry.daemon = True

    def stop(number: int, frame: object) -> None:
        if server.should_exit:
            leave()
        elif not hurry.is_alive():
            hurry.start()
        server.should_exit = True

    try:
        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not the main thread, which alone gets signals
        yield
        return
    try:
        yield
    finally:
        hurry.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)
