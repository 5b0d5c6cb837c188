"""The evaluation's tables for a terminal: shaped like Tables 2 and 3 of PromptPex (arXiv 2503.05070v1).

Every cell has two lines, the figure above its interval, so that long names keep their room at 80 columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from promptpex.core.translation import Key, digits, from_data, shown, tr, tr_n
from promptpex.paper.averages import ALL_MODELS
from promptpex.report.caveats_in_words import FEW
from promptpex.report.terminal import clean
from promptpex.tables import records

if TYPE_CHECKING:
    from rich.table import Table

    from promptpex.paper.result_tables import Tables

NAME = 80
WHY = 320
NONE = Key("none\nscored")
DASH = "–"

INTERVALS = Key("Below each figure: its 95% interval.")
TESTED = Key("p: exact permutation test of the cases; unscored outputs count against a difference.")
BOUND = Key("≥: verdicts are missing, so the share is a lower bound; its interval holds whatever they are.")
PAIRED = Key(
    "Below the counts: the share, each case counting once; below the difference: its 95% interval. "
    "p: exact sign flips of the cases."
)
MEAN = Key("Mean of the benchmarks' shares, each counting once; below it the mean of the ends of their intervals.")
COMMON = Key("Only of benchmarks that all models have: those of some models are left out.")
JUDGED = Key("Judged by the author.")
SMALL = Key("* fewer than {few}: only a large difference could be seen.")
MODEL, DIFFERENCE = Key("model"), Key("difference\nin points")
WORDS: dict[str, Key] = {
    word: word
    for word in (
        Key("generated"),
        Key("baseline"),
        Key("rules"),
        Key("inverse"),
        Key("generated cases valid"),
        Key("baseline cases valid"),
        Key("rules grounded"),
        Key("broken outputs of valid cases"),
    )
}
"""Words of the tables that are shown in the reader's language."""


def tables_for_terminal(tables: Tables) -> list[Table]:
    """A rich table for each of the evaluation's tables that has rows."""
    makers = {
        "table2": lambda rows: _contrast(tr("Outputs that break a rule: generated and baseline cases"), rows),
        "table3": lambda rows: _contrast(tr("Outputs that break a rule: cases of rules and of inverse rules"), rows),
        "averages": _averages,
        "agreement": _agreement,
        "spec_agreement": _spec_agreement,
        "shares": _shares,
        "failed": _failed,
    }
    return [make(records(tables[name])) for name, make in makers.items() if len(tables.get(name, ()))]


def _new(title: str, note: str, *columns: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", caption=note or None, caption_justify="left",
                  box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), leading=1)  # fmt: skip
    table.add_column(columns[0], overflow="fold", min_width=20)
    for column in columns[1:]:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _add(table: Table, benchmark: str, name: str, *cells: str) -> None:
    from rich.text import Text

    table.add_row(*map(Text, (f"{clean(benchmark, NAME)}\n{clean(name, NAME)}", *cells)))


def _contrast(title: str, rows: list[dict[str, Any]]) -> Table:
    any_few = any(0 < row[f"{side}_n"] < FEW for row in rows for side in ("first", "second"))
    bound = any(row[f"{side}_at_least"] for row in rows for side in ("first", "second"))
    note = _sentences(INTERVALS, TESTED, bound and BOUND, any_few and SMALL)
    first, second = _word(rows[0]["first"]), _word(rows[0]["second"])
    table = _new(title, note, _benchmark_and(MODEL), first, second, DIFFERENCE.tr(), "p")
    for row in rows:
        sides = [_side(row, side) for side in ("first", "second")]
        _add(table, row["benchmark"], row["model"], *sides, _gap(row), _p(row["p"]))
    return table


def _agreement(rows: list[dict[str, Any]]) -> Table:
    any_few = any(0 < row["cases"] < FEW for row in rows)
    note = _sentences(PAIRED, _left_out(sum(row["unscored"] for row in rows)), any_few and SMALL)
    title = tr("Broken outputs of the prompt, and of its spec as a prompt, on the baseline's valid cases")
    header = tr("prompt"), tr("spec"), DIFFERENCE.tr(), "p", tr("cosine")
    table = _new(title, note, _benchmark_and(MODEL), *header)
    for row in rows:
        cosine = DASH if row["cosine"] is None else digits(f"{row['cosine']:z.2f}")
        broken = [_count(row, side) for side in ("prompt", "spec")]
        _add(table, row["benchmark"], row["model"], *broken, _gap(row), _p(row["p"]), cosine)
    return table


