from __future__ import annotations

from typing import Any

import pytest

from promptpex.cases.expected import Expected, expected_outputs, lacking, with_expected
from promptpex.core.errors import NotAuthorised, Unavailable
from promptpex.core.events import Event, Notice
from promptpex.core.records import Case, Output, Suite
from promptpex.llm.model_in_role import RoleModel
from tests.samples import asked, prompt, role_model, spec

SUITE = Suite(
    prompt="prompt.md",
    cases=tuple(Case(id=f"c{n}", rule="r1", inputs={"thing": f"rose {n}", "place": "here"}) for n in range(3)),
)


async def answer(case: Case, attempt: int) -> Output:
    if case.id == "c1":
        return Output(case=case.id, model="ref", error="timed-out", message="no answer in time")
    again = f" ({attempt})" if attempt else ""
    return Output(case=case.id, model="ref", text=f"RED for {case.inputs['thing']}{again}")


def judge(*scores: Any, label: str = "fake/judge") -> RoleModel:
    """A judge with a score for each of the usable answers, in order."""
    by_thing = dict(zip(("rose 0", "rose 2"), scores, strict=True))

    def reply(request: Any) -> Any:
        score = next(score for thing, score in by_thing.items() if f"RED for {thing}" in asked(request))
        return score if isinstance(score, str | Exception) else {"reason": f"{label} says {score}", "score": score}

    return role_model(reply, label)[0]


async def results_of(*judges: RoleModel, **options: Any) -> list[Expected]:
    return await expected_outputs(SUITE.cases, answer, judges, prompt=prompt(), spec=spec(), **options)


async def test_the_median_of_the_judges_decides() -> None:
    first, second, third = await results_of(
        judge(0.9, 0.2, label="a"), judge(1.0, 0.9, label="b"), judge(0.1, 0.3, label="c")
    )
    assert (first.text, first.score, first.source) == ("RED for rose 0", 0.9, "ref (0.90)")
    assert first.reason == "a says 0.9"
    assert first.scores == (("a", 0.9), ("b", 1.0), ("c", 0.1))
    assert (second.text, second.score, second.source) == (None, None, None)
    assert second.reason == "ref gave no answer: no answer in time"
    assert (third.text, third.score) == (None, 0.3)
    assert third.reason == "the score 0.30 is below 0.80: c says 0.3"


async def test_judges_that_cannot_be_read_have_no_say_but_half_of_them_must() -> None:
    first, _, third = await results_of(
        judge("?", "?", label="a"), judge(0.9, Unavailable("gone", model="b"), label="b")
    )
    assert (first.text, first.reason) == (None, "1 of 2 judges could not be read")
    assert (third.text, third.reason) == (None, "2 of 2 judges could not be read")
    first, _, _ = await results_of(judge(0.8, 0, label="a"), judge(0.9, 0, label="b"), judge("?", "?", label="c"))
    assert first.score == pytest.approx(0.85)


@pytest.mark.parametrize("score", [1.5, -0.1, "NaN"])
async def test_a_score_out_of_range_is_no_score(score: Any) -> None:
    text = f'{{"reason": "x", "score": {score}}}'
    assert (await results_of(judge(text, text)))[0].reason == "1 of 1 judges could not be read"


async def test_a_reference_model_that_raises_is_a_reason_or_the_end() -> None:
    async def lost(case: Case, attempt: int) -> Output:
        raise Unavailable("the server is away", model="ref")

    async def keyless(case: Case, attempt: int) -> Output:
        raise NotAuthorised("no key", model="ref")

    (one, *_) = await expected_outputs(SUITE.cases, lost, [judge(1, 1)], prompt=prompt(), spec=spec())
    assert one.reason == "ref gave no answer: the server is away"
    with pytest.raises(NotAuthorised):
        await expected_outputs(SUITE.cases, keyless, [judge(1, 1)], prompt=prompt(), spec=spec())
    with pytest.raises(ValueError, match="judge"):
        await expected_outputs(SUITE.cases, answer, [], prompt=prompt(), spec=spec())
    assert await expected_outputs([], answer, [judge(1, 1)], prompt=prompt(), spec=spec()) == []


async def test_the_suite_takes_the_expected_outputs_and_names_the_cases_without() -> None:
    heard: list[Event] = []
    suite = with_expected(SUITE, await results_of(judge(0.9, 0.2)), heard.append)
    assert [(case.expected, case.expected_from) for case in suite.cases] == [
        ("RED for rose 0", "ref (0.90)"),
        (None, None),
        (None, None),
    ]
    assert [event.message.partition(": ")[2][:16] for event in heard if isinstance(event, Notice)] == [
        "none for case c1",
        "none for case c2",
    ]
    assert [case.id for case in lacking(suite)] == ["c1", "c2"]


def test_what_people_wrote_gets_no_expected_output() -> None:
    mine = SUITE.cases[0].replace(origin="added")
    answered = SUITE.cases[1].replace(expected="BLUE")
    suite = SUITE.replace(cases=(mine, answered, SUITE.cases[2].replace(invalid="no")))
    results = [Expected(f"c{n}", "RED", "ref", 1.0, "") for n in range(3)]
    assert with_expected(suite, results) == suite
    assert lacking(suite) == []


def by_answer(scores: dict[str, float]) -> tuple[RoleModel, list[str]]:
    """A judge with a score for each answer, by what follows "RED for ", and what it was asked."""
    heard: list[str] = []

    def reply(request: Any) -> Any:
        heard.append(asked(request))
        given = next(line for line in heard[-1].splitlines() if line.startswith("RED for "))
        return {"reason": f"of {given}", "score": scores[given.removeprefix("RED for ")]}

    return role_model(reply)[0], heard


async def test_an_answer_that_is_not_good_enough_is_asked_for_again_up_to_three_times() -> None:
    marker, heard = by_answer(
        {"rose 0": 0.3, "rose 0 (1)": 0.7, "rose 0 (2)": 1.0}
        | {"rose 2": 0.3, "rose 2 (1)": 0.7, "rose 2 (2)": 0.3, "rose 2 (3)": 0}
    )
    first, second, third = await results_of(marker)
    assert (first.text, first.source, first.tries) == ("RED for rose 0 (2)", "ref (1.00)", 3)
    assert (second.text, second.tries) == (None, 1)
    assert (third.text, third.score, third.tries) == (None, 0.7, 4)
    assert third.reason == "the score 0.70 is below 0.80: of RED for rose 2 (1)"
    assert len(heard) == 3 + 4
    heard.clear()
    events: list[Event] = []
    with_expected(SUITE, [third], events.append)
    assert isinstance(events[0], Notice)
    assert events[0].message.startswith("expected: none for case c2 after 4 answers: the score 0.70")


async def test_what_is_the_same_for_all_answers_comes_first_in_a_request() -> None:
    marker, heard = by_answer({"rose 0": 1.0, "rose 2": 1.0})
    await results_of(marker)
    one, two = heard
    same = next(place for place, pair in enumerate(zip(one, two, strict=False)) if pair[0] != pair[1])
    assert "0.3 if a part of it is wrong" in one[:same]


def test_long_expected_outputs_bring_the_advice_to_have_them_compared_by_a_judge() -> None:
    events: list[Event] = []
    results = [Expected("c0", "RED " * 40, "ref", 1.0, "")]
    with_expected(SUITE, results, events.append)
    assert [event.message for event in events if isinstance(event, Notice) and "`match: asked`" in event.message]
    events.clear()
    with_expected(SUITE.replace(match="asked"), results, events.append)
    assert events == []
