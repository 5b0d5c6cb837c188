"""``promptpex grade``: grading in a terminal or through a pipe, and merging grades that were given elsewhere."""

from __future__ import annotations

import io
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptpex.core.records import Grade
from promptpex.documents.human_grades import append_grades, current, read_grades
from tests.e2e.command import Done, environment, in_process
from tests.grading.graded_project import RULES, TEXTS, project

GRADES = "colours.grades.jsonl"


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", "/")


def typed(keys: str, *arguments: str, cwd: Path) -> Done:
    """Grades with these keys, a line each, from a pipe."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(keys.encode())))
        return in_process("grade", "--terminal", "--as", "ada", *arguments, cwd=cwd)


def graded(folder: Path) -> dict[tuple[str, str], tuple[str, str]]:
    """What holds: value and note by case and subject."""
    return {(one.case, one.subject): (one.value, one.note) for one in current(read_grades(folder / GRADES))}


def test_grading_by_keys_from_a_pipe(tmp_path: Path) -> None:
    project(tmp_path)
    done = typed("g\nn in two words\nb\nu\ng\n", cwd=tmp_path)
    assert (done.code, done.err) == (0, "run one: 4 examples\n")
    assert "4 of 4 outputs graded, 1 of them unsure; the grades are in colours.grades.jsonl" in done.out
    assert "\nNothing is left to grade.\n" in done.out
    values = graded(tmp_path)
    assert len(values) == 4
    assert sorted(values.values()) == [("bad", "in two words"), ("good", ""), ("good", ""), ("unsure", "")]


def test_back_undo_and_finishing_at_any_time(tmp_path: Path) -> None:
    project(tmp_path)
    done = typed("g\nb\np\nm\nn better so\nz\nu\nq\n", cwd=tmp_path)
    assert done.code == 0
    assert "prompt, as it was sent\nName the colour of" in done.out
    assert "Taken back: bad, case" in done.out, "the note amends a grade, and undo takes back the latter first"
    assert sorted(graded(tmp_path).values()) == [("good", ""), ("unsure", "")] or sorted(graded(tmp_path).values()) == [
        ("bad", ""),
        ("unsure", ""),
    ]
    again = typed("q\n", cwd=tmp_path)
    assert "2 of 4 outputs graded" in again.out
    assert "promptpex" not in again.err.replace("run one", "")


def test_a_note_that_no_grade_has_taken_is_never_lost_unsaid(tmp_path: Path) -> None:
    project(tmp_path)
    asked, lost = "Your note is not saved yet", "Your note was not saved, since no grade came after it: in two words"
    saved = typed("n in two words\nq\nb\nq\n", cwd=tmp_path)
    assert (saved.out.count(asked), lost in saved.out) == (1, False)
    assert list(graded(tmp_path).values()) == [("bad", "in two words")]
    for keys, times in (
        ("n in two words\nq\nq\n", 1),
        ("n in two words\n", 0),
        ("n in two words\nz\nq\n", 0),
        ("r\nn in two words\nq\nx\nq\n", 1),
    ):
        done = typed(keys, cwd=tmp_path)
        assert (done.out.count(asked), done.out.count(lost)) == (times, 1), keys
    assert not graded(tmp_path)


def test_rules_are_graded_one_by_one(tmp_path: Path) -> None:
    project(tmp_path, {"sky": "It is blue."})
    done = typed("r\ng\nz\nb\np\nn two words\n\nu\n", cwd=tmp_path)
    assert "r1 (1 of 2)\nThe output is one word." in done.out
    assert graded(tmp_path) == {("sky", "r1"): ("bad", "two words"), ("sky", "r2"): ("unsure", "")}
    assert "1 of 1 output graded" in done.out, "a broken rule makes the whole bad"


def test_a_reworded_rule_is_asked_again(tmp_path: Path) -> None:
    project(tmp_path, {"sky": "blue", "grass": "green"})
    typed("b\np\nr\ng\nb\nq\n", cwd=tmp_path)
    case = next(case for case, subject in graded(tmp_path) if subject == "r2")
    spec = tmp_path / "colours.spec.yaml"
    spec.write_text(spec.read_text().replace("is the colour", "is the usual colour"), encoding="utf-8")
    done = typed("g\ng\n", cwd=tmp_path)
    assert "The output is the usual colour of the thing.\nYou said bad of older words of it" in done.out
    assert "r2: you said bad of older words of it" in done.out
    assert "r1 (" not in done.out
    assert graded(tmp_path)[case, "r2"] == ("good", "")
    assert graded(tmp_path)[case, "output"] == ("bad", "")
    assert len(read_grades(tmp_path / GRADES)) == 5


def test_hostile_and_foreign_outputs_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    texts = {
        "sky": "\x1b[2J\x1b]0;mine\x07blue\u202eevil\r\x9b31m",
        "grass": "ירוק كلمة\n緑色です" * 3,
        "sea": "青" * 9_000,
        "night": " \n",
    }
    project(tmp_path, texts)
    done = typed("g\ng\ng\ng\n", cwd=tmp_path)
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out
    assert "\ufffd[2J\ufffd]0;mine\ufffdblue\ufffdevil\ufffd\ufffd31m" in done.out
    assert "ירוק كلمة\n緑色です" in done.out
    assert "output\n(empty)\n" in done.out
    long = next(line for line in done.out.splitlines() if line.startswith("青青"))
    assert 0 < len(long) < 9_000
    assert f"... {9_000 - len(long):,} more characters: m shows all of it" in done.out


def lines(folder: Path) -> list[Grade]:
    """Grades that a colleague has given to the project's outputs."""
    made = [
        Grade.of(
            inputs={"thing": thing},
            output=text,
            grader="bob",
            value="bad",
            note="no\nname",
            time="2026-03-01T09:00:00+00:00",
            case=thing,
            model="m",
            subject="r1",
            subject_text=RULES[0].rule,
        )
        for thing, text in TEXTS.items()
    ]
    append_grades(folder / "bob.jsonl", made)
    return made


