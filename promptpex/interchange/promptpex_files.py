"""The files of microsoft/promptpex: its folder, ``tests.json`` (from version 0.0.18 on) both ways, and ``tests.csv``.

A test has ``ruleid`` with ``inverse``, ``testinput`` or a key for each variable of the prompt, ``expectedoutput``,
``reasoning`` and ``scenario``; ``groundtruth`` is the answer of a reference model with a score from 0 to 100. In the
table a blank follows each comma, and rule ids count through the rules and then through their inverses. In the folder
``rules.txt`` and ``inverse_rules.txt`` have a rule a line, ``intent.txt`` and ``input_spec.txt`` sentences.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from promptpex.codecs import safe_csv
from promptpex.codecs.files.ordinary_files import inside, is_file, is_inside, read_bytes, read_text
from promptpex.core.errors import InputError, SpecError, SuiteError
from promptpex.core.records import INPUT_VARIABLE, Case, Problem, Rule, Spec, Suite, VariableSpec
from promptpex.core.translation import stored
from promptpex.documents import yaml_reader
from promptpex.interchange.format import Exported, Format, Imported, Option, Source
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.exchanges import Ids
from promptpex.interchange.reading.foreign_files import At, columns, head, items, mapping

LONGEST_TABLE = 200_000_000


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row: the line of the file it begins on, its cells by column, and the cells beyond the header's columns."""

    number: int
    cells: Mapping[str, str]
    beyond: tuple[str, ...] = ()

    def __getitem__(self, column: str) -> str:
        return self.cells[column]


def table_rows(
    path: Path, columns: Sequence[str], *, what: str, error: type[InputError], blank_after_comma: bool = False
) -> list[TableRow]:
    """The rows of a CSV file that must name these columns; blank lines are left out, other columns are allowed.

    Args:
        blank_after_comma: whether blanks after a comma are not part of the next cell.
    """
    text = read_text(path, error=error, what=what, limit=LONGEST_TABLE)
    lines = io.StringIO(text, newline="")
    rows = safe_csv.read_rows(lines, path=path, error=error, guarded=False, blank_after_comma=blank_after_comma)
    head = next(rows, safe_csv.CsvRow(1, ()))
    names = [name.strip() for name in head.cells]
    missing = [column for column in columns if column not in names]
    if missing:
        present = ", ".join(names[:12]) or "nothing"
        raise error(
            f"the header of the {what} lacks the column {missing[0]!r} (it has {present}); give the file as it was "
            "published",
            path=path,
            line=1,
        )
    return [_table_row(row, names, path, what, error) for row in rows if any(cell.strip() for cell in row.cells)]


def _table_row(row: safe_csv.CsvRow, names: list[str], path: Path, what: str, error: type[InputError]) -> TableRow:
    if len(row.cells) < len(names):
        raise error(
            f"this row of the {what} has {len(row.cells)} cells, but the header has {len(names)}; the file may be cut "
            "off: get it again",
            path=path,
            line=row.line,
        )
    return TableRow(row.line, dict(zip(names, row.cells, strict=False)), row.cells[len(names) :])


SURE = 80
"""The score from which PromptPex takes a reference model's answer for right."""
_KNOWN = frozenset(
    ("ruleid", "testid", "testuid", "testinput", "expectedoutput", "reasoning", "scenario", "generation", "baseline",
     "inverse", "groundtruth", "groundtruthScore", "groundtruthModel", "testinputOriginal", "groundtruthText")
)  # fmt: skip
_NOT_AN_ID = re.compile(r"[^A-Za-z0-9_.-]+")


def is_json(path: Path) -> bool:
    beginning = head(path) if path.suffix.lower() == ".json" else ""
    return beginning.lstrip().startswith("[") and '"testinput"' in beginning and '"ruleid"' in beginning


def read_json(path: Path, *, variable: str | None) -> Imported:
    log = Log()
    suite = json_suite(path, variable or INPUT_VARIABLE, log)
    return Imported(suite=suite, over=dict(log.over), notes=log.notes)


def json_suite(path: Path, variable: str, log: Log) -> Suite:
    """As ``read``, what is to be noted in the log."""
    doc = yaml_reader.read(path, error=InputError, what="file of tests")
    return suite_of(doc.data, At(path, doc=doc), variable, log)


