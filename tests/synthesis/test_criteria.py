"""Criteria: grounded in words that were added, each once, under ids that are free."""

from __future__ import annotations

import json
from typing import Any

from promptpex.core.events import Event, Notice
from promptpex.core.records import Change, Criterion, Delta
from promptpex.llm.fake import FakeClient
from promptpex.llm.model_in_role import RoleModel
from promptpex.llm.names import parse_model
from promptpex.llm.structured import Structured
from promptpex.synthesis.history.categories import categorise
from promptpex.synthesis.history.versions import deltas
from promptpex.synthesis.proposing.criteria import NewCriteria, propose_criteria, sentence_digest, unasked
from tests.samples import prompt
from tests.synthesis.prompts import version

DELTA = Delta(
    version="v2",
    previous="v1",
    changes=(Change(tag="removed", text="Write verse."), Change(tag="added", text="Write prose of 50 words.")),
)


def reply(source: str, criterion: str, category: str = "quantity") -> dict[str, Any]:
    return {"change": "d1", "source": source, "category": category, "criterion": criterion}


async def proposed(*replies: dict[str, Any], **more: Any) -> tuple[NewCriteria, list[str]]:
    """What comes of these replies, and the notices."""
    heard: list[Event] = []
    author = RoleModel(Structured(FakeClient([json.dumps({"items": replies})])), parse_model("openai/author"))
    made = await propose_criteria(author, prompt(), [DELTA], emit=heard.append, **more)
    return made, [event.message for event in heard if isinstance(event, Notice)]


def test_a_sentence_that_comes_back_is_asked_about_once() -> None:
    texts = ["Be kind.", "Be kind. Be brief.", "Be kind.", "Be **kind**. Be brief! Be brave."]
    made = deltas([version(f"v{number}", text) for number, text in enumerate(texts, 1)])
    assert [[change.text for change in delta.changes] for delta in made][3] == ["Be brief!", "Be brave."]
    asked = unasked(made, ())
    assert {delta.version: [change.text for change in delta.changes] for delta in asked} == {
        "v1": ["Be kind."],
        "v2": ["Be brief."],
        "v4": ["Be brave."],
    }
    later = unasked(made, [sentence_digest("be kind"), sentence_digest("Be brave.")])
    assert [delta.version for delta in later] == ["v2"]


async def test_a_criterion_rests_on_words_that_were_added() -> None:
    made, notices = await proposed(
        reply("50 words", "It has 50 words."),
        reply("verse", "It is in verse."),
        reply("politely", "It is polite."),
        reply("prose", "It is  in\nprose.", "style"),
    )
    assert [(one.id, one.text, one.category, one.source) for one in made.criteria] == [
        ("c1", "It has 50 words.", "quantity", "50 words"),
        ("c2", "It is in prose.", "qualitative-criteria", "prose"),
    ]
    assert notices == ["criteria: 2 criteria left out: the words they are based on were not added"]
    assert made.asked == (sentence_digest("Write prose of 50 words."),)


async def test_what_there_is_is_not_repeated_and_no_id_is_given_twice() -> None:
    known = [Criterion(id="c1", text="It has 50 words")]
    made, _ = await proposed(
        reply("50 words", "It has **50** words."),
        reply("prose", "It is in prose."),
        reply("prose", "It is in prose!"),
        known=known,
        taken=["c2"],
    )
    assert [(one.id, one.text) for one in made.criteria] == [("c3", "It is in prose.")]


async def test_a_reply_that_is_all_wrong_is_asked_for_again_another_time() -> None:
    made, _ = await proposed(reply("verse", "It is in verse."))
    assert made == NewCriteria()
    made, _ = await proposed()
    assert (made.criteria, len(made.asked)) == ((), 1)


async def test_a_category_rests_on_words_of_the_change_and_an_unknown_one_is_other() -> None:
    phrases = [
        {"change": "d1", "source": "verse", "category": "Presentation Format"},
        {"change": "d7", "source": "50 words", "category": "count"},
        {"change": "d1", "source": "50 words", "category": "count"},
        {"change": "d1", "source": "prose", "category": "poetry"},
        {"change": "d1", "source": "100 words", "category": "count"},
    ]
    author = RoleModel(Structured(FakeClient([json.dumps({"items": phrases})])), parse_model("openai/author"))
    (delta,) = await categorise(author, prompt(), [DELTA])
    assert [(one.category, one.source) for one in delta.categories] == [
        ("response-format", "verse"),
        ("quantity", "50 words"),
        ("other", "prose"),
    ]
