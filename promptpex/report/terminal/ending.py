"""The end of a report: what was asked, what to do next, where the report is, and last of all the answer."""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path
from typing import TYPE_CHECKING

from promptpex.core.sentences import split
from promptpex.core.translation import Key, tr
from promptpex.report.summary import Summary
from promptpex.report.terminal.next_steps import NextStep, Occasion, next_steps
from promptpex.report.terminal.texts import LONG, clean, exact

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

PAGE = "report.html"
LONGEST_COMMAND = 240
"""Characters of a command that is shown, three lines of a terminal; the shell's history has a longer one."""
REST = Key("The report has the rest.")


def ending(
    summary: Summary,
    console: Console,
    occasion: Occasion,
    *,
    most_answer: int | None = None,
    most_steps: int | None = None,
) -> list[Text]:
    """The last lines; commands and the path of the page are one line each, however long: broken ones cannot be used.

    Args:
        most_answer: lines of the answer; by default all.
        most_steps: commands to go on with; by default all that are proposed.
    """
    from rich.cells import cell_len
    from rich.text import Text

    lines, head = [Text(occasion.requests)] if occasion.requests else [], f"{tr('Next:')} "
    steps = [step for step in next_steps(summary, occasion) if len(step.command) <= LONGEST_COMMAND]
    for number, step in enumerate(steps[:most_steps]):
        lines.append(_proposed(" " * cell_len(head) if number else head, step, console.width))
    if summary.folder is not None:
        lines.append(page_line(tr("Report:"), summary.folder / PAGE))
    answer = beginning_of(clean(summary.answer, LONG), console, most_answer)
    return [*lines, *([Text()] if lines and answer else []), *([Text(answer)] if answer else [])]


def page_line(before: str, page: Path) -> Text:
    """A line that says where a page is."""
    return unbroken(f"{before} ").append_text(link(page, page))


def link(shown: object, page: Path | None, *, fragment: str = "", style: str = "") -> Text:
    """A text that a terminal opens the page by (OSC 8, "Hyperlinks in Terminal Emulators"), at the ``fragment``;
    elsewhere, or without a page, it is plain, since rich writes links to terminals alone."""
    from rich.style import Style
    from rich.text import Text

    address = "" if page is None else _address(page)
    mark = f"#{fragment}" if address and fragment else ""
    return Text(exact(shown), Style.parse(style or "none") + Style(link=f"{address}{mark}" or None))


def _address(page: Path) -> str:
    """The page as an address; empty where it has none, such as for a path on a foreign drive."""
    try:
        return page.absolute().as_uri()
    except ValueError:
        return ""


def print_renderable(line: RenderableType, console: Console) -> None:
    """Prints a line of a report, or a table; what may not be broken is left to the terminal."""
    from rich.text import Text

    if isinstance(line, Text):  # rich joins texts before it prints them, and forgets how they were to be folded
        unbroken = line.overflow == "ignore"
        console.print(line, soft_wrap=unbroken, no_wrap=line.no_wrap, overflow=line.overflow)
    else:
        console.print(line)


def _proposed(before: str, step: NextStep, width: int) -> Text:
    """A command on a line, with what it is for where there is room."""
    whole = unbroken(f"{before}{exact(step.line())}")
    return whole if whole.cell_len <= width else unbroken(f"{before}{exact(step.command)}")


def unbroken(text: str) -> Text:
    """A line that is not folded, so that a path or command in it can be copied."""
    from rich.text import Text

    return Text(text, no_wrap=True, overflow="ignore")


def beginning_of(answer: str, console: Console, most: int | None, *, hint: Key = REST) -> str:
    """The sentences from the beginning that fill at most so many lines, or as much of the first as does, with a hint to
    the rest where some is left out."""
    from rich.text import Text

    def fits(text: str) -> bool:
        return most is None or len(Text(text).wrap(console, console.width)) <= most

    if fits(answer):
        return answer
    sentences, rest = list(split(answer)), hint.tr()
    words = sentences[0].split()
    fewer = [f"{''.join(sentences[:count]).rstrip()} {rest}" for count in range(1, len(sentences))]
    shorter = [f"{' '.join(words[:count])} … {rest}" for count in range(1, len(words))]
    for texts in (fewer, shorter):  # each of them from short to long
        if fitting := bisect_left(texts, True, key=lambda text: not fits(text)):
            return texts[fitting - 1]
    return rest
