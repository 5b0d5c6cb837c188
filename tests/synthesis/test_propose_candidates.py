"""Candidates of all kinds: compiled strictly, asked for once more where they are refused, each under its own name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from promptpex.core.errors import TruncatedReply
from promptpex.core.records import Candidate, Check, Criterion, Means, Request
from promptpex.llm.fake import FakeClient
from promptpex.llm.model_in_role import RoleModel
from promptpex.llm.names import parse_model
from promptpex.llm.structured import Structured
from promptpex.synthesis.proposing.graded_examples import GradedExample, GradedExamples
from promptpex.synthesis.proposing.propose_candidates import (
    Demand,
    NewCandidates,
    Shown,
    exclusions_by_phrases,
    propose_candidates,
)
from tests.samples import prompt

CODE = '''def names_the_thing(example: dict, prompt: str, response: str) -> bool:
    """The response names the thing."""
    return example["thing"].lower() in response.lower()
'''
ASKS = '''def is_kind(example: dict, prompt: str, response: str) -> bool:
    """The response is kind, says a reader."""
    return ask(f"Is the answer about {example['thing']} kind?") and ask("Is it polite?")
'''
CRITERIA = tuple(Criterion(id=f"c{number}", text=f"It holds {number}.") for number in range(1, 4))


def proposed(name: str, kind: str, value: str, *criteria: str) -> dict[str, Any]:
    return {"name": name, "criteria": criteria or ("c1",), "description": "", "kind": kind, "value": value, "path": ""}


async def made(
    *replies: Any, criteria: tuple[Criterion, ...] = CRITERIA, **more: Any
) -> tuple[NewCandidates, FakeClient]:
    """What comes of these replies, each a list of proposals, a text or an error."""
    answers = [json.dumps({"items": reply}) if isinstance(reply, list) else reply for reply in replies]
    client = FakeClient(answers)
    author = RoleModel(Structured(client), parse_model("openai/author"))
    return await propose_candidates(author, prompt(), criteria, **more), client


async def test_code_comes_before_python_and_python_before_questions() -> None:
    reply = [
        proposed("is it about the thing", "question", "Is the answer about {{thing}}?"),
        proposed("names_the_thing", "python", f"```python\n{CODE}```"),
        proposed("is_kind", "python", ASKS, "c2"),
        proposed("says_it", "contains", "(?i){{thing}}"),
    ]
    new, client = await made(reply)
    assert [(one.id, one.check.kind) for one in new.candidates] == [
        ("says_it", "icontains"),
        ("names_the_thing", "python"),
        ("is_it_about_the_thing", "question"),
        ("is_kind", "python"),
    ]
    assert new.candidates[1].check.value == CODE.strip()
    assert len(client.requests) == 1
    assert set(new.asked) == {"c1", "c2", "c3"}


@pytest.mark.parametrize(
    ("kind", "value", "why"),
    [
        ("python", "def f(example, prompt, response): (", "not Python"),
        ("python", "", "needs code"),
        ("question", " ", "needs a question"),
        ("not-question", "Is it?", "there is no kind"),
        ("javascript", "true", "there is no kind"),
        ("regex", "([", "does not compile"),
        ("contains", "{{ nothing }}", "not an input"),
        ("word-count", "some", "needs a number"),
    ],
)
async def test_what_does_not_compile_is_asked_for_once_more_with_the_reason(kind: str, value: str, why: str) -> None:
    bad, good = [proposed("a", kind, value, "c2")], [proposed("a", "contains", "x", "c2")]
    new, client = await made(bad, good)
    assert [(one.id, one.check.kind) for one in new.candidates] == [("a", "contains")]
    assert new.dropped == {}
    assert why in client.requests[1].messages[-1].content
    assert ">\nIt holds 2.\n<" in client.requests[1].messages[-1].content
    assert ">\nIt holds 1.\n<" not in client.requests[1].messages[-1].content
    new, client = await made(bad, bad)
    assert new.candidates == ()
    assert why in new.dropped["a"]
    assert len(client.requests) == 2
    assert "c2" not in new.asked


async def test_a_repair_that_fails_costs_nothing_else() -> None:
    reply = [proposed("a", "contains", "x"), proposed("b", "regex", "([", "c2")]
    new, _ = await made(reply, "", "")
    assert [one.id for one in new.candidates] == ["a"]
    assert "b" in new.dropped


async def test_names_are_distinct_and_checks_come_once() -> None:
    known = (Candidate(id="a", criteria=("c1",), check=Check(kind="contains", value="x")),)
    reply = [
        proposed("a", "contains", "x"),
        proposed("a", "contains", "y"),
        proposed("A!", "contains", "z", "c1", "c2"),
        proposed("名前", "contains", "w", "c3"),
        proposed("", "contains", "v", "c3"),
        proposed("lost", "contains", "u", "c9"),
    ]
    new, client = await made(reply, known=known)
    assert [(one.id, one.criteria, one.check.value) for one in new.candidates] == [
        ("a_2", ("c1",), "y"),
        ("a_3", ("c1", "c2"), "z"),
        ("checks_c3", ("c3",), "w"),
        ("checks_c3_2", ("c3",), "v"),
    ]
    assert "\na\n" in client.requests[0].messages[-1].content


async def test_at_most_two_criteria_each() -> None:
    new, _ = await made([proposed("a", "contains", "x", "c1", "c2", "c3")])
    assert new.candidates[0].criteria == ("c1", "c2")


async def test_the_author_sees_the_example_and_its_answer() -> None:
    shown = Shown("Say the colour of sky.", "thing:\nsky", "BLUE-ISH")
    _, client = await made([], shown=shown)
    text = client.requests[0].messages[-1].content
    assert all(part in text for part in ("Say the colour of sky.", "thing:\nsky", "BLUE-ISH", "It holds 3."))
    _, client = await made([])
    assert "filled in for one example" not in client.requests[0].messages[-1].content


async def test_of_a_reply_that_is_cut_the_whole_proposals_count() -> None:
    whole = json.dumps({"items": [proposed("a", "contains", "x"), proposed("b", "contains", "y", "c2")]})
    cut = TruncatedReply("cut", reply=whole[:-30])
    new, _ = await made(cut)
    assert [one.id for one in new.candidates] == ["a"]
    assert new.asked == ("c1",)


async def test_many_criteria_are_asked_for_in_parts_and_one_part_may_fail() -> None:
    criteria = tuple(Criterion(id=f"c{number}", text=f"It holds {number}.") for number in range(1, 9))

    def answer(request: Request) -> str:
        text = request.messages[-1].content
        return "" if "It holds 8." in text else json.dumps({"items": [proposed("a", "contains", "x", "c2")]})

    author = RoleModel(Structured(FakeClient(answer)), parse_model("openai/author"))
    new = await propose_candidates(author, prompt(), criteria)
    assert [one.id for one in new.candidates] == ["a"]
    assert set(new.asked) == {"c1", "c2", "c3", "c4", "c5", "c6"}


def _candidate(kind: str, value: Any) -> Candidate:
    return Candidate(id="it", criteria=("c1",), check=Check(kind=kind, value=value))


@pytest.mark.parametrize(
    ("candidate", "is_listed"),
    [
        (_candidate("not-word-any", ["unrelated", "I'm sorry"]), True),
        (_candidate("not-regex", "cannot help|as an AI"), True),
        (_candidate("not-contains", "refund"), False),
        (_candidate("not-regex", r"\d{2,}"), False),
        (_candidate("question", "Does it avoid unrelated topics?"), False),
        (
            _candidate(
                "python", 'def f(example, prompt, response):\n    """No."""\n    bad = ["I am sorry", "no idea"]\n'
            ),
            True,
        ),
        (_candidate("python", 'def f(example, prompt, response):\n    return "refund" not in response\n'), False),
    ],
)
def test_exclusions_by_lists_of_phrases_are_named(candidate: Candidate, is_listed: bool) -> None:
    exclusion = Criterion(id="c1", text='The answer never says "refund".', category="exclusion")
    assert exclusions_by_phrases([exclusion], [candidate]) == (["it"] if is_listed else [])
    assert exclusions_by_phrases([exclusion.replace(category="inclusion")], [candidate]) == []


GRADED = GradedExamples(
    good=(GradedExample("g1", "thing: sky", "BLUE", "well said"),), bad=(GradedExample("b1", "", "blue", "too low"),)
)


async def test_several_are_asked_for_one_criterion_at_a_time_with_grades_and_reasons() -> None:
    known = (
        Candidate(id="old", criteria=("c2",), check=Check(kind="contains", value="old value")),
        Candidate(id="other", criteria=("c9",), check=Check(kind="contains", value="other value")),
    )
    demand = Demand(several=True, wish="less strict, please", graded=GRADED)
    reply = [proposed("a", "contains", "x", "c2")]
    new, client = await made(reply, criteria=CRITERIA[1:2], known=known, demand=demand)
    text = client.requests[0].messages[-1].content
    assert len(client.requests) == 1
    for shown in ("too low", "well said", "less strict, please", "old value", "at most 5"):
        assert shown in text
    assert "other value" not in text
    assert [one.id for one in new.candidates] == ["a"]
    two = [[proposed("b", "contains", "y", "c1")], [proposed("d", "contains", "z", "c2")]]
    new, client = await made(*two, criteria=CRITERIA[:2], demand=Demand(several=True))
    assert (len(client.requests), len(new.candidates)) == (2, 2)


@pytest.mark.parametrize(
    ("by", "kind", "value", "why"),
    [
        ("code", "question", "Is it kind?", "by code alone"),
        ("code", "python", ASKS, "by code alone"),
        ("judge", "contains", "x", "wants a reader"),
    ],
)
async def test_what_decides_by_other_means_is_refused_with_the_reason(
    by: Means, kind: str, value: str, why: str
) -> None:
    bad = [proposed("a", kind, value, "c1")]
    new, client = await made(bad, bad, criteria=CRITERIA[:1], demand=Demand(by=by))
    assert new.candidates == ()
    assert why in new.dropped["a"]
    assert ('kind "question"' in client.requests[0].messages[-1].content) == (by == "judge")


async def test_candidates_say_which_words_they_were_written_for() -> None:
    new, _ = await made([proposed("a", "contains", "x", "c1", "c2")])
    assert new.candidates[0].wordings == {one.id: one.wording for one in CRITERIA[:2]}
