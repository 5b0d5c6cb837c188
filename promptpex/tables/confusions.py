"""Wrong answers: what models answer most often where something else was expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from promptpex.codecs.comparable_texts import normalised
from promptpex.codecs.wording import cut
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

LONGEST_ANSWER = 40
"""Characters of an answer that may be one of a closed set."""


def confusions(compared: pd.DataFrame, expected: Mapping[str, str], order: Sequence[str] = ()) -> pd.DataFrame:
    """A row per model, expected and given answer, the most frequent of each model first; ``CONFUSION_COLUMNS``.

    Args:
        compared: which outputs are right (``expected_outcomes``).
        expected: the expected output of each case.
        order: the models; others come after them.
    """
    wrong = _answers(compared[compared["verdict"].eq("fail").to_numpy(bool)], expected)
    groups: dict[tuple[str, str, str], list[_GivenAnswer]] = {}
    for answer in wrong:
        groups.setdefault((answer.model, answer.expected, answer.given), []).append(answer)
    totals = Counter(answer.model for answer in wrong)
    by_model: dict[str, list[list[_GivenAnswer]]] = {name: [] for name in (*order, *totals)}
    for (model, _, _), same in groups.items():
        by_model[model].append(same)
    kept = (same for own in by_model.values() for same in sorted(own, key=len, reverse=True)[:MOST_CONFUSIONS])
    return typed(
        (
            {
                "model": same[0].model,
                "expected": cut(same[0].expected, MAX_TEXT),
                "given": cut(same[0].text, MAX_TEXT),
                "outputs": len(same),
                "cases": len({answer.case for answer in same}),
                "wrong": totals[same[0].model],
                "case": same[0].case,
            }
            for same in kept
        ),
        CONFUSION_COLUMNS,
    )


def answer_counts(compared: pd.DataFrame, expected: Mapping[str, str]) -> pd.DataFrame:
    """A row per model, expected and given answer, right ones too, where answers are closed; ``ANSWER_COLUMNS``.

    They are closed where the compared cases have at most ``MOST_ANSWERS`` expected answers, all short, and share some.

    Args:
        compared: which outputs are right (``expected_outcomes``).
        expected: the expected output of each case.
    """
    known = compared[compared["verdict"].ne("unscored").to_numpy(bool)]
    answers = list(dict.fromkeys(expected[case] for case in known["case"].unique() if case in expected))
    shared = len(answers) < known["case"].nunique()
    if not 1 < len(answers) <= MOST_ANSWERS or not shared or max(map(len, answers)) > LONGEST_ANSWER:
        return typed([], ANSWER_COLUMNS)
    shown = {normalised(answer): answer for answer in reversed(answers)}
    counts: Counter[tuple[str, str, str | None, bool]] = Counter()
    for answer, right in zip(_answers(known, expected), known["verdict"].eq("pass").tolist(), strict=True):
        # A wrong answer that differs from the expected one only in its form is not one of the others.
        other = shown.get(answer.given) if shown.get(answer.given) != answer.expected else None
        counts[answer.model, answer.expected, answer.expected if right else other, right] += 1
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
