"""Seven versions of a prompt from deltas to candidates, each step as written down by hand (SPADE, Table 1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptpex.config import load
from promptpex.core.events import Event, Notice
from promptpex.llm.fake import FakeClient
from promptpex.synthesis.folder import HISTORY, SynthesisFolder, read_candidates
from promptpex.synthesis.history.categories import TAXONOMY, as_text, tagged
from promptpex.synthesis.history.versions import deltas
from promptpex.workflow.project_files import Files, files_of
from promptpex.workflow.session import open_session
from promptpex.workflow.synthesizing import Synthesised, SynthesisWishes, planned, synthesize
from tests.synthesis import audio_guide as guide
from tests.synthesis.prompts import version


async def work(files: Files, client: FakeClient, *, heard: list[Event] | None = None, **wishes: Any) -> Synthesised:
    """A synthesis of the versions beside the prompt, in a session of its own."""
    given = {"author": "openai/author", "store": str(files.prompt.parent / "store.db"), "fresh": True}
    wanted = SynthesisWishes(**{"versions": [files.prompt.parent / "versions"], **wishes})
    emit = (heard if heard is not None else []).append
    async with open_session(load(given, start=Path("/"), env={}), provider=client, emit=emit) as session:
        return await synthesize(session, files, wanted)


def prepared(tmp_path: Path, count: int = len(guide.VERSIONS)) -> Files:
    """The first so many versions in a folder, the last of them as the prompt."""
    guide.write_versions(tmp_path / "versions", count)
    (tmp_path / "guide.md").write_text(guide.VERSIONS[count - 1], encoding="utf-8")
    return files_of(tmp_path / "guide.md")


def test_the_deltas_are_those_counted_by_hand() -> None:
    made = deltas([version(f"v{number}", text) for number, text in enumerate(guide.VERSIONS, 1)])
    signs = {"added": "+", "removed": "-"}
    assert [tuple(f"{signs[change.tag]} {change.text}" for change in delta.changes) for delta in made] == list(
        guide.DELTAS
    )
    assert [delta.moved for delta in made] == list(guide.MOVED)


async def test_every_delta_gets_the_categories_written_down_by_hand(tmp_path: Path) -> None:
    done = await work(prepared(tmp_path), guide.author())
    assert [frozenset(one.category for one in delta.categories) for delta in done.history.deltas] == list(
        guide.CATEGORIES
    )
    assert {one.category for delta in done.history.deltas for one in delta.categories} == {one.name for one in TAXONOMY}
    for delta in done.history.deltas:
        text = " ".join(change.text for change in delta.changes)
        assert all(one.source in text for one in delta.categories)


async def test_criteria_come_from_additions_with_their_version_and_words(tmp_path: Path) -> None:
    done = await work(prepared(tmp_path), guide.author())
    assert [(one.id, one.version, one.category, one.source) for one in done.synthesis.criteria] == [
        ("c1", "v1.md", "data-integration", "{{work}}"),
        ("c2", "v2.md", "quantity", "at most 120 words"),
        ("c3", "v2.md", "response-format", "plain paragraphs"),
        ("c4", "v2.md", "exclusion", "without headings"),
        ("c5", "v3.md", "quantity", "between 80 and 120 words"),
        ("c6", "v3.md", "inclusion", "Name the artist"),
        ("c7", "v3.md", "inclusion", "the year"),
        ("c8", "v5.md", "exclusion", "Never guess at what a work is worth"),
        ("c9", "v5.md", "qualitative-criteria", "Speak warmly"),
    ]


async def test_candidates_have_distinct_names_and_compile(tmp_path: Path) -> None:
    heard: list[Event] = []
    done = await work(prepared(tmp_path), guide.author(), heard=heard)
    assert [(one.id, one.criteria, one.check.kind) for one in done.synthesis.candidates] == [
        ("names_the_work", ("c1",), "icontains"),
        ("at_most_120_words", ("c2",), "word-count"),
        ("no_markdown", ("c3",), "not-regex"),
        ("no_markdown_2", ("c3",), "not-regex"),
        ("no_heading", ("c4",), "not-regex"),
        ("80_to_120_words", ("c5",), "word-count"),
        ("has_a_year", ("c7",), "regex"),
        ("no_price", ("c8",), "not-word-any"),
    ]
    assert set(done.dropped) == {"no_amount"}
    notices = [event.message for event in heard if isinstance(event, Notice)]
    assert any("no_price looks for fixed phrases to decide what an answer must not do" in notice for notice in notices)
    assert notices[0].startswith("to ask: about")


async def test_the_prompt_shows_the_words_of_its_categories(tmp_path: Path) -> None:
    done = await work(prepared(tmp_path), guide.author())
    segments = tagged(guide.VERSIONS[-1], done.history.deltas)
    assert "".join(segment.text for segment in segments) == guide.VERSIONS[-1]
    text = as_text(segments)
    assert "Write [between 80 and 120 words](quantity)" in text
    assert "[Name the artist and the year](inclusion)" in text
    assert "The work is [{{work}}](data-integration)" in text


async def test_a_second_run_asks_nothing_and_changes_nothing(tmp_path: Path) -> None:
    files = prepared(tmp_path)
    await work(files, guide.author())
    folder = SynthesisFolder.of(files.prompt)
    before = folder.candidates.read_bytes(), folder.versions.read_bytes()
    nobody = FakeClient([])
    done = await work(files, nobody)
    assert (done.criteria, done.candidates, nobody.requests) == ((), (), [])
    assert (folder.candidates.read_bytes(), folder.versions.read_bytes()) == before


async def test_a_new_version_adds_what_it_added_and_nothing_goes(tmp_path: Path) -> None:
    files = prepared(tmp_path, 3)
    await work(files, guide.author())
    prepared(tmp_path, 5)
    author = guide.author()
    done = await work(files, author)
    assert done.criteria == ("c8", "c9")
    assert done.candidates == ("no_price",)
    asked = [
        text for request in author.requests if request.stage == "criteria" for text in guide.items(request).values()
    ]
    assert asked == [f"+ {guide.VISITOR}\n+ {guide.WORTH}\n+ {guide.WARM}"]
    prepared(tmp_path, 6)
    done = await work(files, guide.author())
    assert "no_markdown" in [candidate.id for candidate in done.synthesis.candidates]  # its sentence is gone


async def test_what_people_did_survives_a_new_version(tmp_path: Path) -> None:
    files = prepared(tmp_path, 3)
    await work(files, guide.author())
    path = SynthesisFolder.of(files.prompt).candidates
    text = path.read_text(encoding="utf-8")
    text = text.replace("- id: has_a_year\n", "- id: has_a_year\n    choice: must  # for the press\n")
    text = text.replace("The text names the artist of the work.", "The text names the artist in full.")
    start = text.index("  - id: no_heading\n")
    end = text.index("  - id:", start + 5)
    mine = "  - id: mine\n    criteria: [c6]\n    check: {kind: is-json}\n"
    path.write_text(text[:start] + mine + text[end:], encoding="utf-8")
    prepared(tmp_path, 5)
    done = await work(files, guide.author())
    by_id = {candidate.id: candidate for candidate in done.synthesis.candidates}
    assert by_id["has_a_year"].choice == "must"
    assert by_id["mine"].origin == "added"
    assert "no_heading" not in by_id
    assert "no_price" in by_id
    assert {one.id: one.text for one in done.synthesis.criteria}["c6"] == "The text names the artist in full."
    assert "# for the press" in path.read_text(encoding="utf-8")


async def test_a_criterion_that_a_person_added_gets_candidates(tmp_path: Path) -> None:
    files = prepared(tmp_path, 1)
    await work(files, guide.author())
    path = SynthesisFolder.of(files.prompt).candidates
    text = path.read_text(encoding="utf-8")
    own = "  - {id: c77, text: The text has no heading.}\n"
    path.write_text(text.replace("criteria:\n", f"criteria:\n{own}", 1), encoding="utf-8")
    author = guide.author()
    done = await work(files, author)
    assert [request.stage for request in author.requests] == ["candidates"]
    assert done.candidates == ("no_heading",)
    assert done.synthesis.candidates[-1].criteria == ("c77",)


async def test_a_plan_says_what_would_be_asked_and_asks_nothing(tmp_path: Path) -> None:
    files = prepared(tmp_path)
    given = {"author": "openai/gpt-4.1-mini", "store": str(tmp_path / "store.db")}
    nobody = FakeClient([])
    async with open_session(load(given, start=Path("/"), env={}), provider=nobody) as session:
        plan = planned(session, files, SynthesisWishes(versions=[tmp_path / "versions"]))
    assert {line.stage: line.calls for line in plan.lines} == {"categories": 1, "criteria": 1, "candidates": 2}
    assert all(line.cost_usd for line in plan.lines)
    assert nobody.requests == []
    assert not SynthesisFolder.of(files.prompt).path.exists()


async def test_the_history_is_on_file(tmp_path: Path) -> None:
    files = prepared(tmp_path)
    done = await work(files, guide.author())
    folder = SynthesisFolder.of(files.prompt)
    assert HISTORY.read(folder.versions) == done.history
    assert read_candidates(folder.candidates) == done.synthesis


WRONG: list[Any] = ["", "no JSON", '{"items": 3}', '{"items": []}', '{"items": [{"change": 1}, "x", null]}']


@pytest.mark.parametrize("reply", WRONG)
@pytest.mark.parametrize("stage", ["categories", "criteria", "candidates"])
async def test_whatever_the_author_says_nothing_breaks(tmp_path: Path, stage: str, reply: str) -> None:
    files = prepared(tmp_path, 2)
    done = await work(files, guide.author(**{stage: lambda request: reply}))
    assert read_candidates(SynthesisFolder.of(files.prompt).candidates) == done.synthesis
    in_vain = reply != '{"items": []}' and stage != "categories"
    assert done.unanswered == ((stage,) if in_vain else ())
    later = await work(files, guide.author())
    if reply != '{"items": []}':  # else the author has said that there is nothing
        assert later.synthesis.criteria
        assert later.synthesis.candidates
        assert any(delta.categories for delta in later.history.deltas)
