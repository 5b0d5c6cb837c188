from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptpex.core.errors import ConfigError, Filtered, NotRecorded, RateLimited, Stopped, StoreError
from promptpex.core.records import Completion, Message, Params, Request, TokenLogprob
from promptpex.llm.fake import Answer, FakeClient
from promptpex.llm.record_replay import RecordingClient, ReplayClient
from tests.llm.questions import request

FULL = Completion(
    text="Hà Nội\n\u2028",
    finish_reason="stop",
    reasoning="hm",
    tokens_in=3,
    cost_usd=0.25,
    latency_ms=12.5,
    model_reported="m-1",
    logprobs=(TokenLogprob(token="a", logprob=-0.5, top=(("b", -1.0),)),),
)


async def record(path: Path, *pairs: tuple[Request, Answer]) -> list[Any]:
    client = RecordingClient(FakeClient([answer for _, answer in pairs]), path)
    outcomes = [await asyncio.gather(client.complete(asked), return_exceptions=True) for asked, _ in pairs]
    await client.close()
    return [outcome[0] for outcome in outcomes]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.dictionaries(st.text(), st.text(), max_size=5))
async def test_any_text_is_replayed(tmp_path: Path, texts: dict[str, str]) -> None:
    path = tmp_path / "run.jsonl"
    path.unlink(missing_ok=True)
    answers = {asked: Completion(text=answer) for asked, answer in texts.items()}
    await record(path, *((request(asked), answer) for asked, answer in answers.items()))
    replay = ReplayClient(path)
    for asked, answer in answers.items():
        assert await replay.complete(request(asked)) == answer


@pytest.mark.parametrize("end", ['{"id": ', '{"id": \n'], ids=["cut", "cut and gone on"])
async def test_a_line_that_a_full_disk_cut_does_not_break_the_end_of_a_recording(tmp_path: Path, end: str) -> None:
    path = tmp_path / "run.jsonl"
    client = RecordingClient(FakeClient(["fine"]), path)
    await client.complete(request())
    with path.open("a", encoding="utf-8") as file:
        file.write(end)
    await client.close()
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[0])["completion"]["text"] == "fine"


async def test_errors_are_replayed_as_they_were_and_not_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await record(path, (request("a"), Filtered("m declined", model="m")), (request("b"), RateLimited("m: slow down")))
    replay = ReplayClient(path)
    with pytest.raises(Filtered, match="m declined"):
        await replay.complete(request("a"))
    with pytest.raises(RateLimited) as caught:
        await replay.complete(request("b"))
    assert not caught.value.retryable
    assert caught.value.reason == "rate-limited"


async def test_a_stopped_request_is_not_recorded(tmp_path: Path) -> None:
    await record(tmp_path / "run.jsonl", (request(), Stopped("stopping")))
    assert lines(tmp_path / "run.jsonl") == []


async def test_what_is_not_recorded_is_named(tmp_path: Path) -> None:
    await record(tmp_path / "run.jsonl", (request(), "fine"))
    replay = ReplayClient(tmp_path / "run.jsonl")
    for other in (request("else"), request(repeat=1), request(params=Params(seed=1)), request(model="n")):
        with pytest.raises(NotRecorded, match=r"run\.jsonl"):
            await replay.complete(other)


