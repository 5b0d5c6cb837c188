"""The files of a synthesis folder: people's edits survive, mistakes are named by their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.core.errors import SynthesisError
from promptpex.core.records import Candidate, Check, Criterion, Implication, Synthesis
from promptpex.synthesis.folder import HISTORY, SynthesisFolder, examine, read_candidates, write_candidates


@pytest.fixture
def folder(tmp_path: Path) -> SynthesisFolder:
    return SynthesisFolder.of(tmp_path / "mail.v2.md")


def made(*names: str, implications: tuple[Implication, ...] = ()) -> Synthesis:
    """A criterion, and a candidate of each of these names."""
    criterion = Criterion(
        id="c1", text="It names the order.", category="inclusion", source="name the order", version="v1"
    )
    candidates = [Candidate(id=name, criteria=("c1",), check=Check(kind="contains", value=name)) for name in names]
    return Synthesis(
        prompt="mail.v2.md", criteria=(criterion,), candidates=tuple(candidates), implications=implications
    )


def edit(folder: SynthesisFolder, old: str, new: str) -> None:
    """Edits the file as a person would."""
    path = folder.candidates
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_a_link_that_leads_the_folder_away_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "mail.synthesis").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SynthesisError, match="a link leads this folder out"):
        SynthesisFolder.of(tmp_path / "project" / "mail.md")


def test_what_is_written_is_read_again(folder: SynthesisFolder) -> None:
    pair = Implication(stronger="one", weaker="two", evidence="judge")
    write_candidates(folder.candidates, made("one", "two", implications=(pair,)))
    again = read_candidates(folder.candidates)
    assert [candidate.id for candidate in again.candidates] == ["one", "two"]
    assert again.implications == (pair,)
    assert [one.origin for one in again.criteria] == ["extracted"]
    assert {one.origin for one in again.candidates} == {"generated"}
    assert folder.candidates.read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=")


def test_edits_additions_choices_and_comments_of_people_survive(folder: SynthesisFolder) -> None:
    write_candidates(folder.candidates, made("one", "two", "three"))
    edit(folder, "value: one", "value: ONE  # as the shop writes it")
    edit(folder, "- id: two\n", "- id: two\n    choice: must\n")
    edit(folder, "- id: three\n", "- id: mine\n    criteria: [c1]\n    check: {kind: is-json}\n  - id: three\n")
    on_file = read_candidates(folder.candidates)
    assert [(one.id, one.origin, one.choice) for one in on_file.candidates] == [
        ("one", "edited", None),
        ("two", "generated", "must"),
        ("mine", "added", None),
        ("three", "generated", None),
    ]
    write_candidates(folder.candidates, made("one", "three", "four").replace(implications=()))
    after = read_candidates(folder.candidates)
    assert {one.id: one.check.value for one in after.candidates} == {
        "one": "ONE", "mine": None, "three": "three", "four": "four",
    }  # fmt: skip
    assert "# as the shop writes it" in folder.candidates.read_text(encoding="utf-8")


def test_what_people_say_of_implications_survives(folder: SynthesisFolder) -> None:
    pairs = [Implication(stronger="one", weaker=weaker, evidence="judge") for weaker in ("two", "three")]
    write_candidates(folder.candidates, made("one", "two", "three", implications=tuple(pairs)))
    edit(folder, "weaker: two, ", "weaker: two, accepted: false, ")
    fresh = Implication(stronger="two", weaker="three", evidence="same-code")
    write_candidates(folder.candidates, made("one", "two", "three", implications=(fresh, pairs[0])))
    assert {pair.id: pair.accepted for pair in read_candidates(folder.candidates).implications} == {
        "one -> two": False,
        "two -> three": None,
    }
    write_candidates(folder.candidates, made("one", "two", "three"))
    assert [pair.id for pair in read_candidates(folder.candidates).implications] == ["one -> two"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("check:", "check:  # here", "telepathy"),
        ("- id: two", "- vlaue: 3\n    id: two", "the key 'vlaue' is not known here"),
        ("id: two", "id: one", "the candidate id 'one' is on line 12 too"),
        ("category: inclusion", "category: including", "is not one of the words"),
    ],
)
def test_mistakes_are_named_by_their_line(folder: SynthesisFolder, old: str, new: str, message: str) -> None:
    write_candidates(folder.candidates, made("one", "two"))
    if message == "telepathy":
        edit(folder, "kind: contains", "kind: telepathy")
    edit(folder, old, new)
    lines = folder.candidates.read_text(encoding="utf-8").splitlines()
    with pytest.raises(SynthesisError, match=message) as caught:
        read_candidates(folder.candidates)
    changed = new.partition("\n")[0]
    at = [number for number, line in enumerate(lines, 1) if changed in line]
    assert caught.value.line == at[-1]


def test_names_that_are_not_there_are_warned_of(folder: SynthesisFolder) -> None:
    lost = Implication(stronger="one", weaker="gone", evidence="person")
    write_candidates(folder.candidates, made("one", implications=(lost,)).replace(criteria=()))
    reading = examine(folder.candidates)
    assert [problem.message for problem in reading.problems] == [
        "there is no criterion 'c1'",
        "there is no candidate 'gone'",
    ]
    assert reading.usable is not None


def test_the_same_pair_twice_is_an_error(folder: SynthesisFolder) -> None:
    pair = Implication(stronger="one", weaker="two", evidence="judge")
    write_candidates(folder.candidates, made("one", "two", implications=(pair,)))
    with folder.candidates.open("a", encoding="utf-8") as file:
        file.write("  - stronger: one\n    weaker: two\n    evidence: person\n")
    with pytest.raises(SynthesisError, match="the implication 'one -> two' is on line"):
        read_candidates(folder.candidates)


@pytest.mark.parametrize("text", ["[]", "{", '{"prompt": "p", "deltas": [1]}', "\x00"])
def test_a_broken_history_is_one_sentence(folder: SynthesisFolder, text: str) -> None:
    folder.path.mkdir()
    folder.versions.write_text(text, encoding="utf-8")
    with pytest.raises(SynthesisError, match=r"versions\.json: .*(not a file of versions|binary)"):
        HISTORY.read(folder.versions)
