"""The whole loop on EvalGen's task: grade, criterion, candidates, choice, spec, judge again, report card, report.

``benchmarks/post-entities`` without its rule on hashtags: two models answer, a person grades and notes why an answer is
bad, and what came of the notes is a rule in the end. ``tests/data/post_entities.json`` holds what capable readers
said: the author's replies by stage, and, for each question of a candidate, which of the rules it is about. The judges
of rules and questions know what is wrong with each answer, as the benchmark's grades say it.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from promptpex.cli.main import run_cli
from promptpex.config import load
from promptpex.core.records import OUTPUT_SUBJECT, GradeValue, Request, Run
from promptpex.documents.human_grades import read_grades
from promptpex.llm.fake import FakeClient
from promptpex.specs.file import read_spec
from promptpex.synthesis.folder import SynthesisFolder
from promptpex.workflow import pipeline
from promptpex.workflow.files import files_of
from promptpex.workflow.grading.open_desk import GradingWishes, open_desk
from promptpex.workflow.session import Session, open_session
from promptpex.workflow.synthesis.synthesizing import SynthesisWishes, synthesize
from promptpex.workflow.synthesis.trying_candidates import TrialWishes, try_candidates
from tests.samples import asked

ROOT = Path(__file__).parents[3]
BENCHMARK = ROOT / "benchmarks" / "post-entities"
DATA = ROOT / "tests" / "data" / "post_entities.json"
HASHTAGS = "r4"
T = TypeVar("T")
CAREFUL, CARELESS = "openai/careful", "openai/careless"


class Readers:
    """Two models, an author and a judge. What none of them was asked before is an error."""

    def __init__(self) -> None:
        replies = json.loads(DATA.read_text(encoding="utf-8"))
        self._left = {stage: list(each) for stage, each in replies["author"].items()}
        self._about: dict[str, list[str]] = replies["questions"]
        self.examples = SynthesisFolder(BENCHMARK / "prompt.synthesis").read_examples()
        self._careful = {one.inputs["post"]: one for one in self.examples if one.model != "careless"}
        self._careless = {one.inputs["post"]: one for one in self.examples if one.model == "careless"}
        self.broken: dict[str, set[str]] = {one.output: set() for one in self.examples}
        self.notes: dict[str, str] = {}
        by_key = {one.id: one.output for one in self.examples}
        for grade in read_grades(BENCHMARK / "prompt.grades.jsonl"):
            if grade.value == "bad" and by_key[grade.key] in {one.output for one in self._careless.values()}:
                self.broken[by_key[grade.key]] |= {grade.subject} - {"output"}
                self.notes[by_key[grade.key]] = grade.note
        self.asked: Counter[str] = Counter()

    def reply(self, request: Request) -> str:
        self.asked[request.stage] += 1
        if request.stage == "output":
            post = request.messages[-1].content.strip()
            careless = self._careless if request.model == CARELESS else {}
            return careless.get(post, self._careful[post]).output
        if request.stage == "judge":
            return self._verdicts(request)
        if request.stage == "question":
            return self._answer(asked(request))
        if request.stage == "implications":
            numbers = re.findall(r"^(\d+): c\d+ implies c\d+$", asked(request), re.MULTILINE)
            pairs = [{"pair": int(one), "counterexample": "", "verdict": "not-implied"} for one in numbers]
            return json.dumps({"pairs": pairs})
        return json.dumps(self._left[request.stage].pop(0))

    def _verdicts(self, request: Request) -> str:
        broken = self.broken[_fenced(asked(request), "output")]
        rules = (request.reply_schema or {})["properties"]
        verdicts = {rule: {"reason": "Read.", "verdict": "fail" if rule in broken else "pass"} for rule in rules}
        return json.dumps(verdicts)

    def _answer(self, text: str) -> str:
        about = self._about[_fenced(text, "question")]
        broken = self.broken[_fenced(text, "response")]
        return json.dumps({"reason": "Read.", "answer": "no" if broken & set(about) else "yes"})


def _fenced(text: str, name: str) -> str:
    match = re.search(rf"<{name}-[0-9a-f]+>\n(.*?)\n</{name}-", text, re.DOTALL)
    assert match is not None, text
    return match[1]


@dataclass(frozen=True)
class Loop:
    """Where it happens, and who takes part."""

    folder: Path
    readers: Readers

    @property
    def prompt(self) -> Path:
        return self.folder / "prompt.md"

    def work(self, task: Callable[[Session], Awaitable[T]]) -> T:
        """Does something in a session of its own."""

        async def inside() -> T:
            given: dict[str, Any] = {
                "author": "openai/reader",
                "judge": "openai/reader",
                "models": [CAREFUL, CARELESS],
                "store": str(self.folder / "store.db"),
                "results": str(self.folder / "results"),
            }
            settings = load(given, start=self.folder, env={})
            async with open_session(settings, provider=FakeClient(self.readers.reply)) as session:
                return await task(session)

        return asyncio.run(inside())


@pytest.fixture
def loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Loop:
    """The benchmark as it was before anybody thought of hashtags."""
    folder = tmp_path / "post-entities"
    shutil.copytree(BENCHMARK, folder, ignore=shutil.ignore_patterns("*.synthesis", "*.grades.jsonl"))
    without = {
        "prompt.md": ("- No hashtags.\n", ""),
        "prompt.spec.yaml": (r"  - id: r4\n(?s:.*?)(?=  - id: r5)|prompt_fingerprint.*\n", ""),
        "prompt.cases.yaml": ("rule: r4", "rule: r1"),
    }
    for name, (pattern, instead) in without.items():
        text, times = re.subn(pattern, instead, (folder / name).read_text(encoding="utf-8"))
        assert times
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)
    return Loop(folder, Readers())


def test_what_people_note_becomes_a_rule_that_the_run_is_judged_by(
    loop: Loop, capsys: pytest.CaptureFixture[str]
) -> None:
    run, place = loop.work(lambda session: pipeline.run(session, files_of(loop.prompt)))
    assert (len(run.outputs), HASHTAGS in {rule.id for rule in run.spec.rules}) == (48, False)
    graded = _grade(loop, place)

    written = loop.work(
        lambda session: synthesize(session, files_of(loop.prompt), SynthesisWishes(from_notes=True))
    ).synthesis
    (noted,) = [one for one in written.criteria if one.notes]
    assert noted.id == "no_hashtags"
    assert {"no_hash_sign_at_all", "names_nothing_tagged_in_post"} <= {
        one.id for one in written.candidates if noted.id in one.criteria
    }
    trial = loop.work(lambda session: try_candidates(session, files_of(loop.prompt), TrialWishes()))
    assert trial is not None
    assert (trial.good, trial.bad, trial.results["error"]) == (graded["good"], graded["bad"], 0)

    before = _card(place, capsys)
    assert run_cli(["select", "prompt.synthesis", "--method", "aligned", "--into-spec", "--json", "-q"]) == 0
    (rule,) = [one for one in read_spec(loop.folder / "prompt.spec.yaml").rules if one.id == noted.id]
    assert [check.metric for check in rule.checks] == ["no_hash_sign_at_all"]

    judged = loop.work(lambda session: pipeline.judge(session, place, spec=loop.folder / "prompt.spec.yaml"))
    failed = {judged_text(judged, one.key) for one in judged.verdicts if (one.rule, one.status) == (noted.id, "fail")}
    assert failed == {text for text, broken in loop.readers.broken.items() if HASHTAGS in broken}
    after = _card(place, capsys)
    assert (before["kept"], after["kept"]) == (False, True)
    for card in (before, after):
        assert [one["sampled"] for one in card["labels"] if one["subject"] == OUTPUT_SUBJECT] == [sum(graded.values())]
        states = {one["id"]: one["state"] for one in card["candidates"]}
        assert states["no_hash_sign_at_all"] == "chosen"
        assert states["names_nothing_tagged_in_post"] == "above-limit"  # the older reading of the rule
    assert run_cli(["report", str(place)]) == 0
    shown = capsys.readouterr().out
    assert noted.id in shown
    assert "Corrected by people's grades" in shown


def _grade(loop: Loop, place: Path) -> Counter[str]:
    """A person grades every output, as on the page or in the terminal."""
    wishes = GradingWishes(prompt=loop.prompt)
    desk = open_desk([place], loop.folder / "results", wishes, lambda event: None).desk
    values: Counter[str] = Counter()
    while (assignment := desk.next("ada")) is not None:
        text = assignment.item.output
        value: GradeValue = "bad" if loop.readers.broken[text] else "good"
        note = loop.readers.notes.get(text, "")
        desk.give("ada", assignment.item.id, OUTPUT_SUBJECT, value, note, assignment)
        values[value] += 1
    assert values == {"good": 24, "bad": 20}
    return values


def _card(place: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    capsys.readouterr()
    assert run_cli(["align", str(place), "--prompt", "prompt.md", "--results", "results", "--json", "-q"]) == 0
    return json.loads(capsys.readouterr().out)


def judged_text(run: Run, key: tuple[str, str, int]) -> str:
    """The text of an output."""
    return next(one.text or "" for one in run.outputs if one.key == key)
