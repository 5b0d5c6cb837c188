from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptpex.core.errors import NotRecorded
from promptpex.core.records import Message, Params, Request
from promptpex.llm.fake import FakeClient
from promptpex.llm.record_replay import RecordingClient, ReplayClient

SYSTEM, USER = Message(role="system", content="Tag the word."), Message(role="user", content="run")
TAG = Request(model="gpt", messages=(SYSTEM, USER), params=Params(temperature=0.0, extra={"top_k": 5}), repeat=1)


async def why(path: Path, asked: Request, *recorded: Request) -> str:
    """The message of a replay that has no answer, without the path and the final advice."""
    client = RecordingClient(FakeClient(lambda _: "fine"), path / "run.jsonl")
    for each in recorded:
        await client.complete(each)
    await client.close()
    with pytest.raises(NotRecorded) as caught:
        await ReplayClient(path / "run.jsonl").complete(asked)
    return caught.value.message.partition("run.jsonl: ")[2].partition(" (stage ")[0]


@pytest.mark.parametrize(
    ("other", "differing"),
    [
        ({"params": Params(temperature=0.7, extra={"top_k": 5})}, "temperature is 0.7, recorded with 0.0"),
        ({"params": Params(extra={"top_k": 5})}, "temperature is not set, recorded with 0.0"),
        ({"params": Params(temperature=0.0)}, "top_k is not set, recorded with 5"),
        (
            {"params": Params(temperature=0.0, seed=3, logprobs=True, extra={"top_k": 5})},
            "logprobs is true, recorded without it; seed is 3, recorded without it",
        ),
        ({"repeat": 0}, "it is repeat 1, recorded is repeat 2"),
        ({"template": "ab"}, "the stage's template is another"),
        ({"reply_schema": {}}, "the form of the reply that is asked for is another"),
        ({"messages": (SYSTEM.replace(content="Tag it."), USER)}, "the system message differs"),
    ],
)
async def test_a_replay_says_what_was_recorded_otherwise(
    tmp_path: Path, other: dict[str, object], differing: str
) -> None:
    asked = TAG.replace(model="replay/run.jsonl", **other)
    assert await why(tmp_path, asked, TAG) == f"what it holds was asked otherwise: {differing}"


async def test_the_recorded_request_that_differs_least_is_the_one_compared_with(tmp_path: Path) -> None:
    far = TAG.replace(params=Params(seed=1, max_tokens=9))
    assert await why(tmp_path, TAG.replace(repeat=2), far, TAG) == (
        "what it holds was asked otherwise: it is repeat 3, recorded is repeat 2"
    )


async def test_a_model_that_the_recording_does_not_hold_is_named_with_those_that_it_holds(tmp_path: Path) -> None:
    asked = TAG.replace(model="replay/run.jsonl#tiny")
    assert await why(tmp_path, asked, TAG, TAG.replace(model="b")) == "it holds no answer of tiny"
    assert await why(tmp_path, TAG.replace(model="m"), TAG) == "it holds no answer of m"


@pytest.mark.parametrize(
    "recorded",
    [
        {"params": {"extra": {"x_api_key": "secret", "note": "sk-" + "a1b2c3d4" * 6}}},
        {"params": {"extra": {"long" * 90: "b" * 9_000, **{f"p{number}": 1 for number in range(900)}}}},
        {"params": {"extra": None}},
        {"params": []},
        {"repeat": "x"},
        {"messages": None},
        {"messages": ["x"]},
    ],
)
async def test_no_line_of_a_recording_shows_a_key_or_breaks_the_sentence(
    tmp_path: Path, recorded: dict[str, object]
) -> None:
    await why(tmp_path, TAG.replace(repeat=2), TAG)
    file = tmp_path / "run.jsonl"
    line = json.loads(file.read_text(encoding="utf-8"))
    line["request"] |= recorded
    file.write_text(json.dumps(line) + "\n", encoding="utf-8")
    with pytest.raises(NotRecorded) as raised:
        await ReplayClient(file).complete(TAG.replace(model="replay/run.jsonl", repeat=2))
    sentence = str(raised.value)
    assert "secret" not in sentence
    assert "a1b2c3d4" not in sentence
    assert len(sentence) < 1_000 + len(str(file))
