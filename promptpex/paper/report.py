"""The evaluation's tables for a terminal: shaped like Tables 2 and 3 of PromptPex (arXiv 2503.05070v1).

Every cell has two lines, the figure above its interval, so that long names keep their room at 80 columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from promptpex.paper.averages import ALL_MODELS
from promptpex.report.caveats_in_words import FEW
from promptpex.report.terminal import clean
from promptpex.tables import records

if TYPE_CHECKING:
    from rich.table import Table

    from promptpex.paper.result_tables import Tables

NAME = 80
WHY = 320
NONE = "none\nscored"
DASH = "–"

INTERVALS = "Below each figure: its 95% interval."
TESTED = "p: exact permutation test of the cases; unscored outputs count against a difference."
BOUND = " ≥: verdicts are missing, so the share is a lower bound; its interval holds whatever they are."
PAIRED = (
    "Below the counts: the share, each case counting once; below the difference: its 95% interval. "
    "p: exact sign flips of the cases."
)
SMALL = f" * fewer than {FEW}: only a large difference could be seen."


def tables_for_terminal(tables: Tables) -> list[Table]:
    """A rich table for each of the evaluation's tables that has rows."""
    makers = {
        "table2": lambda rows: _contrast("Outputs that break a rule: generated and baseline cases", rows),
        "table3": lambda rows: _contrast("Outputs that break a rule: cases of rules and of inverse rules", rows),
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
    few = any(0 < row[f"{side}_n"] < FEW for row in rows for side in ("first", "second"))
    bound = any(row[f"{side}_at_least"] for row in rows for side in ("first", "second"))
    note = f"{INTERVALS} {TESTED}{BOUND if bound else ''}{SMALL if few else ''}"
    table = _new(title, note, "benchmark\nmodel", rows[0]["first"], rows[0]["second"], "difference\nin points", "p")
    for row in rows:
        sides = [_side(row, side) for side in ("first", "second")]
        _add(table, row["benchmark"], row["model"], *sides, _gap(row), _p(row["p"]))
    return table


def _agreement(rows: list[dict[str, Any]]) -> Table:
    few = any(0 < row["cases"] < FEW for row in rows)
    note = f"{PAIRED}{_left_out(sum(row['unscored'] for row in rows))}{SMALL if few else ''}"
    title = "Broken outputs of the prompt, and of its spec as a prompt, on the baseline's valid cases"
    header = ("benchmark\nmodel", "prompt", "spec", "difference\nin points", "p", "cosine")
    table = _new(title, note, *header)
    for row in rows:
        cosine = DASH if row["cosine"] is None else f"{row['cosine']:z.2f}"
        broken = [_count(row, side) for side in ("prompt", "spec")]
        _add(table, row["benchmark"], row["model"], *broken, _gap(row), _p(row["p"]), cosine)
    return table


def _averages(rows: list[dict[str, Any]]) -> Table:
    note = "Mean of the benchmarks' shares, each counting once; below it the mean of the ends of their intervals."
    if any(row["left_out"] for row in rows):
        note += " Only of benchmarks that all models have: those of some models are left out."
    table = _new("Averages over benchmarks", note, "model\ncases", "share", "benchmarks", "left out")
    for row in rows:
        bound = "≥" if row["at_least"] else ""
        share = f"{bound}{100 * row['share']:.0f}%\n({100 * row['low']:.0f}–{100 * row['high']:.0f}%)"
        _add(table, row["model"], row["side"], share, str(row["benchmarks"]), str(row["left_out"]))
    return table


def _spec_agreement(rows: list[dict[str, Any]]) -> Table:
    note = "Cosine of the benchmarks' shares of broken outputs under the prompt and under its spec, as in the paper."
    table = _new("Spec agreement over benchmarks", note, "model", "cosine", "benchmarks")
    for row in rows:
        cosine = DASH if row["cosine"] is None else f"{row['cosine']:z.3f}"
        _add(table, row["model"] or ALL_MODELS, "", cosine, str(row["benchmarks"]))
    return table


def _shares(rows: list[dict[str, Any]]) -> Table:
    few = any(0 < row["n"] < FEW for row in rows)
    note = f"{INTERVALS} Judged by the author.{SMALL if few else ''}"
    table = _new("Valid cases and grounded rules", note, "benchmark\nwhat", "share", "yes", "not known")
    for row in rows:
        share = _share(row["share"], row["low"], row["high"], row["n"])
        _add(table, row["benchmark"], row["what"], share, str(row["yes"]), str(row["unknown"]))
    return table


def _failed(rows: list[dict[str, Any]]) -> Table:
    from rich.text import Text

    table = _new("Not evaluated", "", "benchmark", "reason")
    table.add_column("what happened", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, (clean(row["benchmark"], NAME), row["reason"], clean(row["message"], WHY))))
    return table


def _share(share: float | None, low: float, high: float, n: int) -> str:
    if share is None or not n:
        return NONE
    return f"{100 * share:.0f}% of {n}{_star(n)}\n({100 * low:.0f}–{100 * high:.0f}%)"


def _side(row: Mapping[str, Any], side: str) -> str:
    share, low, high, n = (row[f"{side}_{name}"] for name in ("share", "low", "high", "n"))
    if n and row[f"{side}_at_least"]:
        return f"≥{100 * share:.0f}%{_star(n)}\n({100 * low:.0f}–{100 * high:.0f}%)"
    return _share(share, low, high, n)


def _count(row: Mapping[str, Any], side: str) -> str:
    if not row["cases"]:
        return NONE
    broken, scored, share = (row[f"{side}_{name}"] for name in ("broken", "scored", "share"))
    return f"{broken} of {scored}{_star(row['cases'])}\n{100 * share:.0f}%"


def _left_out(cases: int) -> str:
    if not cases:
        return ""
    return f" {cases} {'case is' if cases == 1 else 'cases are'} left out, unscored under the prompt or the spec."


def _star(n: int) -> str:
    return "*" if n < FEW else ""


def _gap(row: Mapping[str, Any]) -> str:
    ends = f"{100 * row['difference_low']:+z.0f} to {100 * row['difference_high']:+z.0f}"
    if row["difference"] is None:
        return DASH if (row["difference_low"], row["difference_high"]) == (-1.0, 1.0) else f"\n({ends})"
    return f"{100 * row['difference']:+z.0f}\n({ends})"


def _p(value: float | None) -> str:
    return DASH if value is None else "<.001" if value < 0.001 else f"{value:.3f}"