def _averages(rows: list[dict[str, Any]]) -> Table:
    note = _sentences(MEAN, any(row["left_out"] for row in rows) and COMMON)
    header = f"{MODEL.tr()}\n{tr('cases')}", tr("share"), tr("benchmarks"), tr("left out")
    table = _new(tr("Averages over benchmarks"), note, *header)
    for row in rows:
        bound = "≥" if row["at_least"] else ""
        share = f"{bound}{100 * row['share']:.0f}%\n({100 * row['low']:.0f}–{100 * row['high']:.0f}%)"
        _add(table, row["model"], _word(row["side"]), share, str(row["benchmarks"]), str(row["left_out"]))
    return table


def _spec_agreement(rows: list[dict[str, Any]]) -> Table:
    note = tr(
        "Cosine of the benchmarks' shares of broken outputs under the prompt and under its spec, as in the paper."
    )
    table = _new(tr("Spec agreement over benchmarks"), note, MODEL.tr(), tr("cosine"), tr("benchmarks"))
    for row in rows:
        cosine = DASH if row["cosine"] is None else digits(f"{row['cosine']:z.3f}")
        _add(table, row["model"] or ALL_MODELS.tr(), "", cosine, str(row["benchmarks"]))
    return table


def _shares(rows: list[dict[str, Any]]) -> Table:
    any_few = any(0 < row["n"] < FEW for row in rows)
    note = _sentences(INTERVALS, JUDGED, any_few and SMALL)
    header = _benchmark_and(Key("what")), tr("share"), tr("yes"), tr("not known")
    table = _new(tr("Valid cases and grounded rules"), note, *header)
    for row in rows:
        share = _share(row["share"], row["low"], row["high"], row["n"])
        _add(table, row["benchmark"], _word(row["what"]), share, str(row["yes"]), str(row["unknown"]))
    return table


def _failed(rows: list[dict[str, Any]]) -> Table:
    from rich.text import Text

    table = _new(tr("Not evaluated"), "", tr("benchmark"), tr("reason"))
    table.add_column(tr("what happened"), overflow="fold")
    for row in rows:
        table.add_row(
            *map(Text, (clean(row["benchmark"], NAME), from_data(row["reason"]), clean(from_data(row["message"]), WHY)))
        )
    return table


def _share(share: float | None, low: float, high: float, n: int) -> str:
    if share is None or not n:
        return NONE.tr()
    of_all = tr("{some} of {all}", some=f"{100 * share:.0f}%", all=f"{n}{_star(n)}")
    return f"{of_all}\n({100 * low:.0f}–{100 * high:.0f}%)"


def _side(row: Mapping[str, Any], side: str) -> str:
    share, low, high, n = (row[f"{side}_{name}"] for name in ("share", "low", "high", "n"))
    if n and row[f"{side}_at_least"]:
        return f"≥{100 * share:.0f}%{_star(n)}\n({100 * low:.0f}–{100 * high:.0f}%)"
    return _share(share, low, high, n)


def _count(row: Mapping[str, Any], side: str) -> str:
    if not row["cases"]:
        return NONE.tr()
    broken, scored, share = (row[f"{side}_{name}"] for name in ("broken", "scored", "share"))
    of_all = tr("{some} of {all}", some=broken, all=f"{scored}{_star(row['cases'])}")
    return f"{of_all}\n{100 * share:.0f}%"


def _left_out(cases: int) -> str:
    if not cases:
        return ""
    return tr_n(
        "{count} case is left out, unscored under the prompt or the spec.",
        "{count} cases are left out, unscored under the prompt or the spec.",
        cases,
    )


def _sentences(*parts: str | bool) -> str:
    """The sentences that are given, in the reader's language."""
    texts = (part.tr(few=FEW) if isinstance(part, Key) else part for part in parts if part)
    return " ".join(map(str, texts))


def _word(word: str) -> str:
    return shown(WORDS.get(word, word))


def _benchmark_and(below: Key) -> str:
    return f"{tr('benchmark')}\n{below.tr()}"


def _star(n: int) -> str:
    return "*" if n < FEW else ""


def _gap(row: Mapping[str, Any]) -> str:
    low, high = f"{100 * row['difference_low']:+z.0f}", f"{100 * row['difference_high']:+z.0f}"
    ends = tr("{low} to {high}", low=low, high=high)
    if row["difference"] is None:
        return DASH if (row["difference_low"], row["difference_high"]) == (-1.0, 1.0) else f"\n({ends})"
    return f"{100 * row['difference']:+z.0f}\n({ends})"


def _p(value: float | None) -> str:
    return DASH if value is None else digits("<.001" if value < 0.001 else f"{value:.3f}")
