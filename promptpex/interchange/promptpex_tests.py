"""``promptpex-tests``: the ``tests.csv`` of microsoft/promptpex, as a suite.

Columns ``ruleid, testid, testinput, expectedoutput, reasoning``, with a blank after each comma. Rule ids count through
the rules and then through their inverses, so the number of rules tells the two apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from promptpex.codecs.files.ordinary_files import is_file, is_inside, read_bytes
from promptpex.core.errors import SuiteError
from promptpex.core.records import INPUT_VARIABLE, Case, Problem, Suite
from promptpex.interchange import csv_table
from promptpex.interchange.format import Format, Imported, Option, columns
from promptpex.interchange.reading.exchanges import Ids

COLUMNS = ("ruleid", "testid", "testinput", "expectedoutput", "reasoning")
WHAT = "promptpex test file"


@dataclass(frozen=True, slots=True)
class Tests:
    """A suite, the line of each case, and what is odd about the file."""

    __test__ = False

    suite: Suite
    lines: dict[str, int]
    problems: tuple[Problem, ...]


def read(
    path: Path, *, rule_count: int | None = None, variable: str = INPUT_VARIABLE, prompt: str = "prompt.md"
) -> Tests:
    """The suite in a ``tests.csv``.

    Args:
        rule_count: how many rules there are; ids above it aim at inverses. By default the lines of a ``rules.txt``
            beside the file, else half the highest id.
        variable: the input that a test's text is the value of.
        prompt: the prompt file that the suite names.

    Raises:
        SuiteError: the file is missing or not CSV, or has a wrong header, a short row or an unknown rule id; with the
            line.
    """
    rows = csv_table.read(path, COLUMNS, what=WHAT, error=SuiteError, blank_after_comma=True)
    ids = [_rule_number(row, path) for row in rows]
    count = rule_count if rule_count is not None else _count_rules(path, ids)
    _check_range(rows, ids, count, path)
    problems: list[Problem] = []
    named = Ids()
    cases: dict[str, Case] = {}
    lines: dict[str, int] = {}
    for row, number in zip(rows, ids, strict=True):
        case = _case(row, number, count, variable, named)
        cases[case.id], lines[case.id] = case, row.number
        problems += _odd(row, path)
    return Tests(Suite(prompt=prompt, cases=tuple(cases.values())), lines, tuple(problems))


def numbered(number: int, rules: int) -> tuple[str, bool]:
    """The rule's id of a published rule number, and whether it is the inverse that is meant."""
    return f"r{number if number <= rules else number - rules}", number > rules


def _rule_number(row: csv_table.TableRow, path: Path) -> int:
    text = row["ruleid"].strip()
    if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) < 1:
        raise SuiteError(f"the rule id {text[:40]!r} is not a number from 1", path=path, line=row.number)
    return int(text)


def _count_rules(path: Path, ids: Sequence[int]) -> int:
    rules_file = path.with_name("rules.txt")
    if is_file(rules_file) and is_inside(rules_file, path.parent):
        text = read_bytes(rules_file, error=SuiteError, what="file of rules").decode("utf-8", errors="replace")
        return sum(1 for line in text.splitlines() if line.strip())
    return (max(ids, default=0) + 1) // 2


def _check_range(rows: Sequence[csv_table.TableRow], ids: Sequence[int], count: int, path: Path) -> None:
    for row, number in zip(rows, ids, strict=True):
        if number > 2 * count:
            raise SuiteError(
                f"there is no rule {number}: there are {count} rules and as many inverses", path=path, line=row.number
            )


def _case(row: csv_table.TableRow, number: int, rules: int, variable: str, ids: Ids) -> Case:
    rule, inverse = numbered(number, rules)
    stem = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in row["testid"].strip()) or "x"
    case_id = f"{rule}-inverse-{stem}" if inverse else f"{rule}-{stem}"
    return Case(
        id=ids.numbered(case_id),
        rule=rule,
        inverse=inverse,
        inputs={variable: row["testinput"]},
        reasoning=row["reasoning"].strip(),
        expected=row["expectedoutput"].strip() or None,
        expected_from="the generator",
        origin="generated",
    )


def _odd(row: csv_table.TableRow, path: Path) -> list[Problem]:
    problems: list[Problem] = []
    if row.beyond:
        extra = [cell.strip() for cell in row.beyond if cell.strip()]
        ignored = f"not used: {', '.join(extra)[:80]}" if extra else "cells beyond the header are blank"
        cells = len(row.cells) + len(row.beyond)
        problems.append(
            Problem.warning(
                path, row.number, f"the row has {cells} cells but the header has {len(row.cells)}; {ignored}"
            )
        )
    if not row["testinput"].strip():
        problems.append(Problem.warning(path, row.number, "the test's input is empty"))
    return problems


def read_format(path: Path, *, rule_count: int | None, variable: str) -> Imported:
    """As ``read``, for ``FORMAT``."""
    tests = read(path, rule_count=rule_count, variable=variable)
    return Imported(suite=tests.suite, problems=tests.problems)


FORMAT = Format(
    name="promptpex-tests",
    summary="a tests.csv of microsoft/promptpex, as a case file",
    reads="suite",
    read=read_format,
    read_options=(
        Option("rule_count", "number of rules [lines of rules.txt].", kind=int, minimum=1, metavar="N"),
        Option("variable", "the prompt's variable [input].", default=INPUT_VARIABLE, metavar="NAME"),
    ),
    recognise=lambda path: set(COLUMNS) <= columns(path),
    lost="cells beyond the header's",
)
