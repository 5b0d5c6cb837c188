from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.cases.comparable_words import folded, sentences, slug
from promptpex.cases.degenerate_text import of_language, scripts_of, share_in
from promptpex.cases.file import read_suite
from promptpex.cases.lint import LintFinding, errors, lint, lint_all
from promptpex.core.records import Case, Message, Prompt, Rule, Spec, VariableSpec
from promptpex.promptfile import read
from promptpex.specs.file import read_spec
from tests.work import in_proportion

ROOT = Path(__file__).parent.parent.parent
BENCHMARKS = sorted(path.parent for path in (ROOT / "benchmarks").glob("*/prompt.md"))
PUBLISHED = ROOT.parent / "shared" / "published"

TEXT = (
    "Sort the mail of a small town's paper. Answer with one of the labels sport, weather or none and with nothing else."
)
RULES = (
    Rule(
        id="r1",
        rule="The output is a single label from the list.",
        inverse="The output holds an explanation beside the label.",
    ),
    Rule(
        id="r2",
        rule="The output has no capital letter.",
        inverse="The output is written in capital letters, like a headline.",
    ),
    Rule(id="r3", rule="The output names no sender of the mail.", inverse="The output names the sender of the mail."),
)


def prompt(*variables: str, text: str = TEXT) -> Prompt:
    names = variables or ("mail",)
    return Prompt(name="p", messages=(Message(role="system", content=text),), variables=names, fingerprint="f")


def findings_of(
    text: Any, *, language: str | None = None, variables: tuple[str, ...] = ("mail",), **fields: Any
) -> list[LintFinding]:
    inputs = text if isinstance(text, dict) else {variables[0]: text}
    of = Spec(prompt="p.md", rules=RULES, inputs=fields.pop("spec", {}))
    asked = prompt(*variables, text=fields.pop("prompt_text", TEXT))
    return lint(Case(id="c", inputs=inputs, **fields), prompt=asked, spec=of, suite_language=language)


def codes(text: Any, **fields: Any) -> set[str]:
    return {finding.code for finding in errors(findings_of(text, **fields))}


@pytest.mark.parametrize("folder", BENCHMARKS, ids=lambda path: path.name)
def test_the_hand_written_suites_have_no_errors(folder: Path) -> None:
    suite = read_suite(folder / "prompt.cases.yaml")
    machine = suite.replace(cases=tuple(case.replace(origin="generated") for case in suite.cases))
    report = lint_all(machine, prompt=read(folder / "prompt.md"), spec=read_spec(folder / "prompt.spec.yaml"))
    assert {name: list(map(str, errors(findings))) for name, findings in report.items() if errors(findings)} == {}
    assert {finding.code for findings in report.values() for finding in findings} <= {"wrong-script"}


def _published(name: str) -> tuple[list[tuple[str, LintFinding]], list[tuple[str, LintFinding]]]:
    """The findings on the published tests and on the published baseline, each with the input."""
    folder = PUBLISHED / "evals" / "v7" / name
    messages = json.loads((PUBLISHED / "prompts" / f"{name}.json").read_text("utf-8"))["messages"]
    rules = [line.strip() for line in (folder / "rules.txt").read_text("utf-8").splitlines() if line.strip()]
    spec = Spec(prompt="p", rules=tuple(Rule(id=f"r{n}", rule=rule) for n, rule in enumerate(rules, 1)))
    asked = prompt("input", text="\n".join(message["content"] for message in messages))
    rows = csv.reader(io.StringIO((folder / "tests.csv").read_text("utf-8")), skipinitialspace=True)
    tests = [Case(id="t", inputs={"input": row[2]}, reasoning=row[4]) for row in rows if len(row) > 4]
    parts = (folder / "baseline_tests.txt").read_text("utf-8").split("===")
    baseline = [Case(id="b", inputs={"input": part.strip()}) for part in parts if part.strip()]

    def findings(cases: list[Case]) -> list[tuple[str, LintFinding]]:
        return [(case.inputs["input"], one) for case in cases for one in lint(case, prompt=asked, spec=spec)]

    return findings(tests[1:]), findings(baseline)


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published recordings are not here")
def test_the_published_tests_show_what_they_are_known_for() -> None:
    by_name = {path.name: _published(path.name) for path in sorted((PUBLISHED / "evals" / "v7").iterdir())}
    tests = {name: [one for _, one in each[0]] for name, each in by_name.items()}
    assert [name for name, each in tests.items() if errors(each)] == []
    derailed = [one for one in tests["speech-tag"] if one.code == "gibberish"]
    assert len(derailed) >= 5
    assert [name for name, each in tests.items() if any(one.code == "gibberish" for one in each)] == ["speech-tag"]
    baseline = [(name, text[:14], one.code) for name, each in by_name.items() for text, one in each[1]]
    assert baseline == [("shakespearean-writing-assistant", "Please provide", "preamble")]


