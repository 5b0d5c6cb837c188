"""Models by promptfoo's ids and by ours, both ways, with their parameters and servers. Keys are never copied."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from promptpex.core.errors import ConfigError
from promptpex.core.translation import stored
from promptpex.interchange.promptfoo.files import FILE, ConfigFiles
from promptpex.interchange.reading.foreign_files import At, items, named
from promptpex.llm.named_models import free_name
from promptpex.llm.names import parse_model
from promptpex.llm.redaction import holds_key, names_key
from promptpex.llm.resolve_model import resolve

_OURS = {
    "openai:chat": "openai", "openai:responses": "openai", "openai:completion": "openai", "openai": "openai",
    "anthropic:messages": "anthropic", "anthropic:completion": "anthropic", "anthropic": "anthropic",
    "ollama:chat": "ollama", "ollama:completion": "ollama", "ollama": "ollama",
    "azure:chat": "azure", "azureopenai:chat": "azure", "azure": "azure", "azureopenai": "azure",
    "google": "gemini", "palm": "gemini", "vertex": "vertex_ai",
    "bedrock:converse": "bedrock/converse", "bedrock": "bedrock",
    "mistral": "mistral", "groq": "groq", "deepseek": "deepseek", "openrouter": "openrouter", "xai": "xai",
    "togetherai:chat": "together_ai", "togetherai": "together_ai", "fireworks": "fireworks_ai",
    "cohere": "cohere", "perplexity": "perplexity", "cerebras": "cerebras", "github": "github",
    "databricks": "databricks", "replicate": "replicate", "huggingface:chat": "huggingface", "litellm": "",
    "azure:responses": "azure", "azure:completion": "azure", "azureopenai:responses": "azure",
    "azureopenai:completion": "azure", "xai:responses": "xai", "groq:responses": "groq",
    "togetherai:completion": "together_ai", "litellm:chat": "", "litellm:completion": "", "vertex:chat": "vertex_ai",
}  # fmt: skip
"""What promptfoo's ids begin with, and what our names do; the longest beginning counts."""
_THEIRS = {
    "openai": "openai:chat", "anthropic": "anthropic:messages", "ollama": "ollama:chat", "ollama_chat": "ollama:chat",
    "azure": "azure:chat", "gemini": "google", "vertex_ai": "vertex", "bedrock": "bedrock", "mistral": "mistral",
    "groq": "groq", "deepseek": "deepseek", "openrouter": "openrouter", "xai": "xai", "together_ai": "togetherai:chat",
    "fireworks_ai": "fireworks", "cohere": "cohere", "perplexity": "perplexity", "cerebras": "cerebras",
    "github": "github", "databricks": "databricks", "replicate": "replicate", "huggingface": "huggingface:chat",
}  # fmt: skip
_AS_CHAT = stored("it is called through the chat interface")
_OTHERWISE = {
    **dict.fromkeys(
        (
            f"{vendor}:{way}"
            for vendor in ("openai", "azure", "azureopenai", "xai", "groq", "togetherai", "litellm")
            for way in ("responses", "completion")
        ),
        _AS_CHAT,
    ),
    "ollama:completion": stored("it is called with the model's chat template"),
    "ollama": stored("it is called with the model's chat template"),
}
_PARAMETERS = {
    "temperature": "temperature", "max_tokens": "max_tokens", "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens", "maxOutputTokens": "max_tokens", "maxTokens": "max_tokens",
    "num_predict": "max_tokens", "top_p": "top_p", "topP": "top_p", "seed": "seed", "top_k": "top_k", "topK": "top_k",
    "min_p": "min_p", "presence_penalty": "presence_penalty", "frequency_penalty": "frequency_penalty",
    "repeat_penalty": "repeat_penalty", "reasoning_effort": "reasoning_effort", "verbosity": "verbosity",
    "num_ctx": "num_ctx", "think": "think",
}  # fmt: skip
"""Keys of a provider's ``config``, and our names for them."""
_BASES = ("apiBaseUrl", "apiHost")
_SERVERS = ("openai", "ollama")
"""Of whom the server may be named."""
_ID = re.compile(r"[^\s?#%\\,]+\Z")
_ALIAS = re.compile(r"[^\W_][\w.-]{0,39}\Z")
_NO_CHAT = frozenset(
    ("agents", "assistant", "chatkit", "claude-agent-sdk", "claude-code", "codex", "codex-app-server", "codex-sdk",
     "embedding", "embeddings", "foundry-agent", "image", "kb", "live", "moderation", "realtime", "speech",
     "transcription", "video", "voice")
)  # fmt: skip
"""What follows a vendor's name where no model is asked by chat: agents, embeddings, pictures, sounds."""
_PROGRAM = ("exec:", "python:", "file://", "package:", "golang:", "ruby:")
_ADDRESSES = ("http:", "https:", "ws:", "wss:", "webhook", "mcp:", "browser:")
_FOREIGN_ID = re.compile(
    r"(?:openai|anthropic|ollama|azure|azureopenai|google|vertex|bedrock|huggingface|openrouter|exec|file|python|"
    r"https?):"
)
"""How promptfoo's own ids begin, as far as no model of an Ollama is called so."""


