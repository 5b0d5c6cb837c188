"""A prompt with outputs and grades, and a page of criteria behind which an author and a judge answer as told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from promptpex.config import load
from promptpex.core.records import Example, Grade, Request, Rule, Spec, Synthesis, output_key
from promptpex.core.records.criteria_board import CriteriaBoard, ShownCandidate, ShownCriterion
from promptpex.documents.human_grades import append_grades
from promptpex.grading.labels import LabelRules
from promptpex.llm.fake import FakeClient
from promptpex.promptfile import read
from promptpex.specs.file import write_spec
from promptpex.synthesis.folder import read_candidates
from promptpex.workflow.criteria.page import CriteriaProject
from promptpex.workflow.project_files import files_of

HANGS_S = 300
"""Seconds after which a test is taken for one that hangs."""

COLOURS = ("RED", "GREEN", "blue", "a stone", "YELLOW", "white", "BLACK", "pink")


def proposed(name: str, kind: str, value: str, *criteria: str) -> dict[str, Any]:
    return {"name": name, "criteria": criteria, "description": f"{name}.", "kind": kind, "value": value, "path": ""}


CAPITALS = (
    proposed("all_capitals", "regex", r"^[A-Z ]+$", "capitals"),
    proposed("shouts", "python", "def shouts(example, prompt, response):\n    return response.isupper()", "capitals"),
    proposed("breaks", "python", "def breaks(example, prompt, response):\n    return 1 / 0", "capitals"),
    proposed("wrong", "regex", "([", "capitals"),
)


class Bench:
    """Everything in a folder of its own.

    Attributes:
        replies: what the author says by stage: the items of a list, a text, an error, or a function of the request.
        told: how often others were told of a change.
        when_told: called each time.
    """

    def __init__(self, path: Path, *, outputs: int = 24, rules: tuple[Rule, ...] = (), **settings: Any) -> None:
        self.path, self.settings = path, settings
        self.prompt = path / "colours.md"
        self.prompt.write_text("Name the colour of {{thing}} in capitals.\n", encoding="utf-8")
        if rules:
            write_spec(path / "colours.spec.yaml", Spec(prompt="colours.md", rules=rules))
        self.pool = tuple(self.item(number) for number in range(outputs))
        self.replies: dict[str, Any] = {}
        self.client = FakeClient(self._reply)
        self.told = 0
        self.when_told: Callable[[], object] = lambda: None
        self.project = self.opened()

    def item(self, number: int) -> Example:
        inputs, text = {"thing": f"thing {number}"}, COLOURS[number % len(COLOURS)]
        prompt = read(self.prompt)
        return Example(
            id=output_key(inputs, text),
            inputs=inputs,
            prompt=f"Name the colour of thing {number} in capitals.",
            output=text,
            case=f"c{number}",
            model="m",
            version=prompt.fingerprint,
        )

    def opened(self) -> CriteriaProject:
        """A page on the same files, as after a start of the server."""
        given = {"author": "openai/author", "judge": ("openai/judge",), "store": str(self.path / "store.db")}
        return CriteriaProject(
            load({**given, **self.settings}, start=self.path, env={}),
            files_of(self.prompt),
            self.pool,
            LabelRules(),
            self._changed,
            provider=self.client,
        )

    def _changed(self, synthesis: Synthesis) -> None:
        self.told += 1
        self.when_told()

    def _reply(self, request: Request) -> Any:
        reply = self.replies.get(request.stage, [])
        if callable(reply):
            reply = reply(request)
        return json.dumps({"items": reply}) if isinstance(reply, list | tuple) else reply

    def asked(self, stage: str) -> list[Request]:
        return [one for one in self.client.requests if one.stage == stage]

    @property
    def file(self) -> Path:
        return self.path / "colours.synthesis" / "candidates.yaml"

    def on_file(self) -> Synthesis:
        return read_candidates(self.file)

    def grade(self, item: Example, value: str, note: str = "", subject: str = "output", text: str = "") -> Grade:
        """Adds a grade to the file."""
        grade = Grade.of(
            inputs=item.inputs, output=item.output, subject=subject, subject_text=text, value=value, note=note,
            time="2026-03-01T09:30:00+00:00", grader="ada", case=item.case, model=item.model,
        )  # fmt: skip
        append_grades(self.path / "colours.grades.jsonl", [grade])
        return grade

    def note(self, grade: Grade) -> str:
        """Makes a criterion of a grade's note."""
        return self.project.from_note(grade.grader, grade.key, grade.subject)

    def grade_capitals(self, count: int, subject: str = "capitals", text: str = "") -> None:
        """Grades the first outputs by whether they are in capitals."""
        for item in self.pool[:count]:
            value = "good" if item.output.isupper() else "bad"
            self.grade(item, value, "" if value == "good" else f"not in capitals: {item.output}", subject, text)

    def until(self, holds: Callable[[CriteriaBoard], bool]) -> CriteriaBoard:
        """Looks at the page until it is as wanted."""
        return until(self.project, holds)

    def settled(self) -> CriteriaBoard:
        """The page once nothing is under way."""
        return self.until(lambda board: not board.is_working)


def until(project: CriteriaProject, holds: Callable[[CriteriaBoard], bool]) -> CriteriaBoard:
    """Looks at a page until it is as wanted."""
    pause = threading.Event()
    for _ in range(HANGS_S * 100):
        board = project.board()
        if holds(board):
            return board
        pause.wait(0.01)
    raise AssertionError(f"it never was so: {board}")


def criterion(board: CriteriaBoard, name: str) -> ShownCriterion:
    return next(one for one in board.criteria if one.id == name)


def candidate(board: CriteriaBoard, name: str) -> ShownCandidate:
    return next(row for one in board.criteria for row in one.candidates if row.id == name)
