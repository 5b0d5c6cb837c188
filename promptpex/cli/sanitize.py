"""Foreign text on a terminal: shown, never obeyed."""

from __future__ import annotations

import sys

import click

from promptpex.codecs.controls import visible


def say(text: str, *, err: bool = False) -> None:
    """A line on stdout, or on stderr, in which nothing is obeyed."""
    click.echo(visible(text), err=err)


def data(text: str) -> str:
    """Data for stdout: as it is for a file or another program, harmless on a terminal."""
    return visible(text.replace("\r\n", "\n")) if sys.stdout.isatty() else text


__all__ = ["data", "say", "visible"]
