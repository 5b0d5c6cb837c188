"""The server: one process, on 127.0.0.1 alone, until Ctrl-C."""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import signal
import socket
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptpex.core.errors import ConfigError
from promptpex.web.ports import Ports
from promptpex.web.security import ENTER, Door

if TYPE_CHECKING:
    import uvicorn

HOST = "127.0.0.1"
DEFAULT_PORT = 8765
MOST_TRIES = 50
"""Ports that are tried, one after the other, where the wanted one is taken."""

LAST_WORDS_S = 1
"""Seconds for requests that are being answered when the server is stopped."""

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
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.bind((HOST, candidate))
            listener.listen(128)
        except OSError as error:
            listener.close()
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise ConfigError(f"port {candidate} cannot be used ({error.strerror}); choose --port") from error
        else:
            return listener
    raise ConfigError(f"port {port} and those after it are taken; choose another with --port")


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server that is ready to run: its address is known, and browsers that come now wait for it.

    Attributes:
        listener: where it listens.
        door: whom it lets in.
        ports: what it shows.
        say: told each sentence for the terminal.
    """

    listener: socket.socket
    door: Door
    ports: Ports
    say: Callable[[str], None]

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        number = self.listener.getsockname()[1]
        assert isinstance(number, int)
        return number

    @property
    def link(self) -> str:
        """The link that lets the next browser in."""
        return f"http://{HOST}:{self.port}{ENTER}?token={self.door.token}"

    def run(self) -> None:
        """Serves until Ctrl-C or SIGTERM; what is being answered then has a second."""
        server = self._uvicorn()
        with _signals(server):
            server.run(sockets=[self.listener])

    def _uvicorn(self) -> uvicorn.Server:
        import uvicorn

        from promptpex.web.app import build_app

        class Quiet(uvicorn.Server):
            """Leaves signals to us: uvicorn sends them on once it has stopped."""

            @contextlib.contextmanager
            def capture_signals(self) -> Iterator[None]:
                yield

        config = uvicorn.Config(
            build_app(self.ports, self.door, self.port, self._failed),
            http="h11",
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="critical",
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=LAST_WORDS_S,
        )
        return Quiet(config)

    def _failed(self, error: Exception) -> None:
        self.say(f"promptpex: a page failed ({type(error).__name__}: {str(error)[:300]}); please report it")


@contextlib.contextmanager
def _signals(server: uvicorn.Server) -> Iterator[None]:
    """Ctrl-C and SIGTERM stop the server; a second one does not wait for what is being answered."""

    def stop(number: int, frame: object) -> None:
        server.force_exit = server.should_exit
        server.should_exit = True

    try:
        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not the main thread, which alone gets signals
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def open_browser(link: str) -> bool:
    """Opens the user's browser; False where there is none."""
    try:
        return webbrowser.open(link)
    except webbrowser.Error:
        return False
