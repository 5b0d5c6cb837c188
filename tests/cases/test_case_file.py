"""The case file: people's bytes survive the machine, mistakes have lines, other formats lose nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptpex.cases.file import examine, read_suite, was_a_rule, write_suite
from promptpex.core.errors import SuiteError
from promptpex.core.match_kinds import MATCH_KINDS
from promptpex.core.records import Case, Rule, Spec, Suite
from promptpex.promptfile import parse

PROMPT = parse("Tag {{word}} in {{sentence}}")
SPEC = Spec(prompt="prompt.md", rules=(Rule(id="r1", rule="One."), Rule(id="r2", rule="Two.")))

HAND = """\
# yaml-language-server: $schema=x
# my cases

prompt:   "prompt.md"     # the one
cases:
  # the first
  - id: c1
    rule:  'r1'   # why not
    inputs: {sentence: "The  fox.",   word: fox}
    origin: generated
    content: CONTENT

  - inputs:
      word: |
        two
          lines
      sentence: >-
        folded
        text

    # inside
    id: mine
    rule: r1
    origin: added
  # the end of it
  -   id: c2
      rule: r2
      inverse: true
      inputs: {sentence: s,
               word: w}   # two lines of flow
      reasoning: |+
        kept

      origin: generated
# last words
"""

texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30) | st.text(
    "ab \n'#:-\"\t,=+@", max_size=12
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
names = st.text("abcxyz_", min_size=1, max_size=4)
matches = st.sampled_from([*MATCH_KINDS, "numeric:0.01", "numeric:1%"])
answers = st.tuples(texts, st.lists(texts, max_size=2).map(tuple)) | st.just((None, ()))
cases = st.builds(
    lambda answer, **fields: Case(expected=answer[0], also_right=answer[1], **fields),
    answer=answers,
    id=st.text("abc123.-_", min_size=1, max_size=6),
    rule=st.none() | st.sampled_from(["r1", "r2"]),
    inverse=st.booleans(),
    inputs=st.dictionaries(names, values, max_size=3),
    reasoning=texts,
    match=st.none() | matches,
    origin=st.sampled_from(["generated", "edited", "added"]),
    scenario=st.none() | texts,
    invalid=st.none() | texts,
    inputs_fingerprint=st.none() | st.text("0123456789abcdef", max_size=8),
)
suites = st.builds(
    Suite,
    prompt=st.just("prompt.md"),
    match=st.none() | matches,
    cases=st.lists(cases, max_size=5, unique_by=lambda case: case.id).map(tuple),
)


def _sealed(suite: Suite) -> Suite:
    return suite.replace(
        cases=tuple(
            case.replace(content=case.content_hash()) if case.origin == "generated" else case for case in suite.cases
        )
    )


def _hand(folder: Path) -> Path:
    path = folder / "prompt.cases.yaml"
    first = Case(id="c1", rule="r1", inputs={"sentence": "The  fox.", "word": "fox"})
    path.write_text(HAND.replace("CONTENT", first.content_hash()), encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", ["yaml", "csv", "jsonl"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(suite=suites)
def test_every_format_gives_back_what_was_written(tmp_path: Path, suffix: str, suite: Suite) -> None:
    path = tmp_path / f"suite.{suffix}"
    path.unlink(missing_ok=True)
    written = write_suite(path, suite)
    assert written == _sealed(suite)
    assert read_suite(path) == written
    before = path.read_bytes()
    assert write_suite(path, written) == written
    assert path.read_bytes() == before


@pytest.mark.parametrize("suffix", ["yaml", "csv", "jsonl"])
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=suites, second=suites)
def test_a_second_write_keeps_people_s_cases_and_takes_the_rest(
    tmp_path: Path, suffix: str, first: Suite, second: Suite
) -> None:
    path = tmp_path / f"suite.{suffix}"
    path.unlink(missing_ok=True)
    write_suite(path, first)
    write_suite(path, second)
    theirs = {case.id: case for case in first.cases if case.origin != "generated"}
    wanted = {case.id: case for case in _sealed(second).cases} | theirs
    assert {case.id: case for case in read_suite(path).cases} == wanted
    assert read_suite(path).match == (second.match or first.match)


fresh = st.builds(
    Case,
    id=st.sampled_from(["c1", "c2", "c3", "c4", "mine"]),
    rule=st.sampled_from(["r1", "r2"]),
    inputs=st.fixed_dictionaries({"sentence": texts, "word": texts}),
    reasoning=texts,
)
steps = st.lists(st.lists(fresh, max_size=4, unique_by=lambda case: case.id), min_size=1, max_size=4)


def _handmade(text: str) -> list[str]:
    start, end = text.index("  - inputs:"), text.index("  # the end of it")
    return [text[:10], text[start:end]]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes=steps, newline=st.sampled_from(["\n", "\r\n"]), mark=st.booleans())
def test_no_sequence_of_machine_writes_loses_a_hand_made_byte(
    tmp_path: Path, writes: list[list[Case]], newline: str, mark: bool
) -> None:
    path = _hand(tmp_path)
    original = path.read_text(encoding="utf-8").replace("\n", newline)
    path.write_bytes((b"\xef\xbb\xbf" if mark else b"") + original.encode())
    mine = read_suite(path).case("mine")
    for made in writes:
        write_suite(path, Suite(prompt="prompt.md", cases=tuple(made)))
        text = path.read_bytes().decode("utf-8-sig")
        for kept in _handmade(original):
            assert kept in text
        for comment in ("# my cases", "# the one", "# the first", "# why not", "# two lines of flow", "# last words"):
            assert comment in text
        assert path.read_bytes().startswith(b"\xef\xbb\xbf") == mark
        suite = read_suite(path)
        assert suite.case("mine") == mine
        assert {case.id for case in suite.cases} == {case.id for case in made} | {"mine"}
    assert newline == "\n" or "\n" not in text.replace("\r\n", "")


def test_an_edit_by_hand_is_noticed(tmp_path: Path) -> None:
    path = _hand(tmp_path)
    assert [case.origin for case in read_suite(path).cases] == ["generated", "added", "generated"]
    path.write_text(path.read_text(encoding="utf-8").replace("The  fox.", "The vixen."), encoding="utf-8")
    before = path.read_bytes()
    suite = read_suite(path)
    assert suite.cases[0].origin == "edited"
    write_suite(path, suite)
    assert suite.cases[0].inputs["sentence"].encode() in path.read_bytes()
    assert before.split(b"  -   id: c2")[0] == path.read_bytes().split(b"  -   id: c2")[0]


def test_a_case_without_origin_is_a_person_s(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("prompt: p\ncases:\n  - {id: 1, inputs: {input: x}}\n", encoding="utf-8")
    suite = read_suite(path)
    assert (suite.cases[0].id, suite.cases[0].origin) == ("1", "added")
    assert [case.id for case in write_suite(path, Suite(prompt="p")).cases] == ["1"]
    assert write_suite(path, Suite(prompt="p"), by_hand=True).cases == ()


@pytest.mark.parametrize(
    "start", ["cases:\n", "cases: []\n", "", "cases: # none yet\n", "cases: [{id: a, inputs: {}, origin: generated}]\n"]
)
def test_cases_are_added_to_any_form_of_list(tmp_path: Path, start: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(f"prompt: p\n{start}# end\n", encoding="utf-8")
    suite = Suite(prompt="p", cases=(Case(id="n1", inputs={"input": "a\nb"}), Case(id="n2", inputs={"input": "b"})))
    assert read_suite(path).prompt == "p"
    assert write_suite(path, suite) == read_suite(path)
    assert [case.id for case in read_suite(path).cases] == ["n1", "n2"]
    assert "# end" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("prompt: p\ncases:\n  - id: a\n    inputs: {}\n    ruel: r1\n", 5, "did you mean 'rule'"),
        (
            "prompt: p\ncases:\n  - {id: a, inputs: {sentence: s, word: w}}\n  - {id: a, inputs: {}}\n",
            4,
            "is on line 3 too",
        ),
        ("prompt: p\ncases:\n  - id: a\n", 3, "'inputs' is missing"),
        ("prompt: p\ncases:\n  - id: a\n    inputs: {}\n    id: b\n", 5, "twice"),
        ("prompt: p\ncases: {a: b}\n", 2, "must be a list"),
        (
            "prompt: p\ncases:\n  - inputs: {sentence: s, word: w}\n  - inputs: {word: w, sentence: s}\n",
            4,
            "no id, and the one on line 3 has the same inputs",
        ),
        ("prompt: p\ncass: []\n", 2, "did you mean 'cases'"),
        ("prompt: [\n", 2, "not valid YAML"),
        ("- a\n", 1, "must be a mapping"),
        ("prompt: p\ncases:\n  - id: 'a b'\n    inputs: {}\n", 3, "letters, digits"),
        ("prompt: p\ncases:\n  - id: a\n    rule: r1\n    inputs: {sentence: s}\n", 3, "lacks word"),
        ("prompt: p\ncases:\n  - {id: a, inputs: {sentence: s, word: w, wrod: x}}\n", 3, "wrod"),
    ],
)
def test_mistakes_have_a_line(tmp_path: Path, text: str, line: int, reason: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SuiteError) as caught:
        read_suite(path, SPEC, PROMPT)
    assert (caught.value.path, caught.value.line) == (path, line)
    assert reason in str(caught.value)
    before = path.read_bytes()
    if "lacks" not in reason and reason != "wrod":
        with pytest.raises(SuiteError):
            write_suite(path, Suite(prompt="p"))
    assert path.read_bytes() == before


def test_a_case_of_peoples_that_names_no_rule_is_an_error_where_it_is_to_be_run(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        "prompt: p\ncases:\n  - id: a\n    rule: r9\n    inputs: {sentence: s, word: w}\n", encoding="utf-8"
    )
    reading = examine(path, SPEC, PROMPT)
    assert [(one.line, one.severity) for one in reading.problems] == [(3, "error")]
    assert "'r9', which the spec does not have" in reading.problems[0].message
    with pytest.raises(SuiteError, match="r9"):
        read_suite(path, SPEC, PROMPT)
    assert read_suite(path, SPEC, PROMPT, lost="warning") == reading.record


def test_an_id_between_those_of_the_spec_was_a_rule_once() -> None:
    spec = SPEC.replace(rules=(Rule(id="r1", rule="a"), Rule(id="r4", rule="b"), Rule(id="mine", rule="c")))
    assert was_a_rule("r2", spec)
    assert not was_a_rule("r9", spec)
    assert not was_a_rule("ours", spec)


def test_a_machine_made_case_whose_rule_is_gone_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    write_suite(path, Suite(prompt="p", cases=(Case(id="a", rule="r9", inputs={"sentence": "s", "word": "w"}),)))
    reading = examine(path, SPEC, PROMPT)
    assert [problem.severity for problem in reading.problems] == ["warning"]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("id,inputs.x\na,1\nb\n", 3, "has 1 cells"),
        ("id,inputs.x,inptus.y\n", 1, "not known"),
        ("id,inputs.x\na,'1\nb,\"2\n", 3, "CSV"),
        ("x\n", 1, "not known"),
        ("rule\nr1\n", 1, "with 'inputs.NAME' among them"),
        ("id,inputs.x,other\na,1,[\n", 2, "JSON object"),
        ("id,inputs.x\na,1\na,1\n", 3, "used twice"),
        ("id,inputs.x,match\na,1,exact\nb,1,fuzzy\n", 3, "there is no comparison 'fuzzy'"),
        ("id,inputs.x,suite_match\na,1,json\nb,1,fuzzy\n", 3, "there is no comparison 'fuzzy'"),
    ],
)
def test_a_bad_csv_is_named_with_its_line(tmp_path: Path, text: str, line: int, reason: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SuiteError) as caught:
        read_suite(path)
    assert caught.value.line == line
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line"), [('{"id": "a", "inputs": {}}\n{', 2), ("[1]\n", 1), ('{"id": "a", "inputs": {}, "x": 1}', 1)]
)
def test_a_bad_jsonl_is_named_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SuiteError) as caught:
        read_suite(path)
    assert caught.value.line == line


def test_a_spreadsheet_runs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write_suite(path, Suite(prompt="=x", cases=(Case(id="a", inputs={"q": "=cmd|' /C calc'!A0"}, reasoning="@x"),)))
    for line in path.read_text(encoding="utf-8").splitlines():
        assert not any(cell.lstrip('"').startswith(("=", "@", "+")) for cell in line.split(","))


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"\.yaml, \.csv or \.jsonl"):
        read_suite(tmp_path / "a.xlsx")
