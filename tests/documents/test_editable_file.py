"""A file that people edit is a declaration: read with every problem and its line, updated with the least edits."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

import pytest
from pydantic import Field

from promptpex.core.errors import ConfigError
from promptpex.core.ids import digest
from promptpex.core.records import Origin, Record
from promptpex.documents.editable_file import DocumentKind, read, update
from promptpex.documents.field_types import Items, Named, Records, Text


class Criterion(Record):
    measured: ClassVar[frozenset[str]] = frozenset()
    lasting: ClassVar[frozenset[str]] = frozenset()

    id: str
    text: str
    kind: Literal["code", "judge"] = "judge"
    origin: Origin = "generated"
    content: str | None = None

    def content_hash(self) -> str:
        return digest(self.text, 12)


class Source(Record):
    place: str


class Weight(Record):
    words: tuple[str, ...] = ()
    times: int = 1


class Criteria(Record):
    prompt: str
    sources: tuple[Source, ...] = ()
    weights: dict[str, Weight] = Field(default_factory=dict)
    criteria: tuple[Criterion, ...] = ()


KIND = DocumentKind(
    what="criteria file",
    schema="criteria",
    error=ConfigError,
    empty=Criteria(prompt=""),
    parts=(
        Text("prompt"),
        Records("sources", Source, texts=("place",)),
        Named("weights", Weight, short="words", wanted="name the weights"),
        Items("criteria", Criterion, noun="criterion", texts=("id", "text"), always=("id", "text", "origin")),
    ),
)

HAND = """\
prompt: p.md   # ours
weights: {tone: kind}
criteria:
  # from the talk
  - id: 1
    text: "It is short."
    origin: generated
    content: HASH
  - {text: Mine., id: own}
"""


def _hand(tmp_path: Path) -> Path:
    path = tmp_path / "a.yaml"
    text = HAND.replace("HASH", Criterion(id="1", text="It is short.").content_hash())
    path.write_text(text, encoding="utf-8")
    return path


def test_a_declared_file_is_read_with_owners_and_lines(tmp_path: Path) -> None:
    reading = read(KIND, _hand(tmp_path))
    assert reading.problems == ()
    assert [(item.id, item.origin) for item in reading.require().criteria] == [("1", "generated"), ("own", "added")]
    assert reading.record.weights == {"tone": Weight(words=("kind",))}
    assert reading.lines == {"1": 5, "own": 9}
    assert reading.line("weights", "tone") == 2


def test_an_update_changes_what_is_the_machines_and_nothing_else(tmp_path: Path) -> None:
    path = _hand(tmp_path)
    before = path.read_text(encoding="utf-8")
    old = read(KIND, path).require()
    assert update(KIND, path, old) == old
    assert path.read_text(encoding="utf-8") == before
    wanted = old.replace(criteria=(Criterion(id="1", text="It is very short."), Criterion(id="own", text="Not mine.")))
    updated = update(KIND, path, wanted)
    assert [item.text for item in updated.criteria] == ["It is very short.", "Mine."]
    after = path.read_text(encoding="utf-8")
    assert "# ours" in after
    assert "# from the talk" in after
    assert "- {text: Mine., id: own}" in after
    assert {item.id: item for item in read(KIND, path).require().criteria} == {
        item.id: item for item in updated.criteria
    }


def test_a_new_file_reads_back(tmp_path: Path) -> None:
    record = Criteria(
        prompt="p.md",
        sources=(Source(place="x: y"),),
        weights={"tone": Weight(words=("a",)), "length": Weight(times=2)},
        criteria=(Criterion(id="a", text="One.", origin="added"),),
    )
    path = tmp_path / "a.yaml"
    update(KIND, path, record, schema="criteria.schema.json")
    assert path.read_text(encoding="utf-8").startswith(
        "# yaml-language-server: $schema=criteria.schema.json\nprompt: p"
    )
    assert read(KIND, path).require() == record


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("[]", 1, "a criteria file must be a mapping with 'criteria'; write 'criteria:' above the list"),
        ("prompt: p\ncriterai: []", 2, "did you mean 'criteria'"),
        ("prompt: p\ncriteria: {}", 2, "'criteria' must be a list; put '- ' before each criterion"),
        ("prompt: p\nweights: []", 2, "'weights' must name the weights"),
        ("prompt: p\ncriteria: [1]", 2, "there should be a mapping here, not a number"),
        ("prompt: p\ncriteria:\n- {id: a, text: b}\n- {id: a, text: c}", 4, "the criterion id 'a' is on line 3 too"),
        ("criteria: []", 1, "'prompt' is missing"),
    ],
)
def test_mistakes_have_a_line_and_the_file_is_left_alone(tmp_path: Path, text: str, line: int, says: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read(KIND, path).require()
    assert says in caught.value.message
    assert caught.value.line == line
    with pytest.raises(ConfigError):
        update(KIND, path, Criteria(prompt="q"))
    assert path.read_text(encoding="utf-8") == text
