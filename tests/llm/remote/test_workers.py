"""Asking on workers is asking: the same answers, errors, limits and events, whoever is asked and whoever dies."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from promptpex.core.errors import (
    BudgetExceeded,
    DeadlinePassed,
    EngineError,
    ModelError,
    NotAuthorised,
    RateLimited,
    Stopped,
    Unavailable,
)
from promptpex.core.events import Answered, Event, Failed, Notice, Retrying, Sent
from promptpex.core.records import Completion, Request
from promptpex.llm.client import Client
from promptpex.llm.fake import FakeClient
from promptpex.llm.stack import Stack
from tests.llm.questions import request
from tests.llm.remote.in_process import Tasks, cluster
from tests.llm.virtual_time import in_virtual_time, now


def asked(text: str, **more: object) -> Request:
    return request(text, model="openai/m", api_base="http://models.example/v1", **more)


class Models:
    """The providers of all workers, and what they were asked, when, and how many at a time.

    ``answer`` says what becomes of a request; it takes ``takes_s`` seconds.
    """

    def __init__(
        self, answer: Callable[[Request], str | ModelError] = lambda sent: "fine", takes_s: float = 1.0
    ) -> None:
        self._answer = answer
        self._takes_s = takes_s
        self.asked: list[tuple[float, int, str]] = []
        self.servers: Counter[str | None] = Counter()
        self.in_flight = self.most = 0

    def __call__(self, worker: int) -> Client:
        async def answer(sent: Request) -> str | Completion:
            self.asked.append((now(), worker, sent.messages[-1].content))
            self.servers[sent.sent_to] += 1
            self.in_flight += 1
            self.most = max(self.most, self.in_flight)
            try:
                await asyncio.sleep(self._takes_s)
            finally:
                self.in_flight -= 1
            outcome = self._answer(sent)
            if isinstance(outcome, ModelError):
                raise outcome
            return Completion(text=outcome, finish_reason="stop", tokens_in=20, tokens_out=5)

        return FakeClient(answer)

    @property
    def workers(self) -> set[int]:
        return {worker for _, worker, _ in self.asked}

    @property
    def times(self) -> Counter[str]:
        return Counter(text for _, _, text in self.asked)


async def outcomes(client: Stack, count: int, **more: object) -> list[Completion | BaseException]:
    questions = [asked(f"question {number}", **more) for number in range(count)]
    return await asyncio.gather(*map(client.complete, questions), return_exceptions=True)


@in_virtual_time
async def test_all_workers_answer_and_each_question_is_asked_once() -> None:
    models, heard = Models(), list[Event]()
    client = cluster(Tasks(), models, workers=3, emit=heard.append)
    answers = await outcomes(client, 100)
    await client.close()
    assert all(isinstance(answer, Completion) and answer.text == "fine" for answer in answers)
    assert set(models.times.values()) == {1}
    assert models.workers == {0, 1, 2}
    assert (client.meter.total.sent, client.meter.total.requests) == (100, 100)
    assert [sum(isinstance(event, kind) for event in heard) for kind in (Sent, Answered)] == [100, 100]


@in_virtual_time
async def test_the_limit_on_what_is_in_flight_is_that_of_all_workers() -> None:
    models = Models()
    client = cluster(Tasks(), models, workers=4, concurrency=6)
    await outcomes(client, 60)
    await client.close()
    assert models.most == 6


@in_virtual_time
async def test_rates_hold_for_all_workers_together() -> None:
    models = Models(takes_s=0.1)
    client = cluster(Tasks(), models, workers=4, concurrency=50, rpm=10)
    await outcomes(client, 35)
    await client.close()
    times = sorted(at for at, _, _ in models.asked)
    assert all(later - first >= 59.9 for first, later in zip(times, times[10:], strict=False))
    assert times[-1] < 60 * 4


@in_virtual_time
async def test_tokens_a_minute_hold_for_all_workers_together() -> None:
    models = Models(takes_s=0.1)
    client = cluster(Tasks(), models, workers=4, concurrency=50, tpm=10 * 25)
    questions = [asked(f"question {number}") for number in range(40)]
    small = [each.replace(params=each.params.replace(max_tokens=40)) for each in questions]
    await asyncio.gather(*map(client.complete, small))
    await client.close()
    times = sorted(at for at, _, _ in models.asked)
    assert all(later - first >= 59 for first, later in zip(times, times[10:], strict=False))
    assert times[-1] < 60 * 5, "what was set aside for an answer and not used is given back"


@in_virtual_time
async def test_a_pause_that_a_server_asks_for_holds_for_all_workers() -> None:
    refused = list[str]()

    def answer(sent: Request) -> str | ModelError:
        if not refused and len(models.asked) > 10:
            refused.append(sent.messages[-1].content)
            return RateLimited("slow down", retry_after=30.0)
        return "fine"

    models = Models(answer)
    client = cluster(Tasks(), models, workers=3, concurrency=6)
    answers = await outcomes(client, 60)
    await client.close()
    assert all(isinstance(answer, Completion) for answer in answers)
    times = sorted(at for at, _, _ in models.asked)
    pauses = [later - first for first, later in pairwise(times)]
    assert max(pauses) > 28
    begun = times[pauses.index(max(pauses)) + 1]
    assert not [at for at in times if begun - 28 < at < begun]


@in_virtual_time
async def test_the_budget_is_one_and_its_refusal_reads_the_same() -> None:
    sentences = set[str]()
    for workers in (1, 3):
        models = Models()
        client = cluster(Tasks(), models, workers=workers, concurrency=8, max_requests=25)
        refused = [each for each in await outcomes(client, 40) if isinstance(each, BaseException)]
        await client.close()
        assert {type(error) for error in refused} == {BudgetExceeded}
        sentences |= {str(error) for error in refused}
        assert len(models.asked) == 25
        assert client.budget.spent.requests == 25
    assert sentences == {
        "openai/m was not asked: the budget of 25 requests would be passed. Run the same command with a larger one "
        "to go on from here."
    }


@in_virtual_time
async def test_the_runs_deadline_ends_what_waits_and_what_is_in_flight_is_answered() -> None:
    models = Models(takes_s=4.0)
    client = cluster(Tasks(), models, workers=2, concurrency=2, run_deadline_s=10.0)
    answers = await outcomes(client, 20)
    assert now() == pytest.approx(13.0, abs=0.1)
    await client.close()
    assert Counter(type(answer) for answer in answers) == {Completion: 6, DeadlinePassed: 14}
    assert len(models.asked) == 6
    assert any("before the run's deadline of 10 s" in str(answer) for answer in answers)


@in_virtual_time
async def test_a_stop_refuses_what_is_not_sent_and_lets_what_is_in_flight_end() -> None:
    models = Models(takes_s=2.0)
    client = cluster(Tasks(), models, workers=2, concurrency=4)
    asking = asyncio.ensure_future(outcomes(client, 20))
    await asyncio.sleep(1.5)
    client.cancel()
    answers = await asking
    await client.close()
    assert Counter(type(answer) for answer in answers) == {Completion: 4, Stopped: 16}
    assert len(models.asked) == 4


@in_virtual_time
async def test_a_wrong_key_costs_one_request_and_is_said_once() -> None:
    models, heard = Models(lambda sent: NotAuthorised("no key"), takes_s=0.5), list[Event]()
    client = cluster(Tasks(), models, workers=4, emit=heard.append)
    answers = await outcomes(client, 50)
    await client.close()
    assert {type(answer) for answer in answers} == {NotAuthorised}
    assert len(models.asked) == 1
    assert len([event for event in heard if isinstance(event, Notice)]) == 1
    assert len([event for event in heard if isinstance(event, Failed)]) == 50


@in_virtual_time
async def test_a_model_is_asked_once_before_it_is_asked_often() -> None:
    models = Models(takes_s=0.5)
    client = cluster(Tasks(), models, workers=4, concurrency=16)
    await outcomes(client, 32)
    await client.close()
    times = sorted(at for at, _, _ in models.asked)
    assert times[1] - times[0] > 0.5
    assert times[16] - times[0] < 1.1, "the others of all workers go together"


@in_virtual_time
async def test_what_fails_for_a_moment_is_tried_again_and_told() -> None:
    failed, heard = set[str](), list[Event]()

    def answer(sent: Request) -> str | ModelError:
        text = sent.messages[-1].content
        if text in failed:
            return "fine"
        failed.add(text)
        return RateLimited("slow", retry_after=0.0)

    client = cluster(Tasks(), Models(answer), workers=2, emit=heard.append)
    answers = await outcomes(client, 10)
    await client.close()
    assert all(isinstance(answer, Completion) for answer in answers)
    assert sum(isinstance(event, Retrying) for event in heard) == 10
    assert client.meter.total.sent == 20


@in_virtual_time
async def test_the_same_question_asked_twice_at_once_goes_to_one_worker_once() -> None:
    models = Models()
    client = cluster(Tasks(), models, workers=3)
    answers = await asyncio.gather(*(client.complete(asked("one")) for _ in range(6)))
    await client.close()
    assert len(models.asked) == 1
    assert sorted(answer.cached for answer in answers) == [False] + [True] * 5


@in_virtual_time
async def test_what_cannot_be_asked_elsewhere_is_answered_here() -> None:
    carrier = Tasks()
    here = FakeClient(lambda sent: "from here")
    client = cluster(carrier, Models(), here=here)
    for name in ("fake/x", "embedded/smollm2-135m", "replay/run.jsonl"):
        assert (await client.complete(request(model=name))).text == "from here"
    assert not carrier.links, "no worker is started for them"
    await client.close()


@in_virtual_time
async def test_what_a_dead_worker_was_at_is_asked_of_the_others() -> None:
    models, carrier, heard = Models(takes_s=5.0), Tasks(), list[Event]()
    client = cluster(carrier, models, workers=3, concurrency=9, emit=heard.append)
    asking = asyncio.ensure_future(outcomes(client, 60))
    await asyncio.sleep(12.0)
    at_it = [text for at, worker, text in models.asked if worker == 0 and now() - at < 5.0]
    carrier.links[0].die()
    answers = await asking
    await client.close()
    assert all(isinstance(answer, Completion) for answer in answers)
    assert at_it
    assert models.times == Counter([*(f"question {number}" for number in range(60)), *at_it])
    assert 3 in models.workers, "another takes its place"
    assert models.most <= 9
    assert [event.message for event in heard if isinstance(event, Notice) and event.level == "warning"]


@in_virtual_time
async def test_the_budget_knows_what_a_dead_worker_had_in_flight() -> None:
    models, carrier = Models(takes_s=5.0), Tasks()
    client = cluster(carrier, models, workers=3, concurrency=9, max_requests=60)
    asking = asyncio.ensure_future(outcomes(client, 60))
    await asyncio.sleep(12.0)
    carrier.links[0].die()
    answers = await asking
    await client.close()
    assert all(isinstance(answer, Completion) for answer in answers)
    assert client.budget.spent.requests == 60, "what was never answered is not counted, and nothing stays reserved"


@in_virtual_time
async def test_a_request_that_kills_its_workers_is_given_up() -> None:
    carrier = Tasks()

    def answer(sent: Request) -> str | ModelError:
        if sent.messages[-1].content == "poison":
            next(link for link in carrier.links if not link.host.task.done() and link.holds("poison")).die()
        return "fine"

    client = cluster(carrier, Models(answer), workers=2, concurrency=1)
    questions = [asked("poison"), *(asked(f"question {number}") for number in range(10))]
    answers = await asyncio.gather(*map(client.complete, questions), return_exceptions=True)
    await client.close()
    assert isinstance(answers[0], Unavailable)
    assert all(isinstance(answer, Completion) for answer in answers[1:])


@in_virtual_time
async def test_workers_that_never_come_up_end_the_run() -> None:
    client = cluster(Tasks(refuses=100), Models(), workers=2)
    with pytest.raises(EngineError, match="6 workers died one after the other, the last one so: no room for it"):
        await client.complete(asked("one"))
    await client.close()


@in_virtual_time
async def test_a_stop_while_workers_start_ends_at_once() -> None:
    client = cluster(Tasks(delay_s=1000.0), Models(), workers=2)
    asking = asyncio.ensure_future(client.complete(asked("one")))
    await asyncio.sleep(1.0)
    client.cancel()
    with pytest.raises(Stopped):
        await asking
    await client.close()


@in_virtual_time
async def test_who_gives_up_is_forgotten_by_the_worker() -> None:
    models = Models(takes_s=50.0)
    client = cluster(Tasks(), models, workers=1)
    asking = asyncio.ensure_future(client.complete(asked("one")))
    await asyncio.sleep(5.0)
    assert models.in_flight == 1
    asking.cancel()
    await asyncio.sleep(1.0)
    assert models.in_flight == 0
    await client.close()


SERVERS = ("http://a.example/v1", "http://b.example/v1")


def asked_of_two(number: int) -> Request:
    return request(f"question {number}", model="openai/m", servers=SERVERS, backend="servers of small")


@in_virtual_time
async def test_several_servers_of_a_model_have_limits_of_their_own_that_all_workers_keep() -> None:
    models = Models()
    client = cluster(Tasks(), models, workers=3, concurrency=5)
    answers = await asyncio.gather(*(client.complete(asked_of_two(number)) for number in range(60)))
    await client.close()
    assert {answer.text for answer in answers} == {"fine"}
    assert set(models.times.values()) == {1}
    assert models.most == 10
    assert models.servers.keys() == set(SERVERS)
    assert min(models.servers.values()) >= 25


@in_virtual_time
async def test_what_one_of_several_servers_fails_another_answers() -> None:
    def answer(sent: Request) -> str | ModelError:
        return Unavailable("down") if sent.sent_to == SERVERS[1] else "fine"

    models, heard = Models(answer, takes_s=0.1), list[Event]()
    client = cluster(Tasks(), models, workers=2, concurrency=5, emit=heard.append)
    answers = await asyncio.gather(*(client.complete(asked_of_two(number)) for number in range(40)))
    await client.close()
    assert {answer.text for answer in answers} == {"fine"}
    assert models.servers[SERVERS[0]] == 40
    assert len([event for event in heard if isinstance(event, Notice) and "does not answer" in event.message]) == 1


@in_virtual_time
async def test_a_server_without_a_key_ends_no_model_that_has_another() -> None:
    def answer(sent: Request) -> str | ModelError:
        return NotAuthorised("no key") if sent.sent_to == SERVERS[0] else "fine"

    models = Models(answer, takes_s=0.1)
    client = cluster(Tasks(), models, workers=2, concurrency=5)
    answers = await asyncio.gather(*(client.complete(asked_of_two(number)) for number in range(40)))
    await client.close()
    assert {answer.text for answer in answers} == {"fine"}
    assert models.servers[SERVERS[0]] <= 10
