"""Foreign text on a terminal: shown, never obeyed."""

from __future__ import annotations

import sys

from promptpex.codecs.controls import visible


def data(text: str) -> str:
    """Data for stdout: as it is for a file or another program, harmless on a terminal."""
    return visible(text.replace("\r\n", "\n")) if sys.stdout.isatty() else text


__all__ = ["data", "visible"]
