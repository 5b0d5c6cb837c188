"""The spec file: people's bytes survive the machine, mistakes have lines and suggestions."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptpex.core.errors import SpecError
from promptpex.core.ids import digest
from promptpex.core.records import Check, InputCheck, JudgeCalibration, MeasuredShare, Rule, Spec, VariableSpec
from promptpex.judging.judge import Judge, Judging
from promptpex.specs.file import examine, read_spec, write_spec
from promptpex.workflow.validation.validate import validate
from tests.samples import output, prompt, role_model
from tests.samples import spec as sample_spec

BENCHMARKS = sorted(Path(__file__).parents[2].glob("benchmarks/*/prompt.spec.yaml"))

HAND = """\
# what the prompt promises
prompt: prompt.md
prompt_fingerprint: old   # of Monday
intent: >
  Tag
  a word.
inputs:
  # people know
  sentence: ['one sentence',   'no newline']
  word: {type: enum, values: [a, b]}     # two
rules:
  # the tag
  - id: r1
    rule: "The output is one tag."   # really?
    source: 'Return only the tag.'
    checks:
      # from the list
      - {type: regex, value: '^(CC|CD)$'}   # all of them
    origin: extracted
    content: HASH

  - rule: Mine, with no id in front.
    id: own
    inverse:   Not mine.
