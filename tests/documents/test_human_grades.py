"""Grades: what is appended is read back, files merge by concatenation, and a torn or hostile file loses nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from promptpex.core.errors import GradeError
from promptpex.core.records import OUTPUT_SUBJECT, Grade, output_key
from promptpex.documents import human_grades as grade_file
from promptpex.documents.human_grades import append_grades, current, examine, import_grades, read_grades

texts = st.text(max_size=20) | st.text('{"id":\\ud800}\n \u2028', max_size=12)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@st.composite
def grades(draw: st.DrawFn) -> Grade:
    subject = draw(st.sampled_from([OUTPUT_SUBJECT, "r1", "short"]))
    return Grade.of(
        inputs=draw(st.dictionaries(names, st.none() | st.integers() | texts, max_size=2)),
        output=draw(texts),
        subject=subject,
        subject_text="" if subject == OUTPUT_SUBJECT else draw(names),
        time=draw(st.sampled_from(["2026-03-01T09:30:00+00:00", "2026-03-01T10:30:00.5+01:00"])),
        grader=draw(names),
        case=draw(names),
        model=draw(names),
        repeat=draw(st.integers(0, 3)),
        value=draw(st.sampled_from(["good", "bad", "unsure"])),
        note=draw(names | st.just('{"id":"')),
        policy=draw(st.sampled_from(["", "random"])),
        probability=draw(st.none() | st.floats(0.01, 1)),
    )


def grade(**changes: object) -> Grade:
    fields: dict[str, object] = {"time": "2026-03-01T09:30:00+00:00", "grader": "ada", "case": "c1", "model": "m"}
    fields |= {"inputs": {"word": "fox"}, "output": "NN", "value": "good"} | changes
    return Grade.of(**fields)  # type: ignore[arg-type]


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def write(path: Path, *lines: str, end: str = "\n") -> Path:
    path.write_text("\n".join(lines) + end, encoding="utf-8")
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "prompt.grades.jsonl"


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(grades(), max_size=5), st.integers(0, 5))
def test_what_is_appended_is_read_back(file: Path, given_: list[Grade], first: int) -> None:
    file.unlink(missing_ok=True)
    append_grades(file, given_[:first])
    append_grades(file, given_[first:])
    assert read_grades(file) == tuple(dict.fromkeys(given_))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(grades(), max_size=4), st.lists(grades(), max_size=4), st.booleans())
def test_two_files_merge_by_concatenation(file: Path, ours: list[Grade], theirs: list[Grade], ends: bool) -> None:
    other = file.with_name("other.grades.jsonl")
    for path, content in ((file, ours), (other, theirs)):
        path.write_bytes(b"")
        append_grades(path, content)
    first, second = file.read_bytes(), other.read_bytes()
    if not ends:
        first = first.removesuffix(b"\n")
    for whole in (first + second, second + first):
        file.write_bytes(whole)
        merged, problems = examine(file)
        assert set(merged) == {*ours, *theirs}
        assert problems == []


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(grades(), min_size=2, max_size=4, unique=True), st.data())
def test_a_torn_last_line_is_a_warning_and_stays_in_the_file(
    file: Path, given_: list[Grade], data: st.DataObject
) -> None:
    *whole, torn, late = given_
    file.write_bytes(b"")
    append_grades(file, whole)
    before = file.stat().st_size
    append_grades(file, [torn])
    cut = data.draw(st.integers(before + 1, file.stat().st_size - 2))
    os.truncate(file, cut)
    left = file.read_bytes()
    assert read_grades(file) == tuple(whole)
    assert [problem.severity for problem in examine(file)[1]] == ["warning"]
    append_grades(file, [late])
    assert file.read_bytes().startswith(left + b"\n")
    assert read_grades(file) == (*whole, late)
    assert [problem.line for problem in examine(file)[1]] == [len(whole) + 1]


def test_a_whole_last_line_without_its_end_is_a_grade(file: Path) -> None:
    append_grades(file, [grade()])
    os.truncate(file, file.stat().st_size - 1)
    append_grades(file, [grade(value="bad")])
    assert examine(file) == ((grade(), grade(value="bad")), [])


def test_a_replaced_grade_is_superseded_whatever_the_order(file: Path) -> None:
    first = grade()
    second = grade(value="bad", replaces=first.id)
    third = grade(value="unsure", replaces=second.id)
    append_grades(file, [third, first, second, first])
    assert current(read_grades(file)) == (third,)
    assert examine(file)[1] == []


def test_the_key_is_of_inputs_and_text_and_the_id_of_everything() -> None:
    assert grade().key == output_key({"word": "fox"}, "NN") != grade(output="VB").key
    assert grade().key != grade(inputs={"word": "dog"}).key
    assert grade().output_digest == grade(inputs={"word": "dog"}).output_digest
    assert grade(model="n").key == grade().key
    assert len({grade().id, grade(model="n").id, grade(note="x").id, grade(value="bad").id}) == 4


def test_the_example_of_the_page_is_a_grade() -> None:
    page = (Path(__file__).parents[2] / "docs" / "grades.md").read_text(encoding="utf-8")
    shown = Grade.model_validate_json(page.split("```json\n")[1].split("```")[0])
    fields = shown.model_dump(exclude={"id", "key", "output_digest", "subject_digest"})
    rule = "The output is a single tag, with no other text."
    assert shown == Grade.of(
        inputs={"sentence": "The fox jumps.", "word": "fox"}, output="'NN'", subject_text=rule, **fields
    )


def test_half_a_character_makes_no_grade() -> None:
    with pytest.raises(ValidationError, match="note"):
        grade(note="\ud800")


def _with(**changes: object) -> str:
    return json.dumps({**grade().to_dict(), **changes})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "each line must hold one grade"),
        ("<<<<<<< HEAD", "not valid JSON.*take it out"),
        ('{"id": NaN}', "not valid JSON"),
        (_with(value="great"), "value: 'great' is not one of the words"),
        (_with(valve="good"), "'valve' is not known.*did you mean 'value'"),
        (_with(time="yesterday"), "not a time with an offset"),
        (_with(time="2026-03-01T09:30:00"), "not a time with an offset"),
        (_with(subject="r1"), "needs 'subject_digest'"),
        (_with(replaces=grade().id), "cannot replace itself"),
        (_with(id="../x"), "is not a digest"),
        (_with(probability=0), "probability"),
        (_with(note="n" * 20_001), "note"),
        (_with(note="other"), "differs from line 1"),
        ('{"id":"' + "x" * grade_file.LONGEST_LINE, "longer than"),
        ("[" * 50_000, "nested too deeply"),
    ],
)
def test_mistakes_have_a_line(file: Path, line: str, message: str) -> None:
    write(file, _with(), line)
    with pytest.raises(GradeError, match=message) as caught:
        read_grades(file)
    assert (caught.value.path, caught.value.line) == (file, 2)


def test_odd_replacements_are_named(file: Path) -> None:
    missing = grade(replaces="0" * 32)
    elsewhere = grade(output="VB", replaces=missing.id)
    append_grades(file, [missing, elsewhere])
    write(file, *lines_of(file), _with(id="a" * 32, replaces="b" * 32), _with(id="b" * 32, replaces="a" * 32))
    reported = [(problem.line, problem.severity, problem.message) for problem in examine(file)[1]]
    assert [entry[:2] for entry in reported] == [(1, "warning"), (2, "error"), (3, "error")]
    assert "itself by way of others" in reported[2][2]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_named(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    for problem in examine(file)[1]:
        assert problem.line is not None


def test_a_hostile_file_is_bounded(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(file, *["x"] * 1000)
    assert len(examine(file)[1]) == grade_file.MOST_PROBLEMS
    file.write_text('{"x": 1}\n' * 300, encoding="utf-8")
    imported = import_grades(file, file.parent / "ours.grades.jsonl")
    assert (len(imported.problems), imported.refused) == (grade_file.MOST_PROBLEMS, 300)
    with file.open("wb") as handle:
        handle.truncate(10 * grade_file.MAX_BYTES)
    assert [problem.line for problem in examine(file)[1]] == [1]
    file.unlink()
    file.symlink_to(file.with_name("elsewhere"))
    with pytest.raises(GradeError, match="link"):
        append_grades(file, [grade()])
    assert not file.with_name("elsewhere").exists()


WRITER = """
import sys
from pathlib import Path
from promptpex.core.records import Grade
from promptpex.documents.human_grades import append_grades
for number in range(40):
    fields = {"time": "2026-03-01T09:30:00+00:00", "case": "c1", "model": "m", "value": "good", "inputs": {}}
    note = str(number) + "x" * 5000
    append_grades(Path(sys.argv[1]), [Grade.of(**fields, output="NN", grader=sys.argv[2], note=note)])
"""


def test_processes_that_append_at_once_lose_nothing(file: Path) -> None:
    root = Path(__file__).parents[2]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(file), name], cwd=root, env={**os.environ, "PYTHONPATH": "."}
        )
        for name in ("ada", "bob")
    ]
    assert [process.wait(300) for process in running] == [0, 0]
    merged_grades, problems = examine(file)
    assert problems == []
    assert {(item.grader, item.note.strip("x")) for item in merged_grades} == {
        (name, str(number)) for name in ("ada", "bob") for number in range(40)
    }
