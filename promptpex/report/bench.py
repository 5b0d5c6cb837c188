"""The evaluation's tables for a terminal: shaped like Tables 2 and 3 of PromptPex (arXiv 2503.05070v1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from promptpex.report.summary import records
from promptpex.report.terminal import clean

if TYPE_CHECKING:
    from rich.table import Table

    from promptpex.tables.bench import Tables

TITLES = {
    "table2": "Non-compliance on generated and on baseline cases",
    "table3": "Non-compliance on cases of rules and of inverse rules",
    "agreement": "The prompt and its spec as a prompt, on the baseline's valid cases",
    "shares": "Valid cases and grounded rules",
}


def tables_for_terminal(tables: Tables) -> list[Table]:
    """A rich table for each of the evaluation's tables that has rows."""
    makers = {"table2": _contrast, "table3": _contrast, "agreement": _agreement, "shares": _shares}
    return [makers[name](TITLES[name], records(tables[name])) for name in makers if len(tables.get(name, ()))]


def _new(title: str, *columns: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index < 2 else "right", overflow="fold")
    return table


def _contrast(title: str, rows: list[dict[str, Any]]) -> Table:
    first, second = rows[0]["first"], rows[0]["second"]
    table = _new(title, "benchmark", "model", first, second, "difference", "p")
    for row in rows:
        sides = [_cell(row, side) for side in ("first", "second")]
        gap = _points(row["difference"], row["difference_low"], row["difference_high"])
        table.add_row(clean(row["benchmark"], 40), clean(row["model"], 40), *sides, gap, _p(row["p"]))
    return table


def _agreement(title: str, rows: list[dict[str, Any]]) -> Table:
    table = _new(title, "benchmark", "model", "cases", "prompt", "spec", "difference", "p", "cosine")
    for row in rows:
        n = row["cases"]
        gap = _points(row["difference"], row["difference_low"], row["difference_high"])
        cosine = "–" if row["cosine"] is None else f"{row['cosine']:.2f}"
        broken = (f"{row['prompt_broken']} of {n}", f"{row['spec_broken']} of {n}")
        table.add_row(clean(row["benchmark"], 40), clean(row["model"], 40), str(n), *broken, gap, _p(row["p"]), cosine)
    return table


def _shares(title: str, rows: list[dict[str, Any]]) -> Table:
    table = _new(title, "benchmark", "what", "yes", "share (95 % interval)", "not known")
    for row in rows:
        share = "–" if row["share"] is None else f"{_whole(row['share'])} ({_range(row['low'], row['high'])} %)"
        table.add_row(
            clean(row["benchmark"], 40), row["what"], f"{row['yes']} of {row['n']}", share, str(row["unknown"])
        )
    return table


def _cell(row: Mapping[str, Any], side: str) -> str:
    n = row[f"{side}_n"]
    if not n:
        return "– of 0"
    ends = _range(row[f"{side}_low"], row[f"{side}_high"])
    return f"{_whole(row[f'{side}_share'])} ({ends} %) of {n}"


def _points(estimate: float | None, low: float, high: float) -> str:
    return "–" if estimate is None else f"{100 * estimate:+.0f} ({100 * low:+.0f} to {100 * high:+.0f})"


def _whole(share: float) -> str:
    return f"{100 * share:.0f} %"


def _range(low: float, high: float) -> str:
    return f"{100 * low:.0f}–{100 * high:.0f}"


def _p(value: float | None) -> str:
    return "–" if value is None else "<.001" if value < 0.001 else f"{value:.3f}"