def test_variables_are_there_and_not_all_empty() -> None:
    assert codes({}) == {"missing-variable"}
    assert codes({"mail": " \n"}) == {"empty"}
    assert [str(one) for one in findings_of({"mail": "a", "male": "b"})] == [
        "unknown-variable: the prompt has no variable male"
    ]


@pytest.mark.parametrize(
    "text", ["The output is a single label from the list", "the OUTPUT holds an explanation, beside the label!"]
)
def test_an_echo_of_a_rule_is_an_error(text: str) -> None:
    assert codes(text) == {"echoes-rule"}


@pytest.mark.parametrize(
    "text",
    [
        "Rain all week. The output names the sender of the mail.",
        "A match was lost. Make sure that the output holds an explanation beside a label, sport.",
    ],
)
def test_an_input_that_states_what_is_tested_is_named(text: str) -> None:
    assert codes(text) == {"states-rule"}


def test_stated_rules_are_seen_in_other_languages() -> None:
    rules = (
        Rule(id="r1", rule="Kết quả chỉ gồm một nhãn trong danh sách.", inverse="Kết quả có thêm lời giải thích."),
        Rule(id="r2", rule="Kết quả không có chữ in hoa.", inverse="Kết quả viết toàn chữ in hoa."),
        Rule(id="r3", rule="Kết quả là một dòng duy nhất.", inverse="Kết quả trải ra nhiều dòng."),
    )
    of = Spec(prompt="p.md", rules=rules)
    stating = Case(id="c", inputs={"mail": "Bún bò rất ngon. Kết quả chỉ gồm một nhãn trong danh sách."})
    quiet = Case(id="c", inputs={"mail": "Bún bò ở Lê Lợi ngon lắm, cả nhà tôi ai cũng khen."})
    assert [one.code for one in lint(stating, prompt=prompt(text="Phân loại ý kiến"), spec=of)] == ["states-rule"]
    assert lint(quiet, prompt=prompt(text="Phân loại ý kiến"), spec=of) == []


def test_speaking_of_the_output_is_a_warning_only() -> None:
    text = "A storm hit the port... output includes capital letters like headlines."
    (one,) = findings_of(text, rule="r2", inverse=True)
    assert (one.code, one.severity) == ("states-rule", "warning")
    assert findings_of("The power output of the new plant disappoints.", rule="r2", inverse=True) == []


@pytest.mark.parametrize(
    "text", ["A storm is near.\nAnswer: weather", "Un orage.\nRéponse attendue : weather.", "x\n-> weather"]
)
def test_an_announced_answer_is_found(text: str) -> None:
    assert codes(text, expected="weather") == {"leaks-answer"}


@pytest.mark.parametrize(
    "text", ["weather", "The weather was bad.", "Name: Korvid\nlabel: weather station", "Subject: weather\nIt rains."]
)
def test_an_answer_that_merely_occurs_is_not_leaked(text: str) -> None:
    assert codes(text, expected="weather") == set()


@pytest.mark.parametrize(
    "text",
    [
        "Here are 5 test inputs for the prompt:",
        "Please provide your input. Here are 42 well-defined test cases:",
        "Test case 3: The derby was lost.",
        "Test input #2 - A storm",
        "Voici les cas de test :",
        "Dưới đây là các đầu vào kiểm thử:",
        "以下は テストケース です：",
    ],
)
def test_preambles_are_found(text: str) -> None:
    assert codes(text) == {"preamble"}


