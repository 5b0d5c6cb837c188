"""Wrong answers: what models answer most often where something else was expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from promptpex.codecs.text.comparing import normalised
from promptpex.codecs.text.wording import cut
from promptpex.core.ids import text_digest
from promptpex.tables.frames import typed

if TYPE_CHECKING:
    import pandas as pd

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


def confusions(compared: pd.DataFrame, expected: Mapping[str, str], order: Sequence[str] = ()) -> pd.DataFrame:
    """A row per model, expected and given answer, the most frequent of each model first; ``CONFUSION_COLUMNS``.

    Args:
        compared: which outputs are right (``expected_outcomes``).
        expected: the expected output of each case.
        order: the models; others come after them.
    """
    counts = Confusions(expected)
    counts.add(compared)
    return counts.table(order)


def answer_counts(compared: pd.DataFrame, expected: Mapping[str, str]) -> pd.DataFrame:
    """A row per model, expected and given answer, right ones too, where answers are closed; ``ANSWER_COLUMNS``.

    They are closed where the compared cases have at most ``MOST_ANSWERS`` expected answers, all short, and share some.

    Args:
        compared: which outputs are right (``expected_outcomes``).
        expected: the expected output of each case.
    """
    counts = AnswerCounts(expected)
    counts.add(compared)
    return counts.table()


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


class Confusions:
    """What ``confusions`` lists, from outputs that come part by part; it grows with the different wrong answers, some
    500 bytes for each.

    Args:
        expected: the expected output of each case.
    """

    def __init__(self, expected: Mapping[str, str]) -> None:
        self._expected = expected
        self._groups: dict[str, dict[tuple[str, str], _Confused]] = {}

    def add(self, compared: pd.DataFrame) -> None:
        """Adds some outputs of which it is known whether they are right."""
        for answer in _answers(compared[compared["verdict"].eq("fail").to_numpy(bool)], self._expected):
            group = answer.expected, text_digest(answer.given, _DIGITS)
            own = self._groups.setdefault(answer.model, {})
            if group not in own:
                own[group] = _Confused(cut(answer.text, MAX_TEXT), answer.case)
            own[group].add(answer.case)

    def table(self, order: Sequence[str] = ()) -> pd.DataFrame:
        """The table; columns ``CONFUSION_COLUMNS``; models that are not in ``order`` come last."""
        return typed(
            (row for model in dict.fromkeys([*order, *self._groups]) for row in self._rows(model)), CONFUSION_COLUMNS
        )

    def _rows(self, model: str) -> Iterator[dict[str, Any]]:
        groups = self._groups.get(model, {})
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


class AnswerCounts:
    """What ``answer_counts`` counts, from outputs that come part by part; it keeps nothing where answers are not
    closed.

    Args:
        expected: the expected output of each case.
    """

    def __init__(self, expected: Mapping[str, str]) -> None:
        self._expected = expected
        self._short = {normalised(text) for text in expected.values() if len(text) <= LONGEST_ANSWER}
        self._cases: dict[str, None] = {}
        self._answers: dict[str, None] = {}
        self._counts: Counter[tuple[str, str, str | None, bool]] = Counter()

    def add(self, compared: pd.DataFrame) -> None:
        """Adds some outputs of which it is known whether they are right."""
        if not self._may_be_closed:
            return
        scored_rows = compared[compared["verdict"].ne("unscored").to_numpy(bool)]
        cases = dict.fromkeys(scored_rows["case"].unique())
        self._cases |= cases
        self._answers |= dict.fromkeys(self._expected[case] for case in cases if case in self._expected)
        for answer, right in zip(
            _answers(scored_rows, self._expected), scored_rows["verdict"].eq("pass").tolist(), strict=True
        ):
            given_answer = answer.given if answer.given in self._short else None
            self._counts[answer.model, answer.expected, given_answer, right] += 1
        if not self._may_be_closed:
            self._cases.clear()
            self._counts.clear()

    @property
    def _may_be_closed(self) -> bool:
        return len(self._answers) <= MOST_ANSWERS and max(map(len, self._answers), default=0) <= LONGEST_ANSWER

    def table(self) -> pd.DataFrame:
        """The table; columns ``ANSWER_COLUMNS``."""
        if len(self._answers) < 2 or not self._may_be_closed or len(self._answers) >= len(self._cases):
            return typed([], ANSWER_COLUMNS)
        answer_texts = {normalised(answer): answer for answer in reversed(self._answers)}
        counts: Counter[tuple[str, str, str | None, bool]] = Counter()
        for (model, expected, given_answer, right), outputs in self._counts.items():
            # A wrong answer that differs from the expected one only in its form is not one of the others.
            other = (
                None
                if given_answer is None or answer_texts.get(given_answer) == expected
                else answer_texts.get(given_answer)
            )
            counts[model, expected, expected if right else other, right] += outputs
        return typed(
            (dict(zip(ANSWER_COLUMNS, (*key[:3], outputs, key[3]), strict=True)) for key, outputs in counts.items()),
            ANSWER_COLUMNS,
        )


class _GivenAnswer(NamedTuple):
    """A compared output: its model and case, the expected text, its own, and that as it is compared (``given``)."""

    model: str
    case: str
    expected: str
    text: str
    given: str


def _answers(compared: pd.DataFrame, expected: Mapping[str, str]) -> list[_GivenAnswer]:
    texts = compared["output"].fillna("").tolist()
    as_compared = {text: normalised(text) for text in dict.fromkeys(texts)}
    rows = zip(compared["model"].tolist(), compared["case"].tolist(), texts, strict=True)
    return [_GivenAnswer(model, case, expected.get(case, ""), text, as_compared[text]) for model, case, text in rows]
