from __future__ import annotations

from math import ceil
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.errors import Unavailable
from promptpex.core.records import Request, Rule
from promptpex.specs.groundedness import RULES_PER_REQUEST, by_quote, grounded
from tests.samples import asked, prompt, role_model

PROMPT = prompt("Name the colour of the thing in one word.\nAnswer in “capitals”, never in lower case.")


def rule(source: str | None, name: str = "r1") -> Rule:
    return Rule(id=name, rule="The output is one word.", source=source)


def claim(name: str, verdict: str, reason: str = "x") -> dict[str, str]:
    return {"claim": name, "reason": reason, "verdict": verdict}


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
    claims = [claim("r2", "no", " It says so. "), claim("r3", "yes")]
    judge, client = role_model(lambda request: {"claims": claims}, "fake/judge")
    rules = [rule("the colour of the thing in one word"), rule("nowhere to be found here", "r2"), rule(None, "r3")]
    first, second, third = await grounded(judge, PROMPT, rules)
    assert (first.rule, first.status, first.how) == ("r1", "yes", "quote")
    assert (second.status, second.how, second.reason) == ("no", "judge:fake/judge", "It says so.")
    assert third.status == "yes"
    assert len(client.requests) == 1
    assert "nowhere to be found here" in asked(client.requests[0])
    assert "the colour of the thing in one word" not in asked(client.requests[0]).replace(PROMPT.text(), "")


async def test_rules_that_a_reply_leaves_out_or_spoils_are_asked_about_by_themselves() -> None:
    def reply(request: Request) -> Any:
        if "<r2-" in asked(request) and "<r3-" in asked(request):
            return {"claims": [claim("r1", "yes"), claim("r2", "perhaps"), claim("r9", "no")]}
        return {"claims": [claim("whatever", "no" if "<r2-" in asked(request) else "unclear")]}

    judge, client = role_model(reply)
    results = await grounded(judge, PROMPT, [rule(None, name) for name in ("r1", "r2", "r3")])
    assert [(one.rule, one.status) for one in results] == [("r1", "yes"), ("r2", "no"), ("r3", "unknown")]
    assert len(client.requests) == 3


async def test_many_rules_are_asked_about_in_several_requests() -> None:
    def reply(request: Request) -> Any:
        return {"claims": [claim(f"r{n}", "yes") for n in range(20) if f"<r{n}-" in asked(request)]}

    judge, client = role_model(reply)
    results = await grounded(judge, PROMPT, [rule(None, f"r{n}") for n in range(20)])
    assert {one.status for one in results} == {"yes"}
    assert len(client.requests) == ceil(20 / RULES_PER_REQUEST)


@pytest.mark.parametrize(
    "reply", ["?", {"claims": [{"verdict": "yes"}]}, {"claims": []}, {"claims": "r1"}, Unavailable("gone")]
)
async def test_an_unreadable_judge_leaves_it_open(reply: Any) -> None:
    judge, _ = role_model(lambda request: reply)
    (result,) = await grounded(judge, PROMPT, [rule(None)])
    assert (result.status, result.how) == ("unknown", f"judge:{judge.label}")
    assert result.reason == "its answer could not be read"


async def test_an_unsure_judge_and_no_judge_leave_it_open() -> None:
    judge, _ = role_model(lambda request: {"claims": [claim("r1", "unclear")]}, "j")
    assert [(one.status, one.how) for one in await grounded(judge, PROMPT, [rule(None)])] == [("unknown", "judge:j")]
    assert [one.status for one in await grounded(None, PROMPT, [rule(None)])] == ["unknown"]


@given(st.text(min_size=1), st.data())
def test_whatever_is_in_the_prompt_is_found_or_too_short(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    result = by_quote(rule(text[start : start + 60]), text)
    assert result is None or (result.status, result.rule) == ("yes", "r1")
