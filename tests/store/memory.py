"""A response store in memory: the second backend of the conformance test, and the base of stores that fail."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from promptpex.core.records import Completion, Request
from promptpex.core.response_store import StoreEntry, StoreProblem, StoreStats
from promptpex.llm.redaction import scrubbed_request
from promptpex.store.row_texts import useless_replies


@dataclass
class Memory:
    """What several handles share."""

    entries: dict[str, StoreEntry] = field(default_factory=dict)
    claims: dict[str, MemoryStore] = field(default_factory=dict)


class MemoryStore:
    """A handle on a ``Memory``; the methods are documented in ``core.response_store``."""

    def __init__(self, memory: Memory | None = None, clock: Callable[[], float] = lambda: 0.0) -> None:
        self._memory = memory or Memory()
        self._clock = clock

    async def get(self, request_id: str) -> Completion | None:
        entry = self._memory.entries.get(request_id)
        return None if entry is None else entry.completion

    async def get_many(self, request_ids: Iterable[str]) -> dict[str, Completion]:
        stored = self._memory.entries
        return {request_id: stored[request_id].completion for request_id in request_ids if request_id in stored}

    async def put(self, request_id: str, request: Request, completion: Completion) -> Completion:
        earlier = await self.get(request_id)
        if earlier is None:
            await self.replace(request_id, request, completion)
        self._memory.claims.pop(request_id, None)
        return completion if earlier is None else earlier

    async def replace(self, request_id: str, request: Request, completion: Completion) -> None:
        asked, scrubbed = scrubbed_request(request)
        clean = Request.model_validate(asked)
        entry = StoreEntry(request_id, self._clock(), clean, completion.replace(cached=False), scrubbed)
        self._memory.entries[request_id] = entry

    async def claim(self, request_id: str) -> bool:
        if request_id in self._memory.entries:
            return False
        return self._memory.claims.setdefault(request_id, self) is self

    async def release(self, request_id: str) -> None:
        if self._memory.claims.get(request_id) is self:
            del self._memory.claims[request_id]

    async def stats(self) -> StoreStats:
        kept = [entry async for entry in self.entries()]
        models = [entry.request.model for entry in kept]
        stages = [entry.request.stage for entry in kept]
        return StoreStats(
            path="memory",
            replies=len(kept),
            models={name: models.count(name) for name in sorted(set(models))},
            stages={name: stages.count(name) for name in sorted(set(stages))},
            bytes=0,
            oldest=kept[0].created_at if kept else None,
            newest=kept[-1].created_at if kept else None,
        )

    async def prune(
        self,
        older_than_s: float | None = None,
        *,
        stage: str | None = None,
        model: str | None = None,
        failed: bool = False,
        dry_run: bool = False,
    ) -> int:
        chosen = [
            entry
            for entry in self._memory.entries.values()
            if (older_than_s is None or entry.created_at < self._clock() - older_than_s)
            and stage in (None, entry.request.stage)
            and model in (None, entry.request.model)
        ]
        texts = [(entry.id, entry.request.model_dump_json(), entry.completion.model_dump_json()) for entry in chosen]
        ids = useless_replies(texts) if failed else [entry.id for entry in chosen]
        if not dry_run:
            self._memory.entries = {
                request_id: entry for request_id, entry in self._memory.entries.items() if request_id not in ids
            }
        return len(ids)

    async def verify(self) -> list[StoreProblem]:
        return []

    async def entries(self) -> AsyncIterator[StoreEntry]:
        for entry in sorted(self._memory.entries.values(), key=lambda entry: entry.created_at):
            yield entry

    async def ids(self, after: str = "", limit: int = 500) -> list[str]:
        return [each for each in sorted(self._memory.entries) if each > after][:limit]

    async def read(self, request_ids: Sequence[str]) -> list[StoreEntry]:
        return [self._memory.entries[each] for each in request_ids if each in self._memory.entries]

    async def lacks(self, request_ids: Sequence[str]) -> list[str]:
        return [each for each in request_ids if each not in self._memory.entries]

    async def add(self, entries: Sequence[StoreEntry]) -> int:
        new = {each.id: each for each in entries if each.id not in self._memory.entries}
        self._memory.entries |= new
        return len(new)

    async def close(self) -> None:
        mine = [request_id for request_id, holder in self._memory.claims.items() if holder is self]
        for request_id in mine:
            await self.release(request_id)
