"""What ``promptpex check`` prints: a table, CSV, JSON lines or JUnit XML, each written as the verdicts come."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from promptpex.assertions.batch import RowReport
from promptpex.assertions.model import CheckReport, CheckResult, Status
from promptpex.codecs import jsonl
from promptpex.codecs.text.control_characters import visible
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.codecs.text.wording import cut
from promptpex.core.translation import digits, from_data, tr

if TYPE_CHECKING:
    from promptpex.codecs.ci_reports import JUnitCase, Outcome

Reports = Iterable[RowReport]
Writer = Callable[[Reports], Iterator[str]]


def json_lines(reports: Reports) -> Iterator[str]:
    """``{id, status, score, reason, assertions}`` a row, a line each."""
    for row_id, report in reports:
        yield jsonl.dumps(report.to_dict(row_id), allow_nan=True) + "\n"


def table(reports: Reports) -> Iterator[str]:
    """A row an output: id, status, score, reason; on a terminal a line each. Control characters are shown as U+FFFD."""
    wide = max(_STATUS, *(len(from_data(status)) for status in _OUTCOMES))
    head, width = f"{'id':<24}  {tr('status'):<{wide}}  {tr('score'):>6}  {tr('reason')}\n", _reason_width(wide)
    for row_id, report in reports:
        score = "" if report.score is None else digits(f"{report.score:.3f}")
        reason = _cell(from_data(report.reason), width)
        yield f"{head}{_cell(row_id, 24):<24}  {from_data(report.status):<{wide}}  {score:>6}  {reason}\n"
        head = ""
    yield head


_MIN_REASON, _MAX_REASON = 20, 100
"""Characters of a reason, however narrow or wide the terminal is."""
_STATUS = 8
"""Characters of a status at least."""
_OTHER_COLUMNS = 36
"""Characters of id and score, with the blanks between all columns."""


def _reason_width(status: int) -> int:
    """How many characters of a reason are shown: what a terminal has left after the other columns."""
    if not sys.stdout.isatty():
        return _MAX_REASON
    return min(max(shutil.get_terminal_size().columns - _OTHER_COLUMNS - status - 1, _MIN_REASON), _MAX_REASON)


def _cell(value: object, width: int) -> str:
    text = visible(" ".join(str(value).split()))
    return cut(text, width)


_HEAD = ("id", "status", "score", "unscored", "reason", "assertion", "kind", "assertion_status", "assertion_score")
_TAIL = ("assertion_unscored", "assertion_reason", "metric", "weight")


def csv_rows(reports: Reports) -> Iterator[str]:
    """A row an assertion, the row's own verdict repeated; no cell that a spreadsheet would run."""
    from promptpex.codecs import safe_csv

    yield safe_csv.dumps([[*_HEAD, *_TAIL]])
    for row_id, report in reports:
        head = [value_text(row_id), report.status, _number(report.score), report.unscored or "", report.reason]
        lines = [[*head, *_assertion(place, result)] for place, result in _flat(report.results)]
        yield safe_csv.dumps(_clean(lines or [[*head, *[""] * (len(_HEAD) + len(_TAIL) - len(head))]]))


def _clean(lines: list[list[str]]) -> list[list[str]]:
    return [[visible(cell) for cell in line] for line in lines]


def _assertion(place: str, result: CheckResult) -> list[str]:
    verdict = [result.status, _number(result.score), result.unscored or "", result.reason]
    return [place, result.kind, *verdict, result.metric or "", _number(result.weight)]


def _flat(results: Iterable[CheckResult], before: str = "") -> Iterator[tuple[str, CheckResult]]:
    """The results with their places, ``1``, ``2``, ``2.1``: those of a set after it."""
    for number, result in enumerate(results, 1):
        yield f"{before}{number}", result
        yield from _flat(result.parts, f"{before}{number}.")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def junit(reports: Reports) -> Iterator[str]:
    """JUnit XML: a case a row; failures fail, unscored rows are errors."""
    from promptpex.codecs.ci_reports import junit_document

    yield from junit_document([("promptpex check", (_junit_case(row_id, report) for row_id, report in reports))])


def _junit_case(row_id: object, report: CheckReport) -> JUnitCase:
    from promptpex.codecs.ci_reports import JUnitCase

    reasons = (f"{place} {result.kind}: {result.status}: {result.reason}" for place, result in _flat(report.results))
    return JUnitCase(
        classname="promptpex.check",
        name=value_text(row_id),
        outcome=_OUTCOMES[report.status],
        kind=report.unscored or "assertion",
        message=report.reason,
        details="\n".join(reasons),
    )


_OUTCOMES: dict[Status, Outcome] = {"pass": "pass", "fail": "failure", "unscored": "error"}

FORMATS: dict[str, Writer] = {"table": table, "csv": csv_rows, "json": json_lines, "junit": junit}
