"""Texts that a prompt sets apart from its own words, in any language: in quotation marks, in bold, as code.

In which of them the prompt prescribes a whole answer, and which it forbids, its form does not tell. Somebody has to
have shown that such a text is right as it stands: the author of checks with an example, a rule of the spec with a check
that demands it, or judges of the latest run.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from promptpex.core.normal_forms import normal_form
from promptpex.core.records import NOT_CONCERNED, Output, Rule, Verdict

MOST_TEXTS = 200
"""Texts that are looked at."""
LONGEST = 200
"""Characters of a text that may be a whole answer; a block of code has ten times as many."""

_PAIRS = ("“”", "„“", "„”", "‚‘", "‘’", "«»", "»«", "‹›", "「」", "『』", "﹁﹂", "〝〞", "《》")
_BETWEEN = re.compile("|".join(rf"{pair[0]}(?=([^{pair}\n]{{1,{LONGEST}}}){pair[1]})" for pair in _PAIRS))
_SAME_MARK = ('"', "'", "＂", "`", "**", "__")
_BLOCK = re.compile(r"^ {0,3}(```|~~~)[^\n]*\n(.{1,2000}?)\n {0,3}\1", re.MULTILINE | re.DOTALL)


def quoted_texts(prompt: str) -> tuple[str, ...]:
    """The texts that a prompt sets apart, as they stand between their marks, each once; at most ``MOST_TEXTS``."""
    texts = dict.fromkeys(text for text in map(str.strip, _set_apart(prompt.replace('\\"', '"'))) if text)
    return tuple(texts)[:MOST_TEXTS]


def _set_apart(prompt: str) -> Iterator[str]:
    for match in _BETWEEN.finditer(prompt):
        yield next(text for text in match.groups() if text is not None)
    for mark in _SAME_MARK:
        for line in prompt.splitlines():
            # Which marks open and which close is not told, and a text that nobody shows to be right is left out.
            yield from (part for part in line.split(mark)[1:-1] if len(part) <= LONGEST)
    yield from (match[2] for match in _BLOCK.finditer(prompt))


def shown_to_be_right(quoted: Sequence[str], right: Iterable[str], broken: Iterable[str]) -> list[str]:
    """The quoted texts that are a whole right answer: somebody has shown them as one, and nobody as a broken one.

    Args:
        right: whole outputs that are right in every respect, as somebody says.
        broken: outputs that break a rule, as somebody says.
    """
    right_texts, unwanted = ({normal_form("NFC", text.strip()) for text in texts} for texts in (right, broken))
    only_right = right_texts - unwanted
    return [text for text in quoted if normal_form("NFC", text) in only_right]


def demanded_texts(rules: Iterable[Rule]) -> tuple[str, ...]:
    """The texts that a check of a rule demands as the whole output."""
    checks = [check for rule in rules if not rule.stale for check in rule.checks]
    whole = (check.value for check in checks if check.kind == "equals" and not check.path and not check.transform)
    return tuple(value for value in whole if isinstance(value, str) and "{{" not in value)


def judged_texts(
    quoted: Collection[str], outputs: Iterable[Output], verdicts: Iterable[Verdict]
) -> tuple[frozenset[str], frozenset[str]]:
    """The quoted texts that are outputs of a run: those that broke no rule, as a judge and every other verdict that
    counts say, and those that broke one."""
    quoted_set = set(quoted)
    keys = {output.key: text for output in outputs if (text := (output.text or "").strip()) in quoted_set}
    statuses: dict[tuple[str, str, int], set[str]] = {}
    judged: set[tuple[str, str, int]] = set()
    for verdict in verdicts:
        if verdict.key in keys and verdict.counts:
            statuses.setdefault(verdict.key, set()).add(verdict.status)
            if not verdict.source.startswith("check:"):
                judged.add(verdict.key)
    texts_kept = (keys[key] for key in judged if statuses[key] <= {"pass", NOT_CONCERNED})
    return frozenset(texts_kept), frozenset(keys[key] for key, of_output in statuses.items() if "fail" in of_output)
