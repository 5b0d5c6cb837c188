"""Opening a page in the user's browser, where there is a screen to show it on."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from pathlib import Path

from promptpex.cli.output import say
from promptpex.core.translation import tr

SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")
"""What an environment with a screen has; without one, a browser would take over the terminal."""


def open_link(link: str) -> None:
    """Opens a link where there is a screen, without waiting for the browser."""
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
