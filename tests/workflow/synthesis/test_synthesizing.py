"""From history and spec to candidates: what a commit, a spec, an example, a limit or a stop change."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from promptpex.cases.file import write_suite
from promptpex.config import load
from promptpex.core.errors import ConfigError, Stopped, SynthesisError
from promptpex.core.events import Event
from promptpex.core.records import (
    Candidate,
    Case,
    Check,
    Criterion,
    Example,
    Grade,
    Request,
    Rule,
    Spec,
    Suite,
    Synthesis,
)
from promptpex.documents.human_grades import append_grades
from promptpex.llm.fake import FakeClient
from promptpex.promptfile import read
from promptpex.specs.file import write_spec
from promptpex.synthesis.folder import SynthesisFolder, write_candidates
from promptpex.synthesis.history.versions import WORKING_COPY
from promptpex.workflow.project_files import files_of
from promptpex.workflow.session import Session, open_session
from promptpex.workflow.synthesizing import Synthesised, SynthesisWishes, synthesize
from tests.samples import asked
from tests.synthesis import audio_guide as guide
from tests.synthesis.repository import Repository

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


async def work(
    prompt: Path, client: FakeClient, *, stop: bool = False, heard: list[Event] | None = None, **settings: Any
) -> Synthesised:
    """A synthesis of what git says, or of the folder ``versions`` where there is one."""
    given = {"author": "openai/author", "store": str(prompt.parent / "store.db"), **settings}
    versions = [prompt.parent / "versions"] if (prompt.parent / "versions").exists() else []
    emit = (heard if heard is not None else []).append
    async with open_session(load(given, start=prompt.parent, env={}), provider=client, emit=emit) as session:
        if stop:
            _stop_at_the_first_request(session, client)
        return await synthesize(session, files_of(prompt), SynthesisWishes(versions=versions))


def _stop_at_the_first_request(session: Session, client: FakeClient) -> None:
    answer = client.complete

    async def stopping(request: Request) -> Any:
        session.client.cancel()
        return await answer(request)

    client.complete = stopping  # type: ignore[method-assign]


def one_file(tmp_path: Path, text: str = guide.VERSIONS[2]) -> Path:
    path = tmp_path / "guide.md"
    path.write_text(text, encoding="utf-8")
    return path


@needs_git
async def test_what_was_asked_of_the_working_copy_is_not_asked_of_its_commit(tmp_path: Path) -> None:
    repo = Repository(tmp_path / "checkout")
    first = repo.commit("Begin", guide_md=guide.VERSIONS[0])
    prompt = repo.write("guide.md", guide.VERSIONS[1])
    made = await work(prompt, guide.author())
    assert [one.version for one in made.synthesis.criteria] == [first, *[WORKING_COPY] * 3]
    second = repo.commit("Second")
    nobody = FakeClient([])
    again = await work(prompt, nobody)
    assert [one.version for one in again.synthesis.criteria] == [first, *[second] * 3]
    assert [delta.categories for delta in again.history.deltas] == [delta.categories for delta in made.history.deltas]
    assert nobody.requests == []


@needs_git
async def test_of_a_working_copy_that_grows_only_the_new_sentences_are_asked_about(tmp_path: Path) -> None:
    repo = Repository(tmp_path / "checkout")
    repo.commit("Begin", guide_md=guide.VERSIONS[0])
    prompt = repo.write("guide.md", f"{guide.VERSIONS[0]} {guide.MOST}")
    await work(prompt, guide.author())
    repo.write("guide.md", f"{guide.VERSIONS[0]} {guide.MOST} {guide.PLAIN}")
    author = guide.author()
    made = await work(prompt, author)
    (request,) = [one for one in author.requests if one.stage == "criteria"]
    assert list(guide.items(request).values()) == [f"+ {guide.PLAIN}"]
    assert len(made.criteria) == 2


async def test_the_rules_of_the_spec_are_criteria_without_asking(tmp_path: Path) -> None:
    prompt = one_file(tmp_path)
    rules = (
        Rule(
            id="r1",
            rule="The text has 80 to 120 words.",
            checks=(Check(kind="word-count", value={"min": 80, "max": 120}),),
        ),
        Rule(id="r2", rule="The text is friendly."),
    )
    write_spec(tmp_path / "guide.spec.yaml", Spec(prompt="guide.md", rules=rules))
    author = guide.author()
    made = await work(prompt, author)
    assert [(one.id, one.rule) for one in made.synthesis.criteria][:2] == [("c1", "r1"), ("c2", "r2")]
    by_id = {one.id: one.check.kind for one in made.synthesis.candidates}
    assert by_id["r1_the_text_has_80_to_120"] == "word-count"
    assert by_id["r2_the_text_is_friendly_asked"] == "question"
    texts = [one.text for one in made.synthesis.criteria]
    assert texts.count("The text has 80 to 120 words.") == 1  # the author's, from the version, says the same
    (request,) = [one for one in author.requests if one.stage == "criteria"]
    assert "The text is friendly." in request.messages[-1].content
    asked = [text for one in author.requests if one.stage == "candidates" for text in guide.items(one).values()]
    assert "The text is friendly." not in asked


async def test_what_is_written_on_the_local_page_while_the_author_is_asked_is_kept(tmp_path: Path) -> None:
    prompt, author = one_file(tmp_path), guide.author()
    answer, file = author.complete, SynthesisFolder.of(prompt).candidates
    criterion = Criterion(id="kind", text="The text is kind.")
    candidate = Candidate(id="is_kind", criteria=("kind",), check=Check(kind="icontains", value="please"))

    async def meanwhile(request: Request) -> Any:
        if request.stage == "candidates" and not file.exists():
            file.parent.mkdir()
            page = Synthesis(prompt=prompt.name, criteria=(criterion,), candidates=(candidate,))
            write_candidates(file, page)
        return await answer(request)

    author.complete = meanwhile  # type: ignore[method-assign]
    made = await work(prompt, author)
    assert made.synthesis.criteria[-1].text == criterion.text
    assert made.synthesis.candidates[-1].check == candidate.check
    assert "kind" not in made.criteria
    assert len(made.criteria) > 1


async def test_a_changed_rule_changes_its_candidate_and_a_deleted_one_stays_away(tmp_path: Path) -> None:
    prompt = one_file(tmp_path)
    rule = Rule(id="r1", rule="The text has at most 99 words.", checks=(Check(kind="word-count", value={"max": 99}),))
    other = Rule(id="r2", rule="The text has no digits.", checks=(Check(kind="not-regex", value=r"\d"),))
    write_spec(tmp_path / "guide.spec.yaml", Spec(prompt="guide.md", rules=(rule, other)))
    await work(prompt, guide.author())
    path = SynthesisFolder.of(prompt).candidates
    text = path.read_text(encoding="utf-8")
    start = text.index("  - id: r2_the_text_has_no_digits\n")
    end = text.find("  - id:", start + 5)
    path.write_text(text[:start] + text[end:], encoding="utf-8")
    stricter = rule.replace(
        rule="The text has at most 90 words.", checks=(Check(kind="word-count", value={"max": 90}),)
    )
    write_spec(tmp_path / "guide.spec.yaml", Spec(prompt="guide.md", rules=(stricter, other)))
    nobody = FakeClient([])
    made = await work(prompt, nobody)
    by_id = {one.id: one.check.value for one in made.synthesis.candidates}
    assert by_id["r1_the_text_has_at_most_99"] == {"max": 90}
    assert "r2_the_text_has_no_digits" not in by_id


async def test_the_author_of_candidates_sees_a_good_example_of_this_version(tmp_path: Path) -> None:
    prompt = one_file(tmp_path)
    version = read(prompt).fingerprint
    examples = [
        Example(
            id="a", inputs={"work": "jug"}, prompt="About a jug.", output="A poor jug.", label="bad", version=version
        ),
        Example(
            id="b", inputs={"work": "cup"}, prompt="About a cup.", output="A fine cup.", label="good", version=version
        ),
        Example(
            id="c", inputs={"work": "pot"}, prompt="Old words.", output="An old pot.", label="good", version="other"
        ),
    ]
    folder = SynthesisFolder.of(prompt)
    folder.write_examples(examples)
    author = guide.author()
    await work(prompt, author)
    asked = next(one for one in author.requests if one.stage == "candidates").messages[-1].content
    assert all(words in asked for words in ("About a cup.", "work:\ncup", "A fine cup."))
    assert "pot" not in asked


async def test_without_an_output_a_case_is_filled_in(tmp_path: Path) -> None:
    prompt = one_file(tmp_path)
    write_spec(tmp_path / "guide.spec.yaml", Spec(prompt="guide.md", rules=(Rule(id="r1", rule="It is kind."),)))
    case = Case(id="c1", rule="r1", inputs={"work": "a lute by Tieffenbrucker"}, origin="added")
    write_suite(tmp_path / "guide.cases.yaml", Suite(prompt="guide.md", cases=(case,)))
    author = guide.author()
    await work(prompt, author)
    asked = next(one for one in author.requests if one.stage == "candidates").messages[-1].content
    assert "The work is a lute by Tieffenbrucker." in asked
    assert "The model answered this" not in asked


async def test_a_broken_file_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    prompt = one_file(tmp_path)
    folder = SynthesisFolder.of(prompt)
    folder.path.mkdir()
    folder.candidates.write_text("prompt: guide.md\ncriteria: 3\n", encoding="utf-8")
    nobody = FakeClient([])
    with pytest.raises(SynthesisError, match="must be a list"):
        await work(prompt, nobody)
    assert nobody.requests == []


async def test_a_price_that_is_not_known_is_refused_where_the_cost_is_limited(tmp_path: Path) -> None:
    nobody = FakeClient([])
    with pytest.raises(ConfigError, match="price"):
        await work(one_file(tmp_path), nobody, max_cost=1.0)
    assert nobody.requests == []


async def test_what_is_stopped_writes_nothing_and_goes_on_from_the_store(tmp_path: Path) -> None:
    guide.write_versions(tmp_path / "versions")
    prompt = one_file(tmp_path, guide.VERSIONS[-1])
    with pytest.raises(Stopped):
        await work(prompt, guide.author(), stop=True)
    assert not SynthesisFolder.of(prompt).path.exists()
    author = guide.author()
    made = await work(prompt, author)
    assert [request.stage for request in author.requests][:1] == ["criteria"]  # categories are in the store
    assert len(made.synthesis.candidates) == 8


async def test_the_same_replies_give_the_same_bytes(tmp_path: Path) -> None:
    written = []
    for name in ("here", "there"):
        guide.write_versions(tmp_path / name / "versions")
        prompt = one_file(tmp_path / name, guide.VERSIONS[-1])
        await work(prompt, guide.author())
        folder = SynthesisFolder.of(prompt)
        written.append((folder.candidates.read_bytes(), folder.versions.read_bytes()))
    assert written[0] == written[1]


async def test_instructions_of_the_owner_reach_each_stage(tmp_path: Path) -> None:
    notes = {"categories": "Be narrow.", "criteria": "Be strict.", "candidates": "Prefer Python."}
    author = guide.author()
    await work(one_file(tmp_path), author, instructions=notes)
    for stage, note in notes.items():
        assert all(note in one.messages[-1].content for one in author.requests if one.stage == stage)
    assert {one.stage for one in author.requests} == set(notes)


async def test_criteria_are_inferred_from_the_prompt_and_made_of_notes_where_that_is_wished(tmp_path: Path) -> None:
    path = one_file(tmp_path, "Name the colour of {{thing}}.")
    prompt = read(path)
    note = Grade.of(
        inputs={"thing": "sky"}, output="blue", time="2026-03-01T09:30:00+00:00", grader="ada", case="c1", model="m",
        value="bad", note="write it large",
    )  # fmt: skip
    append_grades(path.with_name("guide.grades.jsonl"), [note])
    example = Example(id=note.key, inputs={"thing": "sky"}, output="blue", case="c1", version=prompt.fingerprint)
    folder = SynthesisFolder.of(path)
    folder.path.mkdir()
    folder.write_examples([example])

    def reply(request: Request) -> str:
        items: dict[str, list[dict[str, Any]]] = {
            "infer": [{"title": "a colour", "criterion": "It names a colour.", "type": "judge"}],
            "notes": [{"title": "capitals", "criterion": "It is in capitals.", "type": "code", "answers": ["b1"]}],
            "candidates": [
                {"name": "asks", "criteria": ["a_colour"], "kind": "question", "value": "Is it a colour?"},
                {"name": "large", "criteria": ["capitals"], "kind": "regex", "value": "^[A-Z]+$"},
            ],
        }
        return json.dumps({"items": items.get(request.stage, [])})

    client = FakeClient(reply)
    given = {"author": "openai/author", "store": str(tmp_path / "store.db")}
    async with open_session(load(given, start=tmp_path, env={}), provider=client) as session:
        wishes = SynthesisWishes(infer=True, from_notes=True)
        made = await synthesize(session, files_of(path), wishes)
        asked_again = await synthesize(session, files_of(path), replace(wishes, infer=False))
    assert [(one.id, one.by, one.notes) for one in made.synthesis.criteria] == [
        ("a_colour", "judge", ()),
        ("capitals", "code", (note.id,)),
    ]
    assert {one.id: one.criteria for one in made.synthesis.candidates} == {
        "asks": ("a_colour",),
        "large": ("capitals",),
    }
    assert "write it large" in next(asked(one) for one in client.requests if one.stage == "notes")
    assert asked_again.criteria == (), "no note is left that no criterion was made from"
    assert sum(one.stage == "notes" for one in client.requests) == 1
