"""Services as actors of a Ray cluster.

A batch of messages is one call of an actor's method: ``put`` brings what was sent, ``take`` waits for what the service
has to say. One call of each is under way at a time, and what is sent meanwhile goes with the next: so batches grow with
the load, and what somebody waits for never waits for one to fill. Messages are pickled here and not by Ray, whose own
pickler, made for code, takes ten times as long for records.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

from promptpex.engines.links import Host, Mailbox, Service, WorkerLost, packed, unpacked
from promptpex.engines.ray_cluster import RayCluster

HARDLY_ANY_CPU = 0.001
"""What an actor counts for: it waits for models most of the time, so that jobs have the CPUs; and a cluster without a
single one places none."""


class RayCarrier:
    """Starts services as actors, spread over the nodes of a cluster, which is connected to with the first of them."""

    def __init__(self, cluster: RayCluster) -> None:
        self._cluster = cluster
        self._turn = asyncio.Lock()

    async def room(self) -> int:
        """See ``Carrier``.

        Raises:
            EngineError: there is no cluster.
        """
        await self._connected()
        import ray

        resources: dict[str, float] = await asyncio.to_thread(ray.cluster_resources)
        return max(1, int(resources.get("CPU", 0)))

    async def start(self, service: Service) -> RayLink:
        """See ``Carrier``.

        Raises:
            WorkerLost: its process could not be started.
            EngineError: there is no cluster.
        """
        await self._connected()
        import ray

        actors: Any = ray.remote(_Actor)
        link = RayLink(actors.options(num_cpus=HARDLY_ANY_CPU, scheduling_strategy="SPREAD", max_restarts=0).remote())
        try:
            await link.call("begin", packed([service]))
        except BaseException:
            await link.kill()
            raise
        link.begin()
        return link

    async def _connected(self) -> None:
        async with self._turn:  # many start at once
            await self._cluster.opened()


class RayLink:
    """An actor of Ray with a service in it; see ``ServiceLink``."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor
        self._outbox = Mailbox()
        self._ended = False
        self._sending: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Sends from now on."""
        self._sending = asyncio.ensure_future(self._send_batches())

    def send(self, message: object, *, soon: bool = False) -> None:
        """See ``ServiceLink``."""
        self._outbox.put([message], soon=soon)

    async def receive(self) -> Sequence[object]:
        """See ``ServiceLink``."""
        batch: bytes = await self.call("take")
        return unpacked(batch)

    def end(self) -> None:
        """See ``ServiceLink``."""
        self._outbox.close()

    async def kill(self) -> None:
        """See ``ServiceLink``."""
        import ray

        if self._sending is not None:
            self._sending.cancel()
        with contextlib.suppress(Exception):  # Ray itself may be gone
            ray.kill(self._actor, no_restart=True)

    async def call(self, method: str, *arguments: object) -> Any:
        """What a method of the actor gives.

        Raises:
            WorkerLost: the actor is gone.
        """
        from ray.exceptions import RayError

        try:
            return await getattr(self._actor, method).remote(*arguments)
        except RayError as error:
            lines = str(error).strip().splitlines()
            raise WorkerLost(lines[0] if lines else type(error).__name__) from error

    async def _send_batches(self) -> None:
        with contextlib.suppress(WorkerLost):  # whoever receives is told
            while messages := await self._outbox.take():
                await self.call("put", packed(messages))
            await self.call("end")


class _Actor:
    """The process of a worker, as Ray sees it."""

    def __init__(self) -> None:
        self._host: Host | None = None

    async def begin(self, service: bytes) -> None:
        (runs,) = unpacked(service)
        self._host = Host(runs)  # type: ignore[arg-type]

    async def put(self, batch: bytes) -> None:
        if self._host is not None:
            self._host.put(batch)

    async def take(self) -> bytes:
        return b"" if self._host is None else await self._host.take()

    async def end(self) -> None:
        if self._host is not None:
            self._host.end()
