"""A file that people edit is a declaration: read with every problem and its line, updated with the least edits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import Field

from promptpex.cases.file import examine, read_suite, write_suite
from promptpex.core.errors import ConfigError
from promptpex.core.ids import digest
from promptpex.core.records import Case, Origin, Record, Rule, Spec, Suite
from promptpex.documents.editable_file import DocumentKind, read, update
from promptpex.documents.field_types import Items, Named, Records, Text
from promptpex.documents.ownership import derived_id
from promptpex.specs.file import read_spec, write_spec
from tests.cases.test_case_file import values
from tests.e2e.command import in_process


class Criterion(Record):
    measured: ClassVar[frozenset[str]] = frozenset()
    lasting: ClassVar[frozenset[str]] = frozenset()

    id: str
    text: str
    kind: Literal["code", "judge"] = "judge"
    origin: Origin = "generated"
    content: str | None = None

    def content_hash(self) -> str:
        return digest(self.text, 12)


class Source(Record):
    place: str


class Weight(Record):
    words: tuple[str, ...] = ()
    times: int = 1


class Criteria(Record):
    prompt: str
    sources: tuple[Source, ...] = ()
    weights: dict[str, Weight] = Field(default_factory=dict)
    criteria: tuple[Criterion, ...] = ()


KIND = DocumentKind(
    what="criteria file",
    schema="criteria",
    error=ConfigError,
    empty=Criteria(prompt=""),
    parts=(
        Text("prompt"),
        Records("sources", Source, texts=("place",)),
        Named("weights", Weight, short="words", wanted="name the weights"),
        Items("criteria", Criterion, noun="criterion", texts=("id", "text"), always=("id", "text", "origin")),
    ),
)

HAND = """\
prompt: p.md   # ours
weights: {tone: kind}
criteria:
  # from the talk
  - id: 1
    text: "It is short."
    origin: generated
    content: HASH
  - {text: Mine., id: own}
"""


def _hand(tmp_path: Path) -> Path:
    path = tmp_path / "a.yaml"
    text = HAND.replace("HASH", Criterion(id="1", text="It is short.").content_hash())
    path.write_text(text, encoding="utf-8")
    return path


def test_a_declared_file_is_read_with_owners_and_lines(tmp_path: Path) -> None:
    reading = read(KIND, _hand(tmp_path))
    assert reading.problems == ()
    assert [(item.id, item.origin) for item in reading.require().criteria] == [("1", "generated"), ("own", "added")]
    assert reading.record.weights == {"tone": Weight(words=("kind",))}
    assert reading.lines == {"1": 5, "own": 9}
    assert reading.line("weights", "tone") == 2


def test_an_update_changes_what_is_the_machines_and_nothing_else(tmp_path: Path) -> None:
    path = _hand(tmp_path)
    before = path.read_text(encoding="utf-8")
    old = read(KIND, path).require()
    assert update(KIND, path, old) == old
    assert path.read_text(encoding="utf-8") == before
    wanted = old.replace(criteria=(Criterion(id="1", text="It is very short."), Criterion(id="own", text="Not mine.")))
    updated = update(KIND, path, wanted)
    assert [item.text for item in updated.criteria] == ["It is very short.", "Mine."]
    after = path.read_text(encoding="utf-8")
    assert "# ours" in after
    assert "# from the talk" in after
    assert "- {text: Mine., id: own}" in after
    assert {item.id: item for item in read(KIND, path).require().criteria} == {
        item.id: item for item in updated.criteria
    }


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("[]", 1, "a criteria file must be a mapping with 'criteria'; write 'criteria:' above the list"),
        ("prompt: p\ncriterai: []", 2, "did you mean 'criteria'"),
        ("prompt: p\ncriteria: {}", 2, "'criteria' must be a list; put '- ' before each criterion"),
        ("prompt: p\nweights: []", 2, "'weights' must name the weights"),
        ("prompt: p\ncriteria: [1]", 2, "there should be a mapping here, not a number"),
        ("prompt: p\ncriteria:\n- {id: a, text: b}\n- {id: a, text: c}", 4, "the criterion id 'a' is on line 3 too"),
        ("criteria: []", 1, "'prompt' is missing"),
    ],
)
def test_mistakes_have_a_line_and_the_file_is_left_alone(tmp_path: Path, text: str, line: int, says: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read(KIND, path).require()
    assert says in caught.value.message
    assert caught.value.line == line
    with pytest.raises(ConfigError):
        update(KIND, path, Criteria(prompt="q"))
    assert path.read_text(encoding="utf-8") == text


ID = re.compile(r"[A-Za-z0-9_.-]+")

CASES = """\
# by hand
cases:
  - inputs: {question: 'Where is my parcel?'}   # the first
  - rule: short
    inputs:
      question: "Đơn hàng của tôi đâu rồi?"
    expected: OTHER

  - {id: own, inputs: {question: 订单在哪里}}
