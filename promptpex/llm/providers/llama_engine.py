"""llama.cpp in this process: one loaded model, asked from worker threads.

The context begins small and grows with the prompts, by loading the weights again (about half a second for a small
model), up to what the model was trained for: memory goes with the context, and most prompts are short.

The head of a GGUF file is read by the GGUF specification (ggml, docs/gguf.md), versions 2 and 3: magic, version,
counts, then typed key-value pairs.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import secrets
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from promptpex.core.errors import ContextTooSmall, TimedOut, Unavailable, UnknownModel
from promptpex.core.translation import stored
from promptpex.llm.error_mapping import from_exception, short
from promptpex.llm.providers.openai_format import ChatPieces, refusal_of

_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_MAX_PAIRS = 100_000
_MAX_TEXT = 64 * 1024 * 1024


class NotGguf(ValueError):
    """The file is not a GGUF file, or a damaged one."""


@dataclass(frozen=True, slots=True)
class GgufHead:
    """A model's own facts.

    Attributes:
        context: tokens of context it was trained for; None if it does not say.
        name: as its maker calls it.
    """

    context: int | None
    name: str


def read_head(path: Path) -> GgufHead:
    """The head of the file at ``path``.

    Raises:
        NotGguf: when it is not one.
        OSError: when it cannot be read.
    """
    with path.open("rb") as file:
        try:
            pairs = _pairs(file)
        except (struct.error, UnicodeDecodeError, OverflowError, MemoryError) as error:
            raise NotGguf(stored("its head is damaged ({why})", why=error)) from error
    architecture = str(pairs.get("general.architecture", ""))
    context = pairs.get(f"{architecture}.context_length")
    return GgufHead(
        context=context if isinstance(context, int) and context > 0 else None,
        name=str(pairs.get("general.name", "")),
    )


def _pairs(file: BinaryIO) -> Mapping[str, object]:
    """The key-value pairs up to the tokenizer's, which are long and stand last."""
    if file.read(4) != b"GGUF":
        raise NotGguf(stored("it does not begin as a GGUF file does"))
    version, _tensors, count = struct.unpack("<IQQ", file.read(20))
    if version not in (2, 3) or count > _MAX_PAIRS:
        raise NotGguf(stored("its GGUF version {number} is not one of 2 and 3", number=version))
    pairs: dict[str, object] = {}
    for _ in range(count):
        key = _text(file)
        if key.startswith("tokenizer.") and pairs.get("general.architecture"):
            break
        (kind,) = struct.unpack("<I", file.read(4))
        pairs[key] = _value(file, kind)
    return pairs


def _value(file: BinaryIO, kind: int, depth: int = 0) -> object:
    if kind == _STRING:
        return _text(file)
    if kind == _ARRAY and depth < 4:
        inner, count = struct.unpack("<IQ", file.read(12))
        if count > _MAX_TEXT:
            raise NotGguf(stored("its head is damaged (an impossibly long array)"))
        return [_value(file, inner, depth + 1) for _ in range(count)]
    form = _SCALARS.get(kind)
    if form is None:
        raise NotGguf(stored("its head is damaged (value type {kind})", kind=kind))
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]


def _text(file: BinaryIO) -> str:
    (length,) = struct.unpack("<Q", file.read(8))
    if length > _MAX_TEXT:
        raise NotGguf(stored("its head is damaged (an impossibly long text)"))
    data = file.read(length)
    if len(data) < length:
        raise NotGguf(stored("its head is cut off"))
    return data.decode("utf-8")


FIRST_CONTEXT = 2048
_PROMPT_CACHE_MIB = 128
_BATCH = 256
"""Tokens of a prompt between two looks at whether the request was cancelled."""
_CHARS_PER_TOKEN = 2.5
"""Fewer than in English prose, so that the first guess of a prompt's tokens is seldom too low."""


@dataclass(frozen=True, slots=True)
class LlamaEngineKey:
    """What makes a loaded model the only one of its kind in this process."""

    path: Path
    threads: int
    slots: int


@dataclass(slots=True)
class Ask:
    """One request on its way: the body, whether it is still waited for, the seconds it may take, and who is told of
    its text, on the thread: None when the model begins, then each piece."""

    model: str
    body: dict[str, Any]
    cancelled: threading.Event
    timeout_s: float = 300.0
    tell: Callable[[str | None], None] = lambda text: None


