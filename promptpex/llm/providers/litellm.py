"""Every other provider, through litellm: the one place that imports it, late and with everything optional off.

No retries underneath ours, no callbacks, no cache, no telemetry, no lists fetched from the network at import.

What it is handed is an allow list: nothing of a request can name an address, a key, a provider or a canned answer.
Where litellm would fall back to OpenAI's key or address for another provider, the request is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import sys
import time
import warnings
from collections.abc import Collection, Mapping
from typing import Any

from promptpex.core.errors import BadRequest, MalformedReply, ModelError, NotAuthorised, Unavailable
from promptpex.core.events import Notice
from promptpex.core.records import Completion, Request
from promptpex.core.temporary_environment import environment_with
from promptpex.core.translation import stored
from promptpex.llm.error_mapping import from_exception, short
from promptpex.llm.names import FURTHER_PARAMETERS
from promptpex.llm.providers import ProviderOptions
from promptpex.llm.providers.http import MAX_REPLY_BYTES, STREAM_SHARE, retry_after_s
from promptpex.llm.providers.openai_format import AS_STREAM, ChatPieces, broken_off, completion_of, request_body
from promptpex.llm.providers.prices import known_models, price_of, rates_of, vendor_of
from promptpex.llm.resolve_model import origin
from promptpex.llm.streaming import Streams, sending

_OFFLINE = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_BLOG_POSTS": "True",
    "LITELLM_LOCAL_POLICY_TEMPLATES": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOCAL_AUTOROUTER_PRESETS": "True",
    "LITELLM_MODE": "PRODUCTION",  # in its other mode it reads a .env file into the environment
}
_OWN_CREDENTIALS = ("bedrock", "bedrock_converse", "sagemaker", "sagemaker_chat", "vertex_ai", "azure", "azure_ai")
"""Providers whose credentials may come from files, roles or tokens, which litellm's check of variables cannot see."""


