"""The report in a terminal: a table per model with intervals, then the most frequent failures with an example each."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from promptpex.codecs.wording import plural
from promptpex.core.records import RUNNING
from promptpex.report import percentages
from promptpex.report.headline import FEW
from promptpex.report.metrics_in_words import metric_section, points, scales
from promptpex.report.percentages import TableRow
from promptpex.report.secondary_tables import DAGGER, Section, cut, footnotes, rule_section, sections
from promptpex.report.summary import FailureExample, Summary, records

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from promptpex.report.run_comparison import RunComparison

SHORT = 160
WHY = 320
LONG = 4096
CELL = 48
WIDE = 100
"""Columns of a terminal from which on a table has wide gaps."""

SPARED = ("p50", "cost")
"""Columns of the models' table that a narrow terminal goes without, in this order; beside accuracy ``unscored`` too,
which the notes say as well."""

WORDS = ("decision", "change")
"""Columns of words among those of figures."""

Column = tuple[str, list[str]]
"""A header and its cells."""

MOST_ROWS = 8
"""Rows of a section in the terminal; the page and the CSV files have all."""


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
    if summary.models["scored"].sum() > 0:
        for section in (rule_section(summary), *sections(summary)):
            _section(section, console)
    if summary.examples:
        console.print("\nMost frequent failures", style="bold")
        for example in summary.examples:
            _example(example, console)
    if summary.folder is not None:
        place = clean(summary.folder, limit=LONG)
        console.print(f"\nReports in {place}", markup=False, highlight=False, emoji=False, soft_wrap=True)


def _metrics(summary: Summary, console: Console) -> None:
    """How the models do by the owner's metrics, and the output that each metric scores lowest."""
    _section(metric_section(summary), console)
    scale_of = scales(summary)
    for row in records(summary.lowest.drop_duplicates("metric")):
        place = f"{clean(row['model'], 60)}, case {clean(row['case'], 60)}"
        lines = [
            f"  lowest {row['metric']}: {points(row['value'], scale_of.get(row['metric']))}, {place}",
            f"      output: {clean(row['output'])}",
            f"      {clean(row['reason'])}",
        ]
        _cut_lines(lines, console)


def show_comparison(comparison: RunComparison, console: Console) -> None:
    """Prints what changed from one run to another."""
    level = f"{100 * comparison.confidence:g}%"
    header = ("model", "change", "before", "after", f"points ({level} CI)", "newly failing", "fixed", "p (Holm)")
    rows = [_compared(row) for row in records(comparison.models)]
    _line(clean(comparison.answer, LONG), console)
    _compared_table("Outputs that break a rule", header, rows, console, spared=header[-3:])
    compared = [row for row in records(comparison.models) if row["accuracy_cases"]]
    if compared:
        columns = ("model", "change", "before", "after", f"points ({level} CI)", "p (Holm)")
        shown = [_compared_accuracy(row) for row in compared]
        _compared_table("Right outputs", columns, shown, console, spared=columns[-1:])
    by_metric = [_compared_metric(row) for row in records(comparison.metrics)]
    if by_metric:
        columns = ("model: metric", "change", "before", "after", f"points ({level} CI)", "p (Holm)")
        _compared_table("Own metrics", columns, by_metric, console, spared=columns[-1:])
    changed = tuple(
        tuple(str(row[name] or "") for name in ("model", "case", "change", "broken_rules", "output"))
        for row in records(comparison.changed)
    )
    names = ("model", "case", "change", "rules", "output")
    _section(Section("changed", "Cases that changed", "", names, changed, file="--json"), console)
    for note in comparison.notes:
        _line(clean(note, LONG), console)


def _compared_table(
    title: str, header: Sequence[str], rows: Sequence[tuple[str, ...]], console: Console, *, spared: Sequence[str]
) -> None:
    columns = [(name, [row[at] for row in rows]) for at, name in enumerate(header)]
    table, left_out = _fitting(title, columns, console.width, spared=spared)
    console.print()
    console.print(table)
    if left_out:
        _line(f"Hidden at this width: {', '.join(left_out)} (see --json).", console)


