"""What an author is asked about at once: large changes in parts, small ones together, halves where a reply fails."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from promptpex.core.errors import MalformedReply, ModelError, TimedOut
from promptpex.core.events import Event, Notice
from promptpex.core.records import Change, Delta
from promptpex.synthesis.history.categories import (
    MOST_CHARACTERS,
    DeltaPart,
    Pack,
    ask_packs,
    packs_of,
    portion_of,
)


def delta(version: str, *added: str) -> Delta:
    """A version that added these sentences."""
    return Delta(version=version, changes=tuple(Change(tag="added", text=text) for text in added))


def names(pack: Pack) -> list[str]:
    return [part.version for part in pack]


def test_no_request_is_longer_than_it_may_be_but_for_one_long_sentence() -> None:
    packs = packs_of([delta("v1", "x" * (MOST_CHARACTERS - 10), "y" * 20, "z" * (2 * MOST_CHARACTERS), "w")])
    assert [[len(change.text) for part in pack for change in part.changes] for pack in packs] == [
        [MOST_CHARACTERS - 10],
        [20],
        [2 * MOST_CHARACTERS],
        [1],
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("at most FIVE words", "v1"),
        ("“at most five words”", "v1"),
        ("in German", "v2"),
        ("Answer ... words", "v1"),
        ("never in verse", None),
        ("", None),
    ],
)
def test_words_are_looked_for_where_the_reply_says_and_then_elsewhere(source: str, expected: str | None) -> None:
    pack = [
        DeltaPart("v1", (Change(tag="added", text="Answer in at most five words."),)),
        DeltaPart("v2", (Change(tag="added", text="Answer in German."), Change(tag="removed", text="Write verse."))),
    ]
    for name in ("d1", "d2", " D1", "v1", ""):
        part = portion_of(pack, name, source)
        assert (part.version if part is not None else None) == expected


def test_removed_words_count_for_categories_and_not_for_criteria() -> None:
    pack = [DeltaPart("v2", (Change(tag="removed", text="Write verse."), Change(tag="added", text="Write prose.")))]
    assert portion_of(pack, "d1", "verse") is not None
    assert portion_of(pack, "d1", "verse", added=True) is None
    assert pack[0].text() == "- Write verse.\n+ Write prose."


class Asked:
    """An author who cannot answer about some versions; remembers what it was asked."""

    def __init__(self, error: ModelError, *broken: str) -> None:
        self.error, self.broken = error, set(broken)
        self.packs: list[list[str]] = []

    async def __call__(self, pack: Pack) -> str:
        self.packs.append(names(pack))
        if self.broken & set(names(pack)):
            raise self.error
        return "+".join(names(pack))


async def answers(asked: Asked, *versions: str) -> tuple[list[str], Sequence[Event]]:
    heard: list[Event] = []
    packs = packs_of(delta(version, "One.") for version in versions)
    replies = await ask_packs("criteria", "a", packs, asked, heard.append)
    return [reply for _, reply in replies], heard


async def test_a_reply_of_no_use_is_asked_for_in_halves_down_to_single_versions() -> None:
    asked = Asked(MalformedReply("no JSON"), "v3")
    replies, heard = await answers(asked, "v1", "v2", "v3", "v4")
    assert replies == ["v1+v2", "v4"]
    assert asked.packs == [["v1", "v2", "v3", "v4"], ["v1", "v2"], ["v3", "v4"], ["v3"], ["v4"]]
    assert sum("no usable reply" in event.message for event in heard if isinstance(event, Notice)) == 1


async def test_what_a_smaller_question_does_not_help_is_noticed_at_once() -> None:
    asked = Asked(TimedOut("too late"), "v1")
    replies, heard = await answers(asked, "v1", "v2")
    assert (replies, len(asked.packs)) == ([], 1)
    assert any("timed-out" in event.message for event in heard if isinstance(event, Notice))