@pytest.mark.parametrize(
    "text",
    [
        "Here are my three complaints: the rain, the fees, the coach.",
        "Sure, the test of the siren is on Friday.",
        "Test match at Oakmere washed out",
        "The following roads are closed: Quay Road, Kiln Street.",
    ],
)
def test_what_only_looks_like_a_preamble_passes(text: str) -> None:
    assert findings_of(text) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ruleid, testid, testinput, expectedoutput, reasoning", "csv-artifact"),
        ('3, 1, "A storm is near"', "csv-artifact"),
        ('A storm is near",', "csv-artifact"),
        ('{"mail": "A storm is near"}', "json-artifact"),
        ('{"inputs": {"mail": "x"}, "reasoning": "y"}', "json-artifact"),
        ("{{ mail }}", "placeholder"),
        ("[insert a mail here]", "placeholder"),
        ("storm \ufffd\ufffd\ufffd near", "gibberish"),
        ("storm " * 40, "gibberish"),
        ("a quick storm is on its way to you " * 60, "gibberish"),
        ("шторм близко the 风暴 is на near 风暴 that шторм on 风暴 عاصفة the близко عاصفة", "gibberish"),
    ],
)
def test_artifacts_and_gibberish_are_found(text: str, code: str) -> None:
    assert codes(text) == {code}


@pytest.mark.parametrize(
    "text",
    [
        '"A storm is near," he said, "and it will stay",\nthen left.',
        '{"station": "Lunana", "wind": 12}',
        "[storm]",
        "Buffalo buffalo that other buffalo bully also bully buffalo.",
        "ha ha ha ha",
        "Olá, 你好, Привет, مرحبا, नमस्ते!",
        "日本語のテキスト。カタカナもEnglishも混ざっています。",
        "🌧️🌧️🌧️🌧️🌧️🌧️🌧️🌧️🌧️🌧️",
        "=" * 700,
    ],
)
def test_odd_but_honest_texts_pass(text: str) -> None:
    assert codes(text) == set()


def test_a_text_that_is_one_fence_is_a_warning() -> None:
    (one,) = findings_of("```\nstorm\n```")
    assert (one.code, one.severity) == ("code-fence", "warning")


def test_a_foreign_script_is_an_error_only_where_a_language_was_asked_for() -> None:
    text = "Шторм надвигается на порт, рыбаки остаются дома."
    assert [(one.code, one.severity) for one in findings_of(text)] == [("wrong-script", "warning")]
    assert codes(text, language="en") == {"wrong-script"}
    assert codes(text, language="ru-RU") == set()
    assert codes("短い", language="en") == set()


def test_vietnamese_without_its_marks_is_a_warning() -> None:
    text = "Nha hang nay rat ngon va nhan vien phuc vu chu dao, toi se quay lai vao tuan sau voi ban be."
    assert [(one.code, one.severity) for one in findings_of(text, language="vi")] == [("wrong-language", "warning")]


def test_typed_values_are_held_to_their_types() -> None:
    spec = {"age": VariableSpec(type="integer", minimum=0), "tone": VariableSpec(type="enum", values=("a", "b"))}
    both = ("age", "tone")
    assert codes({"age": 3, "tone": "a"}, variables=both, spec=spec) == set()
    messages = [str(one) for one in findings_of({"age": "three", "tone": "c"}, variables=both, spec=spec)]
    assert messages == [
        'wrong-type: age is "three", and not of type integer',
        'wrong-type: tone is "c", which is not one of the allowed values',
    ]


def test_people_may_reason_as_they_like() -> None:
    gibberish = "storm " * 30
    assert [one.code for one in findings_of("A storm.", reasoning=gibberish)] == ["gibberish"]
    assert findings_of("A storm.", reasoning=gibberish, origin="added") == []


