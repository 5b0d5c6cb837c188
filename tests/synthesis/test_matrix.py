"""The matrix: every candidate on every example, once, on real files."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptpex.codecs import jsonl
from promptpex.core.errors import SynthesisError
from promptpex.core.events import Event, StageStarted, StepDone
from promptpex.core.records import Candidate, CandidateResult, Check, Example
from promptpex.engines import Engine, LocalEngine
from promptpex.engines.processes import ProcessEngine
from promptpex.synthesis.results.fill_matrix import CANDIDATES_AT_ONCE, EXAMPLES_AT_ONCE, fill
from promptpex.synthesis.results.matrix import ERROR, FAIL, MISSING, PASS, Matrix, MatrixCell, MatrixFile, may_ask


def candidate(name: str, kind: str, value: object, **more: object) -> Candidate:
    return Candidate(id=name, check=Check.model_validate({"kind": kind, "value": value, **more}))


CANDIDATES = (
    candidate("has_colon", "contains", ":"),
    candidate("short", "word-count", {"max": 2}),
    candidate("names_the_thing", "icontains", "{{thing}}"),
    candidate("prompted", "javascript", "context.prompt.includes('sky')"),
    candidate("broken", "regex", "("),
)
EXAMPLES = (
    Example(id="a", inputs={"thing": "sky"}, prompt="the sky", output="Sky: blue"),
    Example(id="b", inputs={"thing": "grass"}, prompt="the grass", output="it is green"),
    Example(id="c", inputs={}, prompt="the sky", output=""),
)
HERE = LocalEngine()


def filled(
    path: Path,
    candidates: Sequence[Candidate] = CANDIDATES,
    examples: Sequence[Example] = EXAMPLES,
    engine: Engine = HERE,
) -> tuple[Matrix, int]:
    matrix = Matrix(candidates, examples)
    events: list[Event] = []
    ran = asyncio.run(fill(matrix, MatrixFile(path / "matrix.jsonl"), engine, events.append))
    assert matrix.missing() == 0
    started = [event for event in events if isinstance(event, StageStarted)]
    assert sum(isinstance(event, StepDone) for event in events) == sum(event.total for event in started)
    return matrix, ran


def signs(matrix: Matrix) -> list[str]:
    kinds = {"p": PASS, "f": FAIL, "e": ERROR, "?": MISSING}
    return [
        "".join(
            sign
            for row in range(len(matrix.examples))
            for sign in kinds
            if matrix.where(column, kinds[sign]) >> row & 1
        )
        for column in range(len(matrix.candidates))
    ]


def test_pass_fail_and_error_are_apart(tmp_path: Path) -> None:
    matrix, ran = filled(tmp_path)
    assert ran == 15
    assert signs(matrix) == ["pff", "pfp", "pfe", "pfp", "eee"]
    assert [matrix.where(0, PASS), matrix.where(0, FAIL), matrix.where(4, ERROR)] == [0b001, 0b110, 0b111]
    assert [matrix.fails(column) for column in range(5)] == [0b110, 0b010, 0b110, 0b010, 0b111]
    assert [sorted(each) for each in matrix.errors[:2]] == [[], []]
    assert [reason.split(":")[0] for reason in matrix.errors[4]] == ["bad-pattern"]


def test_a_second_run_does_what_is_missing_and_nothing_else(tmp_path: Path) -> None:
    before, _ = filled(tmp_path)
    again, ran = filled(tmp_path)
    assert (ran, signs(again), again.errors) == (0, signs(before), before.errors)
    edited = (*CANDIDATES[:4], candidate("broken", "regex", "[a-z]"))
    more = Example(id="d", output="Sea: blue")
    assert filled(tmp_path, edited)[1] == 3
    assert filled(tmp_path, edited, (*EXAMPLES, more))[1] == 5
    renamed = tuple(one.replace(id=f"{one.id}_too", description="Anew.") for one in edited)
    assert filled(tmp_path, renamed, (more, *EXAMPLES))[1] == 0


def test_another_prompt_runs_again_what_may_look_at_it(tmp_path: Path) -> None:
    filled(tmp_path)
    matrix, ran = filled(tmp_path, examples=[one.replace(prompt="the sea") for one in EXAMPLES])
    assert (ran, signs(matrix)[3]) == (3, "fff")


def test_reasons_of_errors_are_counted_within_bounds() -> None:
    matrix = Matrix(CANDIDATES[:1], [EXAMPLES[0].replace(id=str(number)) for number in range(30)])
    for number in range(30):
        matrix.add(MatrixCell(0, number, "error", f"script-error: it broke on {number}"))
    assert (len(matrix.errors[0]), matrix.errors[0].total(), matrix.errors[0]["other reasons"]) == (21, 30, 10)


def test_another_judge_runs_again_what_may_ask_it(tmp_path: Path) -> None:
    asking = candidate("polite", "question", "Is it polite?")
    one, two = (Matrix([CANDIDATES[0], asking], EXAMPLES, judge=judge) for judge in ("one", "two"))
    results = [one.record(MatrixCell(column, row, "pass")) for column in range(2) for row in range(3)]
    two.take(results)
    assert signs(two) == ["ppp", "???"]
    two.take([two.record(MatrixCell(1, 2, "fail", "It is rude."))])
    assert signs(two) == ["ppp", "??f"]
    assert two.where(1, MISSING) == 0b011
    anyone = Matrix([CANDIDATES[0], asking], EXAMPLES)
    anyone.take(results)
    assert signs(anyone) == ["ppp", "ppp"]


@pytest.mark.parametrize(
    ("check", "asks"),
    [
        ({"kind": "question", "value": "Is it?"}, True),
        ({"kind": "not-question", "value": "Is it?"}, True),
        ({"kind": "python", "value": "def f(e, p, r): return ask('Is it?')"}, True),
        ({"kind": "python", "value": "'word' in output"}, False),
        ({"kind": "contains", "value": "ask"}, False),
        ({"kind": "assert-set", "assert": [{"kind": "question", "value": "Is it?"}]}, True),
    ],
)
def test_which_checks_may_ask(check: dict[str, object], asks: bool) -> None:
    assert may_ask(Check.model_validate(check)) is asks


def test_processes_give_the_same_as_this_one(tmp_path: Path) -> None:
    (tmp_path / "apart").mkdir()
    candidates = [
        candidate(f"c{number}", "contains", f"{{{{thing}}}}{number}") for number in range(CANDIDATES_AT_ONCE + 3)
    ]
    examples = [
        Example(id=f"e{number}", inputs={"thing": number % 7}, output=f"{number}{number % 5}")
        for number in range(EXAMPLES_AT_ONCE + 5)
    ]
    here, ran = filled(tmp_path, candidates, examples)
    apart, _ = filled(tmp_path / "apart", candidates, examples, engine=ProcessEngine(2))
    assert ran == len(candidates) * len(examples)
    assert signs(here) == signs(apart)
    assert any(here.where(column, PASS) for column in range(len(candidates)))


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    before, _ = filled(tmp_path)
    file = tmp_path / "matrix.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:7]) + lines[7][:-9])
    again, ran = filled(tmp_path)
    assert (ran, signs(again)) == (8, signs(before))
    assert filled(tmp_path)[1] == 0


def test_a_run_that_is_cancelled_keeps_what_it_has(tmp_path: Path) -> None:
    candidates = [candidate(f"c{number}", "contains", str(number)) for number in range(3 * CANDIDATES_AT_ONCE)]
    file = MatrixFile(tmp_path / "matrix.jsonl")
    matrix = Matrix(candidates, EXAMPLES)
    made = asyncio.run(fill(matrix, file, HERE, lambda event: None, cancelled=lambda: True))
    assert made == matrix.where(0, PASS, FAIL).bit_count() * CANDIDATES_AT_ONCE == 3 * CANDIDATES_AT_ONCE
    assert filled(tmp_path, candidates)[1] == 2 * made


@pytest.mark.parametrize("line", [b"{", b"{}", b"[1]", b"\xff", b"[" * 50_000, b'{"candidate":"a","status":"pass"}'])
def test_a_damaged_line_is_named(tmp_path: Path, line: bytes) -> None:
    filled(tmp_path)
    file = tmp_path / "matrix.jsonl"
    file.write_bytes(file.read_bytes() + line + b"\n")
    with pytest.raises(SynthesisError, match=r"matrix\.jsonl:16: this is not the result of a candidate; remove the"):
        filled(tmp_path)


def test_a_line_of_any_length_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "matrix.jsonl").write_bytes(b"x" * 200_000 + b"\n")
    with pytest.raises(SynthesisError, match="the line is longer than 100,000 bytes"):
        filled(tmp_path)


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("", encoding="utf-8")
    (tmp_path / "matrix.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SynthesisError, match="is a link, which is not followed here"):
        filled(tmp_path)


def test_an_error_that_the_next_run_may_not_meet_is_not_kept(tmp_path: Path) -> None:
    matrix = Matrix(CANDIDATES[:1], EXAMPLES[:1])
    matrix.add(MatrixCell(0, 0, "error", "needs-judge: Is it?", kept=False))
    assert signs(matrix) == ["e"]
    assert filled(tmp_path, CANDIDATES[:1], EXAMPLES[:1])[1] == 1


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(reason=st.text(max_size=40), status=st.sampled_from(["pass", "fail", "error"]))
def test_cells_read_back_as_they_were(tmp_path: Path, reason: str, status: str) -> None:
    file = MatrixFile(tmp_path / "matrix.jsonl")
    file.path.unlink(missing_ok=True)
    result = CandidateResult(candidate="c", example="e", status=status, reason=reason, basis="b")
    file.add(jsonl.dump_record(result))
    assert list(file.read()) == [result]
