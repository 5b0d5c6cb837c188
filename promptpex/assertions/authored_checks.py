"""Checks as authors write them down: a kind, a text for its value, a path; what they mean, and where they only guess.

Exclusions that are lists of phrases are a known weakness of written checks (SPADE, arXiv 2401.03038). "Do not
apologise" is not kept by every output without the words "sorry" and "regret": what says the same in other words slips
by, and a right answer that quotes them is refused. Where the prompt itself names the phrases, such a check is right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from promptpex.codecs.text.inputs_as_text import has_template
from promptpex.codecs.text.python_scan import literals
from promptpex.core.errors import CheckError
from promptpex.core.records import Check

if TYPE_CHECKING:
    from promptpex.core.records import Check


LISTS = frozenset(("word-any", "word-all", "contains-any", "contains-all"))
SCHEMAS = frozenset(("is-json", "contains-json"))
BARE = frozenset(("is-xml", "is-html", "is-sql"))
TEXTS = frozenset(("contains", "equals", "starts-with", "ends-with"))
KINDS = LISTS | SCHEMAS | BARE | TEXTS | {"regex", "word-count"}
"""What may be proposed; each also with ``not-``."""

FLAGGED = LISTS - {"contains-any", "contains-all"} | {"regex"}
"""Those that have ``ignore_case``."""
FOLDED = "(?i)"
"""What a value begins with where capitals do not matter."""
_NAMED = re.compile(r"\{\{ *([A-Za-z_]\w*)(?:\.\w+|\[\d+\])* *\}\}", re.ASCII)
_COUNT = re.compile(
    r"(?:(exactly|at least|at most) )?(\d+)(?: ?(?:to|-|–) ?(\d+))? ?(words?|sentences?|lines?|characters?)", re.I
)
_SYNTAX = frozenset("^$\\.*+?()[]{}|/")


def check_from_text(kind: str, value: str, path: str, variables: frozenset[str]) -> Check:
    """The check that an author means.

    Args:
        kind: one of ``KINDS``, or ``not-`` and one of them.
        value: as a text: a pattern, lines, a schema, a count in words.
        path: of the value in a JSON output; empty or ``$``: the whole output.
        variables: the inputs that the value may name.

    Raises:
        CheckError: an unknown kind, a schema that is not JSON, a count without a number, a template that is more than
            the name of an input.
    """
    base = kind.removeprefix("not-")
    if base not in KINDS:
        raise CheckError(f"there is no kind {kind[:40]!r}; the kinds are {', '.join(sorted(KINDS))}")
    _check_template(base, value, variables)
    place = {"path": path.strip()} if path.strip() not in ("", "$") else {}
    if value.startswith(FOLDED) and base not in SCHEMAS:
        return Check.model_validate({**_whatever_case(kind, base, value.removeprefix(FOLDED)), **place})
    return Check.model_validate({"kind": kind, **_READ[base](value), **place})


def _check_template(base: str, value: str, variables: frozenset[str]) -> None:
    names = set(_NAMED.findall(value))
    rest = _NAMED.sub("", value)
    if base == "regex" or base in SCHEMAS:
        if names:
            raise CheckError(f"the value of {base} may not name inputs; take a kind that compares texts")
    elif has_template(rest):
        raise CheckError("a proposed value may hold no template syntax but the names of inputs")
    unknown = names - variables
    if unknown:
        raise CheckError(f"the value names {sorted(unknown)[0]!r}, which is not an input of the prompt")


def _whatever_case(kind: str, base: str, value: str) -> dict[str, object]:
    """A check for which capitals do not matter; ``equals``, ``starts-with`` and ``ends-with`` become a pattern."""
    if base in FLAGGED:
        return {"kind": kind, **_READ[base](value), "ignore_case": True}
    if base.startswith("contains"):
        return {"kind": kind.replace("contains", "icontains"), **_READ[base](value)}
    if base not in TEXTS:
        return {"kind": kind, **_READ[base](value)}
    if _NAMED.search(value):
        raise CheckError(f"the value of {base} may not both name inputs and begin with {FOLDED}")
    pattern = re.sub(r"[\^$\\.*+?()\[\]{}|/]", r"\\\g<0>", value)
    head, tail = "" if base == "ends-with" else "^", "" if base == "starts-with" else "$"
    pattern = f"{head}{pattern}{tail}"
    return {"kind": kind.replace(base, "regex"), "value": pattern, "dialect": "unicode", "ignore_case": True}


def _regex(text: str) -> dict[str, object]:
    return {"value": without_needless_escapes(text), "dialect": "unicode"}


def without_needless_escapes(pattern: str) -> str:
    """The pattern without backslashes that the flag ``u`` refuses: those before signs that need none."""
    characters, at, in_class = [], 0, False
    while at < len(pattern):
        sign, after = pattern[at], pattern[at + 1 : at + 2]
        if sign == "\\" and after:
            needed = after in _SYNTAX or (after.isascii() and after.isalnum()) or (after == "-" and in_class)
            characters.append(sign + after if needed else after)
            at += 2
            continue
        in_class = sign == "[" or (in_class and sign != "]")
        characters.append(sign)
        at += 1
    return "".join(characters)


def _lines(text: str) -> dict[str, object]:
    return {"value": [line.strip() for line in text.split("\n") if line.strip()]}


def _schema(text: str) -> dict[str, object]:
    if not text.strip():
        return {}
    try:
        return {"value": _with_plain_patterns(json.loads(text)), "exact": True}
    except (ValueError, RecursionError) as error:
        raise CheckError(f"the schema is not JSON ({str(error)[:80]})") from error


def _with_plain_patterns(schema: object) -> object:
    """The schema with the needless escapes of its patterns left out."""
    if isinstance(schema, list):
        return [_with_plain_patterns(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: without_needless_escapes(part)
        if key == "pattern" and isinstance(part, str)
        else _with_plain_patterns(part)
        for key, part in schema.items()
    }


def _count(text: str) -> dict[str, object]:
    match = _COUNT.fullmatch(" ".join(text.split()))
    if match is None:
        raise CheckError(f"word-count needs a number and a unit, such as '40 to 120 words', not {text[:40]!r}")
    bound, first, second, unit = match.groups()
    least, most = int(first), int(second or first)
    value = {"min": least, "max": most}
    if (bound or "").lower() == "at least":
        value = {"min": least}
    elif (bound or "").lower() == "at most":
        value = {"max": most}
    unit = unit.lower().rstrip("s") + "s"
    return {"value": value, "unit": "spoken-words" if unit == "words" else unit}


_READ: dict[str, Callable[[str], dict[str, object]]] = {
    "regex": _regex,
    "word-count": _count,
    **dict.fromkeys(LISTS, _lines),
    **dict.fromkeys(SCHEMAS, _schema),
    **dict.fromkeys(TEXTS, lambda text: {"value": text}),
    **dict.fromkeys(BARE, lambda text: {}),
}


_KINDS = ("contains", "icontains", "word-any", "word-all", "regex")
_FEWEST_IN_CODE = 2
_EXCLUDES = re.compile(r"\b(?:not|never|no|avoids?|without|refrains?|excludes?|free of)\b|n't\b", re.IGNORECASE)
_GROUPING = re.compile(r"\\[bB]|\(\?[a-zA-Z:!=<]*|[()^$]")


def is_exclusion(text: str) -> bool:
    """Whether a rule, in English, says what an output must not be or do."""
    return _EXCLUDES.search(text) is not None


def guessed_phrases(check: Check, stated: str) -> tuple[str, ...]:
    """The phrases that a check looks for and the prompt does not name."""
    named = _folded(stated)
    return tuple(dict.fromkeys(phrase for phrase in _phrases(check) if _folded(phrase) not in named))


def _folded(text: str) -> str:
    return " ".join(text.casefold().replace("’", "'").split())


def _phrases(check: Check) -> Iterator[str]:
    for part in check.asserts or ():
        yield from _phrases(part)
    kind, value = check.kind.removeprefix("not-"), check.value
    if kind == "python" and isinstance(value, str):
        spoken = [text for text in _texts_in(value) if " " in text and _is_wordy(text, 1.0)]
        yield from spoken if len(spoken) >= _FEWEST_IN_CODE else ()
    elif kind.startswith(_KINDS):
        for each in value if isinstance(value, list | tuple) else [value]:
            parts = each.split("|") if isinstance(each, str) and kind == "regex" else [each]
            texts = (_GROUPING.sub("", part).strip() for part in parts if isinstance(part, str))
            yield from (text for text in texts if _is_wordy(text, 0.8))


def _is_wordy(text: str, share: float) -> bool:
    bare = text.replace(" ", "").replace("'", "").replace("’", "")
    return bool(bare) and sum(sign.isalpha() for sign in bare) >= len(bare) * share


def _texts_in(code: str) -> Iterator[str]:
    for literal in literals(code):
        text, before = literal[0], code[literal.start() - 1 : literal.start()]
        if text[:1] in "'\"" and text[:3] not in ("'''", '"""') and not before.isalnum():
            yield text[1:-1]
