"""Stage templates: the Jinja files under ``prompts/``, at least one per stage, and the fences around foreign text.

A template has two blocks, ``system`` and ``user``. Foreign text (prompts under test, outputs, inputs) goes through
the ``fence`` filter, whose delimiter is derived from the text itself and never occurs in it, so that nothing inside
can close the fence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from promptpex.core.ids import text_digest
from promptpex.core.records import Message

BLOCKS = ("system", "user")


@dataclass(frozen=True, slots=True)
class Rendered:
    """A template with its values filled in.

    Attributes:
        name: such as ``specs/intent``.
        messages: a system and a user turn.
        fingerprint: hash of the template's own text; part of the id of each request made from it.
    """

    name: str
    messages: tuple[Message, ...]
    fingerprint: str


def folder() -> Path:
    package = Path(__file__).parents[1]
    packaged = package / "_prompts"
    return packaged if packaged.is_dir() else package.parent / "prompts"


def names() -> tuple[str, ...]:
    root = folder()
    return tuple(sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.rglob("*.jinja")))


def fingerprint(name: str) -> str:
    return text_digest(_source(name))


def render(name: str, **values: Any) -> Rendered:
    """The template ``name`` with ``values`` filled in; a missing value is a bug, not the user's error."""
    template = _template(name)
    context = template.new_context(values)
    messages = tuple(_block(template, context, role) for role in BLOCKS)
    return Rendered(name=name, messages=messages, fingerprint=fingerprint(name))


def fence(text: Any, label: str = "text") -> str:
    """``text`` between two lines that it cannot contain: a tag of ``label`` and a hash of the text."""
    body = str(text)
    mark = text_digest(label + body)
    while mark in body:
        mark = text_digest(mark)
    return f"<{label}-{mark}>\n{body}\n</{label}-{mark}>"


def _block(template: jinja2.Template, context: jinja2.runtime.Context, role: str) -> Message:
    text = "".join(template.blocks[role](context)).strip()
    return Message.model_validate({"role": role, "content": text})


@cache
def _source(name: str) -> str:
    return (folder() / f"{name}.jinja").read_text(encoding="utf-8")


@cache
def _template(name: str) -> jinja2.Template:
    return _environment().from_string(_source(name))


@cache
def _environment() -> jinja2.Environment:
    environment = ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=False
    )
    environment.filters["fence"] = fence
    return environment
