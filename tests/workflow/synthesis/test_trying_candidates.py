"""From candidates and a run to results, implications and a choice: real files, and a judge with chosen replies."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from promptpex.cli.main import run_cli
from promptpex.config import load
from promptpex.core.errors import RunError
from promptpex.core.events import Event, Notice
from promptpex.core.records import Candidate, Check, Criterion, Request, Run, Synthesis
from promptpex.documents.human_grades import append_grades
from promptpex.llm.fake import FakeClient
from promptpex.promptfile import read
from promptpex.report import runs
from promptpex.synthesis.folder import SynthesisFolder, read_candidates, write_candidates
from promptpex.workflow.project_files import files_of
from promptpex.workflow.session import open_session
from promptpex.workflow.trying_candidates import Trial, TrialWishes, try_candidates
from tests.samples import TEXT, asked
from tests.synthesis.labelled import grade, output, run_of

MODEL = "openai/gpt-4.1-mini"
ASKING = """async def both(example, prompt, response):
    return await ask(f'Is {example["thing"]} named?') and await ask('Is it a colour?')
"""
CHECKS = {
    "short": Check(kind="word-count", value={"max": 1}),
    "capitals": Check(kind="python", value="def capitals(example, prompt, response):\n    return response.isupper()"),
    "shouts": Check(
        kind="python", value="def shouts(example, prompt, response):\n    # Anew.\n    return response.isupper()"
    ),
    "colour": Check(kind="question", value="Is it a colour?"),
    "both": Check(kind="python", value=ASKING),
    "broken": Check(kind="python", value="def broken(example, prompt, response):\n    return 1 / 0"),
}
TEXTS = ("BLUE", "RED", "green", "a stone", "STONE", "BLUE")


class Judge:
    """Answers that everything but a stone is a colour and everything is named; short implies capitals, it says."""

    def __init__(self) -> None:
        self.client = FakeClient(self.reply)

    def reply(self, request: Request) -> str:
        text = asked(request)
        if request.stage == "question":
            assert "Name the colour of the thing" in text
            return json.dumps({"reason": "Look.", "answer": "no" if "stone" in text.lower() else "yes"})
        pairs = re.findall(r"^(\d+): (c\d+) implies (c\d+)$", text, re.MULTILINE)
        kinds = dict(re.findall(r"<(c\d+)-[0-9a-f]+>\nkind: ([\w-]+)", text))
        verdicts = {("question", "word-count"): "implied"}
        return json.dumps(
            {
                "pairs": [
                    {
                        "pair": int(number),
                        "counterexample": "",
                        "verdict": verdicts.get((kinds[one], kinds[other]), "not-implied"),
                    }
                    for number, one, other in pairs
                ]
            }
        )

    def asked(self, stage: str) -> int:
        return sum(request.stage == stage for request in self.client.requests)


class Desk:
    """A prompt with candidates, and a run of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.prompt = path / "colours.md"
        self.prompt.write_text(f"{TEXT}\n{{{{thing}}}}\n{{{{place}}}}\n", encoding="utf-8")
        self.folder = SynthesisFolder.of(self.prompt)
        self.write(CHECKS)
        self.run = self.write_run("r1")
        self.notices: list[str] = []

    def write(self, checks: dict[str, Check], **choices: str) -> None:
        candidates = tuple(
            Candidate.model_validate({"id": name, "check": check, "choice": choices.get(name)})
            for name, check in checks.items()
        )
        self.folder.path.mkdir(exist_ok=True)
        write_candidates(self.folder.candidates, Synthesis(prompt="colours.md", candidates=candidates))

    def write_run(self, name: str) -> Path:
        outputs = [output("c1", text, repeat=number) for number, text in enumerate(TEXTS)]
        run = run_of(*outputs, prompt=read(self.prompt))
        run = run.replace(manifest=run.manifest.replace(run=name))
        folder = runs.folder_for(self.path / "results", run.prompt.name, name)
        assert isinstance(run, Run)
        runs.begin(folder, run)
        with runs.RecordWriter(folder / "outputs.jsonl") as writer:
            for one in outputs:
                writer.add(one)
        runs.finish(folder, run)
        return folder

    def grade(self, *values: str) -> None:
        texts = list(dict.fromkeys(TEXTS))
        grades = [grade(value, text) for value, text in zip(values, texts, strict=True)]
        append_grades(self.prompt.with_name("colours.grades.jsonl"), grades)

    async def try_all(self, judge: Judge | None = None, **wishes: Any) -> Trial | None:
        given: dict[str, Any] = {"store": str(self.path / "store.db"), "results": str(self.path / "results")}
        given |= {"judge": (MODEL,)} if judge is not None else {}
        client = judge.client if judge is not None else FakeClient([])

        def hear(event: Event) -> None:
            self.notices.extend([event.message] if isinstance(event, Notice) else [])

        async with open_session(load(given, start=Path("/"), env={}), provider=client, emit=hear) as session:
            return await try_candidates(session, files_of(self.prompt), TrialWishes(**wishes))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_candidates_are_tried_and_compared_and_then_nothing_is_left_to_do(desk: Desk) -> None:
    desk.grade("good", "good", "bad", "bad", "bad")
    judge = Judge()
    tried = await desk.try_all(judge)
    assert tried is not None
    assert (tried.examples, tried.good, tried.bad, tried.cells) == (5, 2, 3, 30)
    assert tried.results == {"pass": 16, "fail": 9, "error": 5}
    # Two questions about each output: the one that two candidates put is asked once.
    assert judge.asked("question") == 10
    assert f"questions of 2 candidates: about 10 requests to {MODEL}" in desk.notices
    assert any(notice.startswith("broken errs on 5 examples: script-error") for notice in desk.notices)
    again = await desk.try_all(judge)
    assert again is not None
    assert (again.cells, again.judged, again.results) == (0, 0, tried.results)
    assert (judge.asked("question"), judge.asked("implications")) == (10, 1)


