"""Run as a program: asks every provider that litellm knows with a canary in every key variable, over nothing.

Each is asked as a model under test is, and as an author or a judge is whose name carries every parameter there is; with
OpenAI's key alone, a plain name in the one way and a name with an address in the other.

Before that it notes what the import of litellm does to the process and its surroundings.

All ways out (httpx, aiohttp, requests, urllib3) are replaced by ones that note address and headers and fail. Prints
JSON: what the import did; with OpenAI's key alone and with all of them, per model's name the list of ``[origin,
[variables whose canaries were sent]]``.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from contextvars import Context
from pathlib import Path
from typing import Any, NoReturn, TypeVarTuple

from promptpex.__main__ import GARBAGE_AFTER
from promptpex.core.errors import ModelError
from promptpex.core.records import Message, Request
from promptpex.llm.names import parse_model
from promptpex.llm.providers import ProviderOptions
from promptpex.llm.providers.litellm import LitellmClient, loaded
from promptpex.llm.providers.prices import known_providers
from promptpex.llm.resolve_model import origin

Ts = TypeVarTuple("Ts")

PLACES = {
    "AZURE_API_BASE": "https://azure.example",
    "AZURE_AI_API_BASE": "https://azure-ai.example",
    "AZURE_API_VERSION": "2024-02-01",
    "AWS_REGION_NAME": "us-east-1",
    "DATABRICKS_API_BASE": "https://databricks.example",
}
LOGINS = ("github_copilot", "chatgpt")
"""They ask people to log in, and take no key of the environment."""

IMPORTED = "litellm is imported"
"""What is written into stderr then: whatever stands before it, the import wrote."""

DEADLINE_S = 4.0
"""Seconds that a call may take; libraries wait less than that before they try again."""

PARAMETERS = (
    "temperature=0.4&max_tokens=9&top_p=0.9&seed=3&stop=x&logprobs=true&top_k=4&min_p=0.1&presence_penalty=0.1&"
    "frequency_penalty=0.1&repetition_penalty=1.1&repeat_penalty=1.1&reasoning_effort=low&verbosity=low&think=true&"
    "num_ctx=2048"
)
"""All that may be said behind a name."""

seen: list[tuple[str, str]] = []


def imported() -> tuple[Any, dict[str, object]]:
    """litellm, imported for the first time, and what that reached for, read, set up, and left to be set up later."""
    reached: list[str] = []
    watched = ("socket.connect", "socket.getaddrinfo")
    sys.addaudithook(lambda event, args: reached.append(str(args)) if event in watched else None)
    before = dict(os.environ)
    litellm = loaded()
    shown = {
        "reached": [*reached],
        "planted": os.environ.get("PLANTED_BY_DOTENV"),
        "callbacks": [[*of] for of in _callbacks(litellm)],
        "cache": litellm.cache is None,
        "retries": litellm.num_retries,
        "environment": before == dict(os.environ),
    }
    theirs, litellm.success_callback = litellm.success_callback, ["host"]
    was = _state(litellm)
    loaded()
    later = was == _state(litellm)
    litellm.success_callback = theirs
    return litellm, {**shown, "what a host sets up later": later}


def _callbacks(litellm: Any) -> list[list[object]]:
    return [litellm.callbacks, litellm.success_callback, litellm.failure_callback, litellm.input_callback]


def _state(litellm: Any) -> list[object]:
    callbacks = [[str(each) for each in of] for of in _callbacks(litellm)]
    return [callbacks, litellm.num_retries, str(litellm.cache), logging.getLogger("LiteLLM").level]


def note(url: object, headers: Mapping[Any, Any] | None) -> None:
    seen.append((str(url), f"{url} {dict(headers or {})}"))


def block() -> None:
    """Replaces every way out, and what would be logged of a failure."""
    import aiohttp
    import httpx
    import requests
    import urllib3
    from litellm.litellm_core_utils.litellm_logging import Logging
    from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport

    def by_httpx_at_once(self: object, request: httpx.Request) -> NoReturn:
        note(request.url, request.headers)
        raise httpx.ConnectError("blocked")

    async def by_httpx(self: object, request: httpx.Request) -> NoReturn:
        by_httpx_at_once(self, request)

    async def by_aiohttp(self: object, method: str, url: object, **named: Any) -> NoReturn:
        note(url, named.get("headers"))
        raise aiohttp.ClientConnectionError("blocked")

    def by_requests(self: object, request: requests.PreparedRequest, **named: Any) -> NoReturn:
        note(request.url, request.headers)
        raise requests.ConnectionError("blocked")

    def by_urllib3(self: Any, method: str, url: str, *args: Any, **named: Any) -> NoReturn:
        note(f"{self.scheme}://{self.host}:{self.port}{url}", named.get("headers"))
        raise OSError("blocked")

    def unlogged(self: object, *args: object, **named: object) -> None:
        """Nothing: no logger is set, and what litellm makes ready for one is a third of the work."""

    async def unlogged_later(self: object, *args: object, **named: object) -> None:
        unlogged(self)

    replaced: tuple[tuple[Any, str, Any], ...] = (
        (Logging, "failure_handler", unlogged),
        (Logging, "async_failure_handler", unlogged_later),
        (httpx.AsyncHTTPTransport, "handle_async_request", by_httpx),
        (httpx.HTTPTransport, "handle_request", by_httpx_at_once),
        (LiteLLMAiohttpTransport, "handle_async_request", by_httpx),
        (aiohttp.ClientSession, "_request", by_aiohttp),
        (requests.adapters.HTTPAdapter, "send", by_requests),
        (urllib3.HTTPConnectionPool, "urlopen", by_urllib3),
    )
    for owner, name, function in replaced:
        setattr(owner, name, function)


def named_like_keys(source: Path) -> list[str]:
    """The variables that the source names like a key."""
    variables: set[str] = set()
    for path in source.rglob("*.py"):
        text = path.read_text(encoding="utf-8", errors="replace")
        variables |= set(re.findall(r"""["']([A-Z][A-Z0-9_]*(?:_KEY|_KEY_ID|_TOKEN|_PAT|_SECRET))["']""", text))
    return sorted(name for name in variables if not name.startswith("LITELLM_"))


def plant(litellm: Any, only: str | None) -> dict[str, str]:
    """A canary in every variable that litellm's source names like a key, or in one; canary to variable."""
    names = named_like_keys(Path(litellm.__file__).parent) if only is None else [only]
    for name in names:
        os.environ[name] = f"canary-{name.lower().replace('_', '-')}-x9"
    os.environ.update(PLACES)
    return {os.environ[name]: name for name in names}


def questions(model: str) -> tuple[Request, Request]:
    """A plain one, and one for a value of a schema with all that a settings file may say behind a name."""
    plain = Request(model=model, messages=(Message(role="user", content="hi"),))
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    params = parse_model(f"m:1?{PARAMETERS}").params
    return plain, plain.model_copy(update={"params": params, "reply_schema": schema, "template": "t", "stage": "judge"})


class Hasty(asyncio.SelectorEventLoop):
    """A loop in which the waits between two attempts are over at once, and deadlines are kept."""

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return super().call_later(0.0 if delay < DEADLINE_S else delay, callback, *args, context=context)


async def tried(requests: Iterable[Request]) -> None:
    client = LitellmClient(ProviderOptions(timeout_s=DEADLINE_S))
    for request in requests:
        with contextlib.suppress(ModelError, TimeoutError):
            await asyncio.wait_for(client.complete(request), 2 * DEADLINE_S)


def recorded(litellm: Any, only: str | None) -> dict[str, list[tuple[str, list[str]]]]:
    """What is sent with a canary in every variable; or in one alone, where each name is asked one of the questions.

    With all of them a plain name is asked both, and one with an address the longer.
    """
    canaries = plant(litellm, only)
    listed = {str(getattr(provider, "value", provider)) for provider in litellm.provider_list}
    sent_keys: dict[str, list[tuple[str, list[str]]]] = {}
    with asyncio.Runner(loop_factory=Hasty) as runner:
        for provider in sorted((listed | known_providers()) - set(LOGINS)):
            for number, model in enumerate((f"{provider}/m", f"{provider}/evil.example/m")):
                seen.clear()
                both = questions(model)
                runner.run(tried(both[number:] if only is None else both[number : number + 1]))
                sent = {
                    (origin(url), tuple(name for canary, name in canaries.items() if canary in all_))
                    for url, all_ in seen
                }
                sent_keys[model] = sorted((where, list(names)) for where, names in sent)
    return sent_keys


def main() -> None:
    gc.set_threshold(GARBAGE_AFTER)
    litellm, its_import = imported()
    print(IMPORTED, file=sys.stderr)
    block()
    openai_alone = recorded(litellm, "OPENAI_API_KEY")  # first, since no key is taken out of the environment again
    print(json.dumps({"import": its_import, "openai alone": openai_alone, "all": recorded(litellm, None)}))


if __name__ == "__main__":
    main()
