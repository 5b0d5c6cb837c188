"""Opening the grading of a prompt: which outputs, which subjects, and what machines say of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.codecs import jsonl
from promptpex.core.errors import GradeError, InputError, RunError
from promptpex.core.events import Event, Notice
from promptpex.core.records import Candidate, Check, Criterion, Example, Synthesis
from promptpex.grading.next_item import Opinion
from promptpex.report import runs
from promptpex.synthesis.folder import SynthesisFolder, write_candidates
from promptpex.synthesis.results.matrix import Matrix, MatrixCell, MatrixFile
from promptpex.workflow.grading_desk import GradingProject, GradingWishes, open_desk
from tests.grading.graded_project import RULES, SPEC, TEXTS, item, project


class Opened:
    """What opening gave, and said."""

    def __init__(self, folder: Path, *sources: str, wishes: GradingWishes | None = None) -> None:
        self.notices: list[str] = []
        self.project: GradingProject = open_desk(
            [folder / source for source in sources], folder / "results", wishes or GradingWishes(), self._on_event
        )

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Notice):
            self.notices.append(event.message)

    def outputs(self) -> list[str]:
        return [each.output for each in self.project.desk.pool]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_latest_run_of_the_project_is_opened(folder: Path) -> None:
    project(folder)
    opened = Opened(folder)
    assert opened.outputs() == list(TEXTS.values())
    assert [one.id for one in opened.project.desk.subjects] == ["output", "r1", "r2"]
    assert opened.project.grades == Path("colours.grades.jsonl")
    assert opened.project.run is not None
    assert opened.project.run.manifest.run == "one"


def test_several_runs_give_each_text_once(folder: Path) -> None:
    first, second = project(folder), project(folder, {"sky": "blue", "sea": "azure"}, run="two")
    opened = Opened(folder, str(first.relative_to(folder)), str(second.relative_to(folder)))
    assert opened.outputs() == [*TEXTS.values(), "azure"]
    assert [run.manifest.run for run in opened.project.runs] == ["one", "two"]
    by_prompt = Opened(folder, "colours.md")
    assert len(by_prompt.project.runs) == 1, "a prompt stands for its latest run"


def test_runs_of_several_prompts_are_refused(folder: Path) -> None:
    first = project(folder)
    other = folder / "other"
    other.mkdir()
    second = project(other)
    run = runs.read(second)
    runs.finish(second, run.replace(prompt=run.prompt.replace(name="shapes")))
    with pytest.raises(GradeError, match=r"several prompts \(colours, shapes\); grade one prompt at a time"):
        Opened(folder, str(first), str(second))


def test_what_cannot_be_opened_is_said(folder: Path) -> None:
    with pytest.raises(RunError, match="no run here yet"):
        Opened(folder)
    project(folder, {"sky": "blue"})
    with pytest.raises(GradeError, match="there is no rule or criterion 'r7'; there are output, r1, r2"):
        Opened(folder, wishes=GradingWishes(ask=("r7",)))
    with pytest.raises(InputError, match="no policy is called 'best'"):
        Opened(folder, wishes=GradingWishes(policy="best"))
    run = runs.read(folder / "results" / "colours" / "one")
    nothing = [one.replace(text=None, error="timed-out") for one in run.outputs]
    runs.finish(folder / "results" / "colours" / "one", run.replace(outputs=tuple(nothing)))
    with pytest.raises(GradeError, match="there is no usable output to grade"):
        Opened(folder)


def test_a_run_does_not_name_a_prompt_outside_the_project(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = project(folder)
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "colours.md"
    elsewhere.write_text("Other.\n", encoding="utf-8")
    run = runs.read(place)
    runs.finish(place, run.replace(prompt=run.prompt.replace(path=str(elsewhere))))
    with pytest.raises(GradeError, match="is not in this project; grades are kept beside it: name its file"):
        Opened(folder)
    assert Opened(folder, wishes=GradingWishes(prompt=Path("colours.md"))).outputs()


def test_verdicts_are_opinions_unless_their_rule_was_reworded(folder: Path) -> None:
    project(folder)
    opened = Opened(folder)
    night, sky = item("night", TEXTS["night"]), item("sky", "blue")
    assert opened.project.opinions[night.id] == (
        Opinion("r1 check:word-count", "r1", "check", status="fail", reason="counted"),
        Opinion("r2 judge:j", "r2", "judge", "j", "none"),
        Opinion("prompt judge:j", "output", "judge", "j", "pass"),
    )
    reworded = SPEC.replace("The output is one word.", "The output is one word at most.")
    (folder / "colours.spec.yaml").write_text(reworded, encoding="utf-8")
    again = Opened(folder).project.opinions
    assert [one.subject for one in again[sky.id]] == ["r2", "output"]


def test_results_of_candidates_are_opinions_on_their_criteria(folder: Path) -> None:
    project(folder)
    place = SynthesisFolder.of(folder / "colours.md")
    place.path.mkdir()
    criteria = (
        Criterion(id="a1", text=RULES[0].rule, rule="r1"),
        Criterion(id="a2", text="The output has no full stop.", origin="added"),
        Criterion(id="a3", text="The output is polite.", origin="added", selected=False),
    )
    candidate = Candidate(
        id="plain", criteria=("a1", "a2", "a3"), check=Check(kind="not-contains", value="."), origin="added"
    )
    write_candidates(place.candidates, Synthesis(prompt="colours.md", criteria=criteria, candidates=(candidate,)))
    pool = Opened(folder).project.desk.pool
    matrix = Matrix([candidate], pool)
    cells = [
        MatrixCell(0, 0, "pass"),
        MatrixCell(0, 1, "error", "timeout: late"),
        MatrixCell(0, 3, "fail", "it has one"),
    ]
    MatrixFile(place.matrix).add("".join(jsonl.dump_record(matrix.record(cell)) for cell in cells))
    opened = Opened(folder)
    spoken = {
        number: [one for one in opened.project.opinions[each.id] if one.source == "candidate"]
        for number, each in enumerate(pool)
    }
    assert [one.id for one in opened.project.desk.subjects] == ["output", "r1", "r2", "a2"]
    assert spoken[0] == [
        Opinion("plain", "r1", "candidate", status="pass"),
        Opinion("plain", "a2", "candidate", status="pass"),
    ]
    assert [(one.status, one.reason) for one in spoken[1]] == [("none", "timeout: late")] * 2
    assert spoken[2] == []
    assert [(one.status, one.reason) for one in spoken[3]] == [("fail", "it has one")] * 2


def test_examples_of_production_join_the_run_and_odd_ones_do_not(folder: Path) -> None:
    project(folder, {"sky": "blue"})
    place = SynthesisFolder.of(folder / "colours.md")
    place.path.mkdir()
    day = "2026-03-01"
    place.write_examples(
        [
            item("sea", "green").replace(put_up=day, case="", model=""),
            item("sky", "blue").replace(put_up=day),
            item("night", "black"),
            item("night", "dark").replace(put_up=day, version="0" * 16),
            Example(id="0" * 32, inputs={"thing": "x"}, output="y", put_up=day),
        ]
    )
    opened = Opened(folder)
    assert opened.outputs() == ["blue", "green"]
    assert opened.project.desk.pool[0].put_up == "", "the run's own description of an output stays"
    assert "examples.jsonl: 1 example with an id that is not theirs, left out" in opened.notices
    assert "production: 2 outputs put up for grading" in opened.notices
    grade = opened.project.desk.give("ada", opened.project.desk.pool[1].id, "output", "good")
    assert (grade.case, grade.model, grade.key) == ("imported", "imported", item("sea", "green").id)
    (folder / "results" / "colours" / "one" / "manifest.json").unlink()
    assert Opened(folder, "colours.md").outputs() == ["green", "blue"], "production alone is enough"
