"""The comparison ``asked``: what the judge is shown, and what its reply means."""

from __future__ import annotations

from typing import Any

import pytest

from promptpex.core.errors import TruncatedReply
from promptpex.judging.same_as_expected import MatchJudge
from tests.samples import asked, output, role_model

INPUTS = {"thing": "a fire engine", "place": "here"}


def judge_that_says(reply: Any) -> tuple[MatchJudge, list[str]]:
    shown: list[str] = []

    def answer(request: Any) -> Any:
        shown.append(asked(request))
        return reply

    model, _ = role_model(answer, "fake/judge")
    return MatchJudge(model, "Name a colour.", "Shades count as one."), shown


@pytest.mark.parametrize(
    ("word", "status", "code"),
    [("same", "pass", None), ("different", "fail", None), ("unclear", "unscored", "judge-unclear")],
)
async def test_the_judges_word_is_the_verdict(word: str, status: str, code: str | None) -> None:
    judge, shown = judge_that_says({"differences": "", "verdict": word})
    verdict = await judge.compare(output("scarlet"), INPUTS, ["red", "crimson"])
    assert (verdict.status, verdict.unscored, verdict.source) == (status, code, "judge:fake/judge")
    for part in ("Name a colour.", "Shades count as one.", "a fire engine", "red\n\nor\n\ncrimson", "scarlet"):
        assert part in shown[0]


async def test_what_is_the_same_in_all_requests_comes_first() -> None:
    judge, _ = judge_that_says({})
    one, two = (judge.request(output(text), INPUTS, [text]).messages[-1].content for text in ("scarlet", "azure"))
    same = next(place for place, pair in enumerate(zip(one, two, strict=False)) if pair[0] != pair[1])
    assert same > one.index("Name a colour.")


async def test_a_judge_that_cannot_be_read_leaves_the_output_unscored() -> None:
    for reply, code in (("no JSON at all", "judge-malformed"), (TruncatedReply("cut"), "judge-truncated")):
        judge, _ = judge_that_says(reply)
        verdict = await judge.compare(output("scarlet"), INPUTS, ["red", "crimson"])
        assert (verdict.status, verdict.unscored) == ("unscored", code)
