"""What the changes of a prompt are about: SPADE's taxonomy in two levels (arXiv 2401.03038, Figure 2 and Table 2).

The names that the paper's own prompt uses (Appendix C), and what people write instead, are read as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from promptpex.core.records import Category
from promptpex.core.translation import stored

Group = Literal["structural", "content", "other"]
"""The first level."""

# Groups as reports show them; what other categories are called is a title.
stored("structural")
stored("content")
stored("other")


@dataclass(frozen=True, slots=True)
class CategoryInfo:
    """One category.

    Attributes:
        name: as in records and files.
        group: the first level.
        title: as people are shown it.
        meaning: what falls into it, in one line; authors are shown it.
        aliases: other names for it, as ``category_of`` compares them.
    """

    name: Category
    group: Group
    title: str
    meaning: str
    aliases: tuple[str, ...] = ()


TAXONOMY: tuple[CategoryInfo, ...] = (
    CategoryInfo(
        "response-format", "structural", stored("Response format"),
        "the shape of the answer: JSON, a list, Markdown, headings, one line, a fixed first or last part",
        ("response format instruction", "presentation format", "output format", "format", "formatting", "structure"),
    ),
    CategoryInfo(
        "example-demonstration", "structural", stored("Example"),
        "an example of an input with its answer, or of how an answer should look",
        ("example", "demonstration", "few shot", "few shot example"),
    ),
    CategoryInfo(
        "prompt-clarification", "structural", stored("Clarification"),
        "the same wish in other words: made clearer, shorter or more emphatic, without a new demand",
        ("prompt rephrasing", "prompt clarification rephrasing", "clarification", "rephrasing", "rewording"),
    ),
    CategoryInfo(
        "workflow-description", "content", stored("Workflow"),
        "how to get to the answer: steps and their order, what to do in which case, the role to play",
        ("workflow", "process", "steps", "procedure"),
    ),
    CategoryInfo(
        "data-integration", "content", stored("Data"),
        "what is fed in: a new variable, or what is to be done with one",
        ("data placeholders", "data placeholder", "data", "placeholder", "context", "input data"),
    ),
    CategoryInfo(
        "quantity", "content", stored("Quantity"),
        "how many or how long: words, items, sentences, a range, a limit",
        ("quantity instruction", "count", "counts", "length", "number"),
    ),
    CategoryInfo(
        "inclusion", "content", stored("Inclusion"),
        "what the answer has to hold: a fact, a word, a part, a reference to the input",
        ("inclusion instruction", "include", "includes", "required content"),
    ),
    CategoryInfo(
        "exclusion", "content", stored("Exclusion"),
        "what the answer must not hold or do: topics, words, claims, kinds of answers",
        ("exclusion instruction", "exclude", "excludes", "forbidden content", "avoidance"),
    ),
    CategoryInfo(
        "qualitative-criteria", "content", stored("Quality"),
        "how good the answer has to be in a respect that is no matter of yes or no by itself: tone, clarity, truth",
        ("qualitative assessment", "qualitative", "quality", "style", "tone"),
    ),
    CategoryInfo("other", "other", stored("Other"), "none of these", ("none", "miscellaneous")),
)  # fmt: skip
"""Every category, in the order in which they are shown."""

_BY_NAME = {info.name: info for info in TAXONOMY}


def _key(name: str) -> str:
    return " ".join(re.sub(r"[\W_]+", " ", name).split()).casefold()


_BY_ANY_NAME: dict[str, Category] = {
    _key(name): info.name for info in TAXONOMY for name in (info.name, info.title, *info.aliases)
}


def info_of(category: Category) -> CategoryInfo:
    """What there is to say of a category."""
    return _BY_NAME[category]


def category_of(name: object) -> Category:
    """The category of this name, in whatever spelling; ``other`` where there is none."""
    return _BY_ANY_NAME.get(_key(name), "other") if isinstance(name, str) else "other"


def in_lines() -> str:
    """The categories with their meanings, one on a line, as authors are shown them."""
    return "\n".join(f"- {info.name}: {info.meaning}" for info in TAXONOMY)
