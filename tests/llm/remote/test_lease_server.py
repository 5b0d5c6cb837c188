"""Leases never let workers together pass a limit, whatever they do and whoever of them dies."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.core.errors import BudgetExceeded, ModelError, RateLimited
from promptpex.core.records import Completion, Request
from promptpex.llm.pacing.budget import Budget, Spending
from promptpex.llm.pacing.cancellation import CancelToken
from promptpex.llm.pacing.first_request import FirstRequestGate, who_is_asked
from promptpex.llm.pacing.server_queue import Limiter
from promptpex.llm.remote.lease_server import Coordinator
from promptpex.llm.remote.messages import Done, Granted, Refused, Want
from tests.llm.questions import request
from tests.llm.virtual_time import VirtualTimeLoop, in_virtual_time, now


def asked(number: int) -> Request:
    return request(f"question {number}", model="openai/m", api_base="http://models.example/v1")


@dataclass
class Cluster:
    """A coordinator, and what its workers were heard and have out."""

    concurrency: int = 4
    rpm: int | None = None
    max_requests: int | None = None
    granted_at: list[float] = field(default_factory=list)
    heard: dict[tuple[int, int], object] = field(default_factory=dict)
    wanted: dict[tuple[int, int], int] = field(default_factory=dict)
    out: set[tuple[int, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.cancel_token = CancelToken()
        self.budget = Budget(max_requests=self.max_requests)
        self.gate = FirstRequestGate()
        limiter = Limiter(concurrency=self.concurrency, rpm=self.rpm, clock=now, cancel_token=self.cancel_token)
        self.coordinator = Coordinator(limiter, self.budget, self.gate)
        self.gate.known.add(who_is_asked(asked(0)))

    def want(self, worker: int, lease: int, number: int) -> None:
        self.wanted[worker, lease] = number

        def tell(message: object) -> None:
            assert (worker, lease) not in self.heard, "a lease is answered once"
            self.heard[worker, lease] = message
            if isinstance(message, Granted):
                self.granted_at.append(now())
                self.out.add((worker, lease))

        self.coordinator.want(worker, Want(lease, number), asked(number), tell)

    def done(self, worker: int, lease: int, error: ModelError | None = None) -> None:
        granted = self.heard[worker, lease]
        assert isinstance(granted, Granted)
        used = Spending(1, 25) if error is None and granted.refusal is None else Spending()
        self.out.discard((worker, lease))
        self.coordinator.done(worker, Done(lease, None if error else 1.0, 20, 5, error, used))

    def lost(self, worker: int) -> set[int]:
        self.out -= {each for each in self.out if each[0] == worker}
        return self.coordinator.lost(worker)


@given(
    seed=st.integers(0, 2**32),
    workers=st.integers(1, 5),
    concurrency=st.integers(1, 6),
    rpm=st.sampled_from([None, 3, 20]),
)
@settings(max_examples=40, deadline=None)
def test_no_limit_is_passed_whatever_workers_do(seed: int, workers: int, concurrency: int, rpm: int | None) -> None:
    async def play() -> None:
        draw = random.Random(seed)
        cluster = Cluster(concurrency, rpm, max_requests=40)
        waiting: set[tuple[int, int]] = set()
        for lease in range(60):
            worker, what = draw.randrange(workers), draw.random()
            cluster.want(worker, lease, number=lease)
            waiting.add((worker, lease))
            await asyncio.sleep(draw.choice([0.0, 0.01, 1.0, 30.0]))
            assert len(cluster.out) <= concurrency
            assert cluster.coordinator.given <= concurrency
            assert cluster.budget.spent.requests <= 40
            mine = sorted(each for each in cluster.out if each[0] == worker)
            if what < 0.5 and mine:
                cluster.done(*mine[0])
            elif what < 0.6 and mine:
                cluster.done(*mine[0], RateLimited("slow", retry_after=0.5))
            elif what < 0.7:
                leaver = draw.choice(sorted(waiting))
                cluster.out.discard(leaver)
                cluster.coordinator.withdraw(*leaver)
            elif what < 0.75:
                cluster.lost(worker)
            waiting = {each for each in waiting if each not in cluster.heard}
        for worker in range(workers):
            cluster.lost(worker)
        for number in range(60):
            cluster.coordinator.answered(number, None)
        assert cluster.coordinator.given == 0
        starts = sorted(cluster.granted_at)
        if rpm is not None:
            assert all(later - first >= 59.9 for first, later in zip(starts, starts[rpm:], strict=False))
        await cluster_is_whole(cluster)

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(play())


async def cluster_is_whole(cluster: Cluster) -> None:
    """Nothing stays taken: another worker gets every slot, and what is left of the budget."""
    await asyncio.sleep(200.0)
    left = 40 - cluster.budget.spent.requests
    for lease in range(left + 1):
        cluster.want(99, lease, number=1000 + lease)
        await asyncio.sleep(61.0)
        granted = cluster.heard[99, lease]
        assert isinstance(granted, Granted)
        assert isinstance(granted.refusal, BudgetExceeded) == (lease == left)
        cluster.done(99, lease)


@in_virtual_time
async def test_the_slot_of_a_dead_worker_goes_to_the_next_at_once() -> None:
    cluster = Cluster(concurrency=1)
    cluster.want(0, 0, number=0)
    cluster.want(1, 0, number=1)
    await asyncio.sleep(1.0)
    assert list(cluster.heard) == [(0, 0)]
    assert cluster.lost(0) == {0}
    await asyncio.sleep(0.1)
    assert isinstance(cluster.heard[1, 0], Granted)


@in_virtual_time
async def test_what_a_dead_worker_had_paid_counts_once() -> None:
    cluster = Cluster(max_requests=2)
    cluster.want(0, 0, number=7)
    await asyncio.sleep(0.1)
    cluster.lost(0)
    from_the_store = Completion(text="fine", tokens_in=1, tokens_out=1, cached=True)
    cluster.coordinator.answered(7, from_the_store)
    assert cluster.budget.spent.requests == 1


@in_virtual_time
async def test_what_a_dead_worker_had_in_flight_is_reserved_until_it_is_asked_again() -> None:
    cluster = Cluster(max_requests=1)
    cluster.want(0, 0, number=7)
    await asyncio.sleep(0.1)
    cluster.lost(0)
    cluster.want(1, 0, number=8)
    await asyncio.sleep(0.1)
    assert (1, 0) not in cluster.heard, "the dead worker may have paid: the other waits until that is known"
    cluster.want(2, 0, number=7)
    await asyncio.sleep(0.1)
    (first,) = [worker for worker in (1, 2) if (worker, 0) in cluster.heard]
    cluster.done(first, 0)
    await asyncio.sleep(0.1)
    second = cluster.heard[3 - first, 0]
    assert isinstance(second, Granted)
    assert isinstance(second.refusal, BudgetExceeded)
    assert cluster.budget.spent.requests == 1


@in_virtual_time
async def test_a_stop_refuses_all_who_wait() -> None:
    cluster = Cluster(concurrency=1)
    for lease in range(3):
        cluster.want(0, lease, number=lease)
    await asyncio.sleep(0.1)
    cluster.cancel_token.cancel()
    await asyncio.sleep(0.1)
    assert [type(message) for message in cluster.heard.values()] == [Granted, Refused, Refused]
