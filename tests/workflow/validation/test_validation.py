"""Validation finds every problem of a prompt, its spec and its cases, each with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.cli.main import run_cli
from promptpex.core.records import Grade
from promptpex.documents.human_grades import append_grades
from promptpex.promptfile import read
from promptpex.workflow.validation.validate import validate

BENCHMARKS = sorted(Path(__file__).parents[3].glob("benchmarks/*/prompt.md"))

PROMPT = "Return only the tag of {{word}}. Never explain anything. Be kind to people.\n"
SPEC = """\
prompt: prompt.md
prompt_fingerprint: FINGERPRINT
inputs: {word: one word}
input_checks: [{variable: word, kind: not-contains, value: ' '}]
rules:
  - {id: r1, rule: One tag., source: Return only the tag}
  - {id: r2, rule: No explanation., source: Never explain anything.}
"""
CASES = "prompt: prompt.md\ncases:\n  - {id: c1, rule: r1, inputs: {word: fox}}\n"


def _folder(tmp_path: Path, prompt: str = PROMPT, spec: str = SPEC, cases: str = CASES) -> Path:
    path = tmp_path / "prompt.md"
    path.write_text(PROMPT, encoding="utf-8")
    fingerprint = read(path).fingerprint
    path.write_text(prompt, encoding="utf-8")
    (tmp_path / "prompt.spec.yaml").write_text(spec.replace("FINGERPRINT", fingerprint), encoding="utf-8")
    (tmp_path / "prompt.cases.yaml").write_text(cases, encoding="utf-8")
    return path


def _problems_of(tmp_path: Path, name: str = "prompt.md") -> list[tuple[str, int | None, str]]:
    problems = validate([tmp_path / name])
    assert all(problem.message in problem.text() for problem in problems)
    return [(Path(problem.path).name, problem.line, problem.severity) for problem in problems]


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.parent.name)
def test_benchmarks_have_no_errors(path: Path) -> None:
    assert [problem.text() for problem in validate([path]) if problem.severity != "info"] == []


@pytest.mark.parametrize("name", ["prompt.md", "prompt.spec.yaml", "prompt.cases.yaml"])
def test_any_of_the_files_brings_the_others(tmp_path: Path, name: str) -> None:
    _folder(tmp_path)
    assert _problems_of(tmp_path, name) == [("prompt.spec.yaml", None, "info")] or _problems_of(tmp_path, name) == [
        ("prompt.md", None, "info")
    ]


def test_all_problems_of_all_files(tmp_path: Path) -> None:
    _folder(
        tmp_path,
        spec=SPEC.replace("{id: r2", "{idd: r2").replace("kind: not-contains", "kind: not-contians"),
        cases=CASES + "  - {id: c1, rule: r1, inputs: {word: fox}}\n  - {id: c3, inputs: {wrod: x}}\n",
    )
    problems = _problems_of(tmp_path)
    assert ("prompt.spec.yaml", 4, "error") in problems
    assert ("prompt.spec.yaml", 7, "error") in problems
    assert ("prompt.cases.yaml", 4, "error") in problems
    assert problems.count(("prompt.cases.yaml", 5, "error")) == 2


@pytest.mark.parametrize("cases", ["cases: []", "cases:\n  - {id: c1, rule: r1, inputs: {word: fox}, invalid: Odd.}"])
def test_a_file_without_a_case_to_run_is_refused_as_run_does(tmp_path: Path, cases: str) -> None:
    _folder(tmp_path, cases=f"prompt: prompt.md\n{cases}\n")
    errors = [problem for problem in validate([tmp_path / "prompt.md"]) if problem.severity == "error"]
    assert [problem.message for problem in errors] == ["holds no usable case; add some or run `promptpex generate`"]
    assert errors[0].path == str(tmp_path / "prompt.cases.yaml")


def test_a_broken_prompt_does_not_hide_the_rest(tmp_path: Path) -> None:
    _folder(tmp_path, prompt="{{word", cases="cases: [\n")
    problems = _problems_of(tmp_path)
    assert ("prompt.md", 1, "error") in problems
    assert any(name == "prompt.cases.yaml" for name, _, _ in problems)


def test_variables_that_do_not_fit(tmp_path: Path) -> None:
    _folder(tmp_path, spec=SPEC.replace("inputs: {word", "inputs: {wrod").replace("variable: word", "variable: wort"))
    messages = [problem.message for problem in validate([tmp_path / "prompt.spec.yaml"])]
    assert any("'wrod', which the prompt does not take" in message for message in messages)
    assert any("the input spec lacks 'word'" in message for message in messages)
    assert any("names 'wort'" in message for message in messages)


BAD_FRONT = """\
---
instructions: {caess: short}
language: 12
scenarios: [{constraints: [x]}]
samples: ../elsewhere.csv
effort: hgih
---
"""


def test_all_that_a_run_reads_of_the_front_matter_is_validated(tmp_path: Path) -> None:
    _folder(tmp_path, prompt=BAD_FRONT + PROMPT)
    messages = [problem.message for problem in validate([tmp_path / "prompt.md"]) if problem.severity == "error"]
    for part in ("no stage 'caess'", "the language 12", "scenario 1 needs", "'../elsewhere.csv' is outside", "'hgih'"):
        assert any(part in message for message in messages), (part, messages)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("[instructions]\ncaess = 'x'", "promptpex.toml: error: instructions: there is no stage 'caess'"),
        ("language = '12!'", "promptpex.toml: error: the language '12!' is not a tag"),
        ("[[scenarios]]\nname = 'a'\nfixed = {wrod = 'x'}", "promptpex.toml: error: scenario 'a': the prompt has no"),
        ("samples = [{file = 'nowhere.csv'}]", "nowhere.csv: error: there is no such file of samples"),
    ],
)
def test_settings_that_do_not_fit_the_prompt_are_problems(tmp_path: Path, setting: str, message: str) -> None:
    _folder(tmp_path)
    (tmp_path / "promptpex.toml").write_text(f"{setting}\n", encoding="utf-8")
    errors = [str(problem) for problem in validate([tmp_path / "prompt.md"]) if problem.severity == "error"]
    assert len(errors) == 1
    assert message in errors[0]


@pytest.mark.parametrize("schema", ["{$schema: 'https://example.org/mine'}", "{typ: string}", "{type: strin}"])
def test_a_variable_s_schema_that_cannot_be_used_is_an_error(tmp_path: Path, schema: str) -> None:
    spec = SPEC.replace("inputs: {word: one word}", f"inputs:\n  word:\n    type: json\n    schema: {schema}")
    _folder(tmp_path, spec=spec)
    errors = [problem for problem in validate([tmp_path / "prompt.md"]) if problem.severity == "error"]
    assert [(Path(problem.path).name, "schema of 'word'" in problem.message) for problem in errors] == [
        ("prompt.spec.yaml", True)
    ]
    assert errors[0].line in (4, 5, 6)


def test_run_shows_every_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = (
        "prompt: prompt.md\ncases:\n  - {id: c1, rule: r9, inputs: {word: fox}}\n  - {id: c2, rule: r1, inputs: {}}\n"
    )
    path = _folder(tmp_path, cases=cases)
    store = ["--store", str(tmp_path / "s.db"), "--results", str(tmp_path / "results")]
    assert run_cli(["run", str(path), "--models", "fake/x", "--judge", "none", *store]) == 2
    err = capsys.readouterr().err
    assert "fix these 2 problems first" in err
    assert "prompt.cases.yaml:3:" in err
    assert "prompt.cases.yaml:4:" in err


def test_grades_are_checked_with_the_prompt_and_alone(tmp_path: Path) -> None:
    _folder(tmp_path)
    file = tmp_path / "prompt.grades.jsonl"
    for rule, text in (("r1", "One tag."), ("r2", "It used to read otherwise."), ("r2", "And before that so.")):
        append_grades(file, [_grade(subject=rule, subject_text=text)])
    file.write_text(file.read_text(encoding="utf-8") + '{"valve": 1}\n{"id":"to', encoding="utf-8")
    expected = [
        ("prompt.grades.jsonl", 4, "error"),
        ("prompt.grades.jsonl", 5, "warning"),
        ("prompt.grades.jsonl", None, "info"),
    ]
    for name in ("prompt.md", "prompt.grades.jsonl"):
        assert [
            problem for problem in _problems_of(tmp_path, name) if problem[0] == file.name and problem not in expected
        ] == []
        assert set(expected) <= set(_problems_of(tmp_path, name))
    reworded = [problem for problem in validate([file]) if problem.severity == "info"]
    assert ["2 grades of 'r2' were given to another wording of it" in problem.message for problem in reworded] == [True]


def test_grades_on_criteria_are_held_against_their_words(tmp_path: Path) -> None:
    _folder(tmp_path)
    file = tmp_path / "prompt.grades.jsonl"
    append_grades(file, [_grade(subject="a1", subject_text=text) for text in ("It is kind.", "It is polite.")])
    append_grades(file, [_grade(subject="gone", subject_text="x")])
    folder = tmp_path / "prompt.synthesis"
    folder.mkdir()
    candidates = "prompt: prompt.md\ncriteria:\n  - {id: a1, text: It is kind., category: other, origin: added}\n"
    (folder / "candidates.yaml").write_text(candidates, encoding="utf-8")
    messages = [problem.message for problem in validate([tmp_path / "prompt.md"]) if problem.path == str(file)]
    assert messages == [
        "1 grade of 'a1' was given to another wording of it",
        "1 grade of 'gone' was given to a rule or criterion that is no longer there",
    ]
    assert not [problem for problem in validate([file]) if problem.path == str(file)]


def _grade(subject: str, subject_text: str) -> Grade:
    return Grade.of(
        inputs={"word": "fox"},
        output="NN",
        subject=subject,
        subject_text=subject_text,
        time="2026-03-01T09:30:00+00:00",
        grader="ada",
        case="c1",
        model="m",
        value="good",
    )


def test_a_condition_on_what_the_prompt_does_not_take(tmp_path: Path) -> None:
    condition = ", when: [{variable: mood, kind: equals, value: bad}]}"
    _folder(tmp_path, spec=SPEC.replace("source: Return only the tag}", "source: Return only the tag" + condition))
    wrong = [problem for problem in validate([tmp_path / "prompt.md"]) if problem.severity == "error"]
    assert [(problem.line, problem.message) for problem in wrong] == [
        (6, "the condition of the rule 'r1' names 'mood'")
    ]


def test_a_value_that_names_what_the_prompt_does_not_take(tmp_path: Path) -> None:
    checks = ", checks: [{kind: contains, value: '{{wrod}} {{word}} {{expected}} {{ range(2) }}'}]}"
    cases = CASES.replace("rule: r1,", "rule: r1, expected: NN,")
    _folder(
        tmp_path, spec=SPEC.replace("source: Return only the tag}", "source: Return only the tag" + checks), cases=cases
    )
    warnings = [problem for problem in validate([tmp_path / "prompt.md"]) if problem.severity == "warning"]
    assert [(problem.line, problem.message) for problem in warnings] == [
        (6, "a value in a check of the rule 'r1' names 'wrod', which is empty")
    ]


METRICS = {
    "kind.metric.md": "---\ndescription: x\nscale: 1-5\n---\nKind?\n{{ouput}} {{ rulez }}\n",
    "kind.metric.js": "true",
    "odd.metric.md": "---\nscael: 0-100\n---\nKind? {{output}}\n",
    "broken.metric.md": "One\n{% if %}\n{{output}}\n",
    "code.metric.js": "return output.length <\n",
    "fine.metric.js": "output.length < 3",
    "a b.metric.md": "{{output}}",
    "py.metric.md": "{{output.__class__}}",
}


def test_all_that_is_wrong_with_metric_files_is_reported_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _folder(tmp_path)
    for name, text in METRICS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    of_metrics = [problem for problem in validate([path]) if ".metric." in problem.path]
    got = [(Path(problem.path).name, problem.line, problem.severity) for problem in of_metrics]
    assert got == [
        ("a b.metric.md", None, "error"),
        ("broken.metric.md", 2, "error"),
        ("code.metric.js", None, "error"),
        ("kind.metric.md", None, "error"),
        ("kind.metric.md", None, "error"),
        ("kind.metric.md", 3, "error"),
        ("kind.metric.md", 6, "error"),
        ("kind.metric.md", 6, "error"),
        ("odd.metric.md", 2, "warning"),
        ("py.metric.md", None, "error"),
    ]
    text = "\n".join(problem.text() for problem in of_metrics)
    for words in (
        "'ouput' to show",
        "did you mean 'output'",
        "'rulez'",
        "not one of pass-fail",
        "never shows the output",
    ):
        assert words in text
    assert "has the same name; rename one of the files" in text
    assert "the code is not JavaScript: the script threw SyntaxError" in text
    assert run_cli(["validate", str(tmp_path / "fine.metric.js")]) == 0
    assert run_cli(["validate", str(tmp_path / "code.metric.js")]) == 2
    assert "not JavaScript" in capsys.readouterr().out


def _spec_with(part: str) -> str:
    """The spec with keys of ``r1`` on lines of their own: line 7 on."""
    return SPEC.replace(
        "  - {id: r1, rule: One tag., source: Return only the tag}\n",
        f"  - id: r1\n    rule: One tag.\n    source: Return only the tag\n{part}",
    )


def _warnings(tmp_path: Path, part: str, cases: str) -> list[tuple[str, int | None, str]]:
    _folder(tmp_path, spec=_spec_with(part), cases=f"prompt: prompt.md\ncases:\n{cases}")
    warnings = [problem for problem in validate([tmp_path / "prompt.md"]) if problem.severity == "warning"]
    return [(Path(problem.path).name, problem.line, problem.message) for problem in warnings]


@pytest.mark.parametrize(
    "check",
    ["{kind: expected}", "{kind: contains, value: '{{expected}}'}", "{kind: assert-set, assert: [{kind: expected}]}"],
)
def test_a_check_that_compares_with_what_no_case_expects_is_reported(tmp_path: Path, check: str) -> None:
    part, case = f"    checks:\n      - {check}\n", "  - {id: c1, rule: r1, inputs: {word: fox}}\n"
    (warning,) = _warnings(tmp_path, part, case)
    assert warning[:2] == ("prompt.spec.yaml", 10)
    assert "a check of the rule 'r1' compares with the expected output, but no case has one" in warning[2]
    assert _warnings(tmp_path, part, case.replace("inputs:", "expected: NN, inputs:")) == []


def test_an_exclusion_that_is_a_list_of_phrases_is_hinted_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SPADE's known weakness; phrases that the prompt names are no guess."""
    (tmp_path / "p.md").write_text('Answer {{word}}. Do not apologise, and never say "no idea".', encoding="utf-8")
    rules = (
        "prompt: p.md\nintent: Answers.\nrules:\n"
        "- {id: r1, rule: It does not apologise., checks: [{kind: not-contains-any, value: [so sorry, my bad]}]}\n"
        "- {id: r2, rule: It never gives up., checks: [{kind: not-contains-any, value: [no idea, apologise]}]}\n"
        "- {id: r3, rule: It is kind., checks: [{kind: contains-any, value: [so kind, how nice]}]}\n"
    )
    (tmp_path / "p.spec.yaml").write_text(rules, encoding="utf-8")
    assert run_cli(["validate", str(tmp_path / "p.md")]) == 0
    shown = capsys.readouterr()
    assert (shown.out + shown.err).count("phrases that the prompt does not name") == 1
    assert "looks for 2 phrases" in shown.out + shown.err
