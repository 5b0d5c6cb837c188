"""The parts that a file of people is declared of: texts, lists of records, records by name, items with an owner.

Each part is one key at the top of the file. It reads its value from the file's data, shows it as data again, and edits
it in place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from promptpex.core.records import Record
from promptpex.documents.ownership import called, claimed, derived_id, merged
from promptpex.documents.record_problems import Findings, take
from promptpex.documents.yaml_reader import Keys, YamlDoc
from promptpex.documents.yaml_writer import Edits


class Part(Protocol):
    """One key at the top of a file."""

    @property
    def name(self) -> str:
        """The key."""

    def load(self, data: Any, findings: Findings) -> Any:
        """The value that the data of the file says; what is wrong goes to ``findings``."""

    def show(self, value: Any) -> Any:
        """The value as data; None where the key is left out of a new file."""

    def merge(self, old: Any, new: Any, *, by_hand: bool) -> Any:
        """The value that the file shall have after an update: what a person wrote stays, unless ``by_hand``."""

    def edit(self, edits: Edits, old: Any, new: Any) -> None:
        """Brings the file from one value to the other."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text; a number or a bare word in the file is taken as it stands there.

    Attributes:
        stays: whether the file's text stays where a new record says none.
        placed: whether a file may leave it out, since its place says the same; an update then leaves it out as well.
    """

    name: str
    stays: bool = False
    placed: bool = False

    def load(self, data: Any, findings: Findings) -> Any:
        """The text; whether it is one is said when the whole record is made."""
        return findings.doc.source(self.name) if isinstance(data, bool | int | float) else data

    def show(self, value: Any) -> Any:
        return value

    def merge(self, old: Any, new: Any, *, by_hand: bool) -> Any:
        """The new text; the old one where that ``stays`` and there is no new one, or where it is left out."""
        return old if (self.stays and new is None) or (self.placed and not old) else new

    def edit(self, edits: Edits, old: Any, new: Any) -> None:
        if old != new:
            edits.set((), self.name, new)


@dataclass(frozen=True, slots=True)
class Records:
    """A list of records without ids, replaced as a whole; left out of a new file where it is empty.

    Attributes:
        texts: fields that may stand as a number or a bare word.
    """

    name: str
    record: type[Record]
    texts: tuple[str, ...] = ()

    def load(self, data: Any, findings: Findings) -> Any:
        """The records that can be read."""
        records: list[Record] = []
        for number, item in enumerate(_items(data, self.name, findings)):
            record = take(self.record, item, (self.name, number), findings, texts=self.texts)
            if record is not None:
                findings.places[self.name, len(records)] = (self.name, number)
                records.append(record)
        return tuple(records)

    def show(self, value: Any) -> Any:
        return [record.to_dict() for record in value] or None

    def merge(self, old: Any, new: Any, *, by_hand: bool) -> Any:
        return new

    def edit(self, edits: Edits, old: Any, new: Any) -> None:
        if old != new:
            edits.set((), self.name, [record.to_dict() for record in new])


@dataclass(frozen=True, slots=True)
class Named:
    """A mapping from names to records.

    Attributes:
        short: the field that a record may be written as: its text, or its list of texts, instead of a mapping.
        wanted: what should be there, for the message where it is not a mapping.
    """

    name: str
    record: type[Record]
    short: str
    wanted: str

    def load(self, data: Any, findings: Findings) -> Any:
        """The records that can be read, by name."""
        if data is None:
            return {}
        if not isinstance(data, dict):
            findings.add(f"{self.name!r} must {self.wanted}", self.name)
            return {}
        loaded = {name: take(self.record, self._long(item), (self.name, name), findings) for name, item in data.items()}
        return {name: record for name, record in loaded.items() if record is not None}

    def _long(self, item: Any) -> Any:
        if isinstance(item, str | list):
            return {self.short: [item] if isinstance(item, str) else item}
        return {} if item is None else item

    def show(self, value: Any) -> Any:
        return {name: self._shown(record) for name, record in value.items()}

    def merge(self, old: Any, new: Any, *, by_hand: bool) -> Any:
        return new

    def _shown(self, record: Record) -> Any:
        fields = record.to_dict()
        return fields.get(self.short, []) if set(fields) <= {self.short} else fields

    def edit(self, edits: Edits, old: Any, new: Any) -> None:
        """Sets, adds and removes single names; the whole mapping where none of the old names stays."""
        if old == new:
            return
        removed = [name for name in old if name not in new]
        if not old or len(removed) == len(old):
            edits.set((), self.name, self.show(new))
            return
        for name, record in new.items():
            if old.get(name) != record:
                edits.set((self.name,), name, self._shown(record))
        for name in removed:
            edits.remove((self.name,), name, [])


@dataclass(frozen=True, slots=True)
class Items:
    """A list of items with ids that belong to people or to the machine (``documents.ownership``).

    Attributes:
        texts: fields that may stand as a number or a bare word.
        always: keys that stand in the file even where they have their default.
        named_by: the field that an item's id is made of where it says none (``documents.ownership``); None: it has to
            say one.
        keeps_repeated_ids: whether an item whose id another one has is read all the same, under a name that says its
            line, so that what else is wrong with it is found, too; the file cannot be used either way.
    """

    name: str
    record: type[Record]
    noun: str
    texts: tuple[str, ...]
    always: tuple[str, ...]
    named_by: str | None = None
    keeps_repeated_ids: bool = False

    def load(self, data: Any, findings: Findings) -> Any:
        """The items that can be read, each with the origin it has in truth; an id that is there twice is an error."""
        items: list[Any] = []
        for number, written in enumerate(_items(data, self.name, findings, self.noun)):
            named = self._named(written)
            item: Any = take(self.record, named, (self.name, number), findings, texts=self.texts)
            if item is None:
                continue
            first = findings.places.setdefault((self.name, item.id), (self.name, number))
            if first != (self.name, number):
                self._twice(item, first, number, findings)
                if self.keeps_repeated_ids and self._says_id(findings.doc, number):
                    twin = f"{item.id} on line {findings.doc.line(self.name, number)}"
                    findings.places[self.name, twin] = (self.name, number)
                    items.append(item.model_copy(update={"id": twin}))
                continue
            if named is not written:
                findings.add(called(self.noun, item.id), self.name, number, severity="info")
            items.append(self._taken(item, written))
        return tuple(items)

    def _named(self, written: Any) -> Any:
        if self.named_by is None or not isinstance(written, dict) or written.get("id") is not None:
            return written
        return {**written, "id": derived_id(written.get(self.named_by), self.noun)}

    def _twice(self, item: Any, first: Keys, number: int, findings: Findings) -> None:
        line = findings.doc.line(*first, "id")
        if self._says_id(findings.doc, number):
            findings.add(
                f"the {self.noun} id {item.id!r} is on line {line} too",
                self.name,
                number,
                "id",
                suggestion="give it another",
            )
            return
        message = f"the {self.noun} has no id, and the one on line {line} has the same {self.named_by}"
        findings.add(message, self.name, number, suggestion="give it an id, or remove one of the two")

    def _says_id(self, doc: YamlDoc, number: int) -> bool:
        return doc.data[self.name][number].get("id") is not None

    def _taken(self, item: Any, written: Mapping[str, Any]) -> Any:
        return claimed(item, written)

    def merge(self, old: Any, new: Any, *, by_hand: bool) -> Any:
        return merged(old, new, by_hand=by_hand)

    def show(self, value: Any) -> Any:
        return [self._shown(item) for item in value]

    def _shown(self, item: Record) -> dict[str, Any]:
        """Fields at their default left out, but for the keys that always stand there."""
        full, short = item.model_dump(mode="json", by_alias=True), item.to_dict()
        return {name: short.get(name, full[name]) for name in full if name in short or name in self.always}

    def edit(self, edits: Edits, old: Any, new: Any) -> None:
        """Edits items by id: the file's order is kept, new ones come behind their neighbour."""
        new_items = {item.id: item for item in new}
        positions = {item.id: position for position, item in enumerate(old) if item.id in new_items}
        for name, position in positions.items():
            self._edit_item(edits, position, old[position], new_items[name])
        added = [item for item in new if item.id not in positions]
        if added and not positions:
            edits.set((), self.name, self.show(added))
            return
        removed = [position for position, item in enumerate(old) if item.id not in new_items]
        if removed:
            edits.remove_items((self.name,), removed)
        for after, group in _by_neighbour(new, positions):
            edits.insert_items((self.name,), after, self.show(group))

    def _edit_item(self, edits: Edits, position: int, old: Record, new: Record) -> None:
        if old == new:
            return
        before, after = old.model_dump(mode="json", by_alias=True), new.model_dump(mode="json", by_alias=True)
        shown_item, defaults = self._shown(new), _defaults(type(new))
        for name in after:
            if before[name] == after[name]:
                continue
            if name in shown_item:
                edits.set((self.name, position), name, shown_item[name])
            else:
                edits.remove((self.name, position), name, defaults.get(name))
        if self.named_by is not None and before[self.named_by] != after[self.named_by]:
            self._keep_id(edits, position, after["id"])

    def _keep_id(self, edits: Edits, position: int, name: str) -> None:
        """Writes the id of an item that says none, and whose id would be another after the edit."""
        if not self._says_id(edits.doc, position):
            edits.set((self.name, position), "id", name)


