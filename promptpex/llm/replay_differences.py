"""What a request asks otherwise than the recorded one that is nearest to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from promptpex.codecs.text.wording import cut
from promptpex.core.translation import stored
from promptpex.llm.redaction import HIDDEN, names_key, scrub

SETTINGS = ("params", "reply_schema", "template", "repeat")
"""The parts of a request, next to its messages, by which a replay tells requests apart."""
LONGEST = 40
"""Characters of a setting's name, and of its value, that are shown."""


def differences(asked: Mapping[str, Any], recorded: Iterable[Mapping[str, Any]]) -> list[str]:
    """What differs from the recorded request with the same messages that differs least.

    Args:
        asked: the request, as a recording holds it.
        recorded: requests of the recording, in their order; of equally near ones the first counts. What has not the
            shape of a request is passed over.

    Returns:
        A phrase for each setting (``temperature is 0.7, recorded without it``); where no request has the same
        messages, one phrase for those that differ from the nearest of the same stage; nothing where none is near.
        No phrase holds a key.
    """
    requests = list(filter(_is_request, recorded))
    same = [request for request in requests if request["messages"] == asked["messages"]]
    if same:
        return min((_settings(asked, request) for request in same), key=len)
    near = [words for request in requests if (words := _messages(asked["messages"], request["messages"]))]
    return near[:1]


def _is_request(recorded: Mapping[str, Any]) -> bool:
    messages, params = recorded.get("messages"), recorded.get("params", {})
    has_messages = isinstance(messages, list) and all(isinstance(one, Mapping) for one in messages)
    has_params = isinstance(params, Mapping) and isinstance(params.get("extra", {}), Mapping)
    return has_messages and has_params and isinstance(recorded.get("repeat", 0), int)


def _settings(asked: Mapping[str, Any], recorded: Mapping[str, Any]) -> list[str]:
    asked_settings, recorded_settings = _flat(asked), _flat(recorded)
    names = sorted(asked_settings.keys() | recorded_settings.keys())
    return [
        _difference(name, asked_settings, recorded_settings)
        for name in names
        if asked_settings.get(name) != recorded_settings.get(name)
    ]


def _flat(request: Mapping[str, Any]) -> dict[str, Any]:
    """The settings by the names that users know; a reply schema and a template are told apart, not shown."""
    params = dict(request.get("params", {}))
    settings = {**params, **params.pop("extra", {})} | {name: request[name] for name in SETTINGS[1:] if name in request}
    settings.pop("extra", None)
    return {name: value for name, value in settings.items() if value is not None} | {
        "repeat": settings.get("repeat", 0)
    }


def _difference(name: str, here: Mapping[str, Any], there: Mapping[str, Any]) -> str:
    match name:
        case "template":
            return stored("the stage's template is another")
        case "reply_schema":
            return stored("the form of the reply that is asked for is another")
        case "repeat":
            return stored(
                "it is repeat {count}, recorded is repeat {number}", count=here[name] + 1, number=there[name] + 1
            )
    shown_name = cut(scrub(name), LONGEST)
    if name not in there:
        return stored("{name} is {setting}, recorded without it", name=shown_name, setting=_shown(name, here))
    if name not in here:
        return stored("{name} is not set, recorded with {setting}", name=shown_name, setting=_shown(name, there))
    return stored(
        "{name} is {setting}, recorded with {other}",
        name=shown_name,
        setting=_shown(name, here),
        other=_shown(name, there),
    )


def _shown(name: str, settings: Mapping[str, Any]) -> str:
    return HIDDEN if names_key(name) else cut(scrub(json.dumps(settings[name], ensure_ascii=False)), LONGEST)


def _messages(asked: Sequence[Mapping[str, Any]], recorded: Sequence[Mapping[str, Any]]) -> str | None:
    """Which messages differ where another one is the same, as when a prompt was edited and its cases were not."""
    if len(asked) != len(recorded):
        return None
    other = [
        message["role"]
        for message, recorded_message in zip(asked, recorded, strict=True)
        if message != recorded_message
    ]
    return stored("the {roles} message differs", roles=" and ".join(other)) if len(other) < len(asked) else None
