"""The report in a terminal: a table per model with intervals, then the most frequent failures with an example each."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from promptpex.codecs.wording import plural
from promptpex.core.records import RUNNING
from promptpex.report import percentages
from promptpex.report.comparison_sections import GIVE_WAY, changed_section, compared_sections
from promptpex.report.headline import FEW
from promptpex.report.ids import shortened
from promptpex.report.metrics_in_words import metric_section, points, scales
from promptpex.report.percentages import TableRow
from promptpex.report.quantities import NON_COMPLIANCE, Quantity, quantities
from promptpex.report.secondary_tables import DAGGER, footnotes, rule_section, sections
from promptpex.report.section import IDS, Section, cut
from promptpex.report.summary import FailureExample, Summary
from promptpex.report.wrong_answers import wrong_answer_section
from promptpex.tables import records

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from promptpex.report.run_comparison import RunComparison

SHORT = 160
WHY = 320
LONG = 4096
CELL = 48
WIDE = 100
"""Columns of a terminal from which on a table has wide gaps and headings of one line, where it is whole so."""

NAME = 24
"""Columns of a terminal that names keep before figures give way to them; longer names are folded."""
SHORTEST_NAME = 8
"""Columns that names keep where nothing more can give way."""

WORD = 16
"""Letters of the longest word that is not broken where a column of a section is narrow; names and ids give way."""

NARROW_GAP = (0, 1, 0, 0)
"""The padding of the cells of a table on a narrow terminal: above, right, below, left."""

WORDS = ("decision", "change")
"""Columns of words among those of figures."""


MOST_ROWS = 8
"""Rows of a section in the terminal; the page and the CSV files have all."""


class Column(NamedTuple):
    """A header and its cells; of the columns that may give way to the others on a narrow terminal, the greater
    ``gives_way``, the sooner."""

    header: str
    cells: list[str]
    gives_way: int = 0


def show(summary: Summary, console: Console) -> None:
    """Prints the report."""
    if summary.answer:
        _line(clean(summary.answer, LONG), console)
        console.print()
    table, left_out = _models(summary, console.width)
    console.print(table)
    if left_out:
        _line(f"Hidden at this width: {', '.join(left_out)} (see report.html).", console)
    for line in (*footnotes(summary), *notes(summary)):
        _line(line, console)
    _metrics(summary, console)
    show_section(wrong_answer_section(summary), console)
    if summary.models["scored"].sum() > 0:
        for section in (rule_section(summary), *sections(summary)):
            show_section(section, console)
    if summary.examples:
        console.print("\nMost frequent failures", style="bold")
        for example in summary.examples:
            _example(example, console)
    if summary.folder is not None:
        place = clean(summary.folder, limit=LONG)
        console.print(f"\nReports in {place}", markup=False, highlight=False, emoji=False, soft_wrap=True)


def _metrics(summary: Summary, console: Console) -> None:
    """How the models do by the owner's metrics, and the output that each metric scores lowest."""
    show_section(metric_section(summary), console)
    scale_of = scales(summary)
    for row in records(summary.lowest.drop_duplicates("metric")):
        place = f"{named(row['model'])}, case {named(row['case'])}"
        lines = [
            f"  lowest {row['metric']}: {points(row['value'], scale_of.get(row['metric']))}, {place}",
            f"      output: {clean(row['output'])}",
            f"      {clean(row['reason'])}",
        ]
        _cut_lines(lines, console)


def show_comparison(comparison: RunComparison, console: Console) -> None:
    """Prints what changed from one run to another."""
    _line(clean(comparison.answer, LONG), console)
    for section in compared_sections(comparison):
        _compared_table(section, console)
    show_section(changed_section(comparison), console)
    for note in comparison.notes:
        _line(clean(note, LONG), console)


def _compared_table(section: Section, console: Console) -> None:
    columns = [
        Column(name, [row[at] for row in section.rows], GIVE_WAY.index(name) + 1 if name in GIVE_WAY else 0)
        for at, name in enumerate(section.header)
    ]
    names = [named(cell) if columns[0].header in IDS else clean(cell, LONG) for cell in columns[0].cells]
    table, left_out = _fitting(section.title, [columns[0]._replace(cells=names), *columns[1:]], console.width)
    console.print()
    console.print(table)
    if left_out:
        _line(f"Hidden at this width: {', '.join(left_out)} (see --json).", console)


def _line(text: str, console: Console) -> None:
    console.print(text, markup=False, highlight=False, emoji=False)


