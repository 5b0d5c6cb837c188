"""``test_results.csv`` of the published recordings: a row per test and model, with output and verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from promptpex.cases.lint import preamble
from promptpex.core.errors import RunError
from promptpex.core.records import Case, Output, Problem, Rule, Status, Suite, Verdict
from promptpex.interchange import promptpex_files
from promptpex.interchange.promptpex_files import numbered
from promptpex.judging.modes.prompt import WHOLE_PROMPT

COLUMNS = (
    "id", "promptid", "ruleid", "rule", "model", "input", "output", "compliance", "complianceText", "baseline",
)  # fmt: skip
SOURCE = "judge:published"
_STATUS: dict[str, Status] = {"ok": "pass", "err": "fail"}
BASELINE = "baseline"
"""The scenario of the baseline's cases."""

Key = tuple[str, bool, str]


@dataclass(frozen=True, slots=True)
class Result:
    """A row as published: whose answer to which case, and what the judge's verdict was read as.

    Attributes:
        compliance: ``ok``, ``err``, or something else: lost.
        baseline, inverse: which part of the tables it belongs to.
        line: of the file.
    """

    case: str
    model: str
    repeat: int
    compliance: str
    baseline: bool
    inverse: bool
    line: int


@dataclass
class Results:
    """What the file comes to."""

    cases: list[Case]
    models: list[str] = field(default_factory=list)
    rows: tuple[Result, ...] = ()
    outputs: list[Output] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def read_results(path: Path, promptid: str, suite: Suite, rules: Sequence[Rule], variable: str) -> Results:
    """The results, with a case for every test: the suite's, the baseline's, and those that the suite lacks.

    Rows of another prompt (``promptid``) are counted in no table; they are named as problems.

    Raises:
        RunError: the file is missing, cut off or has another header; with the line.
    """
    reader = _Reader(path, promptid, suite, rules, variable)
    for row in promptpex_files.table_rows(path, COLUMNS, what="results file", error=RunError):
        reader.take(row)
    return reader.finished()


