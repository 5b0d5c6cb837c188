"""Templates in values, rendered by nunjucks as promptfoo does, in V8's process.

Values of variables are data: they are put in once and never rendered themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from promptpex.assertions.javascript import js_values, v8
from promptpex.assertions.model import Unscorable
from promptpex.assertions.worker_process import StrikeCounter
from promptpex.codecs.text.inputs_as_text import has_template
from promptpex.codecs.text.wording import quoted_json
from promptpex.core.translation import stored

EXPECTED = "expected"
"""The variable of the expected output: without one, a check that names it is unscored."""
_PLAIN_NAME = re.compile(r"\{\{ *([A-Za-z_][A-Za-z0-9_]*) *\}\}")
_INNER_NAME = re.compile(r"\{\{\s*(\w+)\s*\}\}", re.ASCII)
_PASSES = 5
"""How often variables inside variables are filled in: promptfoo's number."""
MAX_FILLED = 10_000_000
"""Characters that variables inside the texts of variables may make together."""
_RESERVED = frozenset(("true", "false", "none", "null", "not", "and", "or", "in", "is", "if", "else", "self"))


def prepared(variables: Mapping[str, object]) -> dict[str, object]:
    """The variables as promptfoo hands them to templates.

    One trailing line feed of each text is cut; ``{{ name }}`` inside a text is replaced by that variable's value,
    in up to five passes; an unknown name stays as it stands, and so does what would make more than ``MAX_FILLED``
    characters in all. Nothing is done inside lists and objects.
    """
    ready = {name: _cut(value) for name, value in variables.items()}
    nested = {name: value for name, value in ready.items() if isinstance(value, str) and "{{" in value}
    if nested:
        fill = _Filling(ready)
        for name, value in nested.items():
            ready[name] = fill(value)
    return ready


def _cut(value: object) -> object:
    return value[:-1] if isinstance(value, str) and value.endswith("\n") else value


class _Filling:
    """Puts variables into the texts of others, up to a number of characters in all."""

    def __init__(self, variables: Mapping[str, object]) -> None:
        self._variables = variables
        self._room = MAX_FILLED

    def __call__(self, value: str) -> str:
        for _ in range(_PASSES):
            filled = _INNER_NAME.sub(self._inner, value)
            if filled == value or self._room <= 0:
                return filled
            value = filled
        return value

    def _inner(self, match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in self._variables or self._room <= 0:
            return match.group(0)
        try:
            text = js_values.text(self._variables[name])
        except RecursionError:  # it nests too deep to be written
            return match.group(0)
        self._room -= len(text) + 1
        return text if self._room >= 0 else match.group(0)


def render(source: str, variables: Mapping[str, object]) -> str:
    """``source`` with the variables put in. Undefined names are empty, but for ``expected``.

    Raises:
        Unscorable: code ``bad-template``: unclosed or unknown syntax, an unknown filter, a call of nothing;
            ``no-expected``: the expected output is named, and there is none.
    """
    if not has_template(source):
        return source
    if EXPECTED in source and EXPECTED not in variables and EXPECTED in names_in(source):
        raise Unscorable("no-expected", stored("there is no expected output to compare with"))
    if "{%" not in source and "{#" not in source:
        quick = _quick(source, variables)
        if quick is not None:
            return quick
    used = {name: variables[name] for name in names_in(source) if name in variables}
    return str(_answered("render", source, used))


def _quick(source: str, variables: Mapping[str, object]) -> str | None:
    """Plain names put in without a template engine; None where there is more to it."""
    parts = _PLAIN_NAME.split(source)
    texts, names = parts[0::2], parts[1::2]
    if any("{{" in part for part in texts) or any(name not in variables or name in _RESERVED for name in names):
        return None
    written = list(texts)
    for index, name in enumerate(names):
        written[index] += output(variables[name])
    return "".join(written)


@lru_cache(maxsize=4096)
def names_in(source: str) -> frozenset[str]:
    """The names of variables in a template that it does not set itself.

    Raises:
        Unscorable: code ``bad-template``.
    """
    return frozenset(map(str, _answered("names", source, {})))


def output(value: object) -> str:
    """What ``{{ value }}`` writes: nothing for null and undefined, else the JavaScript text."""
    return "" if value is None or value is js_values.MISSING else js_values.text(value)


def check_syntax(source: str) -> None:
    if has_template(source) and not _only_names(source):
        _checked(source)


@lru_cache(maxsize=4096)
def _checked(source: str) -> None:
    _answered("check", source, {})


def _only_names(source: str) -> bool:
    """Whether plain names are all the syntax there is, so that nothing can be wrong with it."""
    return not has_template(_PLAIN_NAME.sub(_without_reserved, source))


def _without_reserved(match: re.Match[str]) -> str:
    return match.group() if match.group(1) in _RESERVED else ""


def _answered(do: str, source: str, variables: Mapping[str, object]) -> Any:
    """What nunjucks makes of a template."""
    if _STRIKES.struck_out(source):
        raise _bad(source, stored("it was not tried; it went over its limits too often before"))
    try:
        answer = v8.template(do, source, variables)
    except (RecursionError, ValueError, TypeError) as error:
        raise _bad(source, str(error)) from error
    _STRIKES.record(source, overran=answer["kind"] in ("timeout", "memory"))
    if answer["kind"] == "made":
        return answer["value"]
    if answer["kind"] == "bad":
        raise _bad(source, _PLACE.sub("", answer["message"]))
    raise _bad(source, stored("it takes too long") if answer["kind"] == "timeout" else stored("it grows too large"))


_STRIKES = StrikeCounter()
_PLACE = re.compile(r"^\(unknown path\)\s*|(?<=\s)Error: ")
"""What nunjucks says before its sentence."""


def _bad(source: str, detail: str) -> Unscorable:
    line = " ".join(detail.split())
    return Unscorable(
        "bad-template",
        stored("the template {quoted} cannot be rendered: {reason}", quoted=quoted_json(source), reason=line[:200]),
    )