def show_section(section: Section, console: Console) -> None:
    """Prints the first rows of a table with its title and note; nothing where it has no rows."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    if not section.rows:
        return
    console.print(f"\n{section.title}", style="bold", markup=False, highlight=False)
    rows, more = cut(section.rows, MOST_ROWS)
    cells = [[named(cell) if name in IDS else clean(cell, CELL) for name, cell in _pairs(section, row)] for row in rows]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=NARROW_GAP if console.width < WIDE else (0, 1))
    for name, wide in zip(section.header, _widths(section.header, cells, console.width), strict=True):
        table.add_column(Text(named(name)), overflow="fold", width=wide)
    for row in cells:
        table.add_row(*map(Text, row))
    if section.note:
        _line(section.note, console)
    console.print(table)
    if more:
        _line(f"... and {more} more (see {section.file or 'report.html'}).", console)


def _widths(header: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> Sequence[int | None]:
    """The width of each column of a section, in cells of the terminal: words stay whole, and names where there is
    room; None for each where there is no room even for the words, and all are folded as they come."""
    from rich.cells import cell_len

    columns = [[named(name), *(row[at] for row in cells)] for at, name in enumerate(header)]
    longest = [max(map(cell_len, column)) for column in columns]
    is_name = [name in IDS for name in header]
    words = [max(map(cell_len, " ".join(column).split()), default=0) for column in columns]
    least = [min(word, NAME if name else WORD) for word, name in zip(words, is_name, strict=True)]
    gap = 2 if width < WIDE else 3
    room = width - gap * len(header) - sum(n for n, name in zip(least, is_name, strict=True) if not name)
    names = sorted((at for at, name in enumerate(is_name) if name), key=lambda at: least[at])
    for place, at in enumerate(names):
        least[at] = min(least[at], max(len(header[at]), room // (len(names) - place)))
        room -= least[at]
    if room < 0:
        return [None] * len(header)
    for at in sorted(range(len(header)), key=lambda at: longest[at] - least[at]):
        more = min(room, longest[at] - least[at])
        least[at], room = least[at] + more, room - more
    return least


def _pairs(section: Section, row: Sequence[str]) -> Iterable[tuple[str, str]]:
    """The cells of a row with their headings."""
    return zip(section.header, row, strict=True)


def notes(summary: Summary) -> list[str]:
    """What a reader of the table has to know."""
    lines = []
    for model, reasons in summary.gaps.unscored.items():
        counts = ", ".join(f"{count} {clean(reason)}" for reason, count in reasons.items())
        lines.append(f"Unscored, {clean(model)}: {counts}.")
        lines += [f"  {clean(reason)}: {clean(why, WHY)}" for reason, why in _why(summary, model, reasons)]
    total = plural(len(summary.run.spec.rules), "rule")
    unjudged, half_judged = summary.gaps.unjudged_rules, summary.gaps.half_judged_rules
    if unjudged:
        verb = "has" if len(unjudged) == 1 else "have"
        lines.append(f"Not judged: {len(unjudged)} of {total} ({', '.join(unjudged)}) {verb} no check and no judge.")
    if half_judged:
        verb = "has" if len(half_judged) == 1 else "have"
        lines.append(
            f"Judged in part: {len(half_judged)} of {total} ({', '.join(half_judged)}) {verb} checks that find only "
            "some failures, and no judge: an output that passes them is unscored."
        )
    if summary.run.manifest.partial:
        why = clean(summary.run.manifest.partial)
        why = "it was ended before its report" if why == RUNNING else why
        lines.append(f"This run is not complete ({why}): the same command goes on with it.")
    return lines


def _why(summary: Summary, model: str, reasons: Iterable[str]) -> list[tuple[str, str]]:
    """For each reason that was an error with a message, the first message: what was wrong, and what to do."""
    rows = summary.outputs
    failed = rows[rows["model"].isin([model]) & rows["error"].notna() & rows["message"].fillna("").ne("")]
    first = failed.drop_duplicates("error")
    messages = dict(zip(first["error"].tolist(), first["message"].tolist(), strict=True))
    return [(reason, messages[reason]) for reason in reasons if reason in messages]


def clean(text: Any, limit: int = SHORT) -> str:
    """Foreign text for one line of a terminal: control characters shown as blanks, cut at ``limit``."""
    words = str("" if text is None else text).split(maxsplit=limit)  # as many fill the line, however long the text is
    one_line = " ".join(words)
    shown = one_line[:limit]
    safe = "".join(" " if unicodedata.category(letter) in ("Cc", "Cf", "Cs") else letter for letter in shown)
    return safe if len(one_line) <= limit else safe[: limit - 1] + "…"


def named(name: str) -> str:
    """The name of a model, or the id of a rule or a case, for one line of a terminal."""
    return shortened(clean(name, LONG))


def percent(share: float | None) -> str:
    """A share as a percentage; a dash when there is none."""
    return "–" if share is None else percentages.percent(share)


def _models(summary: Summary, width: int) -> tuple[Table, list[str]]:
    """The table per model, and the columns that did not fit."""
    shown = quantities(summary)
    *others, last = (clean(quantity.title) for quantity in shown)
    titles = f"{', '.join(others)} and {last}" if others else last
    title = f"{clean(summary.run.prompt.name)}: {titles}"
    return _fitting(title, _columns(summary, shown), width)


def _fitting(title: str, columns: Sequence[Column], width: int) -> tuple[Table, list[str]]:
    """A table with names in its first column, and the columns that gave way: a figure is shown whole or not at all."""
    shown = list(columns)
    name = min(max(map(len, columns[0].cells), default=0), NAME)
    narrow = width < WIDE or _least_width(shown, name, narrow=False) > width
    while (over := _least_width(shown, name, narrow=narrow) - width) > 0:
        yielding = [column for column in shown if column.gives_way]
        if not yielding:
            name = max(SHORTEST_NAME, name - over)
            break
        shown.remove(max(yielding, key=lambda column: column.gives_way))
    left_out = [column.header for column in columns if column not in shown]
    return _table_of(title, shown, name, narrow=narrow), left_out


def _least_width(columns: Sequence[Column], name: int, *, narrow: bool) -> int:
    """What a table takes if its names are folded to ``name`` letters."""
    from rich.console import Console

    folded = columns[0]._replace(cells=[cell[:name] for cell in columns[0].cells])
    return Console(width=LONG).measure(_table_of("", [folded, *columns[1:]], name, narrow=narrow)).minimum


def _columns(summary: Summary, shown: Sequence[Quantity]) -> list[Column]:
    """The columns of the models: last to give way is what the models are ranked by, and the decision never does."""
    rows = records(summary.models)
    decision = Column("decision", [decision_text(row) for row in rows])
    several = any(row["decision"] != "only model" for row in rows)
    figures = [_quantity(quantity, rows, summary.confidence, first=quantity is shown[0]) for quantity in shown]
    return [
        Column("model", [named(row["model"]) for row in rows]),
        *([decision] if several else []),
        *chain.from_iterable(figures),
        Column("unscored", [str(row["unscored"]) for row in rows], 4),
        Column("cost", [money(row["cost_usd"]) for row in rows], 5),
        Column("p50", [seconds(row["latency_p50_ms"]) for row in rows], 6),
    ]


def _quantity(quantity: Quantity, rows: Sequence[TableRow], confidence: float, *, first: bool) -> list[Column]:
    """A quantity, and what it was computed from; of the ``first`` one the estimates always stay."""
    estimates = [quantity.estimates[row["model"]] for row in rows]
    few = "*" if quantity.name == NON_COMPLIANCE else ""
    counts = [f"{one.count}{few if 0 < one.scored < FEW else ''}" for one in estimates]
    level = f"{clean(quantity.column, NAME)} ({100 * confidence:g}% CI)"
    return [
        Column(quantity.count_column, counts, 1 if first else 3),
        Column(level, [one.text() for one in estimates], 0 if first else 2),
    ]


def _table_of(title: str, columns: Sequence[Column], name: int, *, narrow: bool) -> Table:
    """A table in which the first column has room for ``name`` letters at least, and every other for its cells; a
    ``narrow`` one has small gaps and headings of two lines."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    gap = NARROW_GAP if narrow else (0, 1)
    table = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=gap)
    headers = [column.header.replace(" (", "\n(", 1) if narrow else column.header for column in columns]
    table.add_column(headers[0], overflow="fold", min_width=name)
    for header, column in zip(headers[1:], columns[1:], strict=True):
        widest = max(map(len, (*header.split("\n"), *column.cells)))
        table.add_column(header, justify="left" if header in WORDS else "right", no_wrap=True, min_width=widest)
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(Text, row))
    return table


def decision_text(row: TableRow) -> str:
    """The decision about a model, marked where it would not hold if the rules were a sample."""
    return f"{row['decision']}{DAGGER if row['holds_sampled'] is False else ''}"


def money(usd: float | None) -> str:
    """US dollars, or ``unknown``."""
    if usd is None:
        return "unknown"
    return f"${usd:.4f}" if 0 < usd < 1 else f"${usd:.2f}"


def seconds(milliseconds: float | None) -> str:
    """Milliseconds as seconds, or a dash."""
    return "–" if milliseconds is None else f"{milliseconds / 1000:.2f} s"


def _example(example: FailureExample, console: Console) -> None:
    lines = [
        f"  {named(example.rule)}  fails in {example.broken} of {example.scored}: {clean(example.text)}",
        f"      {named(example.model)}, case {named(example.case)}: {clean(example.inputs)}",
        f"      output: {clean(example.output)}",
        f"      {clean(example.reason)}",
    ]
    _cut_lines(lines, console)


def _cut_lines(lines: Iterable[str], console: Console) -> None:
    """Lines that end where the terminal does."""
    for line in lines:
        console.print(line, markup=False, highlight=False, emoji=False, overflow="ellipsis", no_wrap=True)
