"""What an import has to say of a foreign file: what came over, what means something else here, what could not come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from promptpex.codecs.text.wording import cut
from promptpex.core.translation import from_data, tr

Became = Literal["changed", "left out"]
"""``changed``: it is here, and means something else; ``left out``: it is not here."""

_SHOWN = 12
"""Places that are named one by one of those of which the same is to be said."""
_LONGEST, _LONGEST_WHY = 200, 600
"""Characters that are shown of a name, and of a reason with what it quotes."""


@dataclass(frozen=True, slots=True)
class Note:
    """One thing of a foreign file that is not here as it was there.

    Attributes:
        name: what the file calls it: ``tests[3].assert[0]``.
        why: what is different, or what it lacks here; no sentence of the file's own.
    """

    became: Became
    name: str
    why: str
    path: str
    line: int | None = None

    @property
    def place(self) -> str:
        return self.path if self.line is None else f"{self.path}:{self.line}"

    def to_dict(self) -> dict[str, object]:
        return {"name": self.name, "why": self.why, "path": self.path, "line": self.line}


@dataclass(slots=True)
class Log:
    """Collects what a reader comes across.

    Attributes:
        over: what came over, by its name in the foreign file: how often.
        notes: what did not come over as it was, in the order of the file.
    """

    over: Counter[str] = field(default_factory=Counter)
    _notes: dict[Note, None] = field(default_factory=dict)
    _counted: set[tuple[str, str, str]] = field(default_factory=set)

    @property
    def notes(self) -> tuple[Note, ...]:
        return tuple(self._notes)

    def came(self, what: str, times: int = 1) -> None:
        if times:
            self.over[one_line(what)] += times

    def came_from(self, what: str, name: str, path: Path | str) -> None:
        if (what, name, str(path)) not in self._counted:
            self._counted.add((what, name, str(path)))
            self.over[what] += 1

    def changed(self, name: str, why: str, path: Path | str, line: int | None) -> None:
        self._notes[Note("changed", one_line(name), why, str(path), line)] = None

    def left_out(self, name: str, why: str, path: Path | str, line: int | None) -> None:
        self._notes[Note("left out", one_line(name), why, str(path), line)] = None


def shown(over: Mapping[str, int], notes: Sequence[Note]) -> Iterator[str]:
    """The lines that say all of it: first what came over, then the rest under its heading, equal notes together."""
    if over:
        yield tr("came over: {counts}", counts=", ".join(f"{name} ({times})" for name, times in over.items()))
    headings: tuple[tuple[Became, str], ...] = (("changed", tr("changed in meaning:")), ("left out", tr("left out:")))
    for became, heading in headings:
        notes_of_kind = [note for note in notes if note.became == became]
        if notes_of_kind:
            yield heading
            yield from _grouped(notes_of_kind)


def _grouped(notes: Iterable[Note]) -> Iterator[str]:
    """A line for each reason, with the first of its places and the number of the others."""
    alike: dict[str, list[Note]] = {}
    for note in notes:
        alike.setdefault(note.why, []).append(note)
    for why, group in alike.items():
        places = [" ".join(f"{note.place}: {note.name}".split()) for note in group[:_SHOWN]]
        line = "; ".join(places)
        if len(group) > _SHOWN:
            line = tr("{items}, and {count} more", items=line, count=len(group) - _SHOWN)
        yield f"  {line}: {one_line(from_data(why), _LONGEST_WHY)}"


def one_line(name: str, longest: int = _LONGEST) -> str:
    """What a file calls something on one line, not endless, so that it cannot be taken for a line of ours."""
    return cut(" ".join(name[: 4 * longest].split()), longest)
