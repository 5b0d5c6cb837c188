"""``promptpex-folder``: what microsoft/promptpex writes for a prompt, as a spec and cases.

``rules.txt`` and ``inverse_rules.txt`` have a rule a line, ``intent.txt`` and ``input_spec.txt`` sentences,
``tests.json`` (from its version 0.0.18 on) or ``tests.csv`` the tests.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from promptpex.codecs.files.ordinary_files import inside
from promptpex.codecs.files.text_file import read_text
from promptpex.core.errors import InputError, SpecError
from promptpex.core.records import INPUT_VARIABLE, Rule, Spec, Suite, VariableSpec
from promptpex.core.translation import stored
from promptpex.interchange import promptpex_json, promptpex_tests
from promptpex.interchange.format import Format, Imported, Option
from promptpex.interchange.notes import Log

RULES = "rules.txt"
_NUMBERED = re.compile(r"\s*(?:\d{1,3}[.)]|[-*])\s+")
_PARTS = (RULES, "inverse_rules.txt", "intent.txt", "input_spec.txt")
_OTHERS = ("test_results.json", "test_results.csv", "test_evals.json", "test_evals.csv", "rule_evals.json",
           "rule_evals.csv", "rule_coverage.json", "test_groundtruth.json", "baseline_tests.txt", "overview.csv",
           "promptpex_context.json")  # fmt: skip
"""What else may lie there, and is not read."""


def recognise(path: Path) -> bool:
    """Whether a folder holds rules, and is not one of the published recordings, which have a format of their own."""
    return (path / RULES).is_file() and not (path / "test_evals.csv").is_file()


def read(path: Path, *, variable: str | None) -> Imported:
    """The spec and the cases of a folder.

    Args:
        variable: the prompt's variable, for tests that name none [input].

    Raises:
        InputError: there are no rules, or a file is damaged; with the line.
    """
    log = Log()
    if not path.is_dir():
        raise InputError("this is not a folder; name the one with rules.txt", path=path)
    texts, inverses = _lines(path, RULES), _lines(path, "inverse_rules.txt")
    if not texts:
        raise InputError("there are no rules in this folder; name the one with rules.txt", path=path)
    suite, name = _suite(path, len(texts), variable or INPUT_VARIABLE, log)
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
    """The lines of a text, without numbers and bullets."""
    lines = (_NUMBERED.sub("", line, count=1).strip() for line in text.splitlines())
    return [line for line in lines if line]


def numbered_rules(texts: Sequence[str], inverses: Sequence[str]) -> tuple[Rule, ...]:
    """The rules by their numbers, each with its inverse where there is one."""
    inverse_texts = [*inverses, *[None] * len(texts)]
    return tuple(Rule(id=f"r{n}", rule=text, inverse=inverse_texts[n - 1]) for n, text in enumerate(texts, 1))


def _lines(folder: Path, name: str) -> list[str]:
    """The lines of a file, without numbers and bullets; none where there is no such file."""
    path = inside(folder, name, error=SpecError, what="file")
    if not path.exists():
        return []
    text = read_text(path, error=SpecError, what=f"file {name}")
    return lines_of(text)


def _suite(folder: Path, rules: int, variable: str, log: Log) -> tuple[Suite | None, str]:
    """The tests, and the variable that they give a value for."""
    as_json, as_table = folder / "tests.json", folder / "tests.csv"
    if as_json.is_file():
        suite = promptpex_json.read_tests(as_json, variable, log)
        names = [name for case in suite.cases for name in case.inputs]
        return suite, names[0] if names else variable
    if not as_table.is_file():
        return None, variable
    tests = promptpex_tests.read(as_table, rule_count=rules, variable=variable)
    for problem in tests.problems:
        log.changed("tests.csv", problem.message, problem.path, problem.line)
    log.came("tests", len(tests.suite.cases))
    return tests.suite, variable


FORMAT = Format(
    name="promptpex-folder",
    summary="a folder of microsoft/promptpex: rules.txt, inverse_rules.txt, intent.txt, input_spec.txt, tests.json or "
    "tests.csv, as a spec and cases",
    reads="project",
    read=read,
    read_options=(Option("variable", "the prompt's variable [input].", metavar="NAME"),),
    recognise=recognise,
    members=frozenset((*_PARTS, *_OTHERS)) - {"promptpex_context.json"},
    lost="results and evaluations; the prompt, which the folder lacks: add it as `prompt.md`",
)  # fmt: skip
