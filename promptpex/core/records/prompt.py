"""The prompt under test, and the file ``versions.json``: its versions, what each changed, what of that was asked about.

The terms of versions are SPADE's (arXiv 2401.03038, section 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from promptpex.core.records._base import Record
from promptpex.core.records.synthesis import Category
from promptpex.core.sentences import on_one_line

Role = Literal["system", "user", "assistant"]

LONGEST_DESCRIPTION = 1000
"""Characters of a description in front matter that an author is shown."""

INPUT_VARIABLE = "input"
"""The variable of a prompt that names none: its value is sent as the user message."""


class Message(Record):
    """One turn of a conversation. ``content`` is Jinja text in a prompt, plain text in a request."""

    role: Role
    content: str


class Prompt(Record):
    """A prompt as read from its file.

    Attributes:
        name: the front matter's; without one the file's stem, or its folder's name where the file is ``prompt.*``.
        messages: the turns, in order, as Jinja text.
        variables: the inputs' names, in order of appearance; ``("input",)`` if the text names none.
        implicit_input: whether the text names no variable, so that the input is an added user message.
        fingerprint: hash of the messages; changes when what a model is sent changes.
        meta: front matter that promptpex knows (description, model settings, scenarios, ...).
        unknown: front matter that it does not know, kept as it was.
        path: where it was read, as given.
    """

    name: str
    messages: tuple[Message, ...]
    variables: tuple[str, ...]
    implicit_input: bool = False
    fingerprint: str
    meta: dict[str, Any] = Field(default_factory=dict)
    unknown: dict[str, Any] = Field(default_factory=dict)
    path: str | None = None

    @property
    def description(self) -> str:
        """What the front matter says of the prompt, cut to ``LONGEST_DESCRIPTION``; empty where it says nothing."""
        return _one_line(self.meta.get("description"))

    def description_of(self, variable: str) -> str:
        """What the front matter says that a variable is, on one line; empty where it says nothing."""
        inputs = self.meta.get("inputs")
        declared = inputs.get(variable) if isinstance(inputs, Mapping) else None
        return _one_line(declared.get("description")) if isinstance(declared, Mapping) else ""

    @property
    def checks_only(self) -> tuple[str, ...]:
        """The inputs that the front matter declares for checks and conditions alone: a model is not sent them."""
        inputs = self.meta.get("inputs")
        declared = inputs.items() if isinstance(inputs, Mapping) else ()
        return tuple(
            name
            for name, about in declared
            if isinstance(about, Mapping) and about.get("checks_only") is True and name not in self.variables
        )

    def text(self) -> str:
        """The whole prompt as one text, each turn under a line with its role; for people and authors to read."""
        if len(self.messages) == 1 and self.messages[0].role == "system":
            return self.messages[0].content
        return "\n\n".join(f"{message.role}:\n{message.content}" for message in self.messages)


def _one_line(value: object) -> str:
    return on_one_line(value)[:LONGEST_DESCRIPTION] if isinstance(value, str) else ""


Tag = Literal["added", "removed"]


class PromptVersion(Record):
    """The prompt as it once was.

    Attributes:
        name: a commit's short id, a file's name, or ``working copy``.
        messages: its turns, as Jinja text.
        time: when it was committed or changed, ISO 8601; None where that is unknown.
        note: the commit's subject.
        fingerprint: of the messages, as ``Prompt.fingerprint``.
    """

    name: str
    messages: tuple[Message, ...]
    time: str | None = None
    note: str = ""
    fingerprint: str


class Change(Record):
    """A sentence that a version added or removed, in the turn of this role."""

    tag: Tag
    text: str
    role: Role = "system"


class CategorisedPhrase(Record):
    """A category that a delta falls into, with the words of the delta that show it."""

    category: Category
    source: str


class Delta(Record):
    """What a version changed. The first version is compared with the empty prompt.

    Attributes:
        version, previous: names; ``previous`` is None for the first version.
        changes: a modified sentence is one removed and one added.
        moved: sentences that stand elsewhere and are the same. Where there are none and no changes, the version only
            looks different: white space, lists, quotation marks.
        categories: empty until a model has named them.
    """

    version: str
    previous: str | None = None
    changes: tuple[Change, ...]
    moved: int = 0
    categories: tuple[CategorisedPhrase, ...] = ()


class History(Record):
    """The file ``versions.json``: what a prompt was, what of that was asked about, and with which result.

    Attributes:
        prompt: the file's name.
        versions, deltas: in order; deltas with their categories.
        sentences: digests of the added sentences that criteria were asked for.
        criteria: ids of the criteria that candidates were asked for; none is given again.
        rules: the rules of the spec that criteria were made of, each with the digest of what was taken of it.
        pairs: of checks that a judge compared, by their digests; these need no asking again either.
        in_vain: digests of what an author was asked about, each with the author, that gave nothing usable.
    """

    prompt: str
    versions: tuple[PromptVersion, ...] = ()
    deltas: tuple[Delta, ...] = ()
    sentences: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    rules: dict[str, str] = Field(default_factory=dict)
    pairs: tuple[str, ...] = ()
    in_vain: tuple[str, ...] = ()