def read_providers(files: ConfigFiles, value: object, at: At) -> dict[str, object]:
    """The settings that name the models under ``providers``: nothing where there is none that we can ask."""
    under_test: list[str] = []
    tables: dict[str, object] = {}
    for entry, place in _entries(files, value, at):
        read = _provider(files, entry, place)
        if read is None:
            continue
        name, label, config = read
        table, place_config = _table(files, config, place["config"], name), place["config"]
        if not _can_be_asked(name, table):
            files.left_out(place, stored("promptpex knows no provider for {name}", name=name))
            continue
        files.log.came("providers")
        if table or (label and _ALIAS.match(label)):
            alias = free_name(label or name.rpartition("/")[2], tables)
            tables[alias] = {"model": name, **table}
            under_test.append(alias)
        else:
            under_test.append(name)
        _name_odd_label(files, label, place_config)
    return {"models": {"under_test": list(dict.fromkeys(under_test)), **tables}} if under_test else {}


def _entries(files: ConfigFiles, value: object, at: At) -> Iterator[tuple[object, At]]:
    """The providers of a list; in the place of a file of them those that it holds."""
    for entry, place in items(value, at, "providers"):
        if isinstance(entry, str) and entry.startswith(FILE) and entry.lower().endswith((".yaml", ".yml", ".json")):
            data, inner = files.data(files.path_of(entry, place))
            yield from items(data, inner, "providers")
        else:
            yield entry, place


def _name_odd_label(files: ConfigFiles, label: str, at: At) -> None:
    if label and not _ALIAS.match(label):
        files.changed(
            At(at.path, (*at.keys[:-1], "label"), at.doc, at.row), stored("the name of a model must be a single word")
        )


def _provider(files: ConfigFiles, entry: object, at: At) -> tuple[str, str, Mapping[str, object]] | None:
    """Our name of a provider, its label and its configuration; None where there is none, which is noted."""
    label = ""
    config: Mapping[str, object] = {}
    if isinstance(entry, dict) and "id" not in entry and len(entry) == 1:
        ((their_name, inner),) = entry.items()
        entry = {**(inner if isinstance(inner, dict) else {}), "id": their_name}
    if isinstance(entry, dict):
        their_name, label = entry.get("id"), str(entry.get("label") or "")
        label = "" if holds_key(label) else label
        own_config = entry.get("config")
        config = own_config if isinstance(own_config, dict) else {}
        for key in sorted(entry.keys() - {"id", "label", "config"}):
            files.left_out(
                at[key], stored("all models of a run get the same prompt, and their outputs are not transformed")
            )
    else:
        their_name = entry
    if not isinstance(their_name, str) or not their_name:
        raise at.fail(f"a provider must be an id such as openai:gpt-4o, not {named(their_name)}")
    name = our_name(their_name)
    if name is None:
        files.left_out(at, _why_not(their_name))
        return None
    prefix = _prefix(their_name)
    if prefix in _OTHERWISE and (prefix != "ollama" or their_name.startswith("ollama:")):
        files.changed(at, _OTHERWISE[prefix])
    return name, label, config


def our_name(theirs: str) -> str | None:
    """Our name of the model that promptfoo calls so; None where we cannot ask it."""
    prefix = _prefix(theirs)
    rest = theirs[len(prefix) + 1 :] if prefix else ""
    if not rest or not _ID.match(rest) or holds_key(rest) or rest.partition(":")[0] in _NO_CHAT:
        return None
    ours = _OURS[prefix]
    return f"{ours}/{rest}" if ours else rest


def _prefix(theirs: str) -> str:
    parts = theirs.split(":")
    return next((start for count in (2, 1) if (start := ":".join(parts[:count])) in _OURS and len(parts) > count), "")


