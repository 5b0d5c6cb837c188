"""Chats as other tools write them, and the one reader of logs of production: a format says where its rows have what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.core.records import Message
from promptpex.core.records.prompt import Role
from promptpex.core.translation import stored
from promptpex.interchange.format import Imported
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.exchanges import Exchange, RecordedAnswer, amount, count
from promptpex.interchange.reading.foreign_files import At, json_of_cell, named
from promptpex.interchange.reading.inferred_project import assembled

ROLES: Mapping[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "human": "user", "assistant": "assistant",
    "ai": "assistant", "model": "assistant",
}  # fmt: skip
_TEXTS = frozenset(("text", "input_text", "output_text", "refusal"))
_TURN = frozenset(("content", "parts", "tool_calls", "function_call"))
"""Keys that a mapping with a role has where it is a turn."""
_UNSEEN = frozenset(("thinking", "reasoning", "redacted_thinking"))
"""Parts that a model writes for itself: an output is what it says."""


class Unfit(Exception):
    """Something of a foreign file that cannot come over, with the reason."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def messages_of(value: object) -> tuple[Message, ...]:
    """The turns of a chat: a list of roles and contents, or one text, which is the user's.

    Raises:
        Unfit: it is not a chat, has no turn, or contains more than text.
    """
    if isinstance(value, str):
        value = [{"role": "user", "content": value}]
    if not isinstance(value, list):
        raise Unfit(stored("a chat must be a list of turns or text, not {kind}", kind=named(value)))
    messages = tuple(message for turn in value if (message := _message(turn)).content.strip())
    if not messages:
        raise Unfit(stored("the chat has no text"))
    return messages


def is_chat(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(turn, dict) and "role" in turn for turn in value)


def _message(turn: object) -> Message:
    if not isinstance(turn, dict):
        raise Unfit(stored("a turn must be a mapping with a role and a content, not {kind}", kind=named(turn)))
    role = turn.get("role")
    ours = ROLES.get(role.lower()) if isinstance(role, str) else None
    if ours is None:
        raise Unfit(stored("the role of a turn must be system, user or assistant, not {role}", role=_short(role)))
    if turn.get("tool_calls") or turn.get("function_call"):
        raise Unfit(stored("the model calls tools, which promptpex does not support"))
    return Message(role=ours, content=text_of(turn.get("parts") if "content" not in turn else turn["content"]))


def text_of(content: object) -> str:
    """The text of a content: a text, nothing, or a list of parts that are texts.

    Raises:
        Unfit: it holds something else.
    """
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        raise Unfit(stored("content must be text or a list of parts, not {kind}", kind=named(content)))
    return "\n".join(_texts(content))