async def test_implications_are_by_code_and_by_a_judge_where_no_example_speaks_against(desk: Desk) -> None:
    desk.grade("good", "good", "bad", "bad", "bad")
    judge = Judge()
    tried = await desk.try_all(judge)
    assert tried is not None
    assert (tried.implications, tried.judged) == (3, 1)
    on_file = read_candidates(desk.folder.candidates).implications
    assert [(one.id, one.evidence) for one in on_file] == [
        ("capitals -> shouts", "same-code"),
        ("shouts -> capitals", "same-code"),
        ("colour -> short", "judge"),
    ]
    assert any("ruled out by examples" in notice for notice in desk.notices)
    # A person strikes what the judge found: it stays struck, and nobody is asked about it again.
    struck = [one.replace(accepted=False) if one.evidence == "judge" else one for one in on_file]
    synthesis = read_candidates(desk.folder.candidates)
    write_candidates(desk.folder.candidates, synthesis.replace(implications=tuple(struck)), by_hand=True)
    await desk.try_all(judge)
    kept = read_candidates(desk.folder.candidates).implications
    assert [one.accepted for one in kept if one.evidence == "judge"] == [False]
    assert judge.asked("implications") == 1


async def test_what_was_chosen_and_written_while_a_judge_compared_candidates_is_kept(desk: Desk) -> None:
    judge = Judge()

    def reply(request: Request) -> str:
        if request.stage == "implications":
            desk.write({**CHECKS, "later": Check(kind="is-json")}, capitals="must")
        return judge.reply(request)

    judge.client = FakeClient(reply)
    tried = await desk.try_all(judge)
    assert tried is not None
    assert tried.judged > 0
    on_file = read_candidates(desk.folder.candidates)
    assert [one.id for one in on_file.candidates] == [*CHECKS, "later"]
    assert {one.id: one.choice for one in on_file.candidates}["capitals"] == "must"
    assert len(on_file.implications) == tried.implications


