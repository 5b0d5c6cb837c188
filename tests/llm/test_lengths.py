"""Replies that are longer than wanted: cut or accepted, never thrown away with all else that they hold."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from promptpex.cases import expand, new_cases_request, validity
from promptpex.core.records import Message, Request
from promptpex.judging.modes.prompt import BrokenInstruction
from promptpex.judging.modes.rules import RuleVerdict
from promptpex.llm.fake import FakeClient
from promptpex.llm.schemas import reply_schema
from promptpex.llm.structured import Structured
from promptpex.specs.ask_checks import checks_reply
from promptpex.specs.extract import InputsReply, IntentReply
from promptpex.specs.groundedness import groundedness_reply_type
from promptpex.specs.propose_rules import rules_reply

LONG = "word " * 600
CHECKS = {
    "rule": "r1",
    "keeps": [LONG] * 5,
    "keeps_only_this": [LONG] * 3,
    "breaks": [LONG * 9],
    "checks": [{"path": "", "kind": "contains", "value": LONG}] * 5,
    "decides": "wholly",
    "after": "",
}
REPLIES: list[tuple[type[BaseModel], dict[str, Any]]] = [
    (RuleVerdict, {"reason": LONG, "verdict": "fail"}),
    (BrokenInstruction, {"instruction": LONG, "evidence": LONG}),
    (
        validity.reply_type(1, ("c1",)),
        {"problems": [{"input": "i1", "sentence": "c1", "reason": LONG, "verdict": "breaks"}]},
    ),
    (groundedness_reply_type(1), {"claims": [{"claim": "r1", "reason": LONG, "verdict": "yes"}] * 2}),
    (IntentReply, {"intent": LONG}),
    (InputsReply, {"constraints": [LONG] * 9}),
    (rules_reply(2), {"rules": [{"rule": LONG, "source": LONG}] * 3}),
    (checks_reply(2), {"rules": [CHECKS] * 3}),
    (new_cases_request.reply_type(("x",), 2), {"cases": [{"reasoning": LONG, "inputs": {"x": LONG * 3}}] * 3}),
    (expand.reply_type(1, ("x",)), {"variants": [{"input": "i1", "reasoning": LONG, "inputs": {"x": LONG * 8}}]}),
]


@pytest.mark.parametrize(("kind", "reply"), REPLIES, ids=range(len(REPLIES)))
async def test_a_long_reply_is_read_at_the_first_turn(kind: type[BaseModel], reply: dict[str, Any]) -> None:
    client = FakeClient([json.dumps(reply)])
    read = await Structured(client).ask(Request(model="m", messages=(Message(role="user", content="x"),)), kind)
    assert read.turns == 1


def test_what_decides_is_kept_whole_and_what_explains_is_cut() -> None:
    (rule,) = rules_reply(1).model_validate({"rules": [{"rule": "a rule", "source": LONG}]}).rules  # type: ignore[attr-defined]
    assert rule.source == LONG
    verdict = RuleVerdict.model_validate({"reason": LONG, "verdict": "pass"})
    assert len(verdict.reason) == 2000
    assert verdict.reason.endswith("…")
    made = new_cases_request.reply_type(("x",), 1).model_validate(
        {"cases": [{"reasoning": "r", "inputs": {"x": LONG * 15}}]}
    )
    assert made.cases[0].inputs.v0 == LONG * 15  # type: ignore[attr-defined]


def test_the_number_of_items_is_still_in_the_request() -> None:
    assert reply_schema(rules_reply(7, 2))["properties"]["rules"]["maxItems"] == 7
    assert reply_schema(rules_reply(7, 2))["properties"]["rules"]["minItems"] == 2
    of_a_rule = reply_schema(checks_reply(3))["properties"]["rules"]
    assert (of_a_rule["maxItems"], of_a_rule["items"]["properties"]["keeps"]["maxItems"]) == (3, 4)
    with pytest.raises(ValueError, match="too_short"):
        rules_reply(7, 2).model_validate({"rules": [{"rule": "a", "source": "b"}]})
