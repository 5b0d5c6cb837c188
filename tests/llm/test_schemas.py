from __future__ import annotations

from typing import Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field, create_model

from promptpex.llm.schemas import follows, is_closed, list_up_to, reply_schema, reply_type_of


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
