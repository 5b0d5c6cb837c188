from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.errors import Unavailable
from promptpex.core.records import Rule
from promptpex.specs.groundedness import by_quote, grounded
from tests.samples import asked, prompt, role_model

PROMPT = prompt("Name the colour of the thing in one word.\nAnswer in “capitals”, never in lower case.")


def rule(source: str | None, name: str = "r1") -> Rule:
    return Rule(id=name, rule="The output is one word.", source=source)


@pytest.mark.parametrize(
    ("source", "how"),
    [
        ("the colour of the thing in one word", "quote"),
        ("in one word. Answer in capitals", "quote"),
        ("NAME THE COLOUR ... in one word", "quote"),
        ("Answer in 'capitals', […] lower case.", "quote"),
        ("Name the color of the thing in one word", "near-quote"),
        ("in one", None),
        ("The output must be a single token of the list", None),
        ("Name the colour ... of a printed list of paints", None),
        (None, None),
        ("...", None),
    ],
)
def test_quoted_words_settle_what_they_can(source: str | None, how: str | None) -> None:
    result = by_quote(rule(source), PROMPT.text())
    assert (result.how if result else None) == how
    assert result is None or result.status == "yes"


def test_a_short_quotation_of_dense_script_is_enough() -> None:
    assert by_quote(rule("一語で答えてください"), "物の色を一語で答えてください。") is not None


async def test_only_what_words_do_not_settle_is_asked() -> None:
    judge, client = role_model(lambda request: {"reason": " It says so. ", "verdict": "no"}, "fake/judge")
    rules = [rule("the colour of the thing in one word"), rule("nowhere to be found here", "r2"), rule(None, "r3")]
    first, second, third = await grounded(judge, PROMPT, rules)
    assert (first.rule, first.status, first.how) == ("r1", "yes", "quote")
    assert (second.status, second.how, second.reason) == ("no", "judge:fake/judge", "It says so.")
    assert third.status == "no"
    assert len(client.requests) == 2
    assert "nowhere to be found here" in asked(client.requests[0])


@pytest.mark.parametrize("reply", ["?", {"verdict": "yes"}, {"reason": "", "verdict": "maybe"}, Unavailable("gone")])
async def test_an_unreadable_judge_leaves_it_open(reply: Any) -> None:
    judge, _ = role_model(lambda request: reply)
    (result,) = await grounded(judge, PROMPT, [rule(None)])
    assert (result.status, result.how) == ("unknown", f"judge:{judge.label}")
    assert result.reason == "its answer could not be read"


async def test_an_unsure_judge_and_no_judge_leave_it_open() -> None:
    judge, _ = role_model(lambda request: {"reason": "x", "verdict": "unclear"}, "j")
    assert [(one.status, one.how) for one in await grounded(judge, PROMPT, [rule(None)])] == [("unknown", "judge:j")]
    assert [one.status for one in await grounded(None, PROMPT, [rule(None)])] == ["unknown"]


@given(st.text(min_size=1), st.data())
def test_whatever_stands_in_the_prompt_is_found_or_too_short(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    result = by_quote(rule(text[start : start + 60]), text)
    assert result is None or (result.status, result.rule) == ("yes", "r1")
