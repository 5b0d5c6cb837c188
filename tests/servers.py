"""Real servers on loopback for tests: llama.cpp's own, one that speaks Ollama's API, and one that follows a script."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
from aiohttp import web

CONTEXT = 2048


class LlamaServer:
    """llama.cpp's OpenAI-compatible HTTP server, in this process, with the embedded model.

    Attributes:
        url: its address; give it as a base URL.
        path: the file of its model.
        model: the id that it lists.
    """

    def __init__(self, path: Path, *, context: int = CONTEXT) -> None:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = context
        params.n_parallel = 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        params.warmup = False
        params.verbosity = -1
        self._server: Any = xllamacpp.Server(params)
        self.url: str = self._server.listening_address
        self.path, self.model = path, path.stem

    def close(self) -> None:
        """Stops it and frees the model."""
        self._server = None


class Served:
    """An aiohttp application on a loopback port of its own."""

    def __init__(self) -> None:
        self.url = ""
        self._runner: web.AppRunner | None = None

    def application(self) -> web.Application:
        """What it serves."""
        raise AssertionError("each server makes its own")

    async def __aenter__(self) -> Self:
        self._runner = web.AppRunner(self.application(), shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: Any, trace: TracebackType | None) -> None:
        if self._runner is not None:
            await self._runner.cleanup()


class OllamaServer(Served):
    """Speaks enough of Ollama's API (docs/api.md) and answers with the embedded model behind ``llama``.

    It cuts prompts as the real one does unless told ``truncate: false``: the middle goes, the count is what is left.

    Args:
        llama: who answers.
        obeys_truncate: False = an older server, which ignores ``truncate`` and cuts silently.

    Attributes:
        models: the models it has, by name; others must be pulled first.
        pullable: the names that its registry knows.
        chats: the bodies of all chat requests.
        contexts: ``num_ctx`` of all chat requests.
    """

    def __init__(self, llama: LlamaServer, *, obeys_truncate: bool = True, trained: int = CONTEXT) -> None:
        super().__init__()
        self._llama = llama
        self._obeys = obeys_truncate
        self._trained = trained
        self._session: aiohttp.ClientSession | None = None
        self.models: set[str] = {"smollm2:135m"}
        self.pullable: set[str] = {"smollm2:135m", "other:latest"}
        self.chats: list[dict[str, Any]] = []

    @property
    def contexts(self) -> list[int]:
        return [int(chat["options"]["num_ctx"]) for chat in self.chats]

    def application(self) -> web.Application:
        app = web.Application()
        app.add_routes(
            [
                web.post("/api/chat", self._chat),
                web.post("/api/show", self._show),
                web.post("/api/pull", self._pull),
                web.get("/api/tags", self._tags),
                web.get("/api/ps", self._tags),
                web.get("/api/version", self._version),
            ]
        )
        app.cleanup_ctx.append(self._client)
        return app

    async def _client(self, app: web.Application) -> AsyncIterator[None]:
        self._session = aiohttp.ClientSession()
        yield
        await self._session.close()

    async def _upstream(self, path: str, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        assert self._session is not None
        async with self._session.post(self._llama.url + path, json=body) as response:
            return response.status, await response.json()

    async def _chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.chats.append(body)
        if body["model"] not in self.models:
            return web.json_response({"error": f"model '{body['model']}' not found"}, status=404)
        options = body.get("options") or {}
        messages, counted = body["messages"], await self._count(body["messages"])
        context = min(int(options.get("num_ctx", 4096)), self._trained)
        if counted > context:
            if self._obeys and body.get("truncate") is False:
                return web.json_response({"error": "the input length exceeds the context length"}, status=400)
            messages, counted = await self._cut(messages, context)
        status, answer = await self._upstream("/v1/chat/completions", _openai_body(body, messages, options))
        if status != 200:
            return web.json_response({"error": answer["error"]["message"]}, status=500)
        return web.json_response(_ollama_answer(body, answer, counted))

    async def _count(self, messages: Sequence[Mapping[str, str]]) -> int:
        _, answer = await self._upstream("/v1/chat/completions/input_tokens", {"messages": messages})
        return int(answer["input_tokens"])

    async def _cut(self, messages: list[dict[str, str]], context: int) -> tuple[list[dict[str, str]], int]:
        words = messages[-1]["content"].split()
        while True:
            words = words[len(words) // 4 + 1 :]
            messages = [{"role": "user", "content": " ".join(words)}]
            counted = await self._count(messages)
            if counted <= context // 2:
                return messages, counted

    async def _show(self, request: web.Request) -> web.Response:
        body = await request.json()
        name = body.get("model") or body.get("name")
        if name not in self.models:
            return web.json_response({"error": f"model '{name}' not found"}, status=404)
        facts = {"general.architecture": "llama", "llama.context_length": self._trained}
        return web.json_response({"details": {}, "model_info": facts, "capabilities": ["completion"]})

    async def _pull(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        name = body.get("model") or body.get("name")
        steps: list[dict[str, Any]] = [{"status": "pulling manifest"}]
        if name in self.pullable:
            self.models.add(name)
            layer = {"status": "pulling 0123", "digest": "sha256:0123", "total": 100}
            steps += [{**layer, "completed": 50}, {**layer, "completed": 100}, {"status": "success"}]
        else:
            steps.append({"error": "pull model manifest: file does not exist"})
        return web.Response(
            text="".join(json.dumps(step) + "\n" for step in steps), content_type="application/x-ndjson"
        )

    async def _tags(self, request: web.Request) -> web.Response:
        details = {"parameter_size": "134.52M", "quantization_level": "Q4_1"}
        listed = [{"name": name, "model": name, "size": 91_726_336, "details": details} for name in sorted(self.models)]
        return web.json_response({"models": listed})

    async def _version(self, request: web.Request) -> web.Response:
        return web.json_response({"version": "0.0.0"})


def _openai_body(body: dict[str, Any], messages: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    names = {
        "temperature": "temperature",
        "seed": "seed",
        "num_predict": "max_tokens",
        "top_p": "top_p",
        "stop": "stop",
    }
    sent: dict[str, Any] = {"messages": messages}
    sent |= {theirs: options[ours] for ours, theirs in names.items() if ours in options}
    if isinstance(body.get("format"), dict):
        schema = {"name": "reply", "schema": body["format"]}
        sent["response_format"] = {"type": "json_schema", "json_schema": schema}
    if body.get("logprobs"):
        sent |= {"logprobs": True, "top_logprobs": body.get("top_logprobs", 0)}
    return sent


def _ollama_answer(body: Mapping[str, Any], answer: Mapping[str, Any], counted: int) -> dict[str, Any]:
    choice = answer["choices"][0]
    return {
        "model": body["model"],
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": choice["message"]["content"]},
        "done": True,
        "done_reason": choice["finish_reason"],
        "prompt_eval_count": counted,
        "eval_count": answer["usage"]["completion_tokens"],
        **({"logprobs": choice["logprobs"]["content"]} if choice.get("logprobs") else {}),
    }


def completion_body(text: str | None = "OK", *, finish: str | None = "stop", **message: Any) -> bytes:
    """A chat completion's JSON with this answer."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
    usage = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
    return json.dumps(
        {"id": "c1", "object": "chat.completion", "model": "mock", "choices": [choice], "usage": usage}
    ).encode()


