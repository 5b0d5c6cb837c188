"""The table of judges and people on terminals of any width: words stay whole, and no figure is lost."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from promptpex.report.corrections_in_words import calibration_section
from promptpex.report.percentages import TableRow
from promptpex.report.terminal import show_section


def row(rule: str, judge: str, state: str = "current") -> TableRow:
    shares: dict[str, float | None] = {
        f"{name}{end}": value
        for name in ("sensitivity", "specificity", "kappa")
        for end, value in (("", 0.85), ("_low", 0.62), ("_high", 0.97))
    }
    if state == "never":
        shares = dict.fromkeys(("sensitivity", "specificity", "kappa"), None)
    n = None if state == "never" else 120
    return {"rule": rule, "judge": judge, "state": state, "n": n, "date": "2026-11-22", **shares}


def lines(rows: list[TableRow], width: int) -> list[str]:
    out = io.StringIO()
    show_section(calibration_section(rows), Console(file=out, width=width))
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("judge", ["gpt-4o-mini", "claude-sonnet-4"])
def test_headings_names_and_states_are_not_broken(judge: str, width: int) -> None:
    rows = [row("calm", judge), row("r2", judge, "another judge"), row("r3", judge, "never")]
    printed = lines(rows, width)
    assert max(map(len, printed)) <= width
    words = " ".join(printed).split()
    assert {"calibration", "sensitivity", "specificity", "kappa", "2026-11-22", "calibrated"} <= set(words)
    assert words.count(judge) == 3
    assert words.count("(62–97%)") == 4


@pytest.mark.parametrize("width", [30, 40, 60, 80])
def test_where_there_is_no_room_all_columns_are_there_nevertheless(width: int) -> None:
    printed = lines([row("names-the-city-of-the-trip", "azure:gpt-4o-mini-2024-07-18")], width)
    assert max(map(len, printed)) <= width
    head = next(at for at, line in enumerate(printed) if "────" in line)
    table = "".join("".join(printed[head:]).split())
    assert table.count("97") >= 1
    assert len([cell for cell in printed[head + 1].split("  ") if cell.strip()]) >= 5
