"""A history of seven versions that has every tag and every category, after SPADE's Table 1, and an author for it.

The prompt is invented for this test. What each version changed, and what that is about, is written down by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from promptpex.core.records import Request
from promptpex.llm.fake import FakeClient

ASK = "Write the text of an audio guide for one work in a museum."
WORK = "The work is {{work}}."
MOST = "Write at most 120 words."
RANGE = "Write between 80 and 120 words."
PLAIN = "Reply in plain paragraphs, without headings."
NAME = "Name the artist and the year."
WORTH = "Never guess at what a work is worth."
WARM = "Speak warmly, as to a friend."
WARMER = "Speak warmly, the way you would speak to a friend."
VISITOR = "The visitor is {{visitor}}."
SAMPLE = "For a blue jug you could say: This jug carried water for three generations."
THANKS = "This museum thanks you for your work."

VERSIONS = (
    f"{ASK} {WORK}",
    f"{ASK} {WORK} {MOST} {PLAIN}",
    f"{ASK} {WORK} {RANGE} {PLAIN} {NAME}",
    f"{ASK} {NAME} {WORK} {RANGE} {PLAIN}",
    f"{ASK} {NAME} {WORK} {VISITOR} {RANGE} {PLAIN} {WORTH} {WARM}",
    f"{ASK} {NAME} {WORK} {VISITOR} {RANGE} {WORTH} {WARMER}\n\n{SAMPLE}\n\n{THANKS}",
    "\n".join(f"- **{one.rstrip('.')}**" for one in (ASK, NAME, WORK, VISITOR, RANGE, WORTH, WARMER, SAMPLE, THANKS)),
)

DELTAS: tuple[tuple[str, ...], ...] = (
    (f"+ {ASK}", f"+ {WORK}"),
    (f"+ {MOST}", f"+ {PLAIN}"),
    (f"- {MOST}", f"+ {RANGE}", f"+ {NAME}"),
    (),
    (f"+ {VISITOR}", f"+ {WORTH}", f"+ {WARM}"),
    (f"- {PLAIN}", f"- {WARM}", f"+ {WARMER}", f"+ {SAMPLE}", f"+ {THANKS}"),
    (),
)
MOVED = (0, 0, 0, 1, 0, 0, 0)

PHRASES = {
    "Write the text of an audio guide": "workflow-description",
    "{{work}}": "data-integration",
    "at most 120 words": "quantity",
    "plain paragraphs": "response-format",
    "without headings": "exclusion",
    "between 80 and 120 words": "quantity",
    "Name the artist and the year": "inclusion",
    "{{visitor}}": "data-integration",
    "Never guess at what a work is worth": "exclusion",
    "Speak warmly, as to a friend": "qualitative-criteria",
    "the way you would speak": "prompt-clarification",
    "For a blue jug you could say": "example-demonstration",
    "thanks you": "other",
}

CATEGORIES: tuple[frozenset[str], ...] = (
    frozenset(("workflow-description", "data-integration")),
    frozenset(("quantity", "response-format", "exclusion")),
    frozenset(("quantity", "inclusion")),
    frozenset(),
    frozenset(("data-integration", "exclusion", "qualitative-criteria")),
    frozenset(
        (
            "response-format",
            "exclusion",
            "qualitative-criteria",
            "prompt-clarification",
            "example-demonstration",
            "other",
        )
    ),
    frozenset(),
)

CRITERIA = {
    "{{work}}": ("data-integration", "The text is about the work that was given."),
    "at most 120 words": ("count", "The text has at most 120 words."),
    "plain paragraphs": ("presentation format", "The text consists of paragraphs without Markdown."),
    "without headings": ("exclusion", "The text has no heading."),
    "between 80 and 120 words": ("count", "The text has 80 to 120 words."),
    "Name the artist": ("inclusion", "The text names the artist of the work."),
    "the year": ("inclusion", "The text names the year in which the work was made."),
    "Never guess at what a work is worth": ("exclusion", "The text says nothing about the price of the work."),
    "Speak warmly": ("qualitative assessment", "The text speaks to the visitor warmly."),
}
"""By the words that they rest on; the names of the categories are those of the paper's own prompt."""

CANDIDATES: dict[str, list[dict[str, Any]]] = {
    "The text is about the work that was given.": [
        {"name": "Names the work!", "kind": "contains", "value": "(?i){{work}}"},
    ],
    "The text has at most 120 words.": [
        {"name": "at most 120 words", "kind": "word-count", "value": "at most 120 words"}
    ],
    "The text consists of paragraphs without Markdown.": [
        {"name": "no_markdown", "kind": "not-regex", "value": r"^\s*[-*#]"},
        {"name": "no_markdown", "kind": "not-regex", "value": r"\*\*|__"},
    ],
    "The text has no heading.": [{"name": "no_heading", "kind": "not-regex", "value": r"^#+ "}],
    "The text has 80 to 120 words.": [{"name": "80_to_120_words", "kind": "word-count", "value": "80 to 120 words"}],
    "The text names the year in which the work was made.": [
        {"name": "has_a_year", "kind": "regex", "value": r"\d{3,4}"}
    ],
    "The text says nothing about the price of the work.": [
        {"name": "no_price", "kind": "not-word-any", "value": "(?i)worth a fortune\nmillion dollars"},
        {"name": "no_amount", "kind": "not-regex", "value": "([€$"},
    ],
}
"""By criterion; the last one does not compile. For three criteria the author knows of no check."""

_ITEM = re.compile(r"<([cd]\d+)-([0-9a-f]{16,})>\n(.*?)\n</\1-\2>", re.DOTALL)


def write_versions(folder: Path, count: int = len(VERSIONS)) -> list[Path]:
    """The first so many versions as files v1.md, v2.md and so on."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"v{number}.md" for number in range(1, count + 1)]
    for path, text in zip(paths, VERSIONS, strict=False):
        path.write_text(text, encoding="utf-8")
    return paths


def items(request: Request) -> dict[str, str]:
    """The changes or criteria that a request asks about, by id."""
    return {name: text for name, _, text in _ITEM.findall(request.messages[-1].content)}


def author(**more: Any) -> FakeClient:
    """An author who knows this history; ``more`` replaces replies, by the stage, each a function of a request."""
    replies = {"categories": _categories, "criteria": _criteria, "candidates": _candidates, **more}

    def answer(request: Request) -> str:
        given = replies[request.stage or ""](request)
        return given if isinstance(given, str) else json.dumps({"items": list(given)})

    return FakeClient(answer)


def _categories(request: Request) -> Iterator[dict[str, str]]:
    for change, text in items(request).items():
        for source, category in PHRASES.items():
            if source in text:
                yield {"change": change, "source": source, "category": category}


def _criteria(request: Request) -> Iterator[dict[str, str]]:
    for change, text in items(request).items():
        added = " ".join(line for line in text.split("\n") if line.startswith("+"))
        for source, (category, criterion) in CRITERIA.items():
            if source in added:
                yield {"change": change, "source": source, "category": category, "criterion": criterion}


def _candidates(request: Request) -> Iterator[dict[str, Any]]:
    for name, text in items(request).items():
        for candidate in CANDIDATES.get(text, ()):
            yield {"criteria": [name], "description": text, "path": "", **candidate}
