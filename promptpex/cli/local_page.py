"""Starting the local page from a command: the link, the browser, the end."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from promptpex.cli import output
from promptpex.cli.output import print_json, say
from promptpex.core.translation import tr

if TYPE_CHECKING:
    from promptpex.web.interfaces import Ports


def serve(ports: Ports, *, port: int | None, no_open: bool, as_json: bool = False, quiet: bool = False) -> int:
    """Serves the pages until Ctrl-C, and gives the exit code.

    Args:
        port: the wanted one, None for the usual one; the next free one is taken, and that is said.
        no_open: whether the link is only printed.
        as_json: whether each link is printed as JSON, on a line of its own.
        quiet: whether nothing but links and what goes wrong is said.

    Raises:
        ConfigError: the extra ``web`` is not installed, or no port is free.
    """
    from promptpex.cli.browser import open_link
    from promptpex.web.server import DEFAULT_PORT, LocalServer, listening, require_extra

    require_extra()
    wanted_port = DEFAULT_PORT if port is None else port
    listener = listening(wanted_port)
    show = _as_json if as_json else _in_words
    problems = partial(say, err=True)
    server = LocalServer(
        listener, ports, problems, partial(show, tr("For another browser or person:")), _leave, output.DEBUG
    )
    if wanted_port not in (0, server.port) and not quiet:
        problems(tr("Port {wanted} is taken; this is port {port}.", wanted=wanted_port, port=server.port))

    def begun() -> None:
        show(tr("Open"), server.link)
        if not (as_json or quiet):
            say(tr("Ctrl-C ends it."))
        if not no_open:
            open_link(server.link)

    server.run(begun)
    return 0


def _in_words(words: str, link: str) -> None:
    say(f"{words} {link}")


def _as_json(words: str, link: str) -> None:
    print_json({"link": link})


def _leave() -> None:
    """Ends the process without waiting for its threads, where the process is the command's own."""
    if output.WHOLE_PROCESS:
        sys.stdout.flush()
        os._exit(0)