def test_grades_from_elsewhere_are_merged_once(tmp_path: Path) -> None:
    project(tmp_path)
    first, second, *_ = lines(tmp_path)
    append_grades(tmp_path / GRADES, [first])
    done = in_process("grade", "--import", "bob.jsonl", cwd=tmp_path)
    assert (done.code, done.out) == (0, "colours.grades.jsonl: 3 new grades, 1 known, 0 refused\n")
    again = in_process("grade", "--import", "bob.jsonl", "--json", cwd=tmp_path)
    assert json.loads(again.out) == {"file": GRADES, "new": 0, "known": 4, "problems": []}
    assert second in read_grades(tmp_path / GRADES)


def test_lines_that_are_no_grades_are_refused_by_their_numbers(tmp_path: Path) -> None:
    project(tmp_path)
    first, second, third, _ = lines(tmp_path)
    append_grades(tmp_path / GRADES, [first])
    without_id = {name: value for name, value in second.to_dict().items() if name != "id"}
    edited = {**third.to_dict(), "value": "good"}
    taken = third.instead_of(first).replace(id="0" * 32).to_dict()
    foreign = Grade.identified({**first.to_dict(), "grader": "eve", "replaces": first.id})
    bad = [
        "{",
        json.dumps(without_id),
        json.dumps(edited),
        "[]",
        json.dumps(taken),
        json.dumps(foreign.to_dict()),
        "\x00",
    ]
    (tmp_path / "bob.jsonl").write_text("\n".join(bad) + '\n{"id":"12', encoding="utf-8")
    done = in_process("grade", "--import", "bob.jsonl", cwd=tmp_path)
    assert done.code == 1
    assert done.out == "colours.grades.jsonl: 1 new grade, 0 known, 5 refused\n"
    for line, message in (
        (1, "the line is incomplete"),
        (3, "the id does not match this line"),
        (4, "each line must hold one grade"),
        (5, "the id does not match this line"),
        (6, "which another person gave"),
        (7, "the line is not valid JSON"),
        (8, "the line is incomplete"),
    ):
        assert f"bob.jsonl:{line}: " in done.err
        assert message in done.err
    assert read_grades(tmp_path / GRADES) == (first, second)
    (tmp_path / "bob.jsonl").write_text('{"id":"bad"}\n' * 120, encoding="utf-8")
    done = in_process("grade", "--import", "bob.jsonl", cwd=tmp_path)
    assert done.out == "colours.grades.jsonl: 0 new grades, 0 known, 120 refused\n"


posix = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")


class Terminal:
    """The command in a pseudo-terminal: keys in, screen out."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        import pty

        self._own, other = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "promptpex", "grade", "--terminal", *arguments],
            cwd=folder,
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
            env=environment(PYTHONPATH=str(Path(__file__).parents[2]), TERM="xterm"),
        )
        os.close(other)
        self.screen = ""
        self._place = 0

    def wait_for(self, text: str) -> None:
        """Reads until the screen has shown this, after what was waited for before."""
        until = time.monotonic() + 60
        while (place := self.screen.find(text, self._place)) < 0:
            left = until - time.monotonic()
            assert select.select([self._own], [], [], max(0, left))[0], self.screen
            try:
                data = os.read(self._own, 65_536)
            except OSError:
                data = b""
            assert data, self.screen
            self.screen += data.decode("utf-8", "replace")
        self._place = place + len(text)

    def press(self, keys: str) -> None:
        os.write(self._own, keys.encode())

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._own)


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Terminal]:
    project(tmp_path)
    terminal = Terminal(tmp_path, "--as", "ada")
    yield terminal
    terminal.close()


@posix
def test_keys_in_a_terminal_act_at_once(screen: Terminal, tmp_path: Path) -> None:
    screen.wait_for("q end")
    screen.press("g")
    screen.wait_for("q end")
    screen.press("n")
    screen.wait_for("Note:")
    screen.press("zu läng\n")
    screen.wait_for("It goes with the next grade.")
    screen.press("b")
    screen.wait_for("2 of 4")
    screen.wait_for("q end")
    screen.press("\x1b[D")
    screen.wait_for("You said bad: zu läng")
    screen.wait_for("q end")
    screen.press("\x1b[C")
    screen.wait_for("q end")
    screen.process.send_signal(signal.SIGINT)
    screen.wait_for("2 of 4 outputs graded")
    assert screen.process.wait(300) == 0
    assert "bbad" not in screen.screen, "keys are not shown, notes are"
    assert "zu läng\r\n" in screen.screen
    assert sorted(graded(tmp_path).values()) == [("bad", "zu läng"), ("good", "")]


@posix
def test_a_terminal_that_is_killed_keeps_what_was_graded(screen: Terminal, tmp_path: Path) -> None:
    screen.wait_for("q end")
    screen.press("b")
    screen.wait_for("q end")
    screen.process.kill()
    screen.process.wait()
    assert [value for value, _ in graded(tmp_path).values()] == ["bad"]
    assert "1 of 4 outputs graded" in typed("q\n", cwd=tmp_path).out
