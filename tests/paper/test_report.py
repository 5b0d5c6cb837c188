"""The evaluation's tables in a narrow terminal."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from promptpex.paper import result_tables
from promptpex.paper.report import tables_for_terminal
from promptpex.tables.frames import typed

LONG = "openai/some-very-long-model-name-7b-instruct?temperature=0.7&seed=4"


def contrast(first: tuple[int, int], second: tuple[int, int]) -> dict[str, Any]:
    row: dict[str, Any] = {"benchmark": "shakespearean-writing-assistant", "model": LONG}
    for side, (broken, n) in (("first", first), ("second", second)):
        row |= {side: {"first": "generated", "second": "baseline"}[side], f"{side}_broken": broken, f"{side}_n": n}
        row |= {f"{side}_share": broken / n if n else None, f"{side}_low": 0.05, f"{side}_high": 1.0}
        row |= {f"{side}_unscored": 0, f"{side}_at_least": False}
    both = first[1] and second[1]
    gap = {"difference": 1.0 if both else None, "difference_low": -1.0, "difference_high": 1.0}
    return {**row, **gap, "p": 0.0001 if both else None}


def shown(tables: result_tables.Tables, width: int = 80) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as caught:
        for table in tables_for_terminal(tables):
            console.print(table)
    return caught.get()


def one(*rows: dict[str, Any]) -> result_tables.Tables:
    return {"table2": typed(rows, result_tables.CONTRAST_COLUMNS)}


def test_figures_are_whole_and_a_long_name_is_folded_into_few_lines() -> None:
    text = shown(one(contrast((120, 120), (100, 120))))
    assert max(map(len, text.splitlines())) <= 80
    for whole in ("100% of 120", "(5–100%)", "(-100 to +100)", "<.001", "generated", "baseline"):
        assert whole in text
    starts = [line.split()[0] for line in text.splitlines() if line.strip()]
    pieces = [start for start in starts if start in LONG and start not in ("model", "t")]
    assert "".join(pieces) == LONG
    assert len(pieces) <= 3


def test_nothing_scored_is_a_sentence_and_not_a_figure() -> None:
    text = shown(one(contrast((0, 0), (1, 30))))
    assert "none" in text
    assert "scored" in text
    assert "of 0" not in text


@pytest.mark.parametrize(("n", "expected"), [(19, True), (20, False)])
def test_a_small_sample_looks_like_one(n: int, expected: bool) -> None:
    text = shown(one(contrast((1, n), (1, 40))))
    assert ("fewer than 20" in " ".join(text.split())) is expected
    assert (f"of {n}*" in text) is expected


def test_what_failed_is_shown_with_its_reason_and_names_are_shown_as_they_are() -> None:
    text = shown({"failed": result_tables.failed([("[red]b", "malformed", "the author said\x1b[31m nothing")])})
    assert "[red]b" in text
    assert "malformed" in text
    assert "\x1b" not in text


def test_a_lower_bound_looks_like_one_and_its_difference_is_a_range() -> None:
    row = contrast((30, 60), (10, 40)) | {"first_at_least": True, "first_unscored": 5}
    text = " ".join(shown(one(row | {"difference": None, "difference_low": -0.1, "difference_high": 0.5})).split())
    for expected in ("≥50% 25% of 40", "(-10 to +50)", "so the share is a lower bound"):
        assert expected in text
    assert "lower bound" not in shown(one(contrast((30, 60), (10, 40))))


def agreement(cases: int, unscored: int, broken: tuple[int, int]) -> dict[str, Any]:
    row: dict[str, Any] = {"benchmark": "b", "model": "m", "cases": cases, "unscored": unscored}
    for side, count in zip(("prompt", "spec"), broken, strict=True):
        row |= {f"{side}_broken": count, f"{side}_scored": 5 * cases, f"{side}_share": count / (5 * cases or 1)}
    gap = {"difference": 0.1 if cases else None, "difference_low": -1.0, "difference_high": 1.0}
    return {**row, **gap, "p": 0.25 if cases else None, "cosine": None}


@pytest.mark.parametrize(("unscored", "expected"), [(0, None), (1, "1 case is left out"), (3, "3 cases are left out")])
def test_spec_agreement_tells_broken_outputs_their_share_and_what_is_left_out(
    unscored: int, expected: str | None
) -> None:
    row = agreement(20, unscored, (31, 21))
    text = " ".join(shown({"agreement": typed([row], result_tables.AGREEMENT_COLUMNS)}).split())
    for whole in ("31 of 100", "31%", "21 of 100", "+10", "0.250"):
        assert whole in text
    assert ("left out" in text) is (expected is not None)
    assert expected is None or expected in text
    assert "fewer than 20" not in text


def test_few_cases_look_few_however_often_each_was_asked() -> None:
    text = " ".join(shown({"agreement": typed([agreement(19, 0, (31, 21))], result_tables.AGREEMENT_COLUMNS)}).split())
    assert "31 of 95*" in text
    assert "fewer than 20" in text


def test_agreement_and_shares_without_anything_known_say_so() -> None:
    text = shown(
        {
            "agreement": typed([agreement(0, 0, (0, 0))], result_tables.AGREEMENT_COLUMNS),
            "shares": result_tables.shares([result_tables.share("b", "rules grounded", [None, None])]),
        }
    )
    assert text.count("scored") == 3
    assert "0 of 0" not in text
