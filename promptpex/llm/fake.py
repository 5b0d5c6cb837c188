"""A client that answers from a script, for tests and trials: the real pipeline runs on it unchanged."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence

from promptpex.core.errors import NotRecorded
from promptpex.core.records import Completion, Request
from promptpex.llm.streaming import sending

Answer = str | Completion | Exception
Replies = Callable[[Request], Answer | Awaitable[Answer]] | Sequence[Answer] | Mapping[str, Answer]


class FakeClient:
    """Answers from ``replies`` and remembers what it was asked.

    Args:
        replies: a function of the request (plain or async); or a sequence of answers, given out in order; or a
            mapping, whose first key that occurs in the request's messages chooses the answer. An answer is a text,
            a ``Completion``, or an exception, which is raised.
        latency_s: seconds that each answer takes.

    Attributes:
        requests: every request so far, in order.
        in_flight, max_in_flight: requests being answered now, and the most there were at a time.
        closed: whether ``close`` was called.

    Raises:
        NotRecorded: when the sequence is used up or no key occurs.
    """

    def __init__(self, replies: Replies, *, latency_s: float = 0.0) -> None:
        self._reply = _replier(replies)
        self._latency_s = latency_s
        self.requests: list[Request] = []
        self.in_flight = 0
        self.max_in_flight = 0
        self.closed = False

    async def complete(self, request: Request) -> Completion:
        """The scripted answer to ``request``."""
        sending()
        self.requests.append(request)
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            if self._latency_s:
                await asyncio.sleep(self._latency_s)
            answer = self._reply(request)
            if inspect.isawaitable(answer):
                answer = await answer
        finally:
            self.in_flight -= 1
        return self._completion(answer, request)

    async def close(self) -> None:
        self.closed = True

    def _completion(self, answer: Answer, request: Request) -> Completion:
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Completion):
            return answer
        return Completion(
            text=answer, finish_reason="stop", latency_ms=self._latency_s * 1000, model_reported=request.model
        )


def _replier(replies: Replies) -> Callable[[Request], Answer | Awaitable[Answer]]:
    if isinstance(replies, str):
        raise TypeError("replies is one text; give a list, a mapping or a function")
    if isinstance(replies, Mapping):
        return lambda request: _matching(replies, request)
    if isinstance(replies, Sequence):
        rest = list(reversed(replies))
        return lambda request: rest.pop() if rest else _none_for(request)
    return replies


def _matching(replies: Mapping[str, Answer], request: Request) -> Answer:
    text = "\n".join(message.content for message in request.messages)
    for part, answer in replies.items():
        if part in text:
            return answer
    return _none_for(request)


def _none_for(request: Request) -> NotRecorded:
    last = request.messages[-1].content if request.messages else ""
    return NotRecorded(
        f"The fake client has no answer to the request that ends in {last[-80:]!r}; script one.", model=request.model
    )