def _compared_accuracy(row: TableRow) -> tuple[str, ...]:
    low, high = row["accuracy_difference_low"], row["accuracy_difference_high"]
    points = "–" if low is None else _points(row["accuracy_difference"], low, high)
    shares = (percent(row[f"accuracy_{when}"]) for when in ("before", "after"))
    return (clean(row["model"], 60), row["accuracy_change"], *shares, points, f"{row['accuracy_p_adjusted']:.3g}")


def _compared_metric(row: TableRow) -> tuple[str, ...]:
    name, low, high = f"{clean(row['model'], 60)}: {row['metric']}", row["difference_low"], row["difference_high"]
    if low is None:
        return (name, row["change"], "–", "–", "–", "–")
    shares = (percent(row[f"mean_{when}"]) for when in ("before", "after"))
    return (name, row["change"], *shares, _points(row["difference"], low, high), f"{row['p_adjusted']:.3g}")


def _points(difference: float | None, low: float, high: float) -> str:
    """A difference with its interval, in percentage points."""
    ends = f"{100 * low:+z.0f} to {100 * high:+z.0f}"
    return f"({ends})" if difference is None else f"{100 * difference:+z.0f} ({ends})"


def _compared(row: TableRow) -> tuple[str, ...]:
    counts = (f"{row[run]} of {row[f'{run}_scored']}" for run in ("before", "after"))
    moved = str(row["newly_failing"]), str(row["fixed"])
    model = clean(row["model"], 60)
    if row["difference_low"] is None:
        return (model, row["change"], *counts, "–", *moved, "–")
    apart = _points(row["difference"], row["difference_low"], row["difference_high"])
    return (model, row["change"], *counts, apart, *moved, f"{row['p_adjusted']:.3g}")


def _line(text: str, console: Console) -> None:
    console.print(text, markup=False, highlight=False, emoji=False)


