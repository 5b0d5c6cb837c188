"""Starting the local page from a command: the link, the browser, the end."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from promptpex.cli import main
from promptpex.cli.output import say

if TYPE_CHECKING:
    from promptpex.web.ports import Ports


def serve(ports: Ports, *, port: int | None, no_open: bool) -> int:
    """Serves the pages until Ctrl-C, and gives the exit code.

    Args:
        port: the wanted one, None for the usual one; the next free one is taken, and that is said.
        no_open: whether the link is only printed.

    Raises:
        ConfigError: the extra ``web`` is not installed, or no port is free.
    """
    from promptpex.web.server import DEFAULT_PORT, LocalServer, listening, open_browser, require_extra

    require_extra()
    wanted = DEFAULT_PORT if port is None else port
    listener = listening(wanted)
    server = LocalServer(listener, ports, say, _leave, main.DEBUG)
    if wanted not in (0, server.port):
        say(f"Port {wanted} is taken; this is port {server.port}.", err=True)

    def begun() -> None:
        say(f"Open {server.link}")
        say("Ctrl-C ends it.")
        if not no_open:
            open_browser(server.link)

    server.run(begun)
    return 0


def _leave() -> None:
    """Ends the process without waiting for its threads, where the process is the command's own."""
    if main.WHOLE_PROCESS:
        sys.stdout.flush()
        os._exit(0)