def error_body(message: str, code: str | None = None, *, kind: str = "invalid_request_error", **more: Any) -> bytes:
    """An error reply's JSON, as OpenAI writes it."""
    return json.dumps({"error": {"message": message, "type": kind, "code": code, **more}}).encode()


@dataclass(frozen=True, slots=True)
class Step:
    """How one request is answered.

    Attributes:
        body: the reply's bytes.
        status: its HTTP status.
        headers: further headers.
        delay_s: seconds before the reply begins.
        drop: None = no; else the connection is cut after so many bytes of the body (0 = before the status line).
        drip_s: seconds between every ``drip_bytes`` bytes; 0 = all at once.
        drip_bytes: how many bytes a drop has.
        declared: the Content-Length to declare, where it is not the true one.
    """

    body: bytes = field(default_factory=completion_body)
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    drop: int | None = None
    drip_s: float = 0.0
    drip_bytes: int = 16
    declared: int | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it came: path, headers, JSON body, and the second it came at (monotonic)."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    at: float


class ScriptedServer(Served):
    """Answers each request by the next of ``steps``; when they are used up, by ``otherwise``.

    Attributes:
        steps: what to do with the next requests, in order. Set or extend it at any time.
        otherwise: a step, or a function of the request that gives one.
        requests: what came, in order.
        max_in_flight: the most requests being answered at a time.
        together: none is answered before so many have come; set it before they are sent.
    """

    def __init__(self, steps: Sequence[Step] = (), otherwise: Step | Callable[[Seen], Step] | None = None) -> None:
        super().__init__()
        self.steps = list(steps)
        self.otherwise: Step | Callable[[Seen], Step] = otherwise or Step()
        self.requests: list[Seen] = []
        self.in_flight = 0
        self.max_in_flight = 0
        self.together = 0
        self._all_came = asyncio.Event()

    @property
    def count(self) -> int:
        """How many requests came."""
        return len(self.requests)

    def application(self) -> web.Application:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_route("*", "/{path:.*}", self._answer)
        return app

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        seen = Seen(request.path, dict(request.headers), json.loads(raw) if raw else {}, time.monotonic())
        self.requests.append(seen)
        step = self._next(seen)
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            if self.count >= self.together:
                self._all_came.set()
            await self._all_came.wait()
            if step.delay_s:
                await asyncio.sleep(step.delay_s)
            return await _play(step, request)
        finally:
            self.in_flight -= 1

    def _next(self, seen: Seen) -> Step:
        if self.steps:
            return self.steps.pop(0)
        return self.otherwise(seen) if callable(self.otherwise) else self.otherwise


async def _play(step: Step, request: web.Request) -> web.StreamResponse:
    if step.drop == 0:
        _cut(request)
    headers = {"Content-Type": "application/json", **step.headers}
    if not step.drip_s and step.drop is None and step.declared is None:
        return web.Response(body=step.body, status=step.status, headers=headers)
    response = web.StreamResponse(status=step.status, headers=headers)
    response.content_length = len(step.body) if step.declared is None else step.declared
    await response.prepare(request)
    body = step.body if step.drop is None else step.body[: step.drop]
    size = step.drip_bytes if step.drip_s else max(1, len(body))
    for start in range(0, len(body), size):
        await response.write(body[start : start + size])
        await asyncio.sleep(step.drip_s)
    if step.drop is not None or step.declared is not None:
        _cut(request)
    return response


def _cut(request: web.Request) -> None:
    """Breaks the connection at once."""
    if request.transport is not None:
        request.transport.abort()
    raise asyncio.CancelledError
