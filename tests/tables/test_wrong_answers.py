"""Wrong answers as tables: what was given most often where something else was expected."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from promptpex.core.records import Case, Run
from promptpex.tables import (
    ANSWER_COLUMNS,
    CONFUSION_COLUMNS,
    answer_counts,
    confusions,
    expected_outcomes,
    outputs,
    scores,
)
from promptpex.tables.wrong_answers import MAX_TEXT, MOST_ANSWERS, MOST_CONFUSIONS
from tests.tables.by_hand import output, run, score

Answers = Sequence[tuple[str, str | None]]
"""Per case the expected answer, and what is given; None: it could not be compared."""


def answered(**by_model: Answers) -> Run:
    """A run in which an answer is right where it is the expected one but for its case."""
    outputs, made = [], []
    cases = tuple(
        Case(id=f"c{n}", inputs={"thing": f"t{n}"}, expected=wanted)
        for n, (wanted, _) in enumerate(next(iter(by_model.values())))
    )
    for model, answers in by_model.items():
        for n, (wanted, given) in enumerate(answers):
            outputs.append(output(f"c{n}", model, given, **({"error": "truncated"} if given is None else {})))
            more = {"unscored": "truncated", "source": "none"} if given is None else {}
            right = None if given is None else float(given.strip(" .").lower() == wanted.lower())
            made.append(score(right, f"c{n}", model, **more))
    return run(outputs, scores=made, models=tuple(by_model), cases=cases)


def compared(made: Run) -> tuple[pd.DataFrame, dict[str, str]]:
    expected = {case.id: case.expected for case in made.suite.cases if case.expected is not None}
    return expected_outcomes(outputs(made), scores(made)).outputs().frame(), expected


def shown(made: Run) -> list[tuple[str, str, str, int]]:
    table = confusions(*compared(made), order=made.manifest.models)
    assert {name: str(kind) for name, kind in table.dtypes.items()} == dict(CONFUSION_COLUMNS)
    return list(table[["model", "expected", "given", "outputs"]].itertuples(index=False, name=None))


def test_the_most_frequent_come_first_and_what_differs_only_in_form_is_one() -> None:
    made = answered(
        b=[("NN", "JJ"), ("NN", "NN"), ("VB", "NN"), ("VB", " nn."), ("VB", "NN\n"), ("DT", None)],
        a=[("NN", "NN"), ("NN", "NN"), ("VB", "VB"), ("VB", "VB"), ("VB", ""), ("DT", "DT.")],
    )
    assert shown(made) == [("b", "VB", "NN", 3), ("b", "NN", "JJ", 1), ("a", "VB", "", 1)]
    (first, *_) = confusions(*compared(made)).to_dict("records")
    assert (first["cases"], first["wrong"], first["case"]) == (3, 4, "c2")


def test_repeats_count_as_outputs_and_not_as_cases() -> None:
    made = answered(a=[("x", "y"), ("x", "y")])
    again = tuple(one.replace(repeat=1) for one in made.outputs)
    scored = tuple(one.replace(repeat=1) for one in made.scores)
    twice = made.replace(outputs=(*made.outputs, *again), scores=(*made.scores, *scored))
    (row,) = confusions(*compared(twice)).to_dict("records")
    assert (row["outputs"], row["cases"], row["wrong"]) == (4, 2, 4)


def test_long_texts_are_cut_and_told_apart_by_all_of_them() -> None:
    rest = "x" * (2 * MAX_TEXT)
    table = confusions(*compared(answered(a=[(rest, f"{rest}1"), (rest, f"{rest}2"), (rest, f"{rest}2")])))
    assert table["outputs"].tolist() == [2, 1]
    assert {len(text) for name in ("expected", "given") for text in table[name]} == {MAX_TEXT}


def test_only_the_most_frequent_of_very_many_are_kept() -> None:
    many: Answers = [("x", f"wrong {n}") for n in range(MOST_CONFUSIONS + 5)]
    table = confusions(*compared(answered(a=[*many, ("x", "wrong 7")])))
    assert len(table) == MOST_CONFUSIONS
    assert (table["given"].iloc[0], table["outputs"].iloc[0]) == ("wrong 7", 2)
    assert set(table["wrong"]) == {MOST_CONFUSIONS + 6}


def test_closed_answers_are_counted_each_under_each() -> None:
    made = answered(a=[("NN", "nn"), ("NN", "VB."), ("VB", "no tag"), ("VB", "NN"), ("VB", None)])
    table = answer_counts(*compared(made))
    assert {name: str(kind) for name, kind in table.dtypes.items()} == dict(ANSWER_COLUMNS)
    cells = {
        (row["expected"], None if pd.isna(row["given"]) else row["given"], row["right"]): row["outputs"]
        for row in table.to_dict("records")
    }
    assert cells == {
        ("NN", "NN", True): 1,
        ("NN", "VB", False): 1,
        ("VB", None, False): 1,
        ("VB", "NN", False): 1,
    }


def test_a_wrong_answer_that_is_the_expected_one_but_for_its_form_is_another_answer() -> None:
    made = answered(a=[("NN", "NN"), ("NN", "NN"), ("VB", "VB")])
    wrong = made.scores[1].replace(value=0.0)
    table = answer_counts(*compared(made.replace(scores=(made.scores[0], wrong, made.scores[2]))))
    assert [(row["expected"], pd.isna(row["given"]), row["right"]) for row in table.to_dict("records")] == [
        ("NN", False, True),
        ("NN", True, False),
        ("VB", False, True),
    ]


def test_open_answers_are_not_counted() -> None:
    """Too many, too long, or each the answer of one case alone."""
    many = answered(a=[(f"x{n % (MOST_ANSWERS + 1)}", "y") for n in range(2 * MOST_ANSWERS + 2)])
    long = answered(a=[("long " * 20, "y"), ("long " * 20, "y"), ("b", "b")])
    alone = answered(a=[("x", "y"), ("y", "y")])
    for made in (many, long, alone, run()):
        assert answer_counts(*compared(made)).empty


def test_without_a_wrong_answer_there_is_nothing_to_show() -> None:
    assert shown(answered(a=[("x", "x")])) == []
    assert shown(run([output()])) == []
