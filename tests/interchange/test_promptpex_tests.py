"""A ``tests.csv`` of promptpex as a suite; foreign CSV with any bytes in it."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptpex.core.errors import InputError, SuiteError
from promptpex.interchange import promptpex_files
from tests.reproduce.recordings import RULES, TESTS, lines

QUICK = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _file(tmp_path: Path, text: str = TESTS) -> Path:
    path = tmp_path / "tests.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_blank_lines_and_blanks_after_commas_are_no_part_of_it(tmp_path: Path) -> None:
    result = promptpex_files.csv_tests(_file(tmp_path), rule_count=2, variable="thing", prompt="p.md")
    assert result.suite.prompt == "p.md"
    assert [(case.id, case.rule, case.inverse) for case in result.suite.cases] == [
        ("r1-1", "r1", False),
        ("r2-1", "r2", False),
        ("r1-inverse-1", "r1", True),
        ("r2-inverse-1", "r2", True),
    ]
    assert result.suite.cases[0].inputs == {"thing": "a red, round apple"}
    assert result.lines == {"r1-1": 2, "r2-1": 4, "r1-inverse-1": 5, "r2-inverse-1": 6}
    assert result.problems == ()


def test_the_number_of_rules_comes_from_the_file_beside_it(tmp_path: Path) -> None:
    path = _file(tmp_path)
    lines(tmp_path / "rules.txt", [*RULES, "A third.", "A fourth."])
    assert not any(case.inverse for case in promptpex_files.csv_tests(path).suite.cases)
    (tmp_path / "rules.txt").unlink()
    assert [case.inverse for case in promptpex_files.csv_tests(path).suite.cases] == [False, False, True, True]


def test_a_row_that_is_too_long_is_kept_and_named(tmp_path: Path) -> None:
    result = promptpex_files.csv_tests(
        _file(tmp_path, TESTS + '4, 2, "x", "Y", "why",\n4, 3, "x", "Y", "why", more\n'), rule_count=2
    )
    assert [(problem.line, problem.message.rpartition("; ")[2]) for problem in result.problems] == [
        (7, "cells beyond the header are blank"),
        (8, "not used: more"),
    ]
    assert len(result.suite.cases) == 6


def test_the_same_id_twice_makes_two_cases(tmp_path: Path) -> None:
    result = promptpex_files.csv_tests(_file(tmp_path, TESTS + '1, 1, "x", "", ""\n'), rule_count=2)
    assert [case.id for case in result.suite.cases][-1] == "r1-1-2"
    assert result.suite.cases[-1].expected is None


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("5, 1, x, y, z", "there is no rule 5"),
        ("one, 1, x, y, z", "not a number from 1"),
        ("0, 1, x, y, z", "not a number from 1"),
        ("²,1,x,y,z", "not a number from 1"),
        ("1, 1, x", "has 3 cells"),
        ('1, 1, "x, y, z', "not valid CSV"),
    ],
)
def test_what_cannot_be_read_names_its_line(tmp_path: Path, row: str, message: str) -> None:
    path = _file(tmp_path, f"{TESTS}{row}\n")
    with pytest.raises(SuiteError, match=message) as caught:
        promptpex_files.csv_tests(path, rule_count=2)
    assert (caught.value.path, caught.value.line) == (path, 7)


@QUICK
@given(data=st.binary(max_size=400))
def test_any_bytes_are_a_suite_or_a_named_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "tests.csv"
    path.write_bytes(b"ruleid,testid,testinput,expectedoutput,reasoning\n" + data)
    failure: InputError | None = None
    ids: list[str] = []
    try:
        ids = [case.id for case in promptpex_files.csv_tests(path).suite.cases]
    except InputError as error:
        failure = error
    assert failure is None or failure.path == path
    assert len(ids) == len(set(ids))


@QUICK
@given(cells=st.lists(st.tuples(*[st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)] * 2)))
def test_what_the_csv_module_writes_is_read_back(tmp_path: Path, cells: list[tuple[str, str]]) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([("a", "b"), *cells])
    path = tmp_path / "any.csv"
    path.write_text(out.getvalue(), encoding="utf-8", newline="")
    result = promptpex_files.table_rows(path, ("a", "b"), what="file", error=InputError)
    wanted = [pair for pair in cells if any(cell.strip() for cell in pair)]
    assert [(row["a"], row["b"]) for row in result] == wanted


def test_a_link_beside_the_file_is_not_read_outside(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_text("a\n" * 40, encoding="utf-8")
    (tmp_path / "in" / "rules.txt").symlink_to(tmp_path / "secret")
    path = tmp_path / "in" / "tests.csv"
    path.write_text("ruleid,testid,testinput,expectedoutput,reasoning\n2,1,a,b,c\n", encoding="utf-8")
    assert promptpex_files.csv_tests(path).suite.cases[0].inverse, (
        "half of the highest id counts, not the lines of the link"
    )
    path.write_text("ruleid,testid,testinput,expectedoutput,reasoning\n" + "9" * 5000 + ",1,a,b,c\n", encoding="utf-8")
    with pytest.raises(SuiteError, match="is not a number from 1"):
        promptpex_files.csv_tests(path)