"""
SPEC = """\
rules:
  - rule: The answer has at most two sentences.   # hers
  - id: short
    rule: One word.
"""
FIRST = "where-is-my-parcel-"
RULE = "the-answer-has-at-"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mail.v2.md").write_text("Answer: {{question}}\n", encoding="utf-8")
    (tmp_path / "mail.v2.cases.yaml").write_text(CASES, encoding="utf-8")
    (tmp_path / "mail.v2.spec.yaml").write_text(SPEC, encoding="utf-8")
    return tmp_path


def ids(path: Path) -> list[str]:
    return [case.id for case in read_suite(path).cases]


def test_ids_are_made_of_what_items_hold(folder: Path) -> None:
    first, second, third = ids(folder / "mail.v2.cases.yaml")
    assert (first[:-8], second[:-8], third) == (FIRST, "don-hang-cua-toi-dau-", "own")
    assert [rule.id[:-8] for rule in read_spec(folder / "mail.v2.spec.yaml").rules] == [RULE, ""]
    assert derived_id({"question": "订单在哪里"}, "case").startswith("case-")


def test_composed_and_decomposed_letters_are_other_inputs() -> None:
    """A model is sent other bytes, so the answers are others; the first words are the same."""
    composed, decomposed = (derived_id({"question": text}, "case") for text in ("caf\u00e9", "cafe\u0301"))
    assert composed != decomposed
    assert composed[:-8] == decomposed[:-8] == "cafe-"


@given(value=values)
def test_any_value_gives_an_id(value: Any) -> None:
    for content in (value, {"question": value}):
        name = derived_id(content, "case")
        assert ID.fullmatch(name)
        assert len(name) <= 30
        assert derived_id(content, "case") == name


questions = st.lists(st.text("abc é", min_size=1, max_size=9), min_size=2, max_size=6, unique=True)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=questions, data=st.data())
def test_an_id_stays_wherever_the_case_stands(tmp_path: Path, texts: list[str], data: st.DataObject) -> None:
    def called(order: list[str], suffix: str) -> dict[str, str]:
        path = tmp_path / f"a.cases{suffix}"
        if suffix == ".yaml":
            path.write_text(yaml.safe_dump({"cases": [{"inputs": {"q": text}} for text in order]}), encoding="utf-8")
        else:
            rows = [f'"{text}"' for text in order]
            path.write_text("\n".join(["inputs.q,rule", *(f"{row}," for row in rows), ","]) + "\n", encoding="utf-8")
        return {str(case.inputs["q"]): case.id for case in read_suite(path).cases}

    whole = called(texts, ".yaml")
    assert len(set(whole.values())) == len(texts)
    part = data.draw(st.permutations(texts))[: data.draw(st.integers(1, len(texts)))]
    for suffix in (".yaml", ".csv"):
        assert called(part, suffix) == {text: whole[text] for text in part}


made = st.builds(Case, id=st.sampled_from(["short-1", "short-2"]), rule=st.just("short"), inputs=st.just({"a": "b"}))


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes=st.lists(st.lists(made, max_size=2, unique_by=lambda case: case.id), min_size=1, max_size=3))
def test_machine_writes_leave_files_without_ids_as_they_are(folder: Path, writes: list[list[Case]]) -> None:
    path = folder / "mail.v2.cases.yaml"
    path.write_text(CASES, encoding="utf-8")
    before = ids(path)
    for generated in writes:
        suite = write_suite(path, Suite(prompt="mail.v2.md", cases=tuple(generated)))
        assert suite.prompt == read_suite(path).prompt == "mail.v2.md"
        assert path.read_text(encoding="utf-8").startswith(CASES)
        assert set(ids(path)) == {*before, *(case.id for case in generated)}


def test_an_update_of_a_spec_without_ids_only_adds(folder: Path) -> None:
    path = folder / "mail.v2.spec.yaml"
    mine = read_spec(path).rules
    for rules in ((Rule(id="r1", rule="Be polite."),), (Rule(id="r1", rule="Be kind."), *mine), ()):
        spec = write_spec(path, Spec(prompt="mail.v2.md", intent="Answers.", rules=rules))
        assert path.read_text(encoding="utf-8").startswith(SPEC)
        assert "prompt:" not in path.read_text(encoding="utf-8")
        assert {rule.id for rule in spec.rules} == {rule.id for rule in (*mine, *rules)}
        assert set(mine) <= set(read_spec(path).rules)


def test_an_id_is_written_where_a_person_has_what_it_is_made_of_changed(folder: Path) -> None:
    path = folder / "mail.v2.spec.yaml"
    spec = read_spec(path)
    first = spec.rules[0]
    write_spec(path, spec.replace(rules=(first.replace(inverse="Three sentences."), *spec.rules[1:])), by_hand=True)
    assert "id: the-" not in path.read_text(encoding="utf-8")
    changed = (first.replace(rule="Three sentences at most."), *spec.rules[1:])
    assert write_spec(path, spec.replace(rules=changed), by_hand=True).rules[0].id == first.id
    assert read_spec(path).rules[0].id == first.id
    assert f"id: {first.id}" in path.read_text(encoding="utf-8")
    assert "# hers" in path.read_text(encoding="utf-8")


def test_cases_with_the_same_inputs_need_an_id(tmp_path: Path) -> None:
    path = tmp_path / "a.cases.yaml"
    path.write_text("cases:\n- inputs: {a: b}\n- inputs: {a: c}\n- inputs: {a: b}\n  rule: r1\n", encoding="utf-8")
    wrong = [problem for problem in examine(path).problems if problem.severity == "error"]
    assert [(problem.line, problem.message) for problem in wrong] == [
        (4, "the case has no id, and the one on line 2 has the same inputs")
    ]


def test_a_file_belongs_to_the_prompt_that_its_name_says(folder: Path) -> None:
    assert read_suite(folder / "mail.v2.cases.yaml").prompt == "mail.v2.md"
    assert read_spec(folder / "mail.v2.spec.yaml").prompt == "mail.v2.md"
    (folder / "mail.v2.txt").write_text("Another.", encoding="utf-8")
    assert read_spec(folder / "mail.v2.spec.yaml").prompt == ""
    write_spec(folder / "new.spec.yaml", Spec(prompt="mail.v2.md", rules=(Rule(id="a", rule="One."),)))
    assert "prompt: mail.v2.md" in (folder / "new.spec.yaml").read_text(encoding="utf-8")


def test_validate_says_the_ids_and_commands_take_them(folder: Path) -> None:
    done = in_process("validate", "mail.v2.md", cwd=folder)
    assert done.code == 0, done
    assert re.search(rf"cases\.yaml:3: info: the case has no id of its own; it is called {FIRST}\w{{8}}\n", done.out)
    assert re.search(rf"spec\.yaml:2: info: the rule has no id of its own; it is called {RULE}\w{{8}}\n", done.out)
    options = ("--models", "gpt-4o-mini", "--judge", "gpt-4o", "--case", f"{FIRST}*", "--json")
    planned = in_process("estimate", "mail.v2.md", *options, cwd=folder)
    assert planned.code == 0, planned
    assert '"calls": 1,' in planned.out, planned.out


def test_a_file_that_no_prompt_is_beside_is_told(folder: Path) -> None:
    (folder / "mail.v2.md").rename(folder / "other.md")
    done = in_process("validate", "mail.v2.cases.yaml", cwd=folder)
    assert "this file names no prompt" in done.out