def suite_of(data: object, top: At, variable: str, log: Log, *, rules: int | None = None) -> Suite:
    """As ``read_tests``, of data that stands at ``top``.

    Args:
        rules: how many there are, where that is known: greater numbers are those of their inverses then.
    """
    if not isinstance(data, list):
        raise top.fail("a file of tests must be a list")
    ids = Ids()
    cases = []
    for number, (item, at) in enumerate(items(data, top, "tests"), 1):
        test = mapping(item, at, "a test")
        if "testinput" not in test:
            raise at.fail("a test needs a testinput")
        cases.append(_json_case(_aimed(test, rules), number, variable, ids, at, log))
    log.came("tests", len(cases))
    return Suite(cases=tuple(cases))


def _aimed(test: Mapping[str, object], rules: int | None) -> Mapping[str, object]:
    """The test with the number of its rule, where it has that of an inverse among rules and inverses."""
    number = test.get("ruleid")
    if isinstance(number, str) and number.isascii() and number.isdigit() and len(number) < 6:
        number = int(number)
    if rules and isinstance(number, int) and rules < number <= 2 * rules and "inverse" not in test:
        return {**test, "ruleid": number - rules, "inverse": True}
    return test


def _json_case(test: Mapping[str, object], number: int, variable: str, ids: Ids, at: At, log: Log) -> Case:
    inputs = {key: value for key, value in test.items() if key not in _KNOWN} or {variable: test["testinput"]}
    rule = str(test.get("ruleid") or "").strip()
    inverse = test.get("inverse") is True
    aimed = bool(rule) and test.get("baseline") is not True
    stem = f"r{rule}{'-inverse' if inverse else ''}-{test.get('testid') or number}" if aimed else f"t{number}"
    data: dict[str, object] = {"inputs": inputs, "origin": "generated", "reasoning": str(test.get("reasoning") or "")}
    data["id"] = ids.numbered(_NOT_AN_ID.sub("_", stem).strip("_")[:60] or f"t{number}")
    data |= {"rule": f"r{rule}", "inverse": inverse} if aimed else {}
    data |= {"scenario": str(test["scenario"])} if test.get("scenario") else {}
    data |= _expected(test, at, log)
    return Case.model_validate(data)


def _expected(test: Mapping[str, object], at: At, log: Log) -> dict[str, object]:
    """The right output: a reference model's where it was found right, else what the generator expected."""
    score, answer = test.get("groundtruthScore"), test.get("groundtruth")
    if isinstance(answer, str) and answer.strip():
        if isinstance(score, int | float) and SURE <= score < 1e15:
            return {"expected": answer, "expected_from": f"{test.get('groundtruthModel') or 'a model'} ({score:g})"}
        log.left_out(at["groundtruth"].name, stored("the reference model's answer was not judged right"), at.path,
                     at["groundtruth"].line)  # fmt: skip
    expected = test.get("expectedoutput")
    if isinstance(expected, str) and expected.strip():
        return {"expected": expected.strip(), "expected_from": "the generator"}
    return {}


def write_json(source: Source) -> Exported:
    """The cases that are run, as PromptPex writes its tests."""
    suite = source.suite()
    left_out: list[str] = []
    tests: list[dict[str, object]] = []
    rules = dict.fromkeys(case.rule for case in suite.cases if case.rule)
    numbers = {rule: str(number) for number, rule in enumerate(rules, 1)}
    for case in suite.usable():
        match = re.fullmatch(r"r(\d+)", case.rule or "")
        if case.rule and match is None:
            number = numbers[case.rule]
            left_out.append(
                stored(
                    "case {case}: its rule {rule} becomes number {number}", case=case.id, rule=case.rule, number=number
                )
            )
        tests.append({
            "ruleid": match.group(1) if match else numbers.get(case.rule or "", ""),
            "testid": case.id,
            "expectedoutput": case.expected or "",
            "reasoning": case.reasoning,
            **case.inputs,
            "testinput": _input_text(case.inputs),
            "scenario": case.scenario or "",
            "generation": 0,
            "baseline": False,
            "inverse": case.inverse,
        })  # fmt: skip
    unused = len(suite.cases) - len(tests)
    left_out += [stored("cases that are not run, and are left out: {count}", count=unused)] if unused else []
    return Exported(json.dumps(tests, ensure_ascii=False, indent=2) + "\n", tuple(left_out))


