"""What a run ends with: so many lines that the answer and what it rests on stand on one screen.

The lines are shared out from the end: first the answer and what to do next, then the table of models, what a reader has
to know of it, and the most frequent failures; what is left over goes to an example of each of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from promptpex.core.translation import tr, tr_n
from promptpex.report.colours import BAD
from promptpex.report.failures import FailureExample
from promptpex.report.page.addresses import address
from promptpex.report.secondary_tables import trust_note
from promptpex.report.summary import Summary
from promptpex.report.terminal.ending import PAGE, ending, link, print_renderable
from promptpex.report.terminal.model_table import best_first, model_table
from promptpex.report.terminal.next_steps import Occasion, run_argument
from promptpex.report.terminal.notes import gaps_by_reason, incomplete, marks, means
from promptpex.report.terminal.texts import clean, exact, named
from promptpex.report.translated_values import reason_of

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

MOST_LINES = 23
"""With the prompt of the shell they fill a terminal of 24 lines, the usual one."""
SHARES = ((9, 2, 3), (9, 1, 3), (9, 1, 2), (6, 1, 2), (6, 1, 1), (6, 1, 0))
"""Lines of the answer, commands to go on with, and rules that fail most: as many as leave room for the models."""
MOST_MODELS = 8
"""Models that are shown; the report has the others."""


def show_brief(summary: Summary, console: Console, occasion: Occasion) -> None:
    """Prints the table of models with its notes, the most frequent failures, what to do next, and the answer."""
    from rich.text import Text

    cut_short = [*map(Text, incomplete(summary))]
    about = [*trust_note(summary), *gaps_by_reason(summary), *means(summary)]
    least = _height(cut_short, console) + min(1, len(about))
    end, table, worst = _shared_out(summary, console, occasion, least_notes=least)
    room = MOST_LINES - _height([Text(), *end, *table, *cut_short], console)
    full_command = exact(
        f"promptpex report {run_argument(summary, summary.folder)} --full" if summary.folder else "--full"
    )
    remarks = _fitting_notes(about, full_command, console, room - (len(worst) + 2 if worst else 0))
    page = summary.folder and summary.folder / PAGE
    rules = _failures(worst, page, room - _height(remarks, console) - 2) if worst else []
    for line in [*table, *cut_short, *remarks, *rules, Text(), *end]:
        print_renderable(line, console)


def _shared_out(
    summary: Summary, console: Console, occasion: Occasion, *, least_notes: int
) -> tuple[list[Text], list[RenderableType], Sequence[FailureExample]]:
    """The end, the table of models, and the rules that are named: less of the end and of the rules where the models
    take more lines, and in the end fewer models."""
    whole = _models(summary, console, MOST_MODELS)
    height = _height(whole, console)
    for most_answer, most_steps, most_rules in SHARES:
        end = ending(summary, console, occasion, most_answer=most_answer, most_steps=most_steps)
        worst = summary.examples[:most_rules]
        room = MOST_LINES - 1 - _height(end, console) - (len(worst) + 2 if worst else 0) - least_notes
        if height <= room:
            return end, whole, worst
    counts = range(min(MOST_MODELS, len(summary.models)), 1, -1)
    fewer = (_models(summary, console, count) for count in counts)
    table = next((each for each in fewer if _height(each, console) <= room), _models(summary, console, 1))
    return end, table, worst


def _height(lines: Sequence[RenderableType], console: Console) -> int:
    """The lines that a terminal of this width takes for them."""
    from rich.text import Text

    height = 0
    for line in lines:
        if isinstance(line, Text) and line.overflow == "ignore":
            height += max(1, -(-line.cell_len // console.width))
        else:
            height += len(console.render_lines(line, pad=False))
    return height


def _models(summary: Summary, console: Console, most: int) -> list[RenderableType]:
    """The table of so many models at most, the best ones, with the meaning of its marks."""
    from rich.text import Text

    ranked = best_first(summary)
    table, left_out = model_table(summary, console.width, models=ranked[:most], edges=False)
    return [table, *map(Text, _below(summary, max(0, len(ranked) - most), left_out))]


def _below(summary: Summary, more: int, left_out: Sequence[str]) -> Iterator[str]:
    if more:
        yield tr_n(
            "... and {count} more model (see {file}).", "... and {count} more models (see {file}).", more, file=PAGE
        )
    meanings = [*marks(summary), *([tr("hidden: {columns}", columns=", ".join(left_out))] if left_out else [])]
    if meanings:
        yield "; ".join(meanings)


def _fitting_notes(about: Sequence[str], every: str, console: Console, most: int) -> list[Text]:
    """The first notes that fit into so many lines; that there are more is said, and how to have ``every`` one."""
    from rich.text import Text

    for count in range(len(about), -1, -1):
        left = len(about) - count
        more = (
            [tr_n("{count} more note: {command}", "{count} more notes: {command}", left, command=every)] if left else []
        )
        lines = [Text(clean(line, 320)) for line in [*about[:count], *more]]
        if _height(lines, console) <= most:
            return lines
    return []


def _failures(worst: Sequence[FailureExample], page: Path | None, most: int) -> list[Text]:
    """The rules that fail most often, a line each, with a link to the outputs that break it; and as far as there is
    room, one of these."""
    from rich.text import Text

    lines = [Text(), Text(tr("Most frequent failures"), style="bold")]
    examples = max(0, most - len(worst))
    for number, example in enumerate(worst[: max(0, most)]):
        count = tr("{some} of {all}", some=example.broken, all=example.scored)
        rule = link(named(example.rule), page, fragment=address(example.rule, verdict="fail"), style=BAD)
        lines.append(_cut(Text.assemble("  ", rule, f"  {count}: {clean(example.text)}")))
        if number < examples:
            place = tr("{model}, case {case}", model=named(example.model), case=named(example.case))
            reason = clean(reason_of(example.reason, example.source)) or clean(example.output)
            lines.append(_cut(Text(f"      {place}: {reason}")))
    return lines


def _cut(line: Text) -> Text:
    """A line that ends where the terminal does."""
    line.no_wrap, line.overflow = True, "ellipsis"
    return line
