"""The figures of PromptPex's evaluation (arXiv 2503.05070v1, Figures 9 to 13) as SVG: bars with their intervals.

A picture is one file without script, font or link, readable in light and dark, with every figure also as text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from promptpex.codecs.text.wording import plural
from promptpex.report.terminal import clean
from promptpex.tables import records

if TYPE_CHECKING:
    import pandas as pd

WIDTH = 760
LABELS = 220
"""Width of the names on the left, in pixels as all of these."""
FIGURES = 120
"""Width of the figures on the right."""
BAR = 16
GAP = 14
TOP = 72
BOTTOM = 34
LONGEST_NAME = 28
"""Letters of a name that fit to the left of the bars."""

COLOURS = ("#2f6db3", "#d98324", "#4c9a5f", "#8a5fb0", "#b04a4a", "#6b7280")
"""Told apart by readers who do not see red or green; the legend has them in the order of the bars."""

INTERVALS = "Lines are 95% intervals."
MEANS = "Each benchmark counts once. Lines reach from the mean lower to the mean upper end of their 95% intervals."

STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600;font-size:15px}.note{fill:#57606a}"
    ".grid{stroke:#d0d7de}.range{stroke:#1f2328;stroke-width:1.5}.ground{fill:#fff}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.note{fill:#9198a1}.grid{stroke:#3d444d}"
    ".range{stroke:#e6edf3}.ground{fill:#0d1117}}"
)


@dataclass(frozen=True, slots=True)
class FigureBar:
    """One share, from 0 to 1, with the ends of its interval; ``share`` None: nothing was scored."""

    series: str
    share: float | None
    low: float = 0.0
    high: float = 1.0
    at_least: bool = False


Groups = Sequence[tuple[str, Sequence[FigureBar]]]
"""Names on the left, each with its bars."""


def figures(tables: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """The pictures of an evaluation's tables by file name; a figure without a bar is left out."""
    drawn = {
        "figure-9": _of_averages(tables["averages"], "table2", "generated and baseline cases"),
        "figure-10": _of_averages(tables["averages"], "table3", "cases of rules and of inverse rules"),
        "figure-11": ("Valid cases", _shares(tables["shares"], "cases valid"), INTERVALS),
        "figure-12": ("Rules that the prompt states", _shares(tables["shares"], "rules grounded"), INTERVALS),
        "figure-13": ("Non-compliance on generated cases, by benchmark and model",
                      _by_benchmark(tables["table2"]), INTERVALS),
    }  # fmt: skip
    return {f"{name}.svg": bars(title, groups, note) for name, (title, groups, note) in drawn.items() if groups}


def bars(title: str, groups: Groups, note: str) -> str:
    """Horizontal bars from 0 to 100%, grouped, with the interval of each as a line across its end; ``note`` below them
    says what the lines are."""
    title = clean(title, 120)
    series = list(dict.fromkeys(bar.series for _, some in groups for bar in some))
    height = TOP + sum(len(some) * BAR + GAP for _, some in groups) + BOTTOM
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
        ' role="img">',
        f"<title>{_text(title)}</title>",
        f"<desc>{_text(_described(groups))}</desc>",
        f"<style>{STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{height}"/>',
        f'<text class="title" x="12" y="24">{_text(title)}</text>',
        *_legend(series),
        *_axis(height),
    ]
    top = TOP
    for name, group in groups:
        middle = top + len(group) * BAR / 2 + 4
        label = clean(name, LONGEST_NAME)
        lines.append(f'<text x="{LABELS - 10}" y="{middle:g}" text-anchor="end">{_text(label)}</text>')
        for number, bar in enumerate(group):
            lines += _bar(bar, top + number * BAR, COLOURS[series.index(bar.series) % len(COLOURS)])
        top += len(group) * BAR + GAP
    lines.append(f'<text class="note" x="12" y="{height - 10}">{_text(note)}</text>')
    return "\n".join([*lines, "</svg>\n"])


