"""Rules come in one request with their inverses; what fails is asked for in parts; what is missing is said."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from promptpex.core.errors import MalformedReply
from promptpex.core.events import Event, Notice
from promptpex.core.records import Completion, Request, Rule
from promptpex.specs.propose_rules import RULES_PER_REQUEST, Extraction, add_inverses, propose_rules
from tests.samples import asked, prompt, role_model

PROMPT = prompt()


def rules(*numbers: int, inverse: bool = True) -> list[dict[str, Any]]:
    texts = [{"source": "in one word", "rule": f"Rule {n}.", "needs": "output"} for n in numbers]
    return [{**text, "inverse": f"Not {text['rule']}"} for text in texts] if inverse else texts


def limit_of(request: Request) -> int:
    stated = re.search(r"At most (\d+) rules", asked(request))
    assert stated is not None
    return int(stated[1])


def counting(total: int) -> Any:
    """An author who knows so many rules, and names those that are not written down yet, as many as it may."""

    def reply(request: Request) -> Any:
        text = asked(request)
        left = [n for n in range(1, total + 1) if f"Rule {n}.\n" not in text]
        named = left[: limit_of(request)]
        return {"rules": rules(*named), "more": len(named) < len(left)}

    return reply


def notices(heard: list[Event]) -> str:
    return "\n".join(event.message for event in heard if isinstance(event, Notice))


@pytest.mark.parametrize(("total", "most", "made", "requests"), [(7, 20, 7, 1), (20, 30, 20, 2), (55, 60, 55, 3)])
async def test_a_long_list_is_asked_for_in_parts_until_nothing_is_missing(
    total: int, most: int, made: int, requests: int
) -> None:
    heard: list[Event] = []
    voice, client = role_model(counting(total))
    proposed = await propose_rules(voice, PROMPT, options=Extraction(max_rules=most), emit=heard.append)
    assert [rule.id for rule in proposed] == [f"r{n}" for n in range(1, made + 1)]
    assert len(client.requests) == requests
    assert max(map(limit_of, client.requests)) <= RULES_PER_REQUEST
    assert notices(heard) == ""


async def test_a_list_that_is_full_is_reported_with_what_to_do() -> None:
    heard: list[Event] = []
    voice, client = role_model(counting(30))
    proposed = await propose_rules(voice, PROMPT, options=Extraction(max_rules=8), emit=heard.append)
    assert len(proposed) == 8
    assert len(client.requests) == 1
    assert "the list of rules is full (8)" in notices(heard)
    assert "extract PROMPT --more-rules" in notices(heard)
    assert "--max-rules" in notices(heard)


async def test_an_author_that_stops_before_the_end_is_believed() -> None:
    heard: list[Event] = []
    voice, _ = role_model(lambda request: {"rules": rules(1, 2), "more": True})
    await propose_rules(voice, PROMPT, emit=heard.append)
    assert "the author says that the prompt sets more rules" in notices(heard)


async def test_an_author_that_repeats_itself_is_not_asked_for_ever() -> None:
    voice, client = role_model(lambda request: {"rules": rules(*range(20)), "more": True})
    proposed = await propose_rules(voice, PROMPT, options=Extraction(max_rules=500))
    assert (len(proposed), len(client.requests)) == (20, 2)


async def test_new_rules_take_free_ids_and_repeat_no_known_rule() -> None:
    voice, client = role_model(lambda request: {"rules": rules(1, 2), "more": False})
    known = [Rule(id="r1", rule="rule  1"), Rule(id="r3", rule="Something else.")]
    proposed = await propose_rules(
        voice, PROMPT, known=known, uncited=["Be brief."], taken=["r2"], options=Extraction(max_rules=3)
    )
    assert [(rule.id, rule.rule) for rule in proposed] == [("r4", "Rule 2.")]
    assert "Something else." in asked(client.requests[0])
    assert "Be brief." in asked(client.requests[0])


@pytest.mark.parametrize("spoilt", ["no json at all", {"rules": []}, {"rules": "r1"}])
async def test_an_author_without_any_rule_is_an_error(spoilt: Any) -> None:
    voice, client = role_model(lambda request: spoilt)
    with pytest.raises(MalformedReply):
        await propose_rules(voice, PROMPT)
    assert len(client.requests) <= 4


async def test_a_bare_list_and_words_of_its_own_for_yes_and_input_are_understood() -> None:
    voice, _ = role_model(lambda request: [{"rule": "If late, brief.", "needs": "Output and Input", "inverse": None}])
    (rule,) = await propose_rules(voice, PROMPT)
    assert (rule.needs, rule.inverse, rule.source) == ("input", None, None)


async def test_rules_that_cannot_be_read_with_their_inverses_are_asked_for_alone() -> None:
    heard: list[Event] = []

    def reply(request: Request) -> Any:
        wanted = '"inverse"' in json.dumps(request.reply_schema)
        return "no json at all" if wanted else {"rules": rules(1, inverse=False), "more": False}

    voice, _ = role_model(reply)
    (rule,) = await propose_rules(voice, PROMPT, emit=heard.append)
    assert (rule.rule, rule.inverse) == ("Rule 1.", None)
    assert "requested again in parts" in notices(heard)


async def test_what_came_whole_in_a_reply_that_was_cut_is_kept_and_the_rest_asked_for() -> None:
    written = json.dumps({"rules": rules(1, 2, 3)})
    cut = Completion(text=written[: written.index("Not Rule 3") + 5], finish_reason="length")
    replies: list[Any] = [cut, json.dumps({"rules": rules(3, inverse=False), "more": False})]
    voice, client = role_model(lambda request: replies.pop(0))
    proposed = await propose_rules(voice, PROMPT)
    assert [(rule.id, rule.rule, rule.inverse) for rule in proposed] == [
        ("r1", "Rule 1.", "Not Rule 1."),
        ("r2", "Rule 2.", "Not Rule 2."),
        ("r3", "Rule 3.", None),
    ]
    assert "Rule 2." in asked(client.requests[1])
    assert limit_of(client.requests[1]) < limit_of(client.requests[0])


async def test_no_inverse_is_asked_for_where_no_case_will_aim_at_one() -> None:
    voice, client = role_model(lambda request: {"rules": rules(1, inverse=False), "more": False})
    (rule,) = await propose_rules(voice, PROMPT, options=Extraction(inverses=False))
    assert rule.inverse is None
    assert "inverse" not in asked(client.requests[0]) + json.dumps(client.requests[0].reply_schema)


async def test_an_inverse_that_fails_is_left_out_with_a_notice() -> None:
    heard: list[Event] = []
    voice, _ = role_model(
        lambda request: "no json at all" if "capitals" in asked(request) else {"inverse": "Several words."}
    )
    done = await add_inverses(
        voice, "i", [Rule(id="r1", rule="One word."), Rule(id="r2", rule="In capitals.")], emit=heard.append
    )
    assert [rule.inverse for rule in done] == ["Several words.", None]
    assert "malformed" in notices(heard)
