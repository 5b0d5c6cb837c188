"""What a batch ends with in a terminal: a table of prompts and models, what is missing, and the answer last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptpex.core.translation import Key, from_data, tr, tr_n
from promptpex.report.batches.batch_files import INDEX
from promptpex.report.batches.batch_in_words import ONLY
from promptpex.report.batches.batch_report import BatchReport
from promptpex.report.percentages import TableRow, ends, marked
from promptpex.report.terminal.brief import MOST_LINES
from promptpex.report.terminal.ending import beginning_of, link, print_renderable, unbroken
from promptpex.report.terminal.fitted_table import Column, fitted
from promptpex.report.terminal.texts import LONG, clean, exact, named
from promptpex.tables import records

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

FEWEST_PROMPTS = 3
"""Prompts that are shown, however little room there is."""
MOST_MISSING = 3
"""Lines for prompts without a run; the index has all."""
MOST_HIDDEN = 2
"""Models without a column that are named; the index has all."""
ANSWER_LINES = (9, 7, 5, 3, 2)
"""Lines of the answer: as many as leave room for prompts."""
REST_IN_INDEX = Key("The index has the rest.")
NONE = "–"


@dataclass(frozen=True, slots=True)
class BatchEnding:
    """What the command that ends has to say besides the figures.

    Attributes:
        requests: what it asked, in a sentence; empty where it asked nothing.
        again: the command as it was typed, where the same one goes on with what is missing.
        gate: the command that holds the runs against a limit; empty where there is none.
        then: what is said after it, on stderr; it takes its lines of the same screen.
    """

    requests: str = ""
    again: str = ""
    gate: str = ""
    then: str = ""


def show_batch(report: BatchReport, console: Console, ending: BatchEnding, *, full: bool = False) -> None:
    """Prints the report of a batch; on 24 lines of 80 columns unless ``full``, with the prompts that fail most."""
    from rich.text import Text

    if full:
        lines = [*_prompts(report, console, None), *_end(report, ending, report.answer, full=True)]
    else:
        then = [Text(ending.then)] if ending.then else []
        lines = _on_one_screen(report, console, ending, MOST_LINES - _heights(then, console))
    for line in lines:
        print_renderable(line, console)


def _on_one_screen(report: BatchReport, console: Console, ending: BatchEnding, room: int) -> list[Table | Text]:
    """As much of the answer as leaves room for some prompts, on so many lines in all."""
    lines: list[Table | Text] = []
    for most in ANSWER_LINES:
        answer = beginning_of(clean(report.answer, LONG), console, most, hint=REST_IN_INDEX)
        end = _end(report, ending, answer, full=False)
        lines = [*_prompts(report, console, room - _heights(end, console)), *end]
        if _heights(lines, console) <= room:
            break
    return lines


def _prompts(report: BatchReport, console: Console, room: int | None) -> list[Table | Text]:
    """The table of prompts, on so many lines at most the prompts that fail most, and what is left out of it."""
    files = [one.part.file for one in report.parts if one.summary is not None]
    shown_count = len(files) if room is None else min(len(files), max(FEWEST_PROMPTS, room))
    while True:
        worst = files if len(files) <= shown_count else _worst_first(report, files)[:shown_count]
        table, left_out = _table(report, worst, console.width)
        lines: list[Table | Text] = [table, *_left_out(len(files) - len(worst), left_out)]
        excess = 0 if room is None else _heights(lines, console) - room
        if excess <= 0 or shown_count <= FEWEST_PROMPTS:
            return lines
        shown_count = max(FEWEST_PROMPTS, shown_count - excess)


def _left_out(prompts: int, models: Sequence[str]) -> list[Text]:
    from rich.text import Text

    shown_models = models if len(models) <= MOST_HIDDEN + 1 else models[:MOST_HIDDEN]
    rest = len(models) - len(shown_models)
    names = " ".join([", ".join(shown_models), *([tr("and {count} more", count=rest)] if rest else [])])
    hidden = tr("Hidden at this width: {columns} (see the index).", columns=names)
    more = [Text(_and_more(prompts), no_wrap=True, overflow="ellipsis")] if prompts else []
    return [*more, *([Text(hidden)] if models else [])]


def _end(report: BatchReport, ending: BatchEnding, answer: str, *, full: bool) -> list[Text]:
    from rich.text import Text

    missing = [one.part for one in report.parts if one.summary is None]
    shown_missing = missing if full or len(missing) <= MOST_MISSING else missing[: MOST_MISSING - 1]
    why = {part.file: from_data(part.problem) if part.problem else tr("its run is gone") for part in shown_missing}
    lines = [Text(clean(f"{file}: {problem}", LONG)) for file, problem in why.items()]
    lines += (
        [Text(tr("and {count} more", count=len(missing) - len(shown_missing)))]
        if len(shown_missing) < len(missing)
        else []
    )
    lines += [Text(clean(note, LONG)) for note in (report.notes if full else report.incomplete)]
    lines += [Text(), *([Text(ending.requests)] if ending.requests else [])]
    steps = [*([ending.again] if ending.again else []), *([ending.gate] if ending.gate else [])]
    lines += [unbroken(tr("Next: {command}", command=exact(step))) for step in steps[:1]]
    index = report.folder / INDEX
    lines.append(unbroken(f"{tr('Index:')} ").append_text(link(index, index)))
    return [*lines, Text(), Text(clean(answer, LONG))]


def _and_more(count: int) -> str:
    return tr_n(
        "... and {count} prompt that fails less: --full, or the index",
        "... and {count} prompts that fail less: --full, or the index",
        count,
    )


def _heights(lines: Sequence[Table | Text], console: Console) -> int:
    return sum(_height(line, console) for line in lines)


def _height(line: Table | Text, console: Console) -> int:
    """How many lines of the console it takes; what is printed unbroken is counted as one."""
    return 1 if getattr(line, "overflow", None) == "ignore" else len(console.render_lines(line, pad=False))


def _worst_first(report: BatchReport, files: Sequence[str]) -> list[str]:
    """The prompts, those first on which a model has the highest share; without any share last."""

    def highest(file: str) -> float:
        shares = [
            report.cells[file, model]["non_compliance"] for model in report.models if (file, model) in report.cells
        ]
        return max((share for share in shares if share is not None), default=-1.0)

    return sorted(files, key=highest, reverse=True)


def _table(report: BatchReport, files: Sequence[str], width: int) -> tuple[Table, list[str]]:
    """The table with intervals where they fit, else without them; and the models that do not fit either."""
    prompts = tr_n("{count} prompt", "{count} prompts", len(report.parts))
    title = tr("{prompts}: outputs that break a rule", prompts=prompts)
    for intervals in (True, False):
        columns = [Column(Key("prompt"), [*(named(report.names[file]) for file in files), _mean_of(report)])]
        for number, model in enumerate(report.models):
            rows = [report.cells.get((file, model)) for file in files]
            cells = [*(_cell(row, intervals=intervals) for row in rows), _mean(report, model)]
            decisions = [*(str(row["decision"] or "") if row else "" for row in rows), ""]
            columns.append(Column(named(model), cells, gives_way=number, decisions=decisions))
        table, left_out = fitted(title, columns, width, edges=False)
        if not left_out:
            break
    return table, left_out


def _mean_of(report: BatchReport) -> str:
    counts = {row["mean_of"] for row in records(report.by_model)} - {0}
    return tr("mean of {count}", count=max(counts)) if counts else tr("mean")


def _mean(report: BatchReport, model: str) -> str:
    (row,) = (row for row in records(report.by_model) if row["model"] == model)
    if row["mean_non_compliance"] is None:
        return NONE
    return marked(row["mean_non_compliance"], row["at_least"])


def _cell(row: TableRow | None, *, intervals: bool) -> str:
    """A model's share on a prompt with the decision about it, where there was one to make."""
    if row is None or row["non_compliance"] is None:
        return NONE
    interval = f" ({ends(row['ci_low'], row['ci_high'])})" if intervals else ""
    decision = "" if row["decision"] in (ONLY, None) else f" {from_data(row['decision'])}"
    return f"{marked(row['non_compliance'], row['at_least'])}{interval}{decision}"