"""

COMMENTS = ("# what the", "# of Monday", "# people know", "# two", "# really?", "# from the list", "# all of them")

texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=25) | st.text(
    "ab \n'#:-\"", min_size=1, max_size=10
)
sentences = texts.map(lambda text: f"x{text}")
values = sentences.map(lambda text: text.replace("{", "("))
"""Of checks: texts that are not templates, which may be broken ones."""
checks = st.builds(
    Check, kind=st.sampled_from(["contains", "not-contains"]), value=values, weight=st.sampled_from([1.0, 0.0])
)
conditions = st.builds(InputCheck, kind=st.just("contains"), value=values, variable=st.sampled_from(["word", "x"]))
rules = st.builds(
    Rule,
    id=st.sampled_from(["r1", "r2", "r3", "own", "a.b"]),
    rule=sentences,
    needs=st.sampled_from(["output", "input"]),
    when=st.lists(conditions, max_size=2).map(tuple),
    inverse=st.none() | sentences,
    source=st.none() | texts,
    checks=st.lists(checks, max_size=2).map(tuple),
    decides=st.sampled_from(["wholly", "partly"]),
    stale=st.booleans(),
)
variables = st.builds(
    VariableSpec,
    constraints=st.lists(sentences, max_size=2).map(tuple),
    type=st.sampled_from(["text", "number"]),
    minimum=st.none() | st.floats(-9, 9),
)
specs = st.builds(
    Spec,
    prompt=sentences,
    prompt_fingerprint=st.none() | sentences,
    intent=st.text("ab \n:", max_size=9),
    inputs=st.dictionaries(st.sampled_from(["sentence", "word", "other", "*"]), variables, max_size=3),
    input_checks=st.lists(
        st.builds(InputCheck, kind=st.just("contains"), value=values, variable=st.just("word")), max_size=2
    ).map(tuple),
    rules=st.lists(rules, min_size=1, max_size=4, unique_by=lambda rule: rule.id).map(tuple),
)


def _hand(folder: Path) -> Path:
    path = folder / "prompt.spec.yaml"
    rule = Rule(
        id="r1",
        rule="The output is one tag.",
        source="Return only the tag.",
        checks=(Check(kind="regex", value="^(CC|CD)$"),),
    )
    path.write_text(HAND.replace("HASH", rule.content_hash()), encoding="utf-8")
    return path


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=specs)
def test_a_spec_reads_back(tmp_path: Path, spec: Spec) -> None:
    path = tmp_path / "a.spec.yaml"
    path.unlink(missing_ok=True)
    written = write_spec(path, spec)
    assert read_spec(path) == written
    assert written.replace(rules=spec.rules) == spec
    before = path.read_bytes()
    write_spec(path, written)
    assert path.read_bytes() == before
    assert before.startswith(b"# yaml-language-server: $schema=")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes=st.lists(specs, min_size=1, max_size=3))
def test_no_machine_write_loses_a_hand_made_byte(tmp_path: Path, writes: list[Spec]) -> None:
    path = _hand(tmp_path)
    original = path.read_text(encoding="utf-8")
    own = read_spec(path).rule("own")
    for spec in writes:
        write_spec(path, spec)
        text = path.read_text(encoding="utf-8")
        assert original[original.index("  - rule: Mine") :] in text
        assert [comment for comment in COMMENTS if comment not in text] == []
        again = read_spec(path)
        assert again.rule("own") == own
        wanted = {rule.id: rule for rule in spec.rules if rule.id != "own"}
        assert {rule.id for rule in again.rules} == {*wanted, "own"}
        assert all(again.rule(name) == rule.replace(content=rule.content_hash()) for name, rule in wanted.items())
        assert again.replace(rules=()) == spec.replace(rules=())


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.parent.name)
def test_a_benchmark_s_spec_stays_byte_for_byte(tmp_path: Path, path: Path) -> None:
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    spec = read_spec(copy)
    assert write_spec(copy, spec) == spec
    assert copy.read_bytes() == path.read_bytes()


def test_an_edited_rule_is_noticed_and_left_alone(tmp_path: Path) -> None:
    path = _hand(tmp_path)
    assert [rule.origin for rule in read_spec(path).rules] == ["extracted", "added"]
    path.write_text(path.read_text(encoding="utf-8").replace("one tag.", "one or two tags."), encoding="utf-8")
    before = path.read_bytes()
    spec = read_spec(path)
    assert spec.rules[0].origin == "edited"
    machine = Rule(id="r1", rule="Something else.")
    write_spec(path, spec.replace(rules=(machine,)))
    assert path.read_bytes() == before
    write_spec(path, spec.replace(rules=(machine,)), by_hand=True)
    assert [rule.rule for rule in read_spec(path).rules] == ["Something else."]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("rules:\n  - id: r1\n    rule: x\n    cheks: []\n", 5, "did you mean 'checks'"),
        ("rules:\n  - {id: r1, rule: x}\n  - {id: r1, rule: y}\n", 4, "is on line 3 too"),
        ("rules:\n  - id: r1\n    rule: ' '\n", 4, "empty"),
        ("rules:\n  - id: r1\n    rule: ''\n", 4, "empty"),
        ("rules:\n  - id: r1\n", 3, "'rule' is missing"),
        ("rules: []\n", 2, "no rules"),
        ("ruels: []\n", 2, "did you mean 'rules'"),
        ("rules:\n  - {id: prompt, rule: x}\n", 3, "rule of a judge mode"),
        ("rules:\n  - {id: r1, rule: x}\n  - {id: r1-inverse, rule: x}\n", 3, "inverse of"),
        ("rules:\n  - id: r1\n    rule: x\n    decides: fully\n", 5, "'fully' is not one of"),
        ("rules:\n  - id: r1\n    rule: x\n    checks:\n      - {kind: regex, valu: x}\n", 6, "did you mean 'value'"),
        ("rules:\n  - id: r1\n    rule: x\n    checks:\n      - {value: x}\n", 6, "'kind' is missing"),
        (
            "rules:\n  - id: r1\n    rule: [x]\n",
            4,
            "text here, such as The answer has at most two sentences., not a list",
        ),
        ("rules: [{id: r1, rule: x}]\ninputs:\n  w: {tipe: text}\n", 4, "did you mean 'type'"),
        ("rules:\n  - id: r1\n    rule: x\n    checks:\n      - {kind: regex, value: '('}\n", 6, "rule r1"),
        ("rules:\n  - id: r1\n    rule: x\n    checks: [{kind: contians, value: x}]\n", 5, "contains"),
        ("rules: [{id: r1, rule: x}]\ninputs: [a]\n", 3, "must name the variables"),
        ("rules: [{id: r1, rule: x}]\ninput_checks:\n  - {kind: contains, value: x}\n", 4, "'variable' is missing"),
        ("rules: [{id: r1, rule: x}]\ninputs:\n  w: {minimum: NaN}\n", 4, "a finite number"),
        (
            "rules:\n  - id: r1\n    rule: x\n    checks:\n      - {kind: cost, threshold: Infinity}\n",
            6,
            "a finite number",
        ),
        ("intent: {a: b}\nrules: [{id: r1, rule: x}]\n", 2, "intent"),
    ],
)
def test_mistakes_have_a_line(tmp_path: Path, text: str, line: int, reason: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(f"prompt: p\n{text}", encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        read_spec(path)
    assert reason in str(caught.value)
    assert (caught.value.path, caught.value.line) == (path, line)


def test_all_problems_are_found_and_a_broken_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    text = "promt: p\nrules:\n  - id: r1\n    ruel: x\n  - id: r1\n    rule: y\n"
    path.write_text(text, encoding="utf-8")
    reading = examine(path)
    assert reading.usable is None
    assert {problem.line for problem in reading.problems} == {1, 3, 4}
    with pytest.raises(SpecError):
        write_spec(path, Spec(prompt="p"))
    assert path.read_text(encoding="utf-8") == text


def test_an_alias_is_read_and_never_broken(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        "prompt: p\nrules:\n  - id: r1\n    rule: x\n    origin: extracted\n    checks: &all\n"
        "      - {kind: contains, value: a}\n  - {id: r2, rule: y, checks: *all, origin: extracted}\n",
        encoding="utf-8",
    )
    spec = read_spec(path)
    assert spec.rules[0].checks == spec.rules[1].checks
    before = path.read_bytes()
    with pytest.raises(SpecError, match="left as it"):
        write_spec(path, spec.replace(rules=(spec.rules[0].replace(checks=()), spec.rules[1])))
    assert path.read_bytes() == before
    changed = spec.rules[1].replace(checks=(Check(kind="contains", value="b"),))
    write_spec(path, spec.replace(rules=(spec.rules[0], changed)))
    assert read_spec(path).rules[1].checks == changed.checks


def test_a_few_lines_do_not_unfold_into_gigabytes(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    path.write_text(f"a0: &a0 x\n{levels}", encoding="utf-8")
    with pytest.raises(SpecError, match="expands to more than"):
        read_spec(path)


def test_rules_without_a_condition_keep_the_hash_that_older_files_have() -> None:
    assert Rule(id="r1", rule="One tag.", inverse="Many.", source="one tag").content_hash() == "5919938f9980"
    assert Rule(id="r1", rule="One tag.", needs="input").content_hash() != Rule(id="r1", rule="One tag.").content_hash()


def test_mistakes_in_a_condition_are_named_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "a.spec.yaml"
    path.write_text(
        "prompt: p.md\nrules:\n  - id: r1\n    rule: One.\n    when:\n      - {variable: x, kind: regex, value: '('}\n"
        "  - id: r2\n    rule: Two.\n    when:\n      - {variabel: x, kind: equals, value: a}\n",
        encoding="utf-8",
    )
    problems = sorted(examine(path).problems, key=lambda problem: problem.line or 0)
    assert [problem.line for problem in problems] == [6, 10, 10]
    assert "the condition of rule r1" in problems[0].message
    assert any("variable" in problem.suggestion for problem in problems[1:])


SPEC = """\
# hands off
prompt: prompt.md
rules:
  - id: r1
    rule: "One tag."   # of mine
  - id: r2
    rule: Two words.
    origin: extracted
    content: HASH
