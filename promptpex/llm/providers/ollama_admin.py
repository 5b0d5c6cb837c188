"""What an Ollama server has: its models, their facts, and downloading one, through the ``ollama`` package.

These calls block; inside a running loop, call them on a thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from promptpex.core.errors import ModelError, Unavailable, UnknownModel
from promptpex.core.translation import stored
from promptpex.llm.error_mapping import from_exception, from_status
from promptpex.llm.providers.http import checked_base, proxy_for
from promptpex.llm.providers.openai_format import count_or_none
from promptpex.llm.resolve_model import is_ollama_cloud

if TYPE_CHECKING:
    import ollama

PORT = 11434
LONGEST_CONTEXT = 2**27
"""Tokens of context that no model was trained for yet; a server that says more is not believed."""
DEFAULT_HOST = f"http://127.0.0.1:{PORT}"
OnProgress = Callable[[str, int | None, int | None], None]
"""Hears of a download: what is being done, bytes done, bytes in all."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model that the server has.

    Attributes:
        name: with its tag.
        size_bytes: on disk; None if unsaid.
        parameters: such as ``1.2B``.
        quantization: such as ``Q8_0``.
    """

    name: str
    size_bytes: int | None = None
    parameters: str = ""
    quantization: str = ""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What the server says of one model.

    Attributes:
        context: tokens of context it was trained for; None if unsaid.
        capabilities: such as ``completion``, ``thinking``.
    """

    context: int | None = None
    capabilities: tuple[str, ...] = ()


def host_url(host: str | None = None) -> str:
    """The server's base URL: as given, else by ``OLLAMA_HOST``, else port 11434 of this machine.

    Ollama's own rules: a host without scheme has port 11434; ``0.0.0.0``, which a server may listen on, is asked at
    127.0.0.1.

    Raises:
        ConfigError: when it is not an address.
    """
    text = (host or os.environ.get("OLLAMA_HOST") or "").strip().rstrip("/")
    if not text:
        return DEFAULT_HOST
    bare = "://" not in text
    text = f"http://127.0.0.1{text}" if text.startswith(":") else text
    base = checked_base(text).removesuffix("/v1")
    parts = urlsplit(base)
    port = parts.port or (PORT if bare else {"http": 80, "https": 443}[parts.scheme])
    name = "127.0.0.1" if parts.hostname in ("0.0.0.0", "::") else parts.hostname or ""
    shown_host = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{shown_host}:{port}{parts.path}"


def list_models(host: str | None = None, *, timeout_s: float = 10.0) -> list[LocalModel]:
    """The models that the server has, by name.

    Raises:
        Unavailable: no server answers there.
    """
    with _client(host, "ollama", timeout_s) as client:
        models = client.list().models
    return sorted((_local(model) for model in models if model.model), key=lambda model: model.name)


def show(name: str, host: str | None = None, *, timeout_s: float = 30.0) -> ModelFacts:
    """What the server says of the model ``name``.

    Raises:
        UnknownModel: it does not have it.
        Unavailable: no server answers there.
    """
    with _client(host, name, timeout_s) as client:
        answer = client.show(name)
    facts = answer.modelinfo or {}
    lengths = [count_or_none(value) or 0 for key, value in facts.items() if key.endswith(".context_length")]
    believed = [length for length in lengths if 0 < length <= LONGEST_CONTEXT]
    return ModelFacts(context=max(believed, default=None), capabilities=tuple(answer.capabilities or ()))


def pull(name: str, on_progress: OnProgress | None = None, host: str | None = None) -> None:
    """Has the server download the model ``name``.


    Raises:
        UnknownModel: the registry does not know the name.
        ModelError: the download failed.
    """
    with _client(host, name, None) as client:
        for step in client.pull(name, stream=True):
            if on_progress is not None:
                on_progress(step.status or "", step.completed, step.total)


def missing(name: str, where: str) -> UnknownModel:
    """The error for a model that the server lacks."""
    return UnknownModel(
        stored(
            "{model}: the Ollama server at {where} does not have this model; run `ollama pull {name}`, or repeat the "
            "command with --pull.",
            model=name,
            where=where,
            name=name,
        ),
        model=name,
    )


def not_running(name: str, where: str) -> Unavailable:
    """The error for a server that is not there."""
    return Unavailable(
        stored(
            "{model}: no Ollama server answers at {where}; start it with `ollama serve`, or set OLLAMA_HOST or "
            "--api-base.",
            model=name,
            where=where,
        ),
        model=name,
    )


@contextmanager
def _client(host: str | None, name: str, timeout_s: float | None) -> Iterator[ollama.Client]:
    """A client whose failures are ours."""
    import ollama

    where = host_url(host)
    try:
        yield ollama.Client(
            host=where,
            timeout=timeout_s,
            follow_redirects=False,
            trust_env=False,
            proxy=proxy_for(where),
            headers=_headers(where),
        )
    except ollama.ResponseError as error:
        raise _response_error(error, name, where) from error
    except ConnectionError as error:
        raise not_running(name, where) from error
    except ModelError:
        raise
    except Exception as error:  # httpx's classes and pydantic's, which the package lets through
        raise from_exception(error, model=name, where=where) from error


def _headers(where: str) -> dict[str, str]:
    """The package sends ``OLLAMA_API_KEY`` wherever it goes; any header of ours keeps it from servers it is not for."""
    foreign = not is_ollama_cloud(where) and bool(os.environ.get("OLLAMA_API_KEY"))
    return {"Authorization": "None"} if foreign else {}


def _response_error(error: ollama.ResponseError, name: str, where: str) -> ModelError:
    """A pull reports its failures with the status -1, in words alone."""
    text = str(error.error)
    if error.status_code == 404:
        return missing(name, where)
    if error.status_code < 0 and ("file does not exist" in text or "not found" in text):
        message = stored("{model}: Ollama's registry does not know this model; check the name.", model=name)
        return UnknownModel(message, model=name)
    return from_status(error.status_code if error.status_code >= 400 else 500, model=name, where=where, detail=text)


def _local(model: ollama.ListResponse.Model) -> LocalModel:
    details = model.details
    return LocalModel(
        name=str(model.model),
        size_bytes=int(model.size) if model.size is not None else None,
        parameters=(details.parameter_size or "") if details else "",
        quantization=(details.quantization_level or "") if details else "",
    )
