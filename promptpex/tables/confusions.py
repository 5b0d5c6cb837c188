"""Wrong answers: what models answer most often where something else was expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from promptpex.codecs.comparable_texts import normalised
from promptpex.codecs.wording import cut
from promptpex.tables.frames import typed
from promptpex.tables.plain_values import records

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
    if wrong.empty:
        return typed([], CONFUSION_COLUMNS)
    groups = wrong.groupby(["model", "expected", "given"], sort=False, observed=True)
    table = groups.agg(
        outputs=("case", "size"), cases=("case", "nunique"), text=("text", "first"), case=("case", "first")
    ).reset_index()
    totals = wrong["model"].value_counts()
    places = {name: place for place, name in enumerate(dict.fromkeys([*order, *totals.index]))}
    table["place"] = table["model"].map(places.get)
    table = table.sort_values(["place", "outputs"], ascending=[True, False], kind="stable")
    kept = table.groupby("model", sort=False).head(MOST_CONFUSIONS)
    return typed(
        (
            {
                **{name: row[name] for name in ("model", "outputs", "cases", "case")},
                "expected": cut(row["expected"], MAX_TEXT),
                "given": cut(row["text"], MAX_TEXT),
                "wrong": int(totals[row["model"]]),
            }
            for row in kept.to_dict("records")
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
    table = _answers(known, expected)
    shown = {normalised(answer): answer for answer in reversed(answers)}
    table["right"] = known["verdict"].eq("pass").to_numpy(bool)
    given = table["given"].map(shown.get)
    # A wrong answer that differs from the expected one only in its form is not one of the others.
    table["given"] = given.where(given.ne(table["expected"]), None).where(~table["right"], table["expected"])
    keys = ["model", "expected", "given", "right"]
    counts = table.groupby(keys, sort=False, observed=True, dropna=False).size().reset_index(name="outputs")
    return typed(records(counts), ANSWER_COLUMNS)


def _answers(compared: pd.DataFrame, expected: Mapping[str, str]) -> pd.DataFrame:
    """Per compared output: model, case, expected text, its own text, and that as it is compared (``given``)."""
    import pandas as pd

    texts = compared["output"].fillna("").tolist()
    as_compared = {text: normalised(text) for text in dict.fromkeys(texts)}
    cases = compared["case"].tolist()
    return pd.DataFrame(
        {
            "model": pd.Series(compared["model"].tolist(), dtype=object),
            "case": pd.Series(cases, dtype=object),
            "expected": pd.Series([expected.get(case, "") for case in cases], dtype=object),
            "text": pd.Series(texts, dtype=object),
            "given": pd.Series([as_compared[text] for text in texts], dtype=object),
        }
    )
