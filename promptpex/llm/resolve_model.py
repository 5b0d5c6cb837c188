"""Who answers to a model's name, at which server, and by which price: the one place that tells.

In this order: a prefix of our own (``ollama/``, ``openai/``, ...); a provider's prefix that litellm knows; the server
that is named for the model; litellm's table of bare names; the names that OpenAI gives; and last a tag, which is
Ollama's. Nothing is imported or asked over the network; what litellm knows is in the table of ``providers/prices.py``.

Files in names, ``replay/FILE`` and ``embedded/FILE``: a name is divided by ``,``, ``?`` and ``#`` and holds no blank;
these, and ``%``, are written as addresses write them: ``replay/my%20answers.jsonl``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

from promptpex.core.records import Request

_SIGNS = ",?#%"


def as_in_name(path: Path | str) -> str:
    return "".join(quote(sign, safe="", errors="surrogateescape") if _is_odd(sign) else sign for sign in str(path))


def from_name(text: str) -> str:
    return unquote(text, errors="surrogateescape") if "%" in text else text


def file_of(label: str) -> str | None:
    written = written_file_of(label)
    return None if written is None else from_name(written)


def written_file_of(label: str) -> str | None:
    """The same as the name holds it, in the form of ``as_in_name``."""
    provider, _, rest = label.partition("?")[0].partition("/")
    if provider == "replay":
        return rest.partition("#")[0]
    is_file = provider == "embedded" and not rest.startswith("hf:")
    return rest if is_file and (rest.endswith(".gguf") or "/" in rest or "\\" in rest) else None


def _is_odd(sign: str) -> bool:
    return sign in _SIGNS or sign.isspace() or not sign.isprintable()


Provider = Literal["openai-compatible", "ollama", "embedded", "replay", "fake", "litellm"]
PriceSource = Literal["free", "table", "unknown"]

OWN_PREFIXES: Mapping[str, Provider] = {
    "embedded": "embedded",
    "replay": "replay",
    "fake": "fake",
    "ollama": "ollama",
    "ollama_chat": "ollama",
    "openai": "openai-compatible",
}
MAX_PRICE = 1_000_000
"""The highest price believed, in US dollars per million tokens: over a thousand times the dearest model's."""
OPENAI = "https://api.openai.com/v1"
_OPENAI_NAMES = re.compile(r"^(?:gpt-(?!oss)|chatgpt-|ft:(?:gpt|o\d)|o\d+(?:$|-)|computer-use-|chat-latest$)")
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Server:
    """Where requests end up: what limits and turns are kept per.

    Attributes:
        key: its name.
        start: requests in flight to begin with; None = as many as are allowed at all.
        one_model_at_a_time: whether its models share one machine, so that each should be loaded once.
    """

    key: str
    start: int | None = None
    one_model_at_a_time: bool = False


@dataclass(frozen=True, slots=True)
class Route:
    """What a model's name and server say.

    Attributes:
        provider: who answers; None = none is known for the name.
        server: whose queue the requests stand in.
        price_source: ``free`` for what runs on one's own machine, ``table`` where the vendor itself serves the model,
            so that its list price holds, ``unknown`` elsewhere. A price of the user's goes before all three.
    """

    provider: Provider | None
    server: Server
    price_source: PriceSource


@lru_cache(maxsize=4096)
def resolve(name: str, api_base: str | None = None) -> Route:
    """The route of a model.

    Args:
        name: without parameters.
        api_base: the server that was named for it. A bare ``name:tag`` there is Ollama's, unless the address has a
            path, as in ``/v1``: then it is an OpenAI-compatible server.
    """
    provider, vendor = _provider(name, api_base)
    return Route(provider, _server(provider, vendor, api_base), _price_source(provider, api_base))


def is_provider(name: str) -> bool:
    from promptpex.llm.providers.prices import known_providers

    return name in OWN_PREFIXES or name in known_providers()


def server_of(request: Request) -> Server:
    """The server that a request goes to, under whichever of its names the model is asked for."""
    return resolve(request.model, request.api_base).server


def origin(url: str) -> str:
    """Scheme, host and port of a URL: what a key is bound to. The port is always written out."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    host = parts.hostname or ""
    host_shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host_shown}:{parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)}"


def is_ollama_cloud(url: str) -> bool:
    parts = urlsplit(url)
    host = parts.hostname or ""
    ours = host == "ollama.com" or host.endswith(".ollama.com")
    return ours and parts.scheme == "https" and (parts.port or 443) == 443


def _provider(name: str, api_base: str | None) -> tuple[Provider | None, str]:
    """Who answers, and whose service it is."""
    from promptpex.llm.providers.prices import known_models, vendor_of

    prefix, slash, _ = name.partition("/")
    if slash and prefix in OWN_PREFIXES:
        return OWN_PREFIXES[prefix], prefix
    if slash and is_provider(prefix):
        return "litellm", vendor_of(prefix)
    if api_base:
        at_ollama = _tagged(name) and not urlsplit(api_base).path.strip("/")
        return ("ollama" if at_ollama else "openai-compatible"), prefix
    entry = known_models().get(name)
    if _OPENAI_NAMES.match(name) or (entry is not None and entry.provider == "openai"):
        return "openai-compatible", "openai"
    if entry is not None:
        return "litellm", vendor_of(entry.provider or prefix)
    return ("ollama", "ollama") if _tagged(name) else (None, prefix)


def _tagged(name: str) -> bool:
    """``llama3.2:1b`` or ``someone/model:tag``, but not a path or a fine-tuned model."""
    head, colon, tag = name.rpartition(":")
    return bool(colon and head and tag) and "/" not in tag and not name.startswith("ft:")


def _server(provider: Provider | None, vendor: str, api_base: str | None) -> Server:
    """Models that run in this process begin with one request in flight, an Ollama with two. They, and servers on this
    machine, serve one model at a time."""
    if provider == "embedded":
        return Server("embedded", start=1, one_model_at_a_time=True)
    if provider == "ollama":
        return Server(f"ollama {api_base or ''}".strip(), start=2, one_model_at_a_time=True)
    if provider == "openai-compatible" and api_base and origin(api_base) != origin(OPENAI):
        return Server(api_base, one_model_at_a_time=_on_this_machine(api_base))
    return Server("openai" if provider == "openai-compatible" else vendor)


def _price_source(provider: Provider | None, api_base: str | None) -> PriceSource:
    if provider == "ollama":
        return "unknown" if api_base and is_ollama_cloud(api_base) else "free"
    if provider in ("embedded", "replay", "fake"):
        return "free"
    if provider == "openai-compatible":
        return "table" if api_base is None or origin(api_base) == origin(OPENAI) else "unknown"
    return "table" if provider == "litellm" else "unknown"


def _on_this_machine(url: str) -> bool:
    host = urlsplit(url if "//" in url else f"//{url}").hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")