def _texts(parts: Sequence[object]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
            continue
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(part, dict) and (kind is None or _is_one_of(kind, _TEXTS)):
            text = next((part[key] for key in ("text", "content", "refusal") if isinstance(part.get(key), str)), None)
            if text is not None:
                yield text
                continue
        if not _is_one_of(kind, _UNSEEN):
            raise Unfit(stored("it has parts that are not text: {kind}", kind=_short(kind)))


def _is_one_of(kind: object, kinds: frozenset[str]) -> bool:
    return isinstance(kind, str) and kind in kinds


def answer_of(value: object) -> str:
    """What a model said: a text, a turn, a list with one turn, or any other JSON as its text.

    Raises:
        Unfit: it called tools, or said something that is not text.
    """
    if isinstance(value, list) and len(value) == 1 and is_chat(value):
        value = value[0]
    if isinstance(value, dict) and "role" in value and _TURN & value.keys():
        if value.get("tool_calls") or value.get("function_call"):
            raise Unfit(stored("the model calls tools, which promptpex does not support"))
        return text_of(value.get("parts") if "content" not in value else value["content"])
    return value_text(value)


def _short(value: object) -> str:
    return repr(value[:40]) if isinstance(value, str) else named(value)


Row = Mapping[str, object]
Paths = tuple[str, ...]
_NOTHING: tuple[object, ...] = (None, "", [], {})


@dataclass(frozen=True, slots=True)
class Where:
    """Where the rows of a format have what: keys, with dots those of mappings inside, of which the first that holds
    something counts. ``*`` at the end of a number of tokens means the sum of all keys that begin so.

    Attributes:
        messages: the chat, one text, or inputs by name. system: instructions beside it.
        output: an answer, a turn, a list of choices, or a list of turns that are choices.
        not_kept: how keys begin that are named as left out.
        packed: whether a text may be JSON that was packed into one.
    """

    messages: Paths
    output: Paths
    system: Paths = ()
    error: Paths = ("error",)
    name: Paths = ("id",)
    model: Paths = ("model",)
    finish_reason: Paths = ("finish_reason",)
    tokens_in: Paths = ()
    tokens_out: Paths = ()
    cost: Paths = ()
    latency_ms: Paths = ("latency_ms",)
    not_kept: Paths = ()
    packed: bool = True


def read_chats(
    path: Path, rows: Iterable[tuple[Row, At]], where: Where, log: Log, plain: Callable[[Row], Row] = dict
) -> Imported:
    """The requests of these rows as a prompt, cases and outputs; what cannot come over is noted.

    Args:
        plain: a row with what it has only in forms of its own under the keys of ``where``; ``Unfit`` where it is not a
            request.
    """
    exchanges = []
    for row, at in rows:
        try:
            exchanges.append(exchange_of(plain(row), at, where))
        except Unfit as failure:
            log.left_out(at.name, failure.why, at.path, at.line)
            continue
        for key, value in row.items():
            if where.not_kept and key.startswith(where.not_kept) and _read(value) not in _NOTHING:
                log.left_out(key, stored("promptpex has no equivalent"), at.path, None)
    return assembled(exchanges, path, log)


def exchange_of(row: Row, at: At, where: Where) -> Exchange:
    """The request of a row with what came back.

    Raises:
        Unfit: it does not say what was sent, or holds more than text.
    """
    sent = value_at(row, where.messages, packed=where.packed)
    if isinstance(sent, dict) and is_chat(sent.get("messages")):
        sent = sent["messages"]
    if sent is None:
        raise Unfit(stored("it does not contain what was sent"))
    name = _text(value_at(row, where.name))
    answers = tuple(_answers(row, where))
    if isinstance(sent, dict) and "role" not in sent:
        return Exchange(at, inputs=sent, answers=answers, name=name)
    before = text_of(value_at(row, where.system, packed=where.packed))
    system = (Message(role="system", content=before),) if before.strip() else ()
    chat = [sent] if isinstance(sent, dict) else value_text(sent) if isinstance(sent, bool | int | float) else sent
    return Exchange(at, (*system, *messages_of(chat)), answers=answers, name=name)


def value_at(row: Row, paths: Sequence[str], *, packed: bool = True) -> object:
    """What stands at the first of these paths that holds something; of a text that is JSON, where it may be ``packed``,
    what that says."""
    values = (_read(_at(row, path)) if packed else _at(row, path) for path in paths)
    return next((value for value in values if value not in _NOTHING), None)


def _at(row: object, path: str) -> object:
    row = _read(row)
    if not isinstance(row, Mapping):
        return None
    if path in row:
        return row[path]
    parts = path.split(".")
    splits = ((".".join(parts[:at]), ".".join(parts[at:])) for at in range(len(parts) - 1, 0, -1))
    return next((_at(row[key], rest) for key, rest in splits if key in row), None)


def _read(value: object) -> object:
    return json_of_cell(value) if isinstance(value, str) else value


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _answers(row: Row, where: Where) -> Iterator[RecordedAnswer]:
    reasons = value_at(row, where.finish_reason)
    reason = _text(reasons[0] if isinstance(reasons, list) and reasons else reasons) or None
    about = RecordedAnswer(
        None,
        _text(value_at(row, where.model)),
        finish_reason=reason,
        tokens_in=_tokens(row, where.tokens_in),
        tokens_out=_tokens(row, where.tokens_out),
        cost_usd=amount(value_at(row, where.cost)),
        latency_ms=amount(value_at(row, where.latency_ms)),
    )
    output, error = next((_at(row, path) for path in where.output if _at(row, path) is not None), None), None
    if output is None or output == []:
        error = value_at(row, where.error)
    else:
        for text, ended in _choices(output, _read(output) if where.packed else output):
            yield replace(about, text=text, finish_reason=ended or reason)
    if error is not None:
        words = error.get("message") if isinstance(error, dict) else error
        yield replace(about, message=_text(words) or "unknown")


def _choices(kept: object, output: object) -> Iterator[tuple[str, str | None]]:
    """What a model answered, choice by choice, with why each ended; an answer in JSON is the text that was ``kept``."""
    items = output if isinstance(output, list) else []
    rows = [item for item in items if isinstance(item, dict)]
    if rows and any("message" in row for row in rows):
        for row in rows:
            yield _choice(row), _text(row.get("finish_reason")) or None
    elif rows and any("type" in row and ("content" in row or row["type"] == "reasoning") for row in rows):
        yield _of_responses(rows), None
    elif is_chat(output) and all(row.get("role") == "assistant" for row in rows):
        yield from ((answer_of(row), _text(row.get("finish_reason")) or None) for row in rows)
    else:
        text = answer_of(output)
        yield (kept if isinstance(kept, str) and text == value_text(output) else text), None


def _choice(row: Row) -> str:
    message = _read(row.get("message"))
    if not isinstance(message, dict):
        raise Unfit(stored("a choice has no message"))
    if message.get("content") is None and isinstance(message.get("refusal"), str):
        message = {**message, "content": message["refusal"]}
    return answer_of({"role": "assistant", "content": None, **message})


def _of_responses(items: Sequence[Row]) -> str:
    kinds = [item.get("type", "message") for item in items]
    if any(kind not in ("message", "reasoning") for kind in kinds):
        raise Unfit(stored("the model calls tools, which promptpex does not support"))
    return "\n".join(text_of(item.get("content")) for item, kind in zip(items, kinds, strict=True) if kind == "message")


def _tokens(row: Row, paths: Paths) -> int | None:
    for path in paths:
        before, _, start = path.rpartition(".")
        inner = _read(_at(row, before)) if path.endswith("*") else None
        kinds = inner if isinstance(inner, Mapping) else {start: _at(row, path)}
        counts = [number for key, value in kinds.items()
                  if str(key).startswith(start.removesuffix("*")) and (number := count(value)) is not None]  # fmt: skip
        if counts:
            return sum(counts)
    return None
