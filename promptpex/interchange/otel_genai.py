"""``otel-genai``: what OpenTelemetry recorded of requests to models, as a run to judge.

After the semantic conventions for generative AI and the JSON encoding of OTLP: spans with ``gen_ai.input.messages`` and
``gen_ai.output.messages``, or the older ``gen_ai.prompt.0.content``, as an exporter or a collector wrote them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from promptpex.core.translation import stored
from promptpex.interchange.format import Format, Imported
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.chats import Row, Unfit, Where, read_chats
from promptpex.interchange.reading.foreign_files import (
    JSON_ENDINGS,
    At,
    first_row,
    items,
    json_of_cell,
    json_rows,
    mapping,
)

_TOPS, _SCOPES = ("resourceSpans", "batches"), ("scopeSpans", "instrumentationLibrarySpans")
_OPERATIONS = (None, "chat", "text_completion", "generate_content")
_NUMBERED = ("gen_ai.prompt.", "gen_ai.completion.")
_MOST_TURNS = 1000
WHERE = Where(
    messages=("gen_ai.input.messages", "gen_ai.prompt", "langfuse.observation.input"),
    output=("gen_ai.output.messages", "gen_ai.completion", "langfuse.observation.output"),
    system=("gen_ai.system_instructions",),
    error=("status.message", "error.type"),
    name=("gen_ai.response.id",),
    model=("gen_ai.response.model", "gen_ai.request.model", "langfuse.observation.model.name"),
    finish_reason=("gen_ai.response.finish_reasons",),
    tokens_in=("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "langfuse.observation.usage_details.input"),
    tokens_out=("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens",
                "langfuse.observation.usage_details.output"),
    not_kept=("gen_ai.request.temperature", "gen_ai.request.top", "gen_ai.request.max", "gen_ai.tool.definitions"),
)  # fmt: skip


def recognise(path: Path) -> bool:
    return path.suffix.lower() in JSON_ENDINGS and any(key in first_row(path) for key in _TOPS)


def read(path: Path) -> Imported:
    return read_chats(path, _spans(path), WHERE, Log(), _plain)


def _spans(path: Path) -> Iterator[tuple[Row, At]]:
    """The attributes of each span by name, with its status and how long it took."""
    for value, at in json_rows(path, "file of spans"):
        row = mapping(value, at, "a row")
        for top in _TOPS:
            for resource, place in items(row.get(top), at[top], top):
                within = mapping(resource, place, "a resource")
                for scope in _SCOPES:
                    for each, inner in items(within.get(scope), place[scope], scope):
                        spans = mapping(each, inner, "a scope").get("spans")
                        for span, where in items(spans, inner["spans"], "spans"):
                            yield _attributes(mapping(span, where, "a span"), where), where


def _attributes(span: Row, at: At) -> Row:
    row: dict[str, object] = {}
    for each, place in items(span.get("attributes"), at["attributes"], "attributes"):
        pair = mapping(each, place, "an attribute")
        if isinstance(key := pair.get("key"), str):
            row[key] = _value(pair.get("value"))
    status = mapping(span.get("status"), at["status"], "a status")
    if status.get("code") in (2, "2", "STATUS_CODE_ERROR"):
        row["status.message"] = status.get("message") or "error"
    begun, ended = (_nanoseconds(span.get(f"{which}TimeUnixNano")) for which in ("start", "end"))
    if begun is not None and ended is not None and ended >= begun:
        row["latency_ms"] = (ended - begun) / 1_000_000
    return row


def _value(value: object) -> object:
    """A value of OTLP (``AnyValue``) as it is in JSON; nothing where it is none."""
    if not isinstance(value, dict):
        return None
    for key in ("stringValue", "boolValue", "intValue", "doubleValue"):
        if key in value:
            return value[key]
    inner = value.get("kvlistValue", value.get("arrayValue"))
    values = inner.get("values") if isinstance(inner, dict) else None
    parts = [part for part in values if isinstance(part, dict)] if isinstance(values, list) else []
    if "kvlistValue" in value:
        return {part["key"]: _value(part.get("value")) for part in parts if isinstance(part.get("key"), str)}
    return [_value(part) for part in parts]


def _nanoseconds(value: object) -> int | None:
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 25 else None


def _plain(row: Row) -> Row:
    """The attributes with turns in lists, which older spans number.

    Raises:
        Unfit: the span is not a request, or does not say what was sent.
    """
    if row.get("gen_ai.operation.name") not in _OPERATIONS:
        raise Unfit(stored("it is not a request to a model"))
    turns = {prefix.rstrip("."): _turns(row, prefix) for prefix in _NUMBERED}
    plain = {**row, **{key: listed for key, listed in turns.items() if listed}}
    if not any(plain.get(key) for key in WHERE.messages):
        is_asked = any(key.startswith("gen_ai.") for key in row)
        raise Unfit(stored("it does not contain what was sent; switch on the recording of messages")
                    if is_asked else stored("it is not a request to a model"))  # fmt: skip
    return plain


def _turns(row: Row, prefix: str) -> list[Row]:
    """The turns of ``gen_ai.prompt.0.role``, ``gen_ai.prompt.0.content`` and so on, in their order."""
    role = "user" if prefix == _NUMBERED[0] else "assistant"
    turns: dict[int, dict[str, object]] = {}
    for key, value in row.items():
        number, _, name = key.removeprefix(prefix).partition(".")
        if key.startswith(prefix) and number.isascii() and number.isdigit() and len(number) < 5 and name:
            if name.startswith(("tool_calls", "function_call")):
                raise Unfit(stored("the model calls tools, which promptpex does not support"))
            content = json_of_cell(value) if isinstance(value, str) and name == "content" else value
            turns.setdefault(int(number), {"role": role})[name] = content if isinstance(content, list) else value
    return [turns[number] for number in sorted(turns)[:_MOST_TURNS]]


FORMAT = Format(
    name="otel-genai",
    summary="spans of OpenTelemetry about requests to models (gen_ai.*), as a run to judge",
    extensions=JSON_ENDINGS,
    reads="run",
    read=read,
    recognise=recognise,
    lost="spans of tools, agents, embeddings and HTTP; images, tool calls, reasoning, parameters, cost",
)  # fmt: skip