class LlamaEngine:
    """A GGUF model, loaded when first asked.


    Attributes:
        context: tokens of context per slot, as loaded; 0 = not loaded.
        users: clients that have it.
        pool: the threads on which ``ask`` is to be called.
    """

    def __init__(self, key: LlamaEngineKey, *, first_context: int = FIRST_CONTEXT) -> None:
        self.key = key
        self._first_context = first_context
        self.pool = ThreadPoolExecutor(max_workers=key.slots, thread_name_prefix="promptpex-embedded")
        self.users = 0
        self._turn = threading.Condition()
        self._running = 0
        self._growing = False
        self._server: Any = None
        self.context = 0
        self._trained: int | None = None

    def ask(self, ask: Ask) -> tuple[dict[str, Any], float]:
        """The reply as a chat completion's JSON, and its milliseconds; called on a thread of ``pool``.

        Raises:
            ModelError: whatever kept the model from answering.
        """
        limit = int(ask.body.get("max_tokens") or 0)
        needed = _guessed_tokens(ask.body) + limit
        while True:
            with self._room(needed, ask.model) as context:
                started = time.perf_counter()
                events = self._events(ask)
                latency_ms = (time.perf_counter() - started) * 1000
            short_by = self._short_by(events, context, limit, ask.model)
            if short_by is None:
                return _whole(events, ask.model), latency_ms
            needed = short_by

    def close(self) -> None:
        self.pool.shutdown(wait=True, cancel_futures=True)
        with self._turn:
            self._server = None
            self.context = 0

    def _events(self, ask: Ask) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        deadline = time.monotonic() + ask.timeout_s

        def on_event(event: dict[str, Any]) -> bool:
            events.append(event)
            ask.tell(_text_of(event))
            return ask.cancelled.is_set() or time.monotonic() > deadline

        ask.tell(None)
        try:
            self._server.handle_chat_completions(ask.body, on_event)
        except Exception as error:  # Python's own classes only; told apart by the table
            raise from_exception(error, model=ask.model, library="xllamacpp") from error
        if time.monotonic() > deadline and _finish(events) is None and not _error_of(events):
            message = stored(
                "{model}: no answer within {seconds} s; raise --timeout, or lower max_tokens.",
                model=ask.model,
                seconds=f"{ask.timeout_s:g}",
            )
            raise TimedOut(message, model=ask.model)
        return events

    def _short_by(self, events: list[dict[str, Any]], context: int, limit: int, model: str) -> int | None:
        """The context to ask again with; None when this one was enough, or is all there is."""
        error = _error_of(events)
        if error is not None:
            if error.get("type") != "exceed_context_size_error":
                raise refusal_of(error, model)
            tokens = int(error.get("n_prompt_tokens") or 0)
            most = self._trained or int(error.get("n_ctx") or context)
            if tokens >= most or context >= most:
                raise _too_small(model, tokens, most)
            return max(tokens + limit, context + 1)
        usage = _last(events, "usage") or {}
        used = int(usage.get("total_tokens") or 0)
        whole = not limit or int(usage.get("completion_tokens") or 0) >= limit
        if _finish(events) != "length" or whole or used < context - 1 or context >= (self._trained or context):
            return None
        return context + 1

    @contextlib.contextmanager
    def _room(self, needed: int, model: str) -> Iterator[int]:
        """The model loaded with room for ``needed`` tokens, or with all it was trained for; gives its context."""
        while True:
            with self._turn:
                self._turn.wait_for(lambda: not self._growing)
                if self._server is not None and self.context >= min(needed, self._trained or needed):
                    self._running += 1
                    break
                self._growing = True
                self._turn.wait_for(lambda: self._running == 0)
            try:
                self._load(needed, model)
            finally:
                with self._turn:
                    self._growing = False
                    self._turn.notify_all()
        try:
            yield self.context
        finally:
            with self._turn:
                self._running -= 1
                self._turn.notify_all()

    def _load(self, needed: int, model: str) -> None:
        self._trained = self._trained or _trained_context(self.key.path, model)
        context = max(self._first_context, 2 ** math.ceil(math.log2(max(needed, 1))))
        context = min(context, self._trained) if self._trained else context
        self._server = None
        self._server = _started(self.key, context, model)
        self.context = context


