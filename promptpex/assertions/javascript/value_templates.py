"""Templates in values, as promptfoo's nunjucks renders them: a sandboxed Jinja that counts and writes like JavaScript.

Values of variables are data: they are put in once and never rendered themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from promptpex.assertions.javascript import js_values
from promptpex.assertions.model import Unscorable
from promptpex.assertions.strikes import StrikeCounter
from promptpex.codecs.text.template_marks import has_template
from promptpex.codecs.text.wording import quoted_json
from promptpex.core.translation import stored

if TYPE_CHECKING:
    import jinja2

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


def render(source: str, variables: Mapping[str, object], *, work: int | None = None) -> str:
    """``source`` with the variables put in. Undefined names are empty, but for ``expected``.

    Args:
        work: characters that the rendering may work on in all; None = ``nunjucks.WORK``.

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
    return _rendered(source, variables, work)


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
    from jinja2 import meta

    from promptpex.assertions.javascript import nunjucks

    _compiled(source)
    try:
        environment = nunjucks.environment()
        return frozenset(meta.find_undeclared_variables(environment.parse(source))) - environment.globals.keys()
    except RecursionError as error:
        raise _bad(source, stored("it nests too deep")) from error


def output(value: object) -> str:
    """What ``{{ value }}`` writes: nothing for null and undefined, else the JavaScript text."""
    return "" if value is None or value is js_values.MISSING else js_values.text(value)


def check_syntax(source: str) -> None:
    """Raises ``Unscorable`` where the template cannot be compiled."""
    if has_template(source) and not _only_names(source):
        _compiled(source)


def _only_names(source: str) -> bool:
    """Whether plain names are all the syntax there is, so that nothing can be wrong with it."""
    return not has_template(_PLAIN_NAME.sub(_without_reserved, source))


def _without_reserved(match: re.Match[str]) -> str:
    return match.group() if match.group(1) in _RESERVED else ""


def _rendered(source: str, variables: Mapping[str, object], work: int | None) -> str:
    from promptpex.assertions.javascript import nunjucks
    from promptpex.core.jinja_limits import TooMuchWork, share

    if _STRIKES.struck_out(source):
        raise _bad(source, stored("it was not tried; it went over its limits too often before"))
    template = _compiled(source)
    overran = False
    try:
        with share(nunjucks.WORK if work is None else work):
            return template.render({name: nunjucks.wrapped(value) for name, value in variables.items()})
    except (TooMuchWork, MemoryError) as error:
        overran = True
        raise _bad(source, str(error) or stored("it grows too large")) from error
    except RecursionError as error:
        raise _bad(source, stored("it nests too deep")) from error
    except Exception as error:  # a template can raise whatever Python can
        raise _bad(source, str(error)) from error
    finally:
        _STRIKES.record(source, overran)


_STRIKES = StrikeCounter()


@lru_cache(maxsize=4096)
def _compiled(source: str) -> jinja2.Template:
    from promptpex.assertions.javascript import nunjucks

    try:
        return nunjucks.environment().compiled(source)
    except (RecursionError, MemoryError) as error:
        raise _bad(source, stored("it nests too deep")) from error
    except Exception as error:  # Jinja's own errors, and those of its compiler on odd input
        raise _bad(source, str(error)) from error


def _bad(source: str, detail: str) -> Unscorable:
    line = " ".join(detail.split())
    return Unscorable(
        "bad-template",
        stored("the template {quoted} cannot be rendered: {reason}", quoted=quoted_json(source), reason=line[:200]),
    )
