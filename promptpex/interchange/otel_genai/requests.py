"""What spans say that models were asked and answered, in each of the forms that the conventions have had."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from promptpex.core.records import Message
from promptpex.core.translation import stored
from promptpex.interchange.notes import Log
from promptpex.interchange.otel_genai.telemetry import Span, SpanEvent
from promptpex.interchange.reading.chats import Unfit, answer_of, is_chat, messages_of, text_of
from promptpex.interchange.reading.exchanges import Exchange, RecordedAnswer, amount, count
from promptpex.interchange.reading.foreign_rows import json_of_cell

Row = Mapping[str, object]
_OPERATIONS = ("chat", "text_completion", "generate_content")
_NOT_ASKED = stored("it is not a request to a model")
_INPUT, _OUTPUT, _SYSTEM = "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions"
_PARAMETERS = ("gen_ai.request.", "gen_ai.tool.definitions")
_KNOWN = ("gen_ai.request.model", "gen_ai.request.choice.count")
_TURN = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
_CHOICE = "gen_ai.choice"
_MOST_TURNS = 1000
_PROMPTS, _COMPLETIONS = ("gen_ai.prompt.", "llm.prompts."), ("gen_ai.completion.", "llm.completions.")
"""How the names of numbered turns begin, in the order in which they are looked for."""


def requests_of(spans: Iterable[Span], log: Log) -> Iterator[Exchange]:
    """The requests of these spans; spans that are none, and what cannot come over, are noted."""
    for span in spans:
        try:
            yield _request(_with_listed_events(span))
        except Unfit as failure:
            log.left_out(span.at.name, failure.why, span.at.path, span.at.line)
            continue
        for key in span.attributes:
            if key.startswith(_PARAMETERS) and key not in _KNOWN:
                log.left_out(key, stored("a run keeps answers, not request details"), span.at.path, None)


def _with_listed_events(span: Span) -> Span:
    """The span with the events that some libraries put into one of its attributes, as JSON."""
    listed_events = _json(span.attributes.get("events"))
    rows = [row for row in listed_events if isinstance(row, dict)] if isinstance(listed_events, list) else []
    events = [SpanEvent(name, row) for row in rows if isinstance(name := row.get("event.name"), str)]
    return replace(span, events=[*span.events, *events]) if events else span


def _request(span: Span) -> Exchange:
    values = _values(span)
    operation = values.get("gen_ai.operation.name")
    if operation is not None and operation not in _OPERATIONS:
        raise Unfit(_NOT_ASKED)
    messages = _sent(values, span)
    if not messages:
        is_asked = any(key.startswith("gen_ai.") for key in values)
        raise Unfit(stored("it does not contain what was sent; switch on the recording of messages")
                    if is_asked else _NOT_ASKED)  # fmt: skip
    about = _about(values, span)
    answers = [replace(about, text=text, finish_reason=reason or about.finish_reason)
               for text, reason in _answered(values, span)]  # fmt: skip
    error = values.get("error.type") if span.error is None else span.error
    if not answers and error is not None:
        answers = [replace(about, message=str(error))]
    name = values.get("gen_ai.response.id")
    return Exchange(span.at, messages, answers=tuple(answers), name=name if isinstance(name, str) else "")


def _values(span: Span) -> Row:
    """The attributes of a span and of its events that hold the same."""
    values = dict(span.attributes)
    for event in span.events:
        if event.name not in _TURN and event.name != _CHOICE:
            values |= {key: value for key, value in event.body.items() if key.startswith(("gen_ai.", "error."))}
    return values


def _json(value: object) -> object:
    return json_of_cell(value) if isinstance(value, str) else value


def _sent(values: Row, span: Span) -> tuple[Message, ...]:
    """What was sent, in the first form that the span has."""
    instructions = text_of(_json(values.get(_SYSTEM))) if values.get(_SYSTEM) else ""
    before = (Message(role="system", content=instructions),) if instructions.strip() else ()
    if values.get(_INPUT):
        return (*before, *messages_of(_json(values[_INPUT])))
    numbered = next((turns for prefix in _PROMPTS if (turns := _numbered(values, prefix))), [])
    if numbered:
        return (*before, *messages_of(numbered))
    turns = [{**event.body, "role": event.body.get("role", _TURN[event.name]), "content": _content(event.body)}
             for event in span.events if event.name in _TURN]  # fmt: skip
    if turns:
        return (*before, *messages_of(turns))
    for key in ("gen_ai.prompt", "langfuse.observation.input"):
        value = _json(values.get(key))
        if value:
            inner = value.get("messages", value) if isinstance(value, dict) else value
            return (*before, *messages_of([inner] if isinstance(inner, dict) else inner))
    return ()


def _content(body: Row) -> object:
    """What the event of a turn holds; some exporters put all of it into one attribute, as JSON."""
    packed = _json(body.get("gen_ai.event.content"))
    if isinstance(packed, dict):
        return packed.get("content")
    content = body.get("content", packed)
    return _json(content) if isinstance(_json(content), list) else content


def _numbered(values: Row, prefix: str) -> list[Row]:
    """The turns of ``gen_ai.prompt.0.role``, ``gen_ai.prompt.0.content`` and so on, in their order."""
    turns: dict[int, dict[str, object]] = {}
    for key, value in values.items():
        number, _, name = key.removeprefix(prefix).partition(".")
        if key.startswith(prefix) and number.isascii() and number.isdigit() and len(number) < 5 and name:
            content = _json(value) if name == "content" else value
            turns.setdefault(int(number), {})[name] = content if isinstance(content, list) else value
    has_tools = any(name.startswith(("tool_calls", "function_call")) for turn in turns.values() for name in turn)
    if has_tools:
        raise Unfit(stored("the model calls tools, which promptpex does not support"))
    return [turns[number] for number in sorted(turns)[:_MOST_TURNS]]


def _answered(values: Row, span: Span) -> Iterator[tuple[str, str | None]]:
    """What the model answered, choice by choice, with why each ended."""
    if values.get(_OUTPUT):
        for choice in _choices(_json(values[_OUTPUT])):
            yield answer_of(choice), _reason(choice)
        return
    numbered = next((turns for prefix in _COMPLETIONS if (turns := _numbered(values, prefix))), [])
    if numbered:
        yield from ((answer_of({"role": "assistant", "content": None, **turn}), _reason(turn)) for turn in numbered)
        return
    choices = [event.body for event in span.events if event.name == _CHOICE]
    for body in choices:
        packed = _json(body.get("gen_ai.event.content"))
        choice = packed if isinstance(packed, dict) else body
        message = _json(choice.get("message"))
        turn = message if isinstance(message, dict) else {"content": choice.get("content", message)}
        yield answer_of({"role": "assistant", "content": None, **turn}), _reason(choice)
    for key in ("gen_ai.completion", "langfuse.observation.output"):
        if not choices and values.get(key) is not None:
            for choice in _choices(_json(values[key])):
                yield answer_of(choice), None
            return


def _choices(value: object) -> list[object]:
    return list(value) if is_chat(value) and isinstance(value, list) else [value]


def _reason(choice: object) -> str | None:
    reason = choice.get("finish_reason") if isinstance(choice, dict) else None
    return reason if isinstance(reason, str) else None


def _about(values: Row, span: Span) -> RecordedAnswer:
    """What is known of an answer besides its text."""
    names = ("gen_ai.response.model", "gen_ai.request.model", "langfuse.observation.model.name")
    model = next((value for name in names if isinstance(value := values.get(name), str) and value), "")
    reasons = _json(values.get("gen_ai.response.finish_reasons"))
    reason = reasons[0] if isinstance(reasons, list) and reasons else None
    used = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"), ("gen_ai.usage.output_tokens",
                                                                         "gen_ai.usage.completion_tokens")  # fmt: skip
    details = _json(values.get("langfuse.observation.usage_details"))
    of_langfuse: Row = details if isinstance(details, dict) else {}
    tokens_in, tokens_out = (
        next((values[name] for name in names if name in values), of_langfuse.get(key))
        for names, key in zip(used, ("input", "output"), strict=True)
    )
    return RecordedAnswer(
        None,
        model,
        finish_reason=reason if isinstance(reason, str) else None,
        tokens_in=count(tokens_in),
        tokens_out=count(tokens_out),
        latency_ms=amount(span.latency_ms),
    )
