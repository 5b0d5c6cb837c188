"""Grading in a terminal says all in the reader's language."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from promptpex.cli.grading_keys import PipedKeys
from promptpex.cli.grading_terminal import TerminalGrading, show_end, show_head, show_outlook
from promptpex.core.translation import reading_in
from promptpex.grading.labels import LabelRules
from tests.marked_language import Marked, unmarked
from tests.web.grading_pool import desk_of, texts

PRESSED = b"?\nm\nn Planted note.\nq\ng\nr\ng\nb\np\nz\ny\nx\nz\nz\nz\np\nu\nw\nn Planted note.\nq\nq\n"


def test_every_text_of_grading_in_a_terminal_is_of_the_catalogue(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = desk_of(tmp_path / "pos.grades.jsonl", texts(3))
    with reading_in(Marked()):
        show_head("pos", "ada", LabelRules())
        TerminalGrading(desk, "ada", PipedKeys(io.BytesIO(PRESSED))).run()
        show_end(desk.progress("ada"), "pos.grades.jsonl")
        show_outlook(desk)
    printed = capsys.readouterr().out
    data = {text for item in desk.pool for text in (*map(str, item.inputs.values()), *item.inputs, item.output)}
    data |= {item.prompt for item in desk.pool if item.prompt} | {one.text for one in desk.subjects}
    data |= {one.id for one in desk.subjects} | {item.case for item in desk.pool if item.case}
    data |= {"ada", "pos", "pos.grades.jsonl", "Planted note.", "p, left"}
    assert "⟦" in printed
    assert unmarked(" ".join(printed.split()), {" ".join(text.split()) for text in data}) == ""
