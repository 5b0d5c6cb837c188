"""Templates of the Evals API and ours: ``{{item.word}}`` there is ``{{word}}`` here; ``sample`` is the output."""

from __future__ import annotations

import re
from itertools import islice

from promptpex.core.translation import stored
from promptpex.interchange.promptfoo.nunjucks_hazards import fields
from promptpex.interchange.promptfoo.rules import literal
from promptpex.interchange.reading.chats import Unfit

_ITEM = re.compile(r"item\.([A-Za-z_]\w*(?:\.\w+|\[\d+\])*)", re.ASCII)
_OUTPUT = re.compile(r"sample\.(?:output_text|choices\[0\]\.message\.content)")
_JSON = re.compile(r"sample\.output_json\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\])*)", re.ASCII)
_OURS = re.compile(r"\{\{\s*([A-Za-z_]\w*(?:\.\w+|\[\d+\])*)\s*\}\}", re.ASCII)
OUTPUT = "{{sample.output_text}}"
THE_RESPONSE = "(the response)"
"""What stands for the output in a question: a judge is shown it beside the question."""
ASKED_FOR = f"\n\nAnswer yes or no. The response is:\n{OUTPUT}"
"""What follows a question of ours in a grader's request there."""


def ours(text: str, *, output: str | None = None) -> str:
    """A template of theirs as one of ours, which puts in the same values.

    Args:
        output: what stands for the output; by default it may not be named.

    Raises:
        Unfit: it names something else than the item.
    """
    parts = []
    place = 0
    for begin, end in fields(text):
        parts.append(literal(text[place:begin]))
        place, field = end, text[begin + 2 : end - 2].strip()
        item = _ITEM.fullmatch(field)
        if item is not None:
            parts.append(f"{{{{{item[1]}}}}}")
        elif output is not None and _OUTPUT.fullmatch(field):
            parts.append(output)
        else:
            raise Unfit(stored("its template names something that promptpex does not have"))
    return "".join((*parts, literal(text[place:])))


def looked_at(text: str) -> tuple[bool, str | None]:
    """Whether a grader's text is the output alone, and the path in it where it is one of its values."""
    field = _only_field(text)
    if field is None:
        return False, None
    value = _JSON.fullmatch(field)
    return value is not None or _OUTPUT.fullmatch(field) is not None, value[1] if value is not None else None


def item_field(text: str) -> str | None:
    """The field of the item that a template is, and nothing else."""
    item = _ITEM.fullmatch(_only_field(text) or "")
    return item[1] if item is not None and item[1].isidentifier() else None


def _only_field(text: str) -> str | None:
    """What stands between the braces of a text that is one field and nothing else."""
    text = text.strip()
    return text[2:-2].strip() if list(islice(fields(text), 2)) == [(0, len(text))] else None


def theirs(text: str) -> str | None:
    """A template of ours as one of theirs; None where it does more than to put in values."""
    rest = _OURS.sub("", text)
    if any(mark in rest for mark in ("{{", "}}", "{%", "{#")):
        return None
    return _OURS.sub(lambda field: f"{{{{item.{field[1]}}}}}", text)


def names(text: str) -> set[str]:
    """The variables that a template of ours puts in."""
    return {re.split(r"[.\[]", field)[0] for field in _OURS.findall(text)}