@dataclass(frozen=True, slots=True)
class Pairs(Items):
    """A list of records that the machine writes and a person accepts or strikes; its ``id`` follows from the rest."""

    def _twice(self, item: Any, first: Keys, number: int, findings: Findings) -> None:
        message = f"the {self.noun} {item.id!r} is on line {findings.doc.line(*first)} too"
        findings.add(message, self.name, number, suggestion="remove one of them")

    def _taken(self, item: Any, written: Mapping[str, Any]) -> Any:
        return item

    def merge(self, old: Any, new: Any, *, by_hand: bool) -> Any:
        peoples = {} if by_hand else {item.id: item for item in old if item.is_peoples}
        merged = [peoples.pop(item.id, item) for item in new]
        return (*merged, *peoples.values())


def _items(data: Any, name: str, findings: Findings, noun: str = "item") -> Sequence[Any]:
    if data is None:
        return []
    if not isinstance(data, list):
        findings.add(f"{name!r} must be a list", name, suggestion=f"put '- ' before each {noun}")
        return []
    return data


def _by_neighbour(items: Sequence[Any], positions: Mapping[str, int]) -> list[tuple[int | None, list[Any]]]:
    """New items grouped by the item on file that they follow; those that follow none go to the end."""
    groups: dict[int | None, list[Any]] = {}
    after: int | None = None
    for item in items:
        if item.id in positions:
            after = positions[item.id]
        else:
            groups.setdefault(after, []).append(item)
    return list(groups.items())


def _defaults(kind: type[Record]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, info in kind.model_fields.items():
        default = info.get_default(call_default_factory=True, validated_data={})
        key = info.serialization_alias or info.alias or name
        values[key] = list(default) if isinstance(default, tuple) else default
    return values


class Checker(Protocol):
    """What has to hold of a file beyond its parts by themselves."""

    def admits(self, data: Mapping[str, Any], findings: Findings) -> bool:
        """Whether the data is worth reading; if not, why is in the findings."""

    def check(self, values: Mapping[str, Any], findings: Findings) -> None:
        """Looks at the values of the parts, by their keys; what is wrong goes to the findings."""