async def test_a_replay_model_is_answered_whatever_the_recorded_model(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await record(path, (request(model="gpt", api_base="http://x"), "fine"), (request("judge", model="j"), "OK"))
    replay = ReplayClient(path)
    assert (await replay.complete(request(model=f"replay/{path}"))).text == "fine"
    assert (await replay.complete(request("judge", model=f"replay/{path}"))).text == "OK"


async def test_among_several_models_one_has_to_be_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await record(path, (request(model="a"), "of a"), (request(model="b"), "of b"))
    replay = ReplayClient(path)
    with pytest.raises(NotRecorded, match="a, b"):
        await replay.complete(request(model="replay/run.jsonl"))
    assert (await replay.complete(request(model="replay/run.jsonl#b"))).text == "of b"


async def test_keys_are_not_recorded_and_such_a_request_is_still_found(tmp_path: Path) -> None:
    secret = "sk-proj-abcdefghijklmnopqrstuvwx123456"
    path = tmp_path / "run.jsonl"
    await record(path, (request(f"Use {secret}"), "fine"), (request("b"), RateLimited(f"key {secret} is slow")))
    assert secret not in path.read_text()
    assert (await ReplayClient(path).complete(request(f"Use {secret}"))).text == "fine"


async def test_a_key_of_this_machine_that_a_model_echoes_is_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTPEX_API_KEY", "local-gateway-7f3a9c1d5e")
    path, made_up = tmp_path / "run.jsonl", "sk-made-up-by-the-model-0123456789"
    await record(path, (request("a"), f"You sent local-gateway-7f3a9c1d5e; the page says {made_up}."))
    assert "7f3a9c1d5e" not in path.read_text()
    answer = await ReplayClient(path).complete(request("a"))
    assert answer.text == f"You sent [hidden]; the page says {made_up}."


async def test_lines_stand_in_the_order_of_asking(tmp_path: Path) -> None:
    async def reply(asked: Request) -> str:
        await asyncio.sleep(0.03 if asked.messages[0].content == "0" else 0.0)
        return asked.messages[0].content

    client = RecordingClient(FakeClient(reply), tmp_path / "run.jsonl")
    await asyncio.gather(*(client.complete(request(str(number))) for number in range(5)))
    as_they_came = [line["completion"]["text"] for line in lines(tmp_path / "run.jsonl")]
    await client.close()
    in_order = [line["completion"]["text"] for line in lines(tmp_path / "run.jsonl")]
    assert as_they_came == ["1", "2", "3", "4", "0"]
    assert in_order == ["0", "1", "2", "3", "4"]
    await client.close()


async def test_a_recording_is_continued_and_an_answer_replaces_an_error(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await record(path, (request("a"), RateLimited("slow")), (request("b"), "B"))
    await record(path, (request("b"), "B"), (request("a"), "A"), (request("c"), "C"), (request("a"), RateLimited("s")))
    assert [(line["request"]["messages"][0]["content"], line["completion"]["text"]) for line in lines(path)] == [
        ("a", "A"),
        ("b", "B"),
        ("c", "C"),
    ]


async def test_half_a_line_at_the_end_is_a_crash_not_damage(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await record(path, (request("a"), "A"), (request("b"), "B"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    assert (await ReplayClient(path).complete(request("a"))).text == "A"
    await record(path, (request("b"), "B"))
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "text",
    [
        "no json\n",
        "[]\n",
        '{"id": "x"}\n',
        '{"id": "x", "request": {}, "completion": {}}\n',
        '{"id": "x", "request": {"model": "m", "seed": NaN}, "completion": {"text": "a"}}\n',
        '{"id": "x", "request": {"model": "m", "seed": 1e999}, "completion": {"text": "a"}}\n',
    ],
)
def test_a_file_that_is_no_recording_is_named_with_its_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(ConfigError, match=r"x\.jsonl:1: "):
        ReplayClient(tmp_path / "x.jsonl")
    with pytest.raises(ConfigError, match=r"x\.jsonl:1: "):
        RecordingClient(FakeClient([]), tmp_path / "x.jsonl")
    assert (tmp_path / "x.jsonl").read_text() == text


async def test_a_recording_on_a_full_disk_ends_the_run_and_is_no_fault_of_the_input(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    client = RecordingClient(FakeClient(["x" * 5000, "y" * 5000]), tmp_path / "rec.jsonl")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, before[1]))
    try:
        with pytest.raises(StoreError, match=r"rec\.jsonl: the recording cannot be written"):
            await client.complete(request("one"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    await client.close()


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