def _section(section: Section, console: Console) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    if not section.rows:
        return
    console.print(f"\n{section.title}", style="bold", markup=False, highlight=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in section.header:
        table.add_column(Text(clean(name, CELL)), overflow="fold")
    rows, more = cut(section.rows, MOST_ROWS)
    for row in rows:
        table.add_row(*(Text(clean(cell, CELL)) for cell in row))
    if section.note:
        _line(section.note, console)
    console.print(table)
    if more:
        _line(f"... and {more} more (see {section.file or 'report.html'}).", console)


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
    one_line = " ".join(str("" if text is None else text).split())
    safe = "".join(" " if unicodedata.category(letter) in ("Cc", "Cf", "Cs") else letter for letter in one_line)
    return safe if len(safe) <= limit else safe[: limit - 1] + "…"


def percent(share: float | None) -> str:
    """A share as a percentage; a dash when there is none."""
    return "–" if share is None else percentages.percent(share)


def _models(summary: Summary, width: int) -> tuple[Table, list[str]]:
    """The table per model, and the columns that did not fit."""
    beside = ", and right ones" if has_accuracy(summary) else ""
    title = f"{clean(summary.run.prompt.name)}: outputs that break a rule{beside}"
    spared = (*SPARED, "unscored") if has_accuracy(summary) else SPARED
    return _fitting(title, _columns(summary), width, spared=spared)


def _fitting(title: str, columns: list[Column], width: int, *, spared: Sequence[str]) -> tuple[Table, list[str]]:
    """A table with names in its first column, and which of the last columns, those that can be ``spared``, did not
    fit: a figure is shown whole or not at all."""
    from rich.console import Console

    left_out: list[str] = []
    ruler = Console(width=max(width, LONG))
    while True:
        table = _table_of(title, columns, narrow=width < WIDE)
        if columns[-1][0] not in spared or ruler.measure(table).minimum <= width:
            return table, left_out
        left_out.insert(0, columns.pop()[0])


def _columns(summary: Summary) -> list[Column]:
    rows = records(summary.models)
    failures = [f"{row['non_compliant']} of {counted(row)}{'*' if 0 < row['scored'] < FEW else ''}" for row in rows]
    figures = [
        ("failures", failures),
        (f"share ({100 * summary.confidence:g}% CI)", [_share(row) for row in rows]),
        *_accuracy(summary, rows),
        ("unscored", [str(row["unscored"]) for row in rows]),
        ("cost", [money(row["cost_usd"]) for row in rows]),
        ("p50", [seconds(row["latency_p50_ms"]) for row in rows]),
    ]
    several = any(row["decision"] != "only model" for row in rows)
    decision = [("decision", [decision_text(row) for row in rows])] if several else []
    return [("model", [clean(row["model"], 60) for row in rows]), *decision, *figures]


def has_accuracy(summary: Summary) -> bool:
    """Whether any output was compared with an expected one."""
    return bool(summary.models["accuracy_scored"].notna().any())


def _accuracy(summary: Summary, rows: Sequence[TableRow]) -> list[Column]:
    """The columns of right outputs, where outputs were compared with expected ones."""
    if not has_accuracy(summary):
        return []
    level = f"{100 * summary.confidence:g}%"
    return [("right", [right(row) for row in rows]), (f"accuracy ({level} CI)", [accuracy(row) for row in rows])]


def right(row: TableRow) -> str:
    """How many of a model's compared outputs are right."""
    if row["accuracy"] is None:
        return "–"
    of = row["accuracy_scored"] + (row["accuracy_unscored"] if row["accuracy_at_least"] else 0)
    return f"{row['accuracy_right']} of {of}"


def accuracy(row: TableRow) -> str:
    """A model's accuracy with its interval."""
    if row["accuracy"] is None:
        return "–"
    bound = "≥" if row["accuracy_at_least"] else ""
    return f"{bound}{percent(row['accuracy'])} ({percentages.ends(row['accuracy_ci_low'], row['accuracy_ci_high'])})"


def _table_of(title: str, columns: list[Column], narrow: bool) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    gap = (0, 1, 0, 0) if narrow else (0, 1)
    table = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=gap)
    names = [name.replace(" (", "\n(", 1) if narrow else name for name, _ in columns]
    table.add_column(names[0], overflow="fold", min_width=20)
    for name, (_, cells) in zip(names[1:], columns[1:], strict=True):
        widest = max(map(len, (*name.split("\n"), *cells)))
        table.add_column(name, justify="left" if name in WORDS else "right", no_wrap=True, min_width=widest)
    for row in zip(*(cells for _, cells in columns), strict=True):
        table.add_row(*map(Text, row))
    return table


def counted(row: TableRow) -> int:
    """The outputs that a model's share is of."""
    return int(row["usable"] if row["at_least"] else row["scored"])


def decision_text(row: TableRow) -> str:
    """The decision about a model, marked where it would not hold if the rules were a sample."""
    return f"{row['decision']}{DAGGER if row['holds_sampled'] is False else ''}"


def _share(row: TableRow) -> str:
    if row["ci_low"] is None:
        return "–"
    bound = "≥" if row["at_least"] else ""
    return f"{bound}{percent(row['non_compliance'])} ({percentages.ends(row['ci_low'], row['ci_high'])})"


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
        f"  {clean(example.rule, 60)}  fails in {example.broken} of {example.scored}: {clean(example.text)}",
        f"      {clean(example.model, 60)}, case {clean(example.case, 60)}: {clean(example.inputs)}",
        f"      output: {clean(example.output)}",
        f"      {clean(example.reason)}",
    ]
    _cut_lines(lines, console)


def _cut_lines(lines: Iterable[str], console: Console) -> None:
    """Lines that end where the terminal does."""
    for line in lines:
        console.print(line, markup=False, highlight=False, emoji=False, overflow="ellipsis", no_wrap=True)
