"""A random sample of each day of a log is put up for grading, always the same one, and graded like a run's outputs."""

from __future__ import annotations

import io
import json
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from promptpex.assertions.rows_to_check import CheckRow, row_of
from promptpex.core.errors import CheckError
from promptpex.core.records import Example, output_key
from promptpex.documents.human_grades import read_grades
from promptpex.synthesis.folder import SynthesisFolder
from promptpex.workflow import production_sample as sampling
from promptpex.workflow.production_sample import PutUp, production_sample
from tests.e2e.command import Done, in_process
from tests.grading.graded_project import PROMPT, SPEC, project

NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)


@pytest.fixture
def prompt(tmp_path: Path) -> Path:
    path = tmp_path / "colours.md"
    path.write_text(PROMPT, encoding="utf-8")
    return path


def row(thing: str, output: object, **more: object) -> CheckRow:
    return row_of({"vars": {"thing": thing, "user": "u1"}, "output": output, **more}, 1)


def put(prompt: Path, rows: Iterable[CheckRow], per_day: int = 5) -> PutUp:
    sample, folder = production_sample(prompt, per_day, NOW)
    list(sample.watch(rows, only_checked=False))
    return sample.put_up(folder, prompt)


def kept(prompt: Path) -> tuple[Example, ...]:
    return SynthesisFolder.of(prompt).read_examples()


def day(number: int, count: int) -> list[CheckRow]:
    return [row(f"{number}-{each}", "blue", time=f"2026-03-0{number}T10:00:00+02:00") for each in range(count)]


def test_several_logs_of_one_prompt_at_once_lose_nothing(prompt: Path) -> None:
    together = threading.Barrier(8)

    def put_one(number: int) -> PutUp:
        sample, folder = production_sample(prompt, 5, NOW)
        list(sample.watch(day(number, 5), only_checked=False))
        together.wait()
        return sample.put_up(folder, prompt)

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(put_one, range(1, 9)))
    assert [one.new for one in made] == [5] * 8
    assert Counter(one.put_up for one in kept(prompt)) == {f"2026-03-0{number}": 5 for number in range(1, 9)}


def test_a_sample_of_each_day_is_put_up_once(prompt: Path) -> None:
    log = [*day(1, 40), *day(2, 40), *day(3, 3)]
    assert put(prompt, log) == PutUp(13, 0, 83, 3, 0, 0)
    first = kept(prompt)
    assert Counter(one.put_up for one in first) == {"2026-03-01": 5, "2026-03-02": 5, "2026-03-03": 3}
    assert all(one.id == output_key(one.inputs, one.output) for one in first)
    assert first[0].inputs.keys() == {"thing"}, "the prompt's variables are the inputs, so that a run's outputs match"
    assert first[0].prompt == f"Name the colour of {first[0].inputs['thing']} in one word."
    assert put(prompt, reversed(log)) == PutUp(0, 13, 83, 3, 0, 0)
    assert kept(prompt) == first


def test_the_sample_of_a_log_that_has_grown_is_that_of_the_whole_log(prompt: Path, tmp_path: Path) -> None:
    put(prompt, day(1, 20))
    early = {one.id for one in kept(prompt)}
    put(prompt, day(1, 60))
    late = {one.id for one in kept(prompt)}
    other = tmp_path / "other" / "colours.md"
    other.parent.mkdir()
    other.write_text(PROMPT, encoding="utf-8")
    put(other, day(1, 60))
    assert early <= late
    assert {one.id for one in kept(other)} <= late
    assert len(late) < 10


def test_the_sample_is_not_the_beginning_of_the_log(prompt: Path) -> None:
    put(prompt, day(1, 1_000), per_day=100)
    places = sorted(int(str(one.inputs["thing"]).split("-")[1]) for one in kept(prompt))
    assert 350 < sum(places) / 100 < 650


def test_times_are_read_as_logs_write_them(prompt: Path) -> None:
    times = {
        "2026-03-01": "2026-03-01T23:59:00-08:00",
        "2026-03-02": 1_772_409_600,
        "2026-03-03": 1_772_496_000_123,
        "2026-03-04": "2026-03-04",
        "2026-03-05": " 1772668800.5 ",
    }
    rows = [row(name, "blue", timestamp=time) for name, time in times.items()]
    rows += [row("none", "blue"), row("empty", "blue", created="")]
    bad = [row("bad", "blue", date=time) for time in ("soon", True, 1e300, [1], "9" * 400, float("nan"))]
    assert put(prompt, [*rows, *bad]) == PutUp(7, 0, 7, 6, 0, 6)
    days = {str(one.inputs["thing"]): one.put_up for one in kept(prompt)}
    assert days == {**{name: name for name in times}, "none": "2026-03-09", "empty": "2026-03-09"}


