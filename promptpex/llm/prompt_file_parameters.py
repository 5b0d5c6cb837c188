"""Parameters of models as the prompt files of other tools have them: Prompty's and GitHub's words, and ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptpex.core.records import Params

NAMES: Mapping[str, str] = {
    "temperature": "temperature",
    "max_tokens": "max_tokens", "maxTokens": "max_tokens", "maxOutputTokens": "max_tokens",
    "maxCompletionTokens": "max_tokens", "max_completion_tokens": "max_tokens",
    "top_p": "top_p", "topP": "top_p", "seed": "seed",
    "presence_penalty": "presence_penalty", "presencePenalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty", "frequencyPenalty": "frequency_penalty",
}  # fmt: skip
"""What the parameters are called there, and here."""

_STOPS = ("stop", "stopSequences")
_OWN = ("temperature", "max_tokens", "top_p", "seed")
"""Those that ``Params`` has a field for; the others are further ones."""
_WHOLE = ("max_tokens", "seed")
_LIMITS = {"temperature": (0, 100), "max_tokens": (1, 2**31), "top_p": (0, 1)}


def read_parameters(about: Mapping[Any, Any]) -> tuple[Params, tuple[str, ...]]:
    """What is said of a request, and the names of what no request takes here or whose value makes no sense."""
    values: dict[str, Any] = {}
    unused = []
    for name, value in about.items():
        if name in _STOPS and (stops := _texts(value)):
            values["stop"] = stops
        elif name in NAMES and _fits(NAMES[name], value):
            values[NAMES[name]] = value
        elif value is not None:
            unused.append(str(name)[:40])
    extra = {name: value for name, value in values.items() if name not in (*_OWN, "stop")}
    return Params(**{name: value for name, value in values.items() if name not in extra}, extra=extra), tuple(unused)


def settings_of(about: Mapping[Any, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The same as a table ``[models.NAME]`` of settings has it, where ``stop`` is one text."""
    params, unused = read_parameters(about)
    table = params.model_dump(exclude_defaults=True, exclude={"extra", "stop"}) | params.extra
    if params.stop is not None and len(params.stop) == 1:
        table["stop"] = params.stop[0]
    elif params.stop is not None:
        unused = (*unused, *(str(name) for name in about if name in _STOPS))
    return table, unused


def _texts(value: object) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(texts) if all(isinstance(text, str) and text for text in texts) else ()


def _fits(name: str, value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int if name in _WHOLE else int | float):
        return False
    low, high = _LIMITS.get(name, (-(2**31), 2**31))
    return low <= value <= high