async def test_candidates_of_a_criterion_that_is_set_aside_are_not_run_and_nothing_of_them_is_lost(desk: Desk) -> None:
    desk.grade("good", "good", "bad", "bad", "bad")
    judge = Judge()
    await desk.try_all(judge)
    before = read_candidates(desk.folder.candidates)
    short = [one.replace(criteria=("c1",)) if one.id == "short" else one for one in before.candidates]
    criteria = (Criterion(id="c1", text="The output is short.", selected=False),)
    write_candidates(desk.folder.candidates, before.replace(criteria=criteria, candidates=tuple(short)), by_hand=True)
    tried = await desk.try_all(judge)
    assert tried is not None
    assert (tried.cells, sum(tried.results.values())) == (0, 25)
    assert [one.id for one in read_candidates(desk.folder.candidates).implications] == [
        one.id for one in before.implications
    ]
    assert judge.asked("implications") == 1


async def test_an_edited_or_new_candidate_is_run_alone(desk: Desk) -> None:
    judge = Judge()
    await desk.try_all(judge)
    questions = judge.asked("question")
    desk.write(
        {**CHECKS, "short": Check(kind="word-count", value={"max": 2}), "new": Check(kind="contains", value="E")}
    )
    tried = await desk.try_all(judge)
    assert tried is not None
    assert (tried.cells, judge.asked("question")) == (10, questions)


async def test_without_a_judge_questions_wait_and_the_rest_is_done(desk: Desk) -> None:
    tried = await desk.try_all()
    assert tried is not None
    assert tried.results["error"] == 15
    assert "2 candidates ask a judge, but none is named: name one with --judge" in desk.notices
    assert tried.implications == 2
    later = await desk.try_all(Judge())
    assert later is not None
    assert (later.cells, later.results["error"]) == (10, 5)


async def test_an_answer_that_the_judge_does_not_give_is_asked_for_again_next_time(desk: Desk) -> None:
    desk.write({"colour": CHECKS["colour"]})
    silent = Judge()
    silent.client = FakeClient(lambda request: "I would rather not say.")
    tried = await desk.try_all(silent)
    assert tried is not None
    assert tried.results == {"pass": 0, "fail": 0, "error": 5}
    assert not (desk.folder.matrix).read_text(encoding="utf-8")
    tried = await desk.try_all(Judge())
    assert tried is not None
    assert tried.results["error"] in (0, 5)  # replies of no use are asked for again a few times only


async def test_without_examples_a_judge_may_still_compare_candidates(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(desk.path / "results")
    assert await desk.try_all() is None
    assert not desk.folder.matrix.exists()
    assert desk.notices == []
    judge = Judge()
    tried = await desk.try_all(judge)
    assert tried is not None
    assert (tried.examples, tried.implications, tried.judged) == (0, 3, 1)
    assert (judge.asked("question"), judge.asked("implications")) == (0, 2)
    assert f"implications: 28 pairs in 2 requests to {MODEL}" in desk.notices
    monkeypatch.chdir(desk.path)
    assert run_cli(["select", "colours.synthesis", "--method", "topological", "--json"]) == 0
    chosen = json.loads(capsys.readouterr().out)["candidates"]
    assert chosen == ["capitals", "colour", "both", "broken"]


async def test_a_run_of_other_words_is_passed_over_unless_it_is_named(desk: Desk) -> None:
    desk.prompt.write_text(f"Be brief. {desk.prompt.read_text(encoding='utf-8')}", encoding="utf-8")
    assert await desk.try_all() is None
    assert desk.notices == ["the latest run, r1, is of another version of colours: its outputs are not used"]
    with pytest.raises(RunError, match="examples are outputs of the current version"):
        await desk.try_all(run=Path("r1"))


async def test_labels_of_a_table_and_a_choice_from_what_came_of_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = desk.path / "labels.csv"
    labels.write_text("case,repeat,label\nc1,0,1\nc1,1,1\nc1,2,0\nc1,3,0\nc1,4,0\n", encoding="utf-8")
    await desk.try_all(Judge(), labels=labels)
    monkeypatch.chdir(desk.path)
    assert run_cli(["select", "colours.synthesis", "--coverage", "1", "--ffr", "0", "--method", "cov", "--json"]) == 0
    chosen = json.loads(capsys.readouterr().out)
    assert (chosen["coverage"], chosen["ffr"], chosen["size"]) == (1.0, 0.0, 2)
    assert {one["candidate"]: one["state"] for one in chosen["screened"]} == {
        "broken": "always-errs",
        "both": "same-results",
        "shouts": "same-results",
    }
