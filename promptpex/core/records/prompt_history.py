"""The file ``versions.json``: the versions of a prompt, what each changed, and what of that was asked about.

The terms are SPADE's (arXiv 2401.03038, section 2).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from promptpex.core.records._base import Record
from promptpex.core.records.prompt import Message, Role
from promptpex.core.records.synthesis import Category

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