def _bar(bar: FigureBar, top: float, colour: str) -> list[str]:
    middle = top + (BAR - 3) / 2
    beside = (
        f'<text class="note" x="{WIDTH - FIGURES + 10}" y="{middle + 4:g}" font-size="11">{_text(_figure(bar))}</text>'
    )
    if bar.share is None:
        return [beside]
    start, end, low, high = (_x(share) for share in (0, bar.share, bar.low, bar.high))
    return [
        f'<rect x="{start:g}" y="{top:g}" width="{end - start:.1f}" height="{BAR - 3}" fill="{colour}"/>',
        f'<line class="range" x1="{low:.1f}" x2="{high:.1f}" y1="{middle:g}" y2="{middle:g}"/>',
        beside,
    ]


def _axis(height: int) -> list[str]:
    lines = []
    for tick in (0, 25, 50, 75, 100):
        x = _x(tick / 100)
        lines.append(f'<line class="grid" x1="{x:g}" x2="{x:g}" y1="{TOP - 4}" y2="{height - BOTTOM}"/>')
        lines.append(f'<text class="note" x="{x:g}" y="{TOP - 8}" text-anchor="middle" font-size="11">{tick}%</text>')
    return lines


def _legend(series: Sequence[str]) -> list[str]:
    lines, x = [], 12
    for number, name in enumerate(series):
        label = clean(name, LONGEST_NAME)
        lines.append(f'<rect x="{x}" y="33" width="10" height="10" fill="{COLOURS[number % len(COLOURS)]}"/>')
        lines.append(f'<text class="note" x="{x + 15}" y="42">{_text(label)}</text>')
        x += 30 + 8 * len(label)
    return lines


def _x(share: float) -> float:
    return LABELS + (WIDTH - LABELS - FIGURES) * min(max(share, 0.0), 1.0)


def _figure(bar: FigureBar) -> str:
    if bar.share is None:
        return "none scored"
    return f"{'≥' if bar.at_least else ''}{100 * bar.share:.0f}% ({100 * bar.low:.0f}–{100 * bar.high:.0f})"


def _described(groups: Groups) -> str:
    return " ".join(
        f"{clean(name, 80)}: {clean(bar.series, 80)} {_figure(bar)}." for name, some in groups for bar in some
    )


def _text(text: str) -> str:
    return escape(text, {'"': "&quot;"})


def _of_averages(table: pd.DataFrame, name: str, what: str) -> tuple[str, Groups, str]:
    """The title, which says of how many benchmarks the averages are, the bars and the note of a figure of averages."""
    table_rows = table[table["table"].eq(name)]
    groups = [(str(model), [_made(row, row["side"]) for row in records(rows)])
              for model, rows in table_rows.groupby("model", sort=False)]  # fmt: skip
    if not groups:
        return what, (), MEANS
    count, left_out = int(table_rows["benchmarks"].iloc[0]), int(table_rows["left_out"].iloc[0])
    over = f"{plural(count, 'benchmark')}{f' ({left_out} left out)' if left_out else ''}"
    return f"Average non-compliance over {over}: {what}", groups, MEANS


def _shares(table: pd.DataFrame, ending: str) -> Groups:
    share_rows = table[table["what"].str.endswith(ending) & table["n"].gt(0)]
    return [(str(benchmark), [_made(row, row["what"]) for row in records(rows)])
            for benchmark, rows in share_rows.groupby("benchmark", sort=False)]  # fmt: skip


def _by_benchmark(table: pd.DataFrame) -> Groups:
    groups: dict[str, list[FigureBar]] = {}
    for row in records(table):
        first = {name.removeprefix("first_"): value for name, value in row.items() if name.startswith("first_")}
        groups.setdefault(str(row["benchmark"]), []).append(_made(first, row["model"]))
    return [(name, some) for name, some in groups.items() if any(bar.share is not None for bar in some)]


def _made(row: Mapping[str, object], series: object) -> FigureBar:
    share, low, high = (row[name] for name in ("share", "low", "high"))
    if not isinstance(share, float) or not row.get("n", 1):
        return FigureBar(str(series), None)
    assert isinstance(low, float)
    assert isinstance(high, float)
    return FigureBar(str(series), share, low, high, bool(row.get("at_least")))
