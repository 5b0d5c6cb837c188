from __future__ import annotations

import json
from typing import Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field, create_model

from promptpex.cases import expand, new_cases_request, validity
from promptpex.core.records import Message, Request
from promptpex.judging.modes.prompt import BrokenInstruction
from promptpex.judging.modes.rules import RuleVerdict
from promptpex.llm.fake import FakeClient
from promptpex.llm.schemas import follows, is_closed, list_up_to, reply_schema, reply_type_of
from promptpex.llm.structured import Structured
from promptpex.specs.ask_checks import checks_reply
from promptpex.specs.extract import InputsReply, IntentReply
from promptpex.specs.groundedness import groundedness_reply_type
from promptpex.specs.propose_rules import rules_reply


class Verdict(BaseModel):
    """What a judge says, for readers of the code."""

    reason: str = Field(description="Why, in one sentence.", max_length=2000)
    verdict: Literal["pass", "fail"]
    title: str | None = None


class Verdicts(BaseModel):
    """Several of them."""

    verdicts: list[Verdict]
    first: Verdict


class Tree(BaseModel):
    children: list[Tree]


def nodes(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [node for each in schema for node in nodes(each)]
    if not isinstance(schema, dict):
        return []
    return [schema, *(node for each in schema.values() for node in nodes(each))]


def test_references_are_written_out_and_objects_closed() -> None:
    schema = reply_schema(Verdicts)
    assert "$ref" not in str(schema)
    assert "$defs" not in schema
    objects = [node for node in nodes(schema) if node.get("type") == "object"]
    assert len(objects) == 3
    for node in objects:
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])


def test_keywords_that_strict_takers_refuse_are_left_out_but_fields_of_that_name_stay() -> None:
    schema = reply_schema(Verdict)
    assert list(schema["properties"]) == ["reason", "verdict", "title"]
    assert "maxLength" not in schema["properties"]["reason"]
    assert "default" not in schema["properties"]["title"]
    assert schema["properties"]["reason"]["description"] == "Why, in one sentence."


def test_what_the_type_writes_out_can_be_held_to_strictly() -> None:
    assert is_closed(reply_schema(Verdicts))
    assert not is_closed({"anyOf": [reply_schema(Verdict), {"type": "object", "additionalProperties": True}]})


def test_as_many_items_as_are_wanted_are_demanded_and_fewer_are_read() -> None:
    shape = create_model("Shape", cases=(list_up_to(str, 5, least=1, wanted=3), ...))
    schema = reply_schema(shape)
    assert (schema["properties"]["cases"]["minItems"], schema["properties"]["cases"]["maxItems"]) == (3, 5)
    for read in (shape, reply_type_of(schema)):
        read.model_validate({"cases": ["a", "b"]})
        with pytest.raises(ValueError, match="too_short"):
            read.model_validate({"cases": []})


def test_it_is_a_schema_that_takes_what_the_type_takes() -> None:
    schema = reply_schema(Verdicts)
    jsonschema.Draft202012Validator.check_schema(schema)
    one = {"reason": "r", "verdict": "pass", "title": None}
    jsonschema.validate({"verdicts": [one], "first": one}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"verdicts": [{"verdict": "pass"}], "first": one}, schema)


def test_following_is_judged_by_the_outermost_shape() -> None:
    schema = reply_schema(Verdict)
    assert follows({"reason": 1, "verdict": 2, "title": 3}, schema)
    assert not follows({"reason": "r"}, schema)
    assert not follows([1], schema)
    assert follows([1], {"type": "array"})


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
