"""What commands print, safe for a terminal, and what they know of their process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from textwrap import wrap
from typing import Any

import click

from promptpex.codecs.text.control_characters import escaped, unobeyed, visible
from promptpex.core.translation import from_data, tr, tr_n

NO_ANSWER = 3
"""Exit code of a command in which a model, a judge or the script of a metric gave nothing usable."""

WHOLE_PROCESS = False
"""Whether the process ends with the command: after a stop it then ignores further signals and exits with its code."""

DEBUG = False
"""Whether errors show a traceback: ``--debug``, or the variable PROMPTPEX_DEBUG."""

_DISPLAYS: list[Callable[[str], None]] = []
"""Prints above the display that is live on stderr, if one is."""


def say(text: str, *, err: bool = False) -> None:
    if err and _DISPLAYS:
        _DISPLAYS[-1](visible(text))
    else:
        click.echo(visible(text), err=err)


def paragraph(text: str) -> None:
    from rich.console import Console
    from rich.text import Text

    Console().print(Text(visible(text)))


@contextmanager
def above_a_display(show: Callable[[str], None]) -> Iterator[None]:
    """Until the end of the block ``show`` prints what is said on stderr, where a live display would be torn by it."""
    _DISPLAYS.append(show)
    try:
        yield
    finally:
        _DISPLAYS.remove(show)


def data(text: str) -> str:
    """Data for stdout, in which neither a terminal nor a build server finds anything to obey; says where that changed
    them."""
    if sys.stdout.isatty():
        return visible(text.replace("\r\n", "\n"))
    harmless = unobeyed(text)
    if harmless != text:
        say(
            tr("note: commands and control characters in the data are broken up; a file keeps them as they are"),
            err=True,
        )
    return harmless


def print_json(value: Any) -> None:
    click.echo(escaped(json.dumps(value, ensure_ascii=False)))


def tell(stored_text: str) -> None:
    say(from_data(stored_text), err=True)


def asked_in_words(totals: Mapping[str, Any]) -> str:
    """What a command asked, in a sentence."""
    sent, replayed, cached = totals["sent"], totals["replayed"], totals["cached"]
    answered = totals["requests"] - replayed
    recorded = tr_n("{count} answer from a recording", "{count} answers from a recording", replayed)
    if replayed and not (sent or answered or cached):
        return recorded
    requests = tr_n("{count} request sent", "{count} requests sent", sent)
    if answered != sent:
        requests += f" ({tr('{count} answered', count=answered) if answered else tr('none answered')})"
    from_store = tr_n("{count} answer from the store", "{count} answers from the store", cached)
    return ", ".join([requests, from_store, *([recorded] if replayed else [])])


WIDTH = 80


def wrapped(*sentences: str) -> list[str]:
    """Each of the sentences in lines of 80 columns; an empty one is an empty line."""
    return [line for sentence in sentences for line in wrap(sentence, WIDTH, break_on_hyphens=False) or [""]]


def indented(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def right_aligned(words: Sequence[str], least: Sequence[int], cells: Sequence[object]) -> str:
    """Cells of a row below these headings, each as wide as asked for and as its heading needs; the headings themselves
    are the first row."""
    widths = (max(width, len(word) + 1) for word, width in zip(words, least, strict=True))
    return "".join(f"{cell!s:>{width}}" for cell, width in zip(cells, widths, strict=True))


def and_more(count: int, listed: int) -> list[str]:
    """The line that says how many items of a list are not ``listed``; none where all are."""
    return ["  " + tr("and {count} more; --json has all", count=count - listed)] if count > listed else []


def apart(parts: Iterable[Sequence[str]]) -> list[str]:
    """The lines of all parts, with an empty one between two; an empty part is left out."""
    return [line for part in parts if part for line in ("", *part)][1:]
