"""The prompt with the words that its rules rest on: where each rule's ``source`` stands in its messages."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from promptpex.codecs.text.comparing import split_at_gaps
from promptpex.core.records import Message, Rule

MOST_TEXT = 20_000
"""Characters of a message that are shown, and in which words are looked for."""

MOST_QUOTED = 2_000
"""Characters of a source that are looked for: quotations are sentences."""

MOST_RULES = 300
"""Rules whose words are looked for."""

Quotations = Sequence[tuple[str, tuple[str, ...]]]
"""Rules, each with the words of a part of its source."""

_WORD = re.compile(r"[^\W_]+")

Span = tuple[int, int, str]
"""Where a quotation begins and ends, and whose it is."""


@dataclass(frozen=True, slots=True)
class PromptText:
    """A part of a message.

    Attributes:
        text: its words.
        rules: the ids of the rules that rest on it.
        named: those of them whose quotation ends here: they are named once.
    """

    text: str
    rules: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuotedMessage:
    """A message of the prompt in parts, and how many of its characters are left out."""

    role: str
    parts: tuple[PromptText, ...]
    more: int


def quoted_messages(messages: Sequence[Message], rules: Iterable[Rule]) -> tuple[QuotedMessage, ...]:
    """The messages of a prompt, each with the places of the words that rules quote.

    Words are compared, not the signs between them: whoever copies a sentence changes its line breaks, quotation marks
    and emphasis. A quotation that is not there word by word marks nothing.
    """
    quotations = [(rule.id, words) for rule in list(rules)[:MOST_RULES] for words in _quotations(rule.source or "")]
    return tuple(_quoted(message, quotations) for message in messages)


def _quoted(message: Message, quotations: Quotations) -> QuotedMessage:
    text = message.content[:MOST_TEXT]
    return QuotedMessage(
        message.role, tuple(_parts(text, list(_spans(text, quotations)))), len(message.content) - len(text)
    )


def _quotations(source: str) -> Iterator[tuple[str, ...]]:
    """The words of each part of a source between its gaps."""
    for part in split_at_gaps(source[:MOST_QUOTED]):
        words = tuple(word[0].casefold() for word in _WORD.finditer(part))
        if words:
            yield words


def _spans(text: str, quotations: Quotations) -> Iterator[Span]:
    """Where in a text the words of each quotation come after one another, in time that grows with the text alone."""
    words = list(_WORD.finditer(text))
    folded = [word[0].casefold() for word in words]
    joined = _joined(folded)
    starts = list(accumulate((len(word) + 1 for word in folded), initial=0))
    for rule, quoted in quotations:
        place = joined.find(_joined(quoted))
        if place >= 0:
            first = bisect_left(starts, place)
            yield words[first].start(), words[first + len(quoted) - 1].end(), rule


def _joined(words: Iterable[str]) -> str:
    """Words as one text in which whole words alone can be found."""
    return " ".join(["", *words, ""])


def _parts(text: str, spans: Sequence[Span]) -> Iterator[PromptText]:
    """The text cut wherever a quotation begins or ends."""
    cuts = sorted({0, len(text), *(edge for start, end, _ in spans for edge in (start, end))})
    place = {cut: number for number, cut in enumerate(cuts)}
    resting: defaultdict[int, list[str]] = defaultdict(list)
    ending: defaultdict[int, list[str]] = defaultdict(list)
    for start, end, rule in spans:
        ending[end].append(rule)
        for number in range(place[start], place[end]):
            resting[number].append(rule)
    for number, (start, end) in enumerate(pairwise(cuts)):
        yield PromptText(text[start:end], tuple(dict.fromkeys(resting[number])), tuple(dict.fromkeys(ending[end])))
