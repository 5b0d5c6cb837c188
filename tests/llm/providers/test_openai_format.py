"""The chat-completions format: any reply is a completion or a named error."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.errors import MalformedReply
from promptpex.core.records import Completion
from promptpex.llm.providers.openai_format import completion_of, request_body, response_format
from tests.llm.providers.questions import asked

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "content", "usage", "logprobs", "token", "top_logprobs", "finish_reason", "text"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_is_a_completion_or_malformed(payload: Any) -> None:
    try:
        answer = completion_of(payload, model="m")
    except MalformedReply:
        return
    assert Completion.model_validate_json(answer.model_dump_json()).text == answer.text


@given(JSON)
def test_any_json_beside_a_message_is_harmless(junk: Any) -> None:
    payload = {
        "choices": [{"message": {"content": junk, "refusal": junk}, "logprobs": junk, "finish_reason": junk}],
        "usage": junk,
        "model": junk,
    }
    answer = completion_of(payload, model="m")
    answer.model_dump_json()


def test_all_that_a_reply_can_say() -> None:
    message = {"content": None, "refusal": "I cannot.", "reasoning_content": "Let me think."}
    payload = {
        "model": "m-2026",
        "choices": [{"message": message, "finish_reason": "content_filter"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 0},
    }
    answer = completion_of(payload, model="m", latency_ms=5.0)
    assert answer == Completion(
        text="",
        finish_reason="content_filter",
        refusal="I cannot.",
        reasoning="Let me think.",
        tokens_in=3,
        tokens_out=0,
        latency_ms=5.0,
        model_reported="m-2026",
    )


def test_lone_surrogates_are_replaced() -> None:
    payload = json.loads('{"model": "a\\ud800", "choices": [{"message": {"content": "b\\ud800"}}]}')
    answer = completion_of(payload, model="m")
    assert answer.text == "b\ufffd"
    answer.model_dump_json().encode()


def test_a_body_holds_what_was_asked_and_no_more() -> None:
    assert request_body(asked("m", "hi"), "m") == {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    full = asked(
        "m", "hi", temperature=0, max_tokens=5, top_p=0.5, seed=1, stop=("x",), logprobs=True, extra={"top_k": 2}
    )
    body = request_body(full, "id", limit_name="max_completion_tokens")
    del body["messages"]
    assert body == {
        "model": "id",
        "temperature": 0.0,
        "max_completion_tokens": 5,
        "top_p": 0.5,
        "seed": 1,
        "stop": ["x"],
        "logprobs": True,
        "top_logprobs": 5,
        "top_k": 2,
    }


def test_a_schema_has_a_name_that_providers_accept() -> None:
    schema: dict[str, object] = {"type": "string"}
    for stage, name in (("rules", "rules"), ("My reply!", "My_reply_"), ("câu", "c_u"), ("", "reply")):
        wanted = {"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": True}}
        assert response_format(schema, name=stage) == wanted


def test_only_a_schema_that_can_be_held_to_is_demanded_strictly() -> None:
    closed: dict[str, Any] = {
        "type": "object",
        "properties": {"properties": {"type": "string"}},
        "required": ["properties"],
        "additionalProperties": False,
    }
    anything: dict[str, object] = {"type": "array", "items": {"type": "object"}}
    optional = {**closed, "required": []}
    formats = [response_format(schema)["json_schema"] for schema in (closed, anything, optional)]
    assert ["strict" in each for each in formats if isinstance(each, dict)] == [True, False, False]
    lenient = asked("m", schema=closed).replace(stage="rules", strict=False)
    body: Any = request_body(lenient, "m")
    assert body["response_format"]["json_schema"] == {"name": "rules", "schema": closed}