"""


def calibration(judge: str = "gpt-4o", words: str = "One tag.") -> JudgeCalibration:
    return JudgeCalibration(
        judge=judge,
        fingerprint="0123456789012345",
        rule_digest=Rule(id="x", rule=words).digest,
        date="2026-03-01",
        outputs=40,
        bad=10,
        good=30,
        sensitivity=MeasuredShare(estimate=0.9, low=0.6, high=0.99),
        specificity=MeasuredShare(estimate=1.0, low=0.9, high=1.0),
        kappa=MeasuredShare(estimate=0.9, low=0.7, high=1.0),
    )


def calibrated(spec: Spec) -> Spec:
    return spec.replace(rules=tuple(rule.replace(judge=(calibration(words=rule.rule),)) for rule in spec.rules))


def test_a_calibration_is_added_to_peoples_rules_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "prompt.spec.yaml"
    path.write_text(SPEC, encoding="utf-8")
    bare = read_spec(path)
    write_spec(path, calibrated(bare))
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# hands off\n")
    assert '"One tag."   # of mine' in text
    assert read_spec(path).rules[0].judge == (calibration(),)
    write_spec(path, bare)
    write_spec(path, bare, by_hand=True)
    assert path.read_text(encoding="utf-8") == text


def test_a_calibration_changes_no_promise_and_no_request() -> None:
    bare, measured = sample_spec(), calibrated(sample_spec())
    assert measured != bare
    assert measured.digest == bare.digest == digest(bare.to_dict())
    assert [rule.content_hash() for rule in measured.rules] == [rule.content_hash() for rule in bare.rules]
    judges = [_judge(each) for each in (bare, measured)]
    assert judges[0].fingerprint() == judges[1].fingerprint()
    ids = [[judge.request(output(), question).id for question in judge.questions({})] for judge in judges]
    assert ids[0]
    assert ids[0] == ids[1]


def _judge(spec: Spec) -> Judge:
    return Judge(role_model(lambda request: "")[0], prompt(), spec, Judging(all_rules=True))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("estimate: 0.9", "estimate: .nan", "sensitivity.estimate"),
        ("high: 0.99", "high: 1.5", "sensitivity.high"),
        ("low: 0.6", "low: -0.2", "a share, from 0 to 1"),
        ("low: 0.6", "low: 0.95", "not in this order"),
        ("bad: 10", "bad: 11", "bad and good are 11 . 30, but outputs are 40"),
        ("bad: 10", "bad: -1", "bad"),
        ("2026-03-01", "soon", "is not a day"),
        ("'0123456789012345'", "x", "not a digest"),
    ],
)
def test_values_that_no_measurement_gives_are_refused(tmp_path: Path, old: str, new: str, reason: str) -> None:
    path = tmp_path / "prompt.spec.yaml"
    write_spec(path, calibrated(Spec(prompt="prompt.md", rules=sample_spec().rules[:1])))
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(SpecError, match=reason) as caught:
        read_spec(path)
    assert caught.value.line


def test_validate_names_a_calibration_of_other_words(tmp_path: Path) -> None:
    path = tmp_path / "prompt.spec.yaml"
    (tmp_path / "prompt.md").write_text("One tag. {{word}}", encoding="utf-8")
    path.write_text(SPEC, encoding="utf-8")
    write_spec(path, calibrated(read_spec(path)))
    path.write_text(path.read_text(encoding="utf-8").replace('"One tag."', "One short tag."), encoding="utf-8")
    old = [problem for problem in validate([path]) if "calibration" in problem.message]
    assert [(problem.line, problem.severity) for problem in old] == [(4, "info")]
    assert "gpt-4o on the rule 'r1' was measured on other words" in old[0].message
