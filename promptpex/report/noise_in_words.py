"""The run-to-run noise of models in words."""

from __future__ import annotations

from collections.abc import Sequence

from promptpex.core.translation import Key, digits, tr, tr_n
from promptpex.report.percentages import TableRow, ends, percent

NOISE = Key(
    "Noise of {model}: asked again, it keeps or breaks its rules otherwise on {differing} of the cases (CI {ends}; "
    "{runs}, {cases}). By that alone its shares in two runs differ by less than {points} nearly always, or than {most} "
    "if the noise is at the upper end of that interval{change}."
)
WITHIN = Key("; the change of {change} is no more than that")
BEYOND = Key("; the change of {change} is beyond that")


def noise_sentences(noise: Sequence[TableRow], changes: Sequence[TableRow]) -> list[str]:
    """A sentence for each model whose noise was measured.

    Args:
        noise: a table of noise (``tables.NOISE_COLUMNS``) as plain rows.
        changes: a table of changes as plain rows: ``difference`` is that of a model's shares, where there is one.
    """
    differences = {row["model"]: row["difference"] for row in changes}
    return [_sentence(row, differences.get(row["model"])) for row in noise]


def _sentence(row: TableRow, change: float | None) -> str:
    return NOISE.tr(
        model=row["model"],
        differing=percent(row["differing"]),
        ends=ends(row["differing_low"], row["differing_high"]),
        runs=tr_n("{count} run", "{count} runs", row["runs"]),
        cases=tr_n("{count} case", "{count} cases", row["cases"]),
        points=_points(row["points"]),
        most=_points(row["points_at_most"]),
        change=_held(row, change),
    )


def _held(row: TableRow, change: float | None) -> str:
    """Where a change lies; nothing where that depends on how high the noise is."""
    if change is None or row["points"] < abs(change) <= row["points_at_most"]:
        return ""
    sentence = WITHIN if abs(change) <= row["points"] else BEYOND
    return sentence.tr(change=_points(change, signed=True))


def _points(share: float, *, signed: bool = False) -> str:
    value = f"{100 * share:+.1f}" if signed else f"{100 * share:.1f}"
    return tr("{count} points", count=digits(value.removesuffix(".0")))
