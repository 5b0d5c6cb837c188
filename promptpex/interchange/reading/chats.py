"""Turns of chats as other tools write them, as our messages; what is not text is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.core.records import Message
from promptpex.core.records.prompt import Role
from promptpex.core.translation import stored
from promptpex.interchange.reading.foreign_values import named

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
    """Whether it is a list of turns, each with a role."""
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
