"""The page of a choice: what stands where, that text stays text, and that it stays small."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example as also
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.report.choices import page as pages
from promptpex.report.choices.coverage_curve import BOTTOM, LEFT, RIGHT, TOP, drawn
from promptpex.report.choices.page import html, in_order, view
from promptpex.report.choices.records import ChoicePage, PageCurve, PagePoint, PageVersion, PromptPiece
from tests.report.choices.choice_records import CURVE, candidate, example, page, share
from tests.report.test_html_page import EVIL, Reader, assert_harmless


def section(text: str, name: str) -> str:
    """What a section of the page says."""
    part = re.search(rf'<section aria-labelledby="{name}">(.*?)</section>', text, re.DOTALL)
    return " ".join(" ".join(Reader(part[1]).words).split()) if part else ""


def test_every_section_says_what_it_is_about() -> None:
    text = html(page())
    assert_harmless(Reader(text))
    assert "coverage the outputs that it was chosen by 50% (30–70%)" in section(text, "choice")
    assert "names_a_year a person said must The text names the year." in section(text, "choice")
    assert "1 bad output caught now." in section(text, "choice")
    assert section(text, "missed").startswith(
        "Bad outputs that no chosen assertion catches (1 of 2) c1/m/0 ✗ not caught no other candidate"
    )
    caught = section(text, "caught")
    assert caught.startswith(
        "Bad outputs that are caught (1 of 2) c1/m/0 ✓ caught by names_a_year label bad ada ada: dull"
    )
    assert "The Night Watch" in caught
    assert "output Look at it. fails names_a_year no year fails, not chosen is_short" in caught
    assert section(text, "alarms").startswith("Good outputs that are flagged (1 of 2) c1/m/0 ✗ flagged by names_a_year")
    assert "Inclusion regex ✓ chosen a person said must 0 0 0" in section(text, "candidates")
    assert "word-count ○ screened passes all 4 examples" in section(text, "candidates")
    assert "names_a_year is_short a judge – counts" in section(text, "implications")
    assert "content 1 1 1 1 Inclusion 1 1 1 1" in section(text, "categories")
    assert "<mark>Name the year<small>Inclusion</small></mark> always." in text
    assert "+ added Name the year. − removed Be brief." in section(text, "versions")


def test_hostile_text_stays_text_and_nothing_is_loaded() -> None:
    text = html(page(EVIL))
    made = Reader(text)
    assert_harmless(made)
    assert made.text.count("<script>alert(1)</script>") >= 25
    assert "{{ 7 * 7 }}" in made.text
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; style-src 'unsafe-inline'")
    style = text[text.index("<style>") : text.index("</style>")]
    assert not re.search(r"url\(|@import|@font-face|//", style)
    assert "//" not in html(page())


@settings(deadline=None, max_examples=15)
@also("</style><script>")
@also("\x00\x1b\r\x9b\u202e\ud800")
@given(st.text(max_size=60))
def test_no_text_breaks_the_page(text: str) -> None:
    made = html(page(text))
    made.encode("utf-8")
    assert_harmless(Reader(made))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", made)


@pytest.mark.parametrize(
    "given_",
    [
        ChoicePage("p.md", "Nothing is chosen yet.", has_choice=False),
        ChoicePage("p.md", "Nothing is chosen.", has_choice=True),
        page(has_choice=False, candidates=(candidate(state="open"),), shares=(), examples=(example(),)),
        page(shares=(share("coverage", None),), curve=PageCurve((), 0.25, 0.6)),
    ],
    ids=["nothing", "empty", "open", "unknown"],
)
def test_a_choice_with_little_in_it_is_a_whole_page(given_: ChoicePage) -> None:
    text = html(given_)
    assert_harmless(Reader(text))
    assert ('<h2 id="choice">' in text) == given_.has_choice
    assert text.endswith("</html>")


@pytest.mark.parametrize(("count", "words"), [(0, "no candidate"), (1, "1 candidate"), (2, "2 candidates")])
def test_without_a_choice_each_bad_output_says_how_many_candidates_would_catch_it(count: int, words: str) -> None:
    others = tuple(f"candidate_{number}" for number in range(count))
    text = html(page(has_choice=False, examples=(example(others=others, other_count=count),)))
    missed = section(text, "missed")
    assert missed.startswith(f"Bad outputs that have to be caught (1 of 2) c1/m/0 {words} would catch it")
    assert "not c" not in missed


def test_tables_name_their_columns_and_drawings_have_words() -> None:
    made = Reader(html(page()))
    headers = [attributes for tag, attributes in made.tags if tag == "th"]
    assert headers
    assert all(attributes.get("scope") in ("col", "row") for attributes in headers)
    drawings = [attributes for tag, attributes in made.tags if tag == "svg"]
    assert all("aria-label" in one or one.get("aria-hidden") == "true" for one in drawings)
    regions = [attributes for _, attributes in made.tags if attributes.get("role") == "region"]
    assert all(one.get("tabindex") == "0" and ("aria-label" in one or "aria-labelledby" in one) for one in regions)
    ids = made.having("id")
    assert len(ids) == len(set(ids))
    assert set(made.having("aria-labelledby")) <= set(ids)
    levels = [int(tag[1]) for tag, _ in made.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_the_curve_rises_in_steps_with_the_limits_and_the_choice() -> None:
    made = drawn(CURVE)
    across = [line for line in made.steps if line.y1 == line.y2]
    upward = [line for line in made.steps if line.x1 == line.x2]
    assert (len(across), len(upward)) == (2, 1)
    assert (across[0].x1, across[0].x2) == (made.points[0].x, made.points[1].x)
    assert (upward[0].y1, upward[0].y2) == (made.points[0].y, made.points[1].y)
    assert upward[0].y2 < upward[0].y1
    assert across[-1].x2 == RIGHT
    least_coverage, highest_ffr = made.limits
    assert least_coverage.y1 == least_coverage.y2 == pytest.approx(BOTTOM - 0.6 * (BOTTOM - TOP), abs=0.01)
    assert highest_ffr.x1 == highest_ffr.x2 == pytest.approx(LEFT + 0.5 * (RIGHT - LEFT), abs=0.01)
    assert made.chosen is not None
    assert made.held_out is not None
    assert made.chosen.words == "chosen: coverage 70% at an FFR of 10%"
    assert made.words == (
        "The most coverage at each FFR rises from 50% at 0% to 75% at 10%. Limits: coverage of at least 60% and FFR "
        "of at most 25%. The choice has coverage 70% at an FFR of 10%, held out coverage 55% at an FFR of 20%."
    )
    text = html(page())
    assert made.words in section(text, "curve")
    assert "75% or more names_a_year, is_short" in section(text, "curve")


@pytest.mark.parametrize(("ffr", "limit", "end"), [(0.0, 0.02, 0.05), (0.3, 0.25, 0.5), (1.0, 0.25, 1.0), (0, 1, 1.0)])
def test_the_axis_holds_the_curve_and_its_limit(ffr: float, limit: float, end: float) -> None:
    made = drawn(PageCurve((PagePoint(ffr, 0.5, ()),), limit, 0.6, chosen=(ffr, 0.5)))
    assert made.ticks_x[-1].words == f"{100 * end:g}%"
    places = [*made.points, *made.limit_words, made.chosen]
    assert all(one is not None and LEFT <= one.x <= RIGHT for one in places)


def test_candidates_stand_by_their_state_and_what_they_catch() -> None:
    names = [("a", "left out", 3), ("b", "screened", 9), ("c", "chosen", 1), ("d", "chosen", 4), ("e", "implied", 2)]
    given_ = [candidate(name, state, caught=caught) for name, state, caught in names]
    assert [one.id for one in in_order(given_)] == ["d", "c", "e", "a", "b"]


def huge() -> ChoicePage:
    """1,000 candidates on 10,000 outputs of 2,000 characters each, and a long history."""
    names = [f"candidate_{number}" for number in range(1000)]
    long = "word " * 400
    return page(
        bad=6000,
        good=4000,
        candidates=tuple(candidate(name, "chosen" if name[-1] == "0" else "left out", check=long) for name in names),
        examples=tuple(
            example("bad" if number < 6000 else "good", tuple(names[:300]) if number % 2 else (), output=long)
            for number in range(10_000)
        ),
        implications=page().implications * 5000,
        pieces=(PromptPiece("text " * 40_000),),
        versions=(PageVersion("v", added=("A sentence. " * 200,) * 500, categories=(("Quantity", "ten"),) * 200),)
        * 300,
    )


def test_a_page_of_a_large_choice_is_bounded_and_says_what_it_leaves_out() -> None:
    text = html(huge())
    assert len(text) < 12_000_000
    assert text.count('<details class="case"') <= 3 * pages.MOST_EXAMPLES
    for sentence in (
        "700 more are left out here; candidates.csv has all.",
        "2700 more are left out here; failures.csv has all.",
        "4800 more are left out here; candidates.yaml has all.",
        "200 more are left out here; versions.json has all.",
        "Cut: 140000 more characters.",
        "and 280 more",
    ):
        assert sentence in text
    assert '<details class="case" open>' not in text


def test_long_outputs_leave_others_out_before_the_page_grows() -> None:
    outputs: dict[str, Any] = {"output": "x" * 1_000_000}
    shown = view(page(examples=tuple(example(**outputs) for _ in range(5)))).missed
    assert (len(shown.items), shown.more) == (1, 4)
    assert len(html(page(examples=(example(**outputs),)))) < 100_000
