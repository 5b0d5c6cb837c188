"""Pages in the user's browser: a report that is opened, the local page that is served until Ctrl-C."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from promptpex.cli import output
from promptpex.cli.output import print_json, say
from promptpex.core.translation import tr

if TYPE_CHECKING:
    from promptpex.web.interfaces import Ports


SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")
"""What an environment with a screen has; without one, a browser would take over the terminal."""


def open_link(link: str) -> None:
    if _has_screen():
        threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()


def open_report(path: Path) -> None:
    """Opens a report, or says on stderr why not and where it is. A browser that ``BROWSER`` names needs no screen."""
    if not (_has_screen() or os.environ.get("BROWSER")):
        say(tr("no display here to open a browser on; the report is {path}", path=path), err=True)
    elif not webbrowser.open(path.resolve().as_uri()):
        say(tr("no browser could be opened; the report is {path}", path=path), err=True)


def _has_screen() -> bool:
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in SCREENS)


def serve(ports: Ports, *, port: int | None, no_open: bool, as_json: bool = False, quiet: bool = False) -> int:
    """Serves the pages until Ctrl-C, and gives the exit code.

    Args:
        port: the wanted one, None for the usual one; the next free one is taken, and that is said.
        no_open: whether the link is only printed.
        as_json: whether each link is printed as JSON, on a line of its own.
        quiet: whether nothing but links and what goes wrong is said.
    """
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
    if output.WHOLE_PROCESS:
        sys.stdout.flush()
        os._exit(0)