def _input_text(inputs: Mapping[str, object]) -> str:
    """The inputs as one text: the value alone, or JSON."""
    values = list(inputs.values())
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return json.dumps(inputs, ensure_ascii=False)


JSON = Format(
    name="promptpex-json",
    summary="the tests.json of microsoft/promptpex, as a case file",
    extensions=(".json",),
    reads="suite",
    writes="suite",
    read=read_json,
    write=write_json,
    read_options=(Option("variable", "the prompt's variable [input].", metavar="NAME"),),
    recognise=is_json,
    lost="answers with a score below 80; that a test is a baseline's",
)  # fmt: skip


COLUMNS = ("ruleid", "testid", "testinput", "expectedoutput", "reasoning")
_WHAT = "promptpex test file"


@dataclass(frozen=True, slots=True)
class CsvTests:
    """A suite, the line of each case, and what is odd about the file."""

    __test__ = False

    suite: Suite
    lines: dict[str, int]
    problems: tuple[Problem, ...]


def csv_tests(
    path: Path, *, rule_count: int | None = None, variable: str = INPUT_VARIABLE, prompt: str = "prompt.md"
) -> CsvTests:
    """The suite in a ``tests.csv``.

    Args:
        rule_count: how many rules there are; ids above it aim at inverses. By default the lines of a ``rules.txt``
            beside the file, else half the highest id.
        variable: the input that a test's text is the value of.
    """
    rows = table_rows(path, COLUMNS, what=_WHAT, error=SuiteError, blank_after_comma=True)
    ids = [_rule_number(row, path) for row in rows]
    count = rule_count if rule_count is not None else _count_rules(path, ids)
    _check_range(rows, ids, count, path)
    problems: list[Problem] = []
    named = Ids()
    cases: dict[str, Case] = {}
    lines: dict[str, int] = {}
    for row, number in zip(rows, ids, strict=True):
        case = _csv_case(row, number, count, variable, named)
        cases[case.id], lines[case.id] = case, row.number
        problems += _odd_row(row, path)
    return CsvTests(Suite(prompt=prompt, cases=tuple(cases.values())), lines, tuple(problems))


def numbered(number: int, rules: int) -> tuple[str, bool]:
    """The rule's id of a published rule number, and whether it is the inverse that is meant."""
    return f"r{number if number <= rules else number - rules}", number > rules


def _rule_number(row: TableRow, path: Path) -> int:
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


def _check_range(rows: Sequence[TableRow], ids: Sequence[int], count: int, path: Path) -> None:
    for row, number in zip(rows, ids, strict=True):
        if number > 2 * count:
            raise SuiteError(
                f"there is no rule {number}: there are {count} rules and as many inverses", path=path, line=row.number
            )


def _csv_case(row: TableRow, number: int, rules: int, variable: str, ids: Ids) -> Case:
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


def _odd_row(row: TableRow, path: Path) -> list[Problem]:
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


def read_csv(path: Path, *, rule_count: int | None, variable: str) -> Imported:
    tests = csv_tests(path, rule_count=rule_count, variable=variable)
    return Imported(suite=tests.suite, problems=tests.problems)


CSV = Format(
    name="promptpex-tests",
    summary="a tests.csv of microsoft/promptpex, as a case file",
    reads="suite",
    read=read_csv,
    read_options=(
        Option("rule_count", "number of rules [lines of rules.txt].", kind=int, minimum=1, metavar="N"),
        Option("variable", "the prompt's variable [input].", default=INPUT_VARIABLE, metavar="NAME"),
    ),
    recognise=lambda path: set(COLUMNS) <= columns(path),
    lost="cells beyond the header's",
)


