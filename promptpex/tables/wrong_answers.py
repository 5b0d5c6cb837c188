"""Wrong answers: what models answer most often where something else was expected."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from promptpex.codecs.text.comparing import normalised
from promptpex.codecs.text.wording import cut
from promptpex.core.ids import text_digest
from promptpex.tables.run_rows import Rows, Source, rows_of
from promptpex.tables.table import Table

CONFUSION_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "expected": "string",
    "given": "string",
    "outputs": "Int64",
    "cases": "Int64",
    "wrong": "Int64",
    "case": "string",
}
"""Columns of ``confusions``: how many ``outputs``, of how many ``cases``, gave this answer instead of the expected one;
``wrong`` are all wrong outputs of the model, and ``case`` is the first case of these. Answers that differ only in what
``normalised`` leaves out are one, shown as it first came; texts are cut to ``MAX_TEXT`` characters."""

ANSWER_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "expected": "string",
    "given": "string",
    "outputs": "Int64",
    "right": "boolean",
}
"""Columns of ``answer_counts``: ``given`` is one of the expected answers, missing for any other text; ``right`` outputs
are counted under the answer that was expected."""

MAX_TEXT = 200
"""Characters of an expected and a given text in the table; results.csv has them whole."""

MOST_CONFUSIONS = 500
"""Confusions per model in the table, the most frequent first."""

MOST_ANSWERS = 50
"""Expected answers of a task up to which it has closed answers, such as tags."""

_DIGITS = 32
"""Of the hash by which answers are told apart."""

LONGEST_ANSWER = 40
"""Characters of an answer that may be one of a closed set."""


def confusions(source: Source, expected: Mapping[str, str], order: Sequence[str] = ()) -> Table:
    """A row per model, expected and given answer, the most frequent of each model first; ``CONFUSION_COLUMNS``.

    Args:
        source: which outputs are right (``compared``).
        expected: the expected output of each case.
        order: the models; others come after them.
    """
    groups: defaultdict[str, dict[tuple[str, str], _Confused]] = defaultdict(dict)
    for answer in _answers(rows_of(source), expected, "t.verdict = 'fail'"):
        group, own = (answer.expected, text_digest(answer.given, _DIGITS)), groups[answer.model]
        if group not in own:
            own[group] = _Confused(cut(answer.text, MAX_TEXT), answer.case)
        own[group].add(answer.case)
    rows = (row for model in dict.fromkeys([*order, *groups]) for row in _rows(model, groups.get(model, {})))
    return Table.of(rows, CONFUSION_COLUMNS)


def _rows(model: str, groups: Mapping[tuple[str, str], _Confused]) -> Iterator[dict[str, Any]]:
    wrong = sum(one.outputs for one in groups.values())
    for (expected, _), one in sorted(groups.items(), key=lambda group: -group[1].outputs)[:MOST_CONFUSIONS]:
        yield {
            "model": model,
            "expected": cut(expected, MAX_TEXT),
            "given": one.text,
            "outputs": one.outputs,
            "cases": one.cases,
            "wrong": wrong,
            "case": one.case,
        }


@dataclass(slots=True)
class _Confused:
    """Wrong outputs that gave one answer: how many, their cases, and the text and the case of the first."""

    text: str
    case: str
    outputs: int = 0
    others: set[str] | None = None

    def add(self, case: str) -> None:
        self.outputs += 1
        if case != self.case:
            self.others = self.others or set()
            self.others.add(case)

    @property
    def cases(self) -> int:
        return 1 + len(self.others or ())


def answer_counts(source: Source, expected: Mapping[str, str]) -> Table:
    """A row per model, expected and given answer, right ones too, where answers are closed; ``ANSWER_COLUMNS``.

    They are closed where the compared cases have at most ``MOST_ANSWERS`` expected answers, all short, and share some.

    Args:
        source: which outputs are right (``compared``).
        expected: the expected output of each case.
    """
    rows = rows_of(source)
    scored = "t.verdict <> 'unscored'"
    cases = rows.query("c.id", f"WHERE {scored} GROUP BY c.number ORDER BY min(t.place)").fetchall()
    answers = list(dict.fromkeys(expected[case] for (case,) in cases if case in expected))
    if not 2 <= len(answers) <= min(MOST_ANSWERS, len(cases) - 1) or max(map(len, answers)) > LONGEST_ANSWER:
        return Table.of((), ANSWER_COLUMNS)
    texts, counts = {normalised(answer): answer for answer in reversed(answers)}, Counter[tuple[Any, ...]]()
    for one in _answers(rows, expected, scored):
        # A wrong answer that differs from the expected one only in its form is not one of the others.
        other = texts.get(one.given)
        given = one.expected if one.is_right else None if other == one.expected else other
        counts[one.model, one.expected, given, one.is_right] += 1
    rows_of_counts = ((*key[:3], outputs, key[3]) for key, outputs in counts.items())
    return Table.of_tuples(rows_of_counts, ANSWER_COLUMNS)


class _GivenAnswer(NamedTuple):
    """A compared output: its model and case, the expected text, its own, that as it is compared (``given``), and
    whether it is right."""

    model: str
    case: str
    expected: str
    text: str
    given: str
    is_right: bool


def _answers(rows: Rows, expected: Mapping[str, str], which: str) -> Iterator[_GivenAnswer]:
    as_compared = lru_cache(10_000)(normalised)
    columns = "m.name, c.id, coalesce(o.text, ''), t.verdict = 'pass'"
    for model, case, text, is_right in rows.query(columns, f"WHERE {which} ORDER BY t.place"):
        yield _GivenAnswer(model, case, expected.get(case, ""), text, as_compared(text), bool(is_right))
