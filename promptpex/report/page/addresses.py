"""Addresses inside the report's page: a fragment that names what is shown, such as ``rule=r1&model=a&verdict=fail``.

The page's script reads and writes the same fragments (``scripts/filters.js``). For readers without a script the first
output that such an address shows has it as its ``id``, so that a link leads there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

from promptpex.report.page.values import pictured

SHORTEST = 2
"""Characters of a model's name that is looked for: a single letter is a word of most languages."""

Ids = tuple[str, str]
"""The ids of an element and of the one inside it; empty where they have none."""


def address(
    rule: str | None = None, model: str | None = None, verdict: str | None = None, change: str | None = None
) -> str:
    """The fragment that shows the outputs of a model with a verdict: on a rule, or as a whole; on the page of a
    comparison those with a change."""
    chosen = {"rule": rule, "model": model, "verdict": verdict, "change": change}
    return "&".join(f"{name}={_quoted(value)}" for name, value in chosen.items() if value is not None)


def _quoted(value: str) -> str:
    """As ``encodeURIComponent`` writes it: what the browser holds against an ``id`` is this text."""
    return quote(pictured(value), safe="!'()*", errors="replace")


def in_answer(answer: str, names: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """The answer in parts, each with the model that it names, if it is the first to name it.

    A name is whole words, and of two that begin alike it is the longer one.
    """
    names_by_length = sorted((name for name in names if len(name) >= SHORTEST), key=len, reverse=True)
    if not names_by_length:
        yield answer, None
        return
    end, named = 0, set[str]()
    for match in re.finditer(rf"(?<!\w)(?:{'|'.join(map(re.escape, names_by_length))})(?!\w)", answer):
        if match[0] in named:
            continue
        named.add(match[0])
        yield answer[end : match.start()], None
        yield match[0], match[0]
        end = match.end()
    yield answer[end:], None


class FirstTargets:
    """Gives each address to the first element that it shows, in the order of the page."""

    def __init__(self) -> None:
        self.addresses: set[str] = set()

    def of_output(self, model: str, verdict: str) -> Ids:
        """The ids of an output's element, by the verdict on the whole output."""
        return self._new(address(verdict=verdict), address(model=model, verdict=verdict))

    def of_verdict(self, rule: str, model: str, verdict: str) -> Ids:
        """The ids of the element of a verdict on a rule."""
        return self._new(address(rule, verdict=verdict), address(rule, model, verdict))

    def of_changed_output(self, model: str, change: str) -> Ids:
        """The ids of the element of what a model answers in two runs."""
        return self._new(address(change=change), address(model=model, change=change))

    def of_changed_verdict(self, rule: str, model: str, change: str) -> Ids:
        """The ids of the element of a rule on which its verdict has changed."""
        return self._new(address(rule, change=change), address(rule, model, change=change))

    def _new(self, *addresses: str) -> Ids:
        unused = [*self._unused(addresses), "", ""]
        return unused[0], unused[1]

    def _unused(self, addresses: Iterable[str]) -> Iterator[str]:
        for one in addresses:
            if one not in self.addresses:
                self.addresses.add(one)
                yield one
