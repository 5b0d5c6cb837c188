"""What a terminal shows of names, figures and foreign text: on one line, safe, and cut where it is long."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from promptpex.codecs.text.control_characters import visible
from promptpex.core.translation import digits, tr
from promptpex.report import percentages
from promptpex.report.ids import shortened

if TYPE_CHECKING:
    from rich.console import Console

SHORT = 160
LONG = 4096


def clean(text: Any, limit: int = SHORT) -> str:
    """Foreign text for one line of a terminal: control characters shown as blanks, cut at ``limit``."""
    words = str("" if text is None else text).split(maxsplit=limit)  # as many fill the line, however long the text is
    one_line = " ".join(words)
    shortened = one_line[:limit]
    safe = visible("".join(" " if unicodedata.category(sign) in ("Cc", "Cf", "Cs") else sign for sign in shortened))
    return safe if len(one_line) <= limit else safe[: limit - 1] + "…"


def exact(text: object) -> str:
    """A path or a command on one line: all its letters, and U+FFFD for each sign that a terminal would obey."""
    unseen = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return visible("".join("\ufffd" if unicodedata.category(letter) in unseen else letter for letter in str(text)))


def named(name: str) -> str:
    """The name of a model, or the id of a rule or a case, for one line of a terminal."""
    return shortened(clean(name, LONG))


def percent(share: float | None) -> str:
    """A share as a percentage; a dash when there is none."""
    return "–" if share is None else percentages.percent(share)


def money(usd: float | None) -> str:
    """US dollars, or ``unknown``."""
    if usd is None:
        return tr("unknown")
    return digits(f"${usd:.4f}" if 0 < usd < 1 else f"${usd:.2f}")


def seconds(milliseconds: float | None) -> str:
    """Milliseconds as seconds, or a dash."""
    return "–" if milliseconds is None else tr("{count} s", count=digits(f"{milliseconds / 1000:.2f}"))


def print_line(text: str, console: Console) -> None:
    """Prints a text as it is, folded at the terminal's width."""
    console.print(text, markup=False, highlight=False, emoji=False)


def print_cut(lines: Iterable[str], console: Console) -> None:
    """Prints lines that end where the terminal does."""
    for line in lines:
        console.print(line, markup=False, highlight=False, emoji=False, overflow="ellipsis", no_wrap=True)