def test_rows_without_a_usable_output_are_counted(prompt: Path) -> None:
    rows = [
        row("a", None),
        row("b", "blue", error="timed-out"),
        row_of({"vars": {"thing": float("nan")}, "output": "x"}, 1),
        row("c", {"colour": "blue"}),
        row("d", "bl\ud800ue"),
        row_of({"output": "alone"}, 1),
    ]
    long = row("e", "x")
    long.length = sampling.LONGEST_EXAMPLE + 1
    made = put(prompt, [*rows, long])
    assert (made.new, made.unusable) == (3, 4)
    assert made.sentence() == "3 of 3 outputs of 1 day put up for grading, 4 without a usable output"
    assert {one.output for one in kept(prompt)} == {'{"colour":"blue"}', "bl\ud800ue", "alone"}
    assert next(one for one in kept(prompt) if one.output == "alone").prompt == ""


def test_rows_that_lack_the_prompts_variables_are_counted(prompt: Path) -> None:
    assert put(prompt, [row("a", "blue")]).notice == ""
    made = put(prompt, [row_of({"output": each, "vars": {"user": "u1"}}, 1) for each in ("red", "green")])
    assert made.notice.startswith("2 rows lack the prompt's variable thing; people will grade")


def test_what_repeats_is_one_output_and_labels_stay(prompt: Path) -> None:
    twice = [row("sky", "blue"), row("sky", "blue"), row("sky", "green")]
    folder = SynthesisFolder.of(prompt)
    folder.path.mkdir()
    labelled = Example(id=output_key({"thing": "sky"}, "green"), inputs={"thing": "sky"}, output="green", label="bad")
    folder.write_examples([labelled])
    assert put(prompt, twice).new == 2
    assert {(one.output, one.times, one.label, one.put_up) for one in kept(prompt)} == {
        ("blue", 2, None, "2026-03-09"),
        ("green", 1, "bad", "2026-03-09"),
    }


def test_a_log_of_too_many_days_is_refused(prompt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "MOST_DAYS", 2)
    with pytest.raises(CheckError, match="more than 2 days; split it"):
        put(prompt, [*day(1, 1), *day(2, 1), *day(3, 1)])


def check(*arguments: str, cwd: Path) -> Done:
    return in_process("check", *arguments, cwd=cwd)


def test_the_command_checks_by_the_spec_and_puts_up(tmp_path: Path) -> None:
    project(tmp_path)
    lines = [
        {"vars": {"thing": f"t{each}"}, "output": "light blue", "time": "2026-03-01T09:00:00Z"} for each in range(9)
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    done = check("log.jsonl", "--put-up", "colours.md", "--per-day", "4", cwd=tmp_path)
    assert done.code == 0
    assert "4 of 9 outputs of 1 day put up for grading; to grade them: promptpex grade colours.md" in done.err
    assert "0 pass, 0 fail, 0 unscored" in done.err, "neither the rows nor the spec have checks"
    assert "lack" not in done.err
    (tmp_path / "bare.jsonl").write_text('{"output": "red", "time": "2026-02-01"}', encoding="utf-8")
    done = check("bare.jsonl", "--put-up", "colours.md", cwd=tmp_path)
    assert "promptpex: 1 row lacks the prompt's variable thing" in done.err
    checked = SPEC.replace(
        "one word.\n    origin: added",
        "one word.\n    origin: added\n    checks:\n      - {kind: word-count, value: 1}",
        1,
    )
    (tmp_path / "colours.spec.yaml").write_text(checked, encoding="utf-8")
    done = check("log.jsonl", "--put-up", "colours.md", "--json", cwd=tmp_path)
    assert done.code == 1
    assert "5 of 9 outputs of 1 day put up for grading, 4 put up before" in done.err
    assert len(done.out.splitlines()) == 9
    for arguments, message in (
        (("log.jsonl", "--per-day", "4"), "--per-day says how many outputs"),
        (("log.jsonl", "--put-up", "none.md"), "none.md"),
    ):
        assert message in check(*arguments, cwd=tmp_path).err


def test_outputs_of_production_are_graded_with_those_of_the_run(tmp_path: Path) -> None:
    project(tmp_path, {"sky": "blue"})
    log = 'thing,output,date\nsea,"blue\nor green",2026-03-01\nsky,blue,2026-03-01\n'
    (tmp_path / "log.csv").write_text(log, encoding="utf-8")
    assert check("log.csv", "--put-up", "colours.md", cwd=tmp_path).code == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"g\nb\n")))
        done = in_process("grade", "colours.md", "--terminal", "--as", "ada", cwd=tmp_path)
    assert "2 of 2 outputs graded" in done.out
    assert "production, 2026-03-01" in done.out
    assert {(one.case, one.model) for one in read_grades(tmp_path / "colours.grades.jsonl")} == {
        ("sky", "m"),
        ("imported", "imported"),
    }
