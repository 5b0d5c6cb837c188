from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from promptpex.config import Settings
from promptpex.core.errors import BadRequest, BudgetExceeded, ModelError, RateLimited, Stopped
from promptpex.core.events import Answered, Event, Retrying
from promptpex.core.records import Completion, Request
from promptpex.llm.client import Client
from promptpex.llm.fake import Answer, FakeClient
from promptpex.llm.record_replay import ReplayClient
from promptpex.llm.stack import Stack, StackOptions, build, rates
from promptpex.llm.structured import Structured
from promptpex.store import SqliteStore
from promptpex.workflow.roles import stack_options
from tests.llm.questions import request
from tests.llm.virtual_time import now


def stack(provider: Client, store: SqliteStore | None = None, emit: Any = lambda event: None, **options: Any) -> Stack:
    async def sleep(seconds: float) -> None:
        await asyncio.sleep(0)

    return build(
        provider,
        store=store,
        emit=emit,
        rng=random.Random(1),
        clock=now,
        options=StackOptions(**options),
        sleep=sleep,
    )


def test_a_program_and_a_command_have_the_same_defaults() -> None:
    assert stack_options(Settings()) == StackOptions()


async def test_a_question_is_paid_for_once(tmp_path: Path) -> None:
    provider, heard = FakeClient(lambda asked: "fine"), list[Event]()
    for _ in range(2):
        async with SqliteStore(tmp_path / "store.db") as store:
            client = stack(provider, store, heard.append)
            answers = await asyncio.gather(*(client.complete(request(str(n))) for n in range(5)))
            await client.close()
    assert len(provider.requests) == 5
    assert all(answer.cached for answer in answers)
    assert [event.cached for event in heard if isinstance(event, Answered)] == [False] * 5 + [True] * 5
    assert (client.meter.total.requests, client.meter.total.cached) == (0, 5)


async def test_stored_answers_are_free_and_a_larger_budget_goes_on(tmp_path: Path) -> None:
    provider = FakeClient(lambda asked: "fine")
    asked = [request(str(n)) for n in range(6)]

    async def run(most: int) -> list[bool]:
        async with SqliteStore(tmp_path / "store.db") as store:
            client = stack(provider, store, max_requests=most)
            outcomes = await asyncio.gather(*map(client.complete, asked), return_exceptions=True)
            return [isinstance(outcome, BudgetExceeded) for outcome in outcomes]

    assert sum(await run(2)) == 4
    assert sum(await run(3)) == 1
    assert sum(await run(1)) == 0
    assert len(provider.requests) == 6


async def test_retries_do_not_count_against_the_budget() -> None:
    heard = list[Event]()
    client = stack(FakeClient([RateLimited("slow", retry_after=0.0), "fine"]), emit=heard.append, max_requests=1)
    assert (await client.complete(request())).text == "fine"
    assert sum(isinstance(event, Retrying) for event in heard) == 1


