"""Wrong answers in every form of a report."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from promptpex.report import summarise
from promptpex.report.files import write
from promptpex.report.html_page import html
from promptpex.report.summary import to_dict
from promptpex.report.wrong_answers import MOST_IN_TABLE, MOST_LISTED, OTHER, wrong_answers
from tests.report.printed import printed
from tests.report.test_html_page import EVIL, Reader, assert_harmless
from tests.tables.test_wrong_answers import answered

TAGS = answered(
    good=[("NN", "NN"), ("NN", "NN"), ("VB", "VB"), ("VB", "VB"), ("JJ", "JJ")],
    bad=[("NN", "NN"), ("NN", "VB"), ("VB", "VB"), ("VB", "who knows"), ("JJ", "NN")],
)


def test_the_page_lists_them_and_has_a_table_of_closed_answers() -> None:
    (bad,) = wrong_answers(summarise(TAGS))
    assert (bad.model, bad.wrong, bad.compared, bad.more) == ("bad", 3, 5, 0)
    table = bad.table
    assert table is not None
    assert table.columns == ("JJ", "NN", "VB", OTHER)
    assert table.counts == ((0, 1, 0, 0), (0, 1, 1, 0), (0, 0, 1, 1))
    assert table.shares == ((0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 0.5, 0.0), (0.0, 0.0, 0.0, 0.5))
    page = Reader(html(summarise(TAGS)))
    assert "bad: 3 wrong of 5 compared" in page.text
    assert "Which answer was given for which" in page.text
    assert [one for one in page.having("class") if one in ("h5", "h4", "right")] == [
        "right",
        "h5",
        *["right", "h4"] * 2,
    ]


def test_answers_that_are_never_anothers_have_no_table() -> None:
    made = answered(a=[("NN", "NN"), ("NN", "x"), ("VB", "y")])
    (one,) = wrong_answers(summarise(made))
    assert one.table is None
    assert "Which answer was given for which" not in html(summarise(made))


def test_what_is_left_out_is_said() -> None:
    labels = [f"L{n:02}" for n in range(MOST_IN_TABLE + 4)]
    made = answered(a=[(label, labels[(n + 1) % 16]) for n, label in enumerate(labels)] + [("L00", "L00")])
    (one,) = wrong_answers(summarise(made))
    assert one.table is not None
    assert len(one.table.answers) == MOST_IN_TABLE
    assert one.table.left_out == 4
    assert (len(one.rows), one.more) == (MOST_LISTED, 6)
    page = Reader(html(summarise(made))).text
    assert "6 more are left out here; confusions.csv has them." in page
    assert "Left out: 4 more expected answers that this model missed." in page


def test_hostile_answers_are_escaped_everywhere(tmp_path: Path) -> None:
    formula, escape = "=HYPERLINK(1)", "\x1b[31mred\x9b\u202e"
    label = "<b>'\"&{{7*7}}"
    made = answered(
        **{EVIL: [(EVIL, formula), (label, EVIL[:30]), (label, escape), (formula, label), (label, "</td>")]}
    )
    short = answered(**{EVIL: [(label, "<i>"), (label, label), ("<i>", label), ("<i>", EVIL), (label, escape)]})
    for run in (made, short):
        page = Reader(html(summarise(run)))
        assert_harmless(page)
        assert label in page.text
        assert "49" not in page.text
        text = printed(summarise(run), width=200)
        assert "Most frequent wrong answers" in text
        assert not any(letter in text for letter in "\x1b\x9b\u202e")
    assert wrong_answers(summarise(short))[0].table is not None
    folder = tmp_path / "results" / "p" / "r"
    folder.mkdir(parents=True)
    write(summarise(made), folder)
    with (folder / "confusions.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["given"] for row in rows} >= {f"'{formula}", label}


def test_files_and_json_have_them_where_there_are_any(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "p" / "r"
    folder.mkdir(parents=True)
    assert folder / "confusions.csv" in write(summarise(TAGS), folder)
    data = json.loads(json.dumps(to_dict(summarise(TAGS))))["confusions"]
    assert [(row["model"], row["expected"], row["given"]) for row in data] == [
        ("bad", "NN", "VB"),
        ("bad", "VB", "who knows"),
        ("bad", "JJ", "NN"),
    ]
    right = TAGS.replace(scores=tuple(one.replace(value=1.0) for one in TAGS.scores))
    write(summarise(right), folder)
    assert not (folder / "confusions.csv").exists(), "that of an earlier judging is taken away"
    assert "wrong answers" not in html(summarise(right)) + printed(summarise(right))


def test_the_terminal_has_the_first_of_each_model_before_the_second_of_any() -> None:
    wrong = [("x", "y"), ("x", "y"), ("x", "z")]
    text = printed(summarise(answered(a=wrong, b=wrong)), width=100)
    lines = text.partition("Most frequent wrong answers")[2].splitlines()
    rows = [line.split() for line in lines if line[:3] in (" a ", " b ")][:4]
    assert rows == [
        ["a", "x", "y", "2", "of", "3"],
        ["b", "x", "y", "2", "of", "3"],
        ["a", "x", "z", "1", "of", "3"],
        ["b", "x", "z", "1", "of", "3"],
    ]