class LitellmClient:
    """A ``Client`` for all models that litellm serves."""

    def __init__(self, options: ProviderOptions | None = None) -> None:
        self._options = options or ProviderOptions()
        self._checked: set[str] = set()
        self._warned: set[tuple[str, str]] = set()
        self._used = False
        self._streams = Streams()

    async def complete(self, request: Request) -> Completion:
        """The provider's answer to ``request``; or an ``errors.ModelError``."""
        _refuse_unsafe(request, self._options.key_servers)
        litellm = await asyncio.to_thread(loaded)
        self._check_key(litellm, request)
        body = request_body(request, request.model) | {
            "api_base": request.api_base,
            "timeout": self._options.timeout_s,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": True,
            "cache": {"no-cache": True, "no-store": True},
        }
        self._check_params(litellm, request.model, body)
        self._used = True
        started = time.perf_counter()
        payload, reckoned = await self._asked(litellm, request.model, body)
        latency_ms = (time.perf_counter() - started) * 1000
        answer = completion_of(payload, model=request.model, latency_ms=latency_ms)
        return answer.model_copy(update={"cost_usd": self._cost(request.model, answer, reckoned)})

    async def _asked(self, litellm: Any, model: str, body: dict[str, Any]) -> tuple[object, object]:
        """The reply's JSON and what litellm reckons it cost: as a stream where somebody watches."""
        watcher = self._streams.watcher_of(model)
        pieces = ChatPieces(model, watcher=watcher)
        try:
            sending()
            async with asyncio.timeout(self._options.timeout_s + 5):
                if watcher is None:
                    reply = await litellm.acompletion(**body)
                    return reply.model_dump(), (getattr(reply, "_hidden_params", None) or {}).get("response_cost")
                watcher.begin()
                await _gather(await litellm.acompletion(**body, **AS_STREAM), pieces, model)
                payload = pieces.payload()
        except Exception as error:  # its classes are told apart by the table in failures
            ours = from_exception(error, model=model, retry_after=_asked_to_wait(error))
            if watcher is None or not self._streams.failed(model, ours, has_begun=pieces.has_begun):
                raise ours from error
            watcher.begin()
            return await self._asked(litellm, model, body)
        self._streams.came(model)
        return payload, None

    async def load(self, request: Request) -> None:
        await asyncio.to_thread(loaded)

    async def close(self) -> None:
        if self._used:
            self._used = False
            await loaded().close_litellm_async_clients()

    def _check_key(self, litellm: Any, request: Request) -> None:
        """Refuses a model without its key, which litellm would call a failure of the server, as if it would pass; or
        for which it would take OpenAI's."""
        model = request.model
        if model in self._checked:
            return
        missing = missing_keys(litellm, model)
        if missing:
            names = " and ".join(missing)
            raise NotAuthorised(
                stored("{model}: no key for its provider; set {names} in the environment.", model=model, names=names),
                model=model,
            )
        _refuse_openai_for_others(litellm, request)
        self._checked.add(model)

    def _check_params(self, litellm: Any, model: str, body: Mapping[str, Any]) -> None:
        """Tells what the provider does not take and litellm leaves out. A reply schema must not vanish: the refusal
        is what makes ``llm/fallback.py`` say in words what it said."""
        supported = supported_params(litellm, model)
        if supported is None:
            return
        if "response_format" in body and "response_format" not in supported:
            message = stored("{model}: the provider takes no response_format; ask for it in words.", model=model)
            raise BadRequest(message, model=model)
        known_parameters = ("temperature", "max_tokens", "top_p", "seed", "stop", "logprobs", "top_logprobs")
        for name in known_parameters:
            if name in body and name not in supported and (model, name) not in self._warned:
                self._warned.add((model, name))
                self._options.emit(
                    Notice(
                        stored("{model} does not take {name}; it is asked without.", model=model, name=name), "warning"
                    )
                )

    def _cost(self, model: str, answer: Completion, reckoned: object) -> float | None:
        """The user's price, else what litellm reckons (it knows of cached tokens), else its table."""
        prices = self._options.prices
        if rates_of(model, prices) is not None and (model in prices or model.partition("/")[2] in prices):
            return price_of(model, answer.tokens_in, answer.tokens_out, prices)
        if isinstance(reckoned, (int, float)) and reckoned > 0:
            return float(reckoned)
        return price_of(model, answer.tokens_in, answer.tokens_out)


async def _gather(chunks: Any, pieces: ChatPieces, model: str) -> None:
    """Takes a stream of litellm's to its end, in bounded size; its connection is closed in any case."""
    size = 0
    async with contextlib.aclosing(aiter(chunks)) as stream:
        async for chunk in stream:
            plain = chunk.model_dump()
            size += len(str(plain))
            if size > STREAM_SHARE * MAX_REPLY_BYTES:
                message = stored(
                    "{model}: the reply is too large and was not read to its end; set max_tokens.", model=model
                )
                raise MalformedReply(message, model=model)
            pieces.add(plain)
    if getattr(chunks, "received_finish_reason", "") is None:  # litellm makes one up
        raise broken_off(model)


def _refuse_unsafe(request: Request, key_servers: Collection[str]) -> None:
    """Refuses what litellm must not be handed, whatever the origin of the request."""
    model = request.model
    strange = sorted(set(request.params.extra) - set(FURTHER_PARAMETERS))
    if strange:
        message = stored("{model}: the parameter {name} is not passed on to providers.", model=model, name=strange[0])
        raise BadRequest(message, model=model)
    if "://" in model:
        raise BadRequest(stored("{model}: a model's name cannot hold an address.", model=model), model=model)
    if request.api_base and origin(request.api_base) not in key_servers:
        message = stored(
            "{model}: no key is sent to {server}; name the server in its provider's own variable.",
            model=model,
            server=origin(request.api_base),
        )
        raise BadRequest(message, model=model)