RULES = "rules.txt"
_NUMBERED = re.compile(r"\s*(?:\d{1,3}[.)]|[-*])\s+")
_PARTS = (RULES, "inverse_rules.txt", "intent.txt", "input_spec.txt")
_OTHERS = ("test_results.json", "test_results.csv", "test_evals.json", "test_evals.csv", "rule_evals.json",
           "rule_evals.csv", "rule_coverage.json", "test_groundtruth.json", "baseline_tests.txt", "overview.csv",
           "promptpex_context.json")  # fmt: skip
"""What else may lie there, and is not read."""


def is_folder(path: Path) -> bool:
    """Whether a folder holds rules, and is not one of the published recordings, which have a format of their own."""
    return (path / RULES).is_file() and not (path / "test_evals.csv").is_file()


def read_folder(path: Path, *, variable: str | None) -> Imported:
    """The spec and the cases of a folder.

    Args:
        variable: the prompt's variable, for tests that name none [input].
    """
    log = Log()
    if not path.is_dir():
        raise InputError("this is not a folder; name the one with rules.txt", path=path)
    texts, inverses = _lines(path, RULES), _lines(path, "inverse_rules.txt")
    if not texts:
        raise InputError("there are no rules in this folder; name the one with rules.txt", path=path)
    suite, name = _folder_suite(path, len(texts), variable or INPUT_VARIABLE, log)
    rules = numbered_rules(texts, inverses)
    if inverses and len(inverses) != len(texts):
        why = stored("there are {inverses} inverse rules for {rules} rules", inverses=len(inverses), rules=len(texts))
        log.changed("inverse_rules.txt", why, path / "inverse_rules.txt", None)
    constraints = tuple(_lines(path, "input_spec.txt"))
    inputs = {name: VariableSpec(constraints=constraints)} if constraints else {}
    for other in _OTHERS:
        if (path / other).is_file():
            log.left_out(other, stored("verdicts and figures of other judges are not imported"), path / other, None)
    log.came("rules", len(rules))
    log.came("inverse rules", len(inverses))
    spec = Spec(intent=" ".join(_lines(path, "intent.txt")), inputs=inputs, rules=rules)
    return Imported(spec=spec, suite=suite, over=dict(log.over), notes=log.notes)


def lines_of(text: str) -> list[str]:
    lines = (_NUMBERED.sub("", line, count=1).strip() for line in text.splitlines())
    return [line for line in lines if line]


def numbered_rules(texts: Sequence[str], inverses: Sequence[str]) -> tuple[Rule, ...]:
    inverse_texts = [*inverses, *[None] * len(texts)]
    return tuple(Rule(id=f"r{n}", rule=text, inverse=inverse_texts[n - 1]) for n, text in enumerate(texts, 1))


def _lines(folder: Path, name: str) -> list[str]:
    """The lines of a file, without numbers and bullets; none where there is no such file."""
    path = inside(folder, name, error=SpecError, what="file")
    if not path.exists():
        return []
    text = read_text(path, error=SpecError, what=f"file {name}")
    return lines_of(text)


def _folder_suite(folder: Path, rules: int, variable: str, log: Log) -> tuple[Suite | None, str]:
    as_json, as_table = folder / "tests.json", folder / "tests.csv"
    if as_json.is_file():
        suite = json_suite(as_json, variable, log)
        names = [name for case in suite.cases for name in case.inputs]
        return suite, names[0] if names else variable
    if not as_table.is_file():
        return None, variable
    tests = csv_tests(as_table, rule_count=rules, variable=variable)
    for problem in tests.problems:
        log.changed("tests.csv", problem.message, problem.path, problem.line)
    log.came("tests", len(tests.suite.cases))
    return tests.suite, variable


FOLDER = Format(
    name="promptpex-folder",
    summary="a folder of microsoft/promptpex: rules.txt, inverse_rules.txt, intent.txt, input_spec.txt, tests.json or "
    "tests.csv, as a spec and cases",
    reads="project",
    read=read_folder,
    read_options=(Option("variable", "the prompt's variable [input].", metavar="NAME"),),
    recognise=is_folder,
    members=frozenset((*_PARTS, *_OTHERS)) - {"promptpex_context.json"},
    lost="results and evaluations; the prompt, which the folder lacks: add it as `prompt.md`",
)  # fmt: skip
FORMATS = (FOLDER, JSON, CSV)
