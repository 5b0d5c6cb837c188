"""A prompt changes or is renamed after a choice was made: a real repository, real files, and a scripted author."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from promptpex.config import load
from promptpex.core.errors import SynthesisError
from promptpex.core.records import Synthesis
from promptpex.llm.fake import FakeClient
from promptpex.synthesis.folder import SynthesisFolder, read_candidates
from promptpex.workflow.project_files import files_of
from promptpex.workflow.session import open_session
from promptpex.workflow.synthesizing import Synthesised, SynthesisWishes, synthesize
from promptpex.workflow.trying_candidates import Trial, TrialWishes, try_candidates
from tests.e2e.command import in_process
from tests.synthesis import audio_guide as guide
from tests.synthesis.repository import Repository

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

PLAIN = "Made in 1889, the jug carried water for a village."
OUTPUTS = {
    f"{PLAIN} It is blue.": "1",
    f"{PLAIN} It is small and round.": "1",
    f"{PLAIN} You may walk around it.": "1",
    "# The jug\nMade in 1889.": "0",
    "- Made in 1889\n- Blue": "0",
    f"{PLAIN} {'It is very old. ' * 40}": "0",
}


class Shelf:
    """A repository with the prompt of an audio guide, and what people say of its outputs."""

    def __init__(self, folder: Path) -> None:
        self.repo = Repository(folder)
        self.prompt = folder / "guide.md"
        self.labels = folder / "labels.csv"
        with self.labels.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("output", "label"), *OUTPUTS.items()])

    @property
    def folder(self) -> SynthesisFolder:
        return SynthesisFolder.of(self.prompt)

    async def synthesize(self, author: FakeClient, *, labels: Path | None = None) -> tuple[Synthesised, Trial]:
        top = self.prompt.parent
        given = {"author": "openai/author", "store": str(top / "store.db"), "results": str(top / "results")}
        async with open_session(load(given, start=top, env={}), provider=author) as session:
            files = files_of(self.prompt)
            made = await synthesize(session, files, SynthesisWishes())
            trial = await try_candidates(session, files, TrialWishes(labels=labels))
        assert trial is not None
        return made, trial

    def select(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        done = in_process("select", self.folder.path.name, *arguments, "--json", cwd=self.prompt.parent)
        assert (done.code, done.err) == (code, "")
        chosen: dict[str, Any] = json.loads(done.out)
        return chosen

    def edit(self, old: str, new: str) -> None:
        text = self.folder.candidates.read_text(encoding="utf-8")
        assert old in text
        self.folder.candidates.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "checkout")


def ids(synthesis: Synthesis) -> list[str]:
    return [candidate.id for candidate in synthesis.candidates]


async def test_a_new_version_adds_its_own_and_what_the_choice_loses_is_said(shelf: Shelf) -> None:
    shelf.repo.commit("Begin", guide_md=guide.VERSIONS[0])
    shelf.repo.commit("Say how", guide_md=guide.VERSIONS[1])
    first, trial = await shelf.synthesize(guide.author(), labels=shelf.labels)
    assert (trial.good, trial.bad) == (3, 3)
    assert ids(first.synthesis) == ["names_the_work", "at_most_120_words", "no_markdown", "no_markdown_2", "no_heading"]
    strict = ("--method", "cov", "--coverage", "1", "--ffr", "0")
    chosen = shelf.select(*strict)
    assert chosen["candidates"] == ["at_most_120_words", "no_markdown"]
    assert (chosen["coverage"], chosen["ffr"], chosen["change"]) == (1.0, 0.0, None)

    # A person decides on two candidates and leaves a word; then the prompt changes.
    shelf.edit(
        "  - id: at_most_120_words\n", "  # Editors cut it anyway.\n  - id: at_most_120_words\n    choice: never\n"
    )
    shelf.edit("  - id: no_heading\n", "  - id: no_heading\n    choice: must\n")
    decided = shelf.folder.candidates.read_text(encoding="utf-8")
    before = shelf.folder.examples.read_text(encoding="utf-8")
    shelf.repo.commit("Name the artist, and do not be short", guide_md=guide.VERSIONS[2])
    author = guide.author()
    second, trial = await shelf.synthesize(author)
    assert second.candidates == ("80_to_120_words", "has_a_year")
    assert ids(second.synthesis) == [*ids(first.synthesis), *second.candidates]
    (asked,) = [request for request in author.requests if request.stage == "criteria"]
    assert list(guide.items(asked).values()) == [f"- {guide.MOST}\n+ {guide.RANGE}\n+ {guide.NAME}"]
    assert shelf.folder.examples.read_text(encoding="utf-8") == before
    assert (trial.good, trial.bad, trial.cells) == (3, 3, 2 * len(OUTPUTS))
    lines = shelf.folder.candidates.read_text(encoding="utf-8").splitlines()
    assert [line for line in decided.splitlines() if line not in lines] == []
    assert {one.id: one.choice for one in second.synthesis.candidates if one.choice} == {
        "at_most_120_words": "never",
        "no_heading": "must",
    }

    shelf.select(*strict, code=1)  # nothing else catches the long one without flagging what is good
    loose = ("--method", "cov", "--coverage", ".6", "--ffr", "0")
    chosen = shelf.select(*loose)
    assert chosen["candidates"] == ["no_markdown", "no_heading"]
    assert len(chosen["change"]["lost"]) == 1
    assert (chosen["change"]["added"], chosen["change"]["removed"]) == (["no_heading"], ["at_most_120_words"])


async def test_a_renamed_prompt_keeps_its_history_and_takes_its_folder_along(shelf: Shelf) -> None:
    for text in guide.VERSIONS[:2]:
        shelf.repo.commit("Change", guide_md=text)
    first, _ = await shelf.synthesize(guide.author(), labels=shelf.labels)
    shelf.prompt.with_name("guide.grades.jsonl").write_text("", encoding="utf-8")
    shelf.repo.git("mv", "guide.md", "tour.md")
    shelf.prompt = shelf.prompt.with_name("tour.md")
    nobody = FakeClient([])
    moves = r"rename guide\.synthesis to tour\.synthesis and guide\.grades\.jsonl to tour\.grades\.jsonl"
    with pytest.raises(SynthesisError, match=moves):  # also while the new name is not committed
        await shelf.synthesize(nobody)
    shelf.repo.commit("Rename")
    with pytest.raises(SynthesisError, match=r"or remove guide\.synthesis to begin anew"):
        await shelf.synthesize(nobody)
    assert not shelf.folder.path.exists()

    for ending in ("synthesis", "grades.jsonl"):
        shelf.prompt.with_name(f"guide.{ending}").rename(shelf.prompt.with_name(f"tour.{ending}"))
    second, trial = await shelf.synthesize(nobody)
    assert nobody.requests == []
    assert (trial.good, trial.bad, trial.cells) == (3, 3, 0)
    assert second.synthesis.candidates == first.synthesis.candidates
    assert [version.name for version in second.history.versions] == [one.name for one in first.history.versions]
    on_file = read_candidates(shelf.folder.candidates)
    assert (on_file.prompt, second.history.prompt) == ("tour.md", "tour.md")
    assert shelf.select("--method", "cov")["feasible"]


async def test_a_copy_of_a_prompt_begins_anew(shelf: Shelf) -> None:
    shelf.repo.commit("Begin", guide_md=guide.VERSIONS[1])
    await shelf.synthesize(guide.author(), labels=shelf.labels)
    shutil.copy(shelf.prompt, shelf.prompt.with_name("tour.md"))
    shelf.prompt = shelf.prompt.with_name("tour.md")
    shelf.repo.commit("Copy")
    made, _ = await shelf.synthesize(guide.author(), labels=shelf.labels)
    assert set(made.candidates) == set(ids(made.synthesis)) != set()