def _refuse_openai_for_others(litellm: Any, request: Request) -> None:
    """Without a key or an address of its own, litellm sends a provider's request with OPENAI_API_KEY, or to OpenAI."""
    try:
        _, provider, key, base = litellm.get_llm_provider(request.model, api_base=request.api_base)
    except Exception:  # an unknown name: the call itself will say so
        return
    if vendor_of(provider) == "openai" or provider not in _like_openai(litellm):
        return
    variable = provider.upper().replace("-", "_")
    if not base:
        message = stored(
            "{model}: no address for its provider; set {name} in the environment.",
            model=request.model,
            name=f"{variable}_API_BASE",
        )
        raise NotAuthorised(message, model=request.model)
    if not key:
        message = stored(
            "{model}: no key for its provider; set {names} in the environment.",
            model=request.model,
            names=f"{variable}_API_KEY",
        )
        raise NotAuthorised(message, model=request.model)


def _like_openai(litellm: Any) -> frozenset[str]:
    """Providers that litellm asks by OpenAI's client, with what OpenAI's variables say where theirs say nothing."""
    return frozenset(litellm.openai_compatible_providers) | json_providers()


def json_providers() -> frozenset[str]:
    """Providers that litellm describes in a JSON file of its own: neither of its public lists has all of them."""
    from litellm.llms.openai_like.json_loader import JSONProviderRegistry

    return frozenset(JSONProviderRegistry.list_providers())


@functools.lru_cache(maxsize=1)
def loaded() -> Any:
    """litellm, imported once, quiet and offline; a host program's own as it is. It takes seconds: call it on a thread.

    Raises:
        Unavailable: when it cannot be imported.
    """
    if "litellm" in sys.modules:  # the host program's: its callbacks, cache and log levels are its own
        import litellm

        return litellm
    warnings.filterwarnings("ignore", category=UserWarning, module=r"pydantic\._internal")
    try:
        with environment_with(_OFFLINE):
            import litellm

            _load_beta_headers()
    except ImportError as error:
        message = stored("litellm cannot be imported ({why}); reinstall promptpex.", why=short(str(error)))
        raise Unavailable(message) from error
    _quieten(litellm)
    return litellm


def _load_beta_headers() -> None:
    """Has litellm read its table of Anthropic's headers, which it would fetch at the first request: nothing that it
    exports does that. Versions that have no such table are left alone."""
    with contextlib.suppress(ImportError):
        from litellm.anthropic_beta_headers_manager import get_unsupported_headers

        get_unsupported_headers("anthropic")


def _quieten(litellm: Any) -> None:
    """Switches off what is optional, in a litellm that nothing else has imported yet."""
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.disable_hf_tokenizer_download = True
    litellm.turn_off_message_logging = True
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def missing_keys(litellm: Any, model: str) -> list[str]:
    """Environment variables that the model's provider needs and that are not set."""
    prefix = model.partition("/")[0] if "/" in model else ""
    provider = prefix or (known_models()[model].provider if model in known_models() else "")
    if provider in _OWN_CREDENTIALS:
        return []
    try:
        answer = litellm.validate_environment(model)
    except Exception:  # an unknown name: the call itself will say so
        return []
    return [] if answer.get("keys_in_environment") else [str(name) for name in answer.get("missing_keys") or ()]


def supported_params(litellm: Any, model: str) -> frozenset[str] | None:
    """Parameters that the provider takes for this model; None when litellm cannot tell."""
    try:
        supported = litellm.get_supported_openai_params(model=model)
    except Exception:  # an unknown name: the call itself will say so
        return None
    return frozenset(supported) if supported else None


def _asked_to_wait(error: BaseException) -> float | None:
    if isinstance(error, ModelError):
        return error.retry_after
    for headers in (
        getattr(error, "litellm_response_headers", None),
        getattr(getattr(error, "response", None), "headers", None),
    ):
        if headers:
            lowered = {str(name).lower(): str(value) for name, value in dict(headers).items()}
            seconds = retry_after_s({"Retry-After": lowered.get("retry-after", ""), **lowered})
            if seconds is not None:
                return seconds
    return None