def _why_not(theirs: str) -> str:
    if theirs == "echo":
        return stored("it calls no model; name some with --models")
    if theirs.startswith(_PROGRAM):
        return stored("a program answers; put it behind a server that speaks OpenAI's interface")
    if theirs.startswith(("http:", "https:", "ws:", "wss:", "webhook:")):
        return stored("it answers from a custom server; put it behind OpenAI's interface")
    return stored("promptpex does not call models of this kind")


def _table(files: ConfigFiles, config: Mapping[str, object], at: At, name: str) -> dict[str, object]:
    """The parameters and the server of a model, as a settings file has them."""
    table: dict[str, object] = {}
    for key, value in config.items():
        if key in _PARAMETERS and isinstance(value, int | float | str) and not _is_template(value):
            table[_PARAMETERS[key]] = value
        elif key in _BASES and isinstance(value, str) and name.split("/")[0] in _SERVERS and not _is_template(value):
            table["api_base"] = value if "://" in value else f"https://{value}/v1"
            files.changed(at[key], stored("prompts go to this server, which the file names: {address}",
                                          address=table["api_base"]))  # fmt: skip
        elif key == "stop" and (stop := _stop(value)):
            table["stop"] = stop
        elif key == "apiKeyEnvar" and isinstance(value, str) and name.startswith("openai/"):
            table["key_env"] = value
        elif key in _BASES:
            files.left_out(at[key], stored("name the server with --api-base, or in the settings"))
        elif key == "apiKey" or names_key(key):
            files.left_out(at[key], stored("keys are not copied; set the environment variable of its provider"))
        else:
            files.left_out(at[key], stored("promptpex has no such model parameter"))
    return table


def _stop(value: object) -> str:
    """The one text that ends an answer; empty where there is none."""
    one = value[0] if isinstance(value, list) and len(value) == 1 else value
    return one if isinstance(one, str) and not holds_key(one) else ""


def _is_template(value: object) -> bool:
    return isinstance(value, str) and ("{{" in value or holds_key(value))


def _can_be_asked(name: str, table: dict[str, object]) -> bool:
    """Whether a provider is known for the model; what its table holds and cannot be used is taken out."""
    base = table.get("api_base")
    try:
        parse_model(name, api_base=base if isinstance(base, str) else None)
    except ConfigError:
        return False
    return resolve(name, base if isinstance(base, str) else None).provider is not None


def is_program(label: str) -> bool:
    """Whether promptfoo would run a program, or call an address, for a model of this name."""
    return label.lower().startswith((*_PROGRAM, *_ADDRESSES, "/", "."))


def their_provider(label: str, left_out: list[str]) -> Any:
    """A model by promptfoo's id, with its server and parameters where its name has some, and the user's own name for
    it as its label; a name that is none of ours stays as it is."""
    if _FOREIGN_ID.match(label):
        return label
    try:
        model = parse_model(label)
    except ConfigError:
        return label
    route = resolve(model.name, model.api_base)
    name = _their_name(model.name, route.provider)
    if name is None:
        if route.provider is not None:
            left_out.append(
                stored("the model {label} keeps promptpex's name; write promptfoo's provider id instead", label=label)
            )
        return label
    params = model.params
    config: dict[str, object] = params.model_dump(
        include={"temperature", "max_tokens", "top_p", "seed", "stop"}, exclude_none=True
    )
    config |= _extra(params.extra, label, left_out)
    if params.logprobs and route.provider == "openai-compatible":
        config["passthrough"] = {"logprobs": True}
    if model.api_base and route.provider in ("openai-compatible", "ollama"):
        config["apiBaseUrl"] = model.api_base
    if model.key_env:
        config["apiKeyEnvar"] = model.key_env
    called = {"label": model.label} if model.spelled else {}
    return {"id": name, **called, **({"config": config} if config else {})} if config or called else name


def _their_name(name: str, provider: str | None) -> str | None:
    """promptfoo's id of a model; None where its provider has none there."""
    prefix, slash, rest = name.partition("/")
    if provider == "ollama":
        return f"ollama:chat:{rest if slash and prefix in ('ollama', 'ollama_chat') else name}"
    if provider == "openai-compatible":
        return f"openai:chat:{rest if prefix == 'openai' else name}"
    if provider == "litellm" and prefix in _THEIRS and rest:
        return f"{_THEIRS[prefix]}:{rest}"
    return None


def _extra(extra: Mapping[str, object], label: str, left_out: list[str]) -> dict[str, object]:
    known_parameters = {key: value for key, value in extra.items() if key in _PARAMETERS}
    left_out += [
        stored("{key} of the model {label} is left out", key=key, label=label)
        for key in extra
        if key not in known_parameters
    ]
    return json.loads(json.dumps(known_parameters))  # type: ignore[no-any-return]