def _trained_context(path: Path, model: str) -> int | None:
    try:
        return read_head(path).context
    except NotGguf as error:
        message = stored(
            "{model}: {file} cannot be loaded: {reason}; give another file.", model=model, file=path.name, reason=error
        )
        raise UnknownModel(message, model=model) from error
    except OSError as error:
        message = stored("{model}: {file} cannot be read ({why}).", model=model, file=path.name, why=error)
        raise UnknownModel(message, model=model) from error


def _started(key: LlamaEngineKey, context: int, model: str) -> Any:
    """llama.cpp's server object. It also listens on a loopback port of its own choice: a random key closes that."""
    xllamacpp = _xllamacpp(model)
    params = xllamacpp.CommonParams()
    params.model.path = str(key.path)
    params.n_ctx = context * key.slots
    params.n_parallel = key.slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = key.threads
    params.n_batch = params.n_ubatch = _BATCH
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    params.warmup = False
    params.verbosity = -1
    params.hostnames = ["127.0.0.1"]
    params.api_keys = [secrets.token_hex(32)]
    try:
        return xllamacpp.Server(params)
    except Exception as error:  # RuntimeError for whatever is wrong
        message = stored(
            "{model}: llama.cpp could not load {file} with a context of {count} tokens ({why}); the file is damaged, "
            "of an unknown architecture, or memory is short.",
            model=model,
            file=key.path.name,
            count=context,
            why=short(str(error)),
        )
        raise Unavailable(message, model=model) from error


def _xllamacpp(model: str) -> Any:
    try:
        import xllamacpp
    except ImportError as error:
        message = stored(
            "{model}: embedded models need the package xllamacpp; install promptpex[embedded] ({why}).",
            model=model,
            why=short(str(error), 80),
        )
        raise UnknownModel(message, model=model) from error
    return xllamacpp


def _guessed_tokens(body: dict[str, Any]) -> int:
    texts = [str(message["content"]) for message in body["messages"]]
    return int(sum(len(text) for text in texts) / _CHARS_PER_TOKEN) + 16 * len(texts) + 64


def _too_small(model: str, tokens: int, most: int) -> ContextTooSmall:
    message = stored(
        "{model}: the prompt has {count} tokens and the model's context {limit}; shorten the prompt or the input, or "
        "use a model with a larger context.",
        model=model,
        count=tokens,
        limit=most,
    )
    return ContextTooSmall(message, model=model)


def _whole(events: list[dict[str, Any]], model: str) -> dict[str, Any]:
    pieces = ChatPieces(model, "llama.cpp")
    for event in events:
        pieces.add(event)
    return pieces.payload()


def _error_of(events: list[dict[str, Any]]) -> dict[str, Any] | None:
    return next((event["error"] for event in events if isinstance(event.get("error"), dict)), None)


def _text_of(event: dict[str, Any]) -> str:
    choices = event.get("choices") or ()
    return "".join((choice.get("delta") or {}).get("content") or "" for choice in choices)


def _finish(events: list[dict[str, Any]]) -> str | None:
    reasons = [choice.get("finish_reason") for event in events for choice in event.get("choices") or ()]
    return next((reason for reason in reversed(reasons) if isinstance(reason, str)), None)


def _last(events: list[dict[str, Any]], name: str) -> Any:
    return next((event[name] for event in reversed(events) if event.get(name)), None)


_ENGINES: dict[LlamaEngineKey, LlamaEngine] = {}
_LOCK = threading.Lock()


def acquire(key: LlamaEngineKey) -> LlamaEngine:
    """The process's one engine of this kind; give it back with ``release``."""
    with _LOCK:
        engine = _ENGINES.get(key)
        if engine is None:
            engine = _ENGINES[key] = LlamaEngine(key)
        engine.users += 1
        return engine


def release(engine: LlamaEngine) -> Callable[[], None] | None:
    """Gives ``engine`` back; the last user gets what frees it, which may wait for an answer under way."""
    with _LOCK:
        engine.users -= 1
        if engine.users > 0:
            return None
        _ENGINES.pop(engine.key, None)
        return engine.close


@atexit.register
def _free_all() -> None:
    with _LOCK:
        engines = list(_ENGINES.values())
        _ENGINES.clear()
    for engine in engines:
        engine.close()


def thread_count(asked: int | None) -> int:
    """CPU threads: as asked, else half the cores up to 2.

    On a busy machine two threads are slower than one: they wait for each other spinning.
    """
    return max(1, min(2, (os.cpu_count() or 1) // 2) if asked is None else asked)
