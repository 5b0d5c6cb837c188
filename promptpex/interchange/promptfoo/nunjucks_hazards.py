"""What promptfoo's template engine (Nunjucks) would do with a text that ours does not do.

promptfoo fills ``{{ env.NAME }}`` into every text of a configuration when it is loaded, and its templates are in no
sandbox: ``"".constructor.constructor("...")()`` is any JavaScript. So a text of a stranger must not get there as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_ENVIRONMENT = re.compile(r"env\s*[.\[]|\benv\b")
_BEGIN = re.compile(r"\{[{%]")
_PART = re.compile(r"""\{[{%]((?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|(?![}%]\})[^"'])*)[}%]\}""", re.DOTALL)
_STRING = re.compile(r""""((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'""", re.DOTALL)
_PLAIN = re.compile(r"[\w -]*", re.ASCII)
_ODD = re.compile(r"\b(?:constructor|prototype|__proto__|env)\b")
_TAG = re.compile(r"\{%-?\s*(?:include|import|from|extends|call|macro)\b")
_SUBSCRIPT = re.compile(r"""([\w)\]"]+)\s*\[(?!\s*(?:\d+|"[\w -]*")\s*\])""")
_BEFORE_LISTS = frozenset(("in", "not", "and", "or", "if", "else", "is"))
_FILES = ("file://", "package:")


def fills_in(value: object) -> bool:
    """Whether promptfoo would put variables of the environment into one of the texts of a value."""
    return any(_ENVIRONMENT.search(text[begin:end]) for text in texts(value) for begin, end in fields(text))


def fields(text: str) -> Iterator[tuple[int, int]]:
    """Where the fields of a text begin and end, braces among them; each ends at the first ``}}`` behind its ``{{``."""
    begin = text.find("{{")
    while begin >= 0 and (end := text.find("}}", begin + 2)) >= 0:
        yield begin, end + 2
        begin = text.find("{{", end + 2)


def runs(template: str) -> bool:
    """Whether a template does more than to put in, test, repeat and filter what its variables hold."""
    place = 0
    while (begin := _BEGIN.search(template, place)) is not None:
        part = _PART.match(template, begin.start())
        code = _STRING.sub(_shown, part[1]) if part is not None else ""
        if part is None or _TAG.match(part[0]) or _ODD.search(code):
            return True
        if any(before[1] not in _BEFORE_LISTS for before in _SUBSCRIPT.finditer(code)):
            return True
        place = part.end()
    return False


def is_file(value: object) -> bool:
    """Whether promptfoo would take the value of an assertion, or an item of it, for the name of a file or a package."""
    values = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(one, str) and one.startswith(_FILES) for one in values)


def texts(value: object) -> Iterator[str]:
    """All texts in a value."""
    if isinstance(value, str):
        yield value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    for one in inner:
        yield from texts(one)


def refers(value: object) -> bool:
    """Whether a mapping in a value has ``$ref``, which promptfoo follows to files and addresses."""
    if isinstance(value, Mapping):
        return "$ref" in value or any(map(refers, value.values()))
    return isinstance(value, list | tuple) and any(map(refers, value))


def _shown(string: re.Match[str]) -> str:
    """What matters of a string: a plain word, which may name a field, or that it is none."""
    content = string[1] if string[1] is not None else string[2]
    return f'"{content}"' if _PLAIN.fullmatch(content) else '"!"'