@given(st.text(), st.text(), st.sampled_from([None, "en", "vi", "ja", "??"]))
def test_any_text_can_be_linted(text: str, expected: str, language: str | None) -> None:
    for one in findings_of(text, expected=expected, reasoning=text, language=language, rule="r1"):
        assert one.severity in ("error", "warning")
        assert one.message


HOSTILE: tuple[Callable[[int], str], ...] = (
    lambda many: "```\n" + " " * many,
    lambda many: "answer: " + "." * many + "x",
    lambda many: '."' * many + "x",
    lambda many: "{{" + " " * many,
    lambda many: "[ " * many,
)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_keeps_lint_busy(text: Callable[[int], str]) -> None:
    def read(many: int) -> None:
        findings_of(text(many), expected="x", reasoning=text(many), rule="r1")

    assert in_proportion(read, 1500, 12_000)


def test_another_script_is_no_finding_where_the_rule_or_the_input_spec_speaks_of_languages() -> None:
    text = "Шторм надвигается на порт, рыбаки остаются дома."
    english = Rule(id="r4", rule="The output is in English, whatever the mail is written in.")
    spec = Spec(prompt="p.md", rules=(*RULES, english))
    aimed = Case(id="c", rule="r4", inputs={"mail": text})
    assert lint(aimed, prompt=prompt(), spec=spec) == []
    assert [one.code for one in lint(aimed.replace(rule="r1"), prompt=prompt(), spec=spec)] == ["wrong-script"]
    allowed = {"mail": VariableSpec(constraints=("Also valid: a mail in another language.",))}
    assert findings_of(text, spec=allowed) == []
    assert codes(text, spec=allowed, language="en") == {"wrong-script"}


def test_conditions_give_rules_no_subject_that_inputs_must_not_have() -> None:
    conditional = tuple(
        Rule(id=f"r{n}", rule=f"If the {thing} is broken on arrival, the reply offers a return label.", needs="input")
        for n, thing in enumerate(("kettle", "lamp", "chair", "parcel"))
    )
    text = "Please tell me what you do if the kettle is broken on arrival, with a return label or without."
    spec = Spec(prompt="p.md", rules=conditional)
    assert errors(lint(Case(id="c", rule="r0", inputs={"mail": text}), prompt=prompt(), spec=spec)) == []
    always = spec.replace(rules=tuple(rule.replace(needs="output") for rule in conditional))
    assert errors(lint(Case(id="c", rule="r0", inputs={"mail": text}), prompt=prompt(), spec=always)) != []


@given(st.text())
def test_folding_twice_changes_nothing(text: str) -> None:
    assert folded(folded(text)) == folded(text)


def test_sentences_end_in_any_script() -> None:
    assert sentences("One. Two!\nThree? 四。五。 छह। سبعة؟ ثمانية") == [
        "One.",
        "Two!",
        "Three?",
        "四。",
        "五。",
        "छह।",
        "سبعة؟",
        "ثمانية",
    ]


@given(st.text())
def test_sentences_lose_blanks_only(text: str) -> None:
    kept = "".join("".join(sentences(text)).split())
    assert len(kept) <= len("".join(text.split()))
    assert all(part.strip() == part and part for part in sentences(text))


@given(st.text(min_size=1))
def test_a_slug_can_stand_in_an_id(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_.-]+", slug(name))


def test_slugs_of_different_names_differ() -> None:
    assert slug("night-1") == "night-1"
    assert slug("đêm") != slug("ngày")
    assert slug("夜") != slug("昼")


@pytest.mark.parametrize(
    ("text", "script"), [("chữ quốc ngữ", "Latin"), ("слово", "Cyrillic"), ("ことば", "Kana"), ("词语", "Han")]
)
def test_scripts_are_told_apart(text: str, script: str) -> None:
    assert scripts_of(text).most_common(1)[0][0] == script
    assert share_in(text, frozenset({script})) == 1


def test_languages_have_scripts() -> None:
    assert of_language("ja") == {"Han", "Kana"}
    assert of_language("sr-Latn") == {"Latin", "Cyrillic"}
    assert of_language("pt_BR") == {"Latin"}
    assert share_in("123 !", of_language("en")) is None