async def test_a_stop_refuses_what_is_new_and_gives_what_is_stored(tmp_path: Path) -> None:
    asked, stopped = asyncio.Event(), asyncio.Event()

    async def reply(question: Request) -> str:
        if question.messages[-1].content == "0":
            asked.set()
            await stopped.wait()
        return "fine"

    provider = FakeClient(reply)
    async with SqliteStore(tmp_path / "store.db") as store:
        client = stack(provider, store, concurrency=1)
        await client.complete(request("stored"))
        running = [asyncio.create_task(client.complete(request(str(n)))) for n in range(4)]
        await asked.wait()
        client.cancel()
        client.cancel()
        stopped.set()
        outcomes = await asyncio.gather(*running, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [Completion, Stopped, Stopped, Stopped]
        assert (await client.complete(request("stored"))).cached
        assert (await client.complete(request("0"))).cached
        assert client.cancelled
    assert len(provider.requests) == 2


class Verdict(BaseModel):
    verdict: str


def flaky(asked: Request) -> Answer:
    if asked.reply_schema is not None and asked.stage == "judge":
        return BadRequest("response_format is not supported", model=asked.model)
    if "bad" in asked.messages[0].content and len(asked.messages) == 1:
        return "no json"
    return '{"verdict": "pass"}' if asked.stage == "judge" else Completion(text="fine", latency_ms=random.random())


async def ask_all(client: Stack) -> list[str]:
    """Outputs and verdicts, with an error among them."""
    structured = Structured(client)
    outputs = [(await client.complete(request(str(n)))).model_dump_json() for n in range(4)]
    verdicts = [str(await structured.ask(request(text, stage="judge"), Verdict)) for text in ("good", "bad")]
    try:
        await client.complete(request("never", model="broken"))
    except ModelError as error:
        verdicts.append(f"{error.reason}: {error}")
    return outputs + verdicts


async def test_a_recorded_run_is_replayed_without_any_model(tmp_path: Path) -> None:
    def provide(asked: Request) -> Answer:
        return RateLimited("broken: slow", model="broken", retry_after=0.0) if asked.model == "broken" else flaky(asked)

    path, provider = tmp_path / "run.jsonl", FakeClient(provide)
    async with SqliteStore(tmp_path / "store.db") as store:
        await stack(provider, store).complete(request("1"))
        client = stack(provider, store, record=path, max_attempts=2)
        expected = await ask_all(client)
        await client.close()
    for _ in range(2):
        async with SqliteStore(tmp_path / "other.db") as store:
            replay = stack(ReplayClient(path), store, max_attempts=2)
            assert [text.replace("cached=True", "cached=False") for text in await ask_all(replay)] == expected
            await replay.close()


async def test_what_is_learned_about_schemas_changes_no_id(tmp_path: Path) -> None:
    provider = FakeClient(flaky)
    for sent in (3, 3):
        async with SqliteStore(tmp_path / "store.db") as store:
            structured = Structured(stack(provider, store))
            for text in ("one", "two"):
                assert (await structured.ask(request(text, stage="judge"), Verdict)).value.verdict == "pass"
        assert len(provider.requests) == sent


@pytest.mark.parametrize(
    ("model", "api_base", "expected"),
    [
        ("mine", None, (1.0, 2.0)),
        ("openai/mine", "http://x", (1.0, 2.0)),
        ("ollama/llama3.2", None, (0.0, 0.0)),
        ("llama3.2:1b", None, (0.0, 0.0)),
        ("embedded/smollm2-135m", None, (0.0, 0.0)),
        ("openai/gpt-4o-mini", "http://127.0.0.1:1", None),
        ("nobody/knows-this", None, None),
    ],
)
def test_prices_are_the_users_then_none_for_local_models_then_the_known_ones(
    model: str, api_base: str | None, expected: tuple[float, float] | None
) -> None:
    assert rates(request(model=model, api_base=api_base), {"mine": (1.0, 2.0)}) == expected


async def test_an_answer_that_was_stored_before_its_model_had_a_price_has_a_cost(tmp_path: Path) -> None:
    costs = []
    async with SqliteStore(tmp_path / "store.db") as store:
        for price in (None, (2.0, 8.0), (4.0, 16.0)):
            client = stack(FakeClient(lambda asked: Completion(text="fine", tokens_in=10, tokens_out=5)), store)
            completion = await client.complete(request("x").replace(price=price))
            costs.append((completion.cost_usd, completion.cached))
            assert client.meter.total.cost_usd == 0.0, "nothing is paid for twice"
        paid = FakeClient(lambda asked: Completion(text="fine", tokens_in=10, tokens_out=5, cost_usd=0.5))
        await stack(paid, store).complete(request("y"))
        known = await stack(paid, store).complete(request("y").replace(price=(2.0, 8.0)))
        assert (known.cost_usd, known.cached) == (0.5, True), "what it cost when it was paid for stays"
    assert costs == [(None, False), (6e-5, True), (12e-5, True)]
