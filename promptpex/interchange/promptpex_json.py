"""``promptpex-json``: the ``tests.json`` of microsoft/promptpex (from its version 0.0.18 on), both ways.

A test has ``ruleid`` with ``inverse``, ``testinput`` or a key for each variable of the prompt, ``expectedoutput``,
``reasoning`` and ``scenario``; ``groundtruth`` is the answer of a reference model with a score from 0 to 100.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from promptpex.core.errors import InputError
from promptpex.core.records import INPUT_VARIABLE, Case, Suite
from promptpex.core.translation import stored
from promptpex.documents import yaml_reader
from promptpex.interchange.format import Exported, Format, Imported, Option, Source, head
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.exchanges import Ids
from promptpex.interchange.reading.foreign_values import At, items, mapping

SURE = 80
"""The score from which PromptPex takes a reference model's answer for right."""
_KNOWN = frozenset(
    ("ruleid", "testid", "testuid", "testinput", "expectedoutput", "reasoning", "scenario", "generation", "baseline",
     "inverse", "groundtruth", "groundtruthScore", "groundtruthModel", "testinputOriginal", "groundtruthText")
)  # fmt: skip
_NOT_AN_ID = re.compile(r"[^A-Za-z0-9_.-]+")


def recognise(path: Path) -> bool:
    """Whether a JSON file begins like a list of such tests."""
    beginning = head(path) if path.suffix.lower() == ".json" else ""
    return beginning.lstrip().startswith("[") and '"testinput"' in beginning and '"ruleid"' in beginning


def read(path: Path, *, variable: str | None) -> Imported:
    """The cases of a file of tests.

    Raises:
        InputError: it is not a list of tests; with the line.
    """
    log = Log()
    suite = read_tests(path, variable or INPUT_VARIABLE, log)
    return Imported(suite=suite, over=dict(log.over), notes=log.notes)


def read_tests(path: Path, variable: str, log: Log) -> Suite:
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
        cases.append(_case(_aimed(test, rules), number, variable, ids, at, log))
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


def _case(test: Mapping[str, object], number: int, variable: str, ids: Ids, at: At, log: Log) -> Case:
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


def write(source: Source) -> Exported:
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
            "testinput": _text(case.inputs),
            "scenario": case.scenario or "",
            "generation": 0,
            "baseline": False,
            "inverse": case.inverse,
        })  # fmt: skip
    unused = len(suite.cases) - len(tests)
    left_out += [stored("cases that are not run, and are left out: {count}", count=unused)] if unused else []
    return Exported(json.dumps(tests, ensure_ascii=False, indent=2) + "\n", tuple(left_out))


def _text(inputs: Mapping[str, object]) -> str:
    """The inputs as one text: the value alone, or JSON."""
    values = list(inputs.values())
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return json.dumps(inputs, ensure_ascii=False)


FORMAT = Format(
    name="promptpex-json",
    summary="the tests.json of microsoft/promptpex, as a case file",
    extensions=(".json",),
    reads="suite",
    writes="suite",
    read=read,
    write=write,
    read_options=(Option("variable", "the prompt's variable [input].", metavar="NAME"),),
    recognise=recognise,
    lost="answers with a score below 80; that a test is a baseline's",
)  # fmt: skip