class _Reader:
    """Takes the rows one by one."""

    def __init__(self, path: Path, promptid: str, suite: Suite, rules: Sequence[Rule], variable: str) -> None:
        self._path = path
        self._promptid = promptid
        self._rules = rules
        self._variable = variable
        self._results = Results(cases=list(suite.cases))
        self._places = {
            (case.rule or "", case.inverse, str(case.inputs[variable]).strip()): case for case in suite.cases
        }
        self._rows: list[Result] = []
        self._seen: Counter[tuple[str, str]] = Counter()
        self._orphans: list[int] = []

    def take(self, row: promptpex_files.TableRow) -> None:
        """One row into an output, a verdict and a result."""
        if row["promptid"] != self._promptid:
            self._orphans.append(row.number)
            return
        case = self._case(row)
        model = row["model"]
        repeat = self._seen[case.id, model]
        self._seen[case.id, model] += 1
        if model not in self._results.models:
            self._results.models.append(model)
        if repeat:
            self._warn(row.number, f"{model} answers case {case.id} again; kept as repeat {repeat}")
        baseline = bool(row["baseline"].strip())
        result = Result(case.id, model, repeat, row["compliance"].strip(), baseline, case.inverse, row.number)
        self._rows.append(result)
        self._results.outputs.append(output := _output(result, row["output"]))
        self._results.verdicts += self._verdicts(result, output, row["complianceText"].strip())

    def finished(self) -> Results:
        """All that was taken, and what is missing."""
        results = self._results
        results.rows = tuple(self._rows)
        if self._orphans:
            lines = ", ".join(map(str, self._orphans[:10]))
            self._warn(
                self._orphans[0], f"{len(self._orphans)} results of another prompt are in no table (lines {lines})"
            )
        for case in results.cases:
            for model in results.models:
                if not self._seen[case.id, model]:
                    self._missing(case, model)
        rank = {model: place for place, model in enumerate(results.models)}
        order = {case.id: place for place, case in enumerate(results.cases)}
        results.outputs.sort(key=lambda output: (rank[output.model], output.repeat, order[output.case]))
        results.verdicts.sort(key=lambda verdict: (rank[verdict.model], verdict.repeat, order[verdict.case]))
        return results

    def _case(self, row: promptpex_files.TableRow) -> Case:
        place = self._place(row)
        case = self._places.get(place)
        if case is None:
            case = self._places[place] = self._new_case(row, place)
            self._results.cases.append(case)
        elif case.rule:
            self._compare_rule(row, case)
        return case

    def _place(self, row: promptpex_files.TableRow) -> Key:
        text = row["input"].strip()
        if row["baseline"].strip():
            return ("", False, text)
        number = row["ruleid"].strip()
        if not number.isascii() or not number.isdigit() or not 1 <= int(number) <= 2 * len(self._rules):
            raise RunError(
                f"the rule id {number[:40]!r} is not one of the {2 * len(self._rules)} rules and inverses, and the row "
                "is not marked as a baseline's; get the file again",
                path=self._path,
                line=row.number,
            )
        return (*numbered(int(number), len(self._rules)), text)

    def _new_case(self, row: promptpex_files.TableRow, place: Key) -> Case:
        rule, inverse, text = place
        inputs = {self._variable: row["input"]}
        if rule:
            self._warn(row.number, "this test is not in tests.csv; it is added from the results")
            stem = f"{rule}-inverse" if inverse else rule
            return Case(id=f"{stem}-{row['id']}", rule=rule, inverse=inverse, inputs=inputs)
        number = sum(case.rule is None for case in self._results.cases) + 1
        opening = preamble(text)
        if opening is not None:
            self._warn(
                row.number, f"the baseline's test {number} is not an input but its author's preamble: {opening!r}; kept"
            )
        return Case(id=f"{BASELINE}-{number}", inputs=inputs, scenario=BASELINE)

    def _compare_rule(self, row: promptpex_files.TableRow, case: Case) -> None:
        rule = next(rule for rule in self._rules if rule.id == case.rule)
        if row["rule"].strip() != ((rule.inverse if case.inverse else rule.rule) or ""):
            side = "inverse of " if case.inverse else ""
            self._warn(row.number, f"the rule's text is not that of the {side}{rule.id} in the rule files")

    def _verdicts(self, result: Result, output: Output, reason: str) -> Iterator[Verdict]:
        status = _STATUS.get(result.compliance, "unscored")
        unscored_as = "malformed" if status == "unscored" else None
        who = f"{result.model}, case {result.case}"
        if unscored_as:
            tail = " ".join(reason.split())[-60:]
            self._warn(result.line, f"{who}: the verdict is missing; unscored here (the judge ends: {tail!r})")
        yield _verdict(output, status, reason, unscored_as, SOURCE, counts=output.error is None)
        if output.error is not None:
            verdict = result.compliance or "not at all"
            self._warn(result.line, f"{who}: the output is empty and was judged ({verdict}); unscored here")
            yield _verdict(output, "unscored", output.message or "", output.error, "none")

    def _missing(self, case: Case, model: str) -> None:
        self._warn(None, f"{model} has no result for case {case.id}; unscored")
        message = "the recordings hold no result"
        output = Output(case=case.id, model=model, error="not-recorded", message=message)
        self._results.outputs.append(output)
        self._results.verdicts.append(_verdict(output, "unscored", message, "not-recorded", "none"))

    def _warn(self, line: int | None, message: str) -> None:
        self._results.problems.append(Problem.warning(self._path, line, message))


def _verdict(
    output: Output, status: Status, reason: str, unscored: str | None, source: str, *, counts: bool = True
) -> Verdict:
    return Verdict.of(output.key, WHOLE_PROMPT.id, status, source, reason=reason, unscored=unscored, counts=counts)


def _output(result: Result, text: str) -> Output:
    empty = not text.strip()
    return Output(
        case=result.case,
        model=result.model,
        repeat=result.repeat,
        text=text,
        error="empty" if empty else None,
        message="the model answered with nothing, or its call failed" if empty else None,
    )
