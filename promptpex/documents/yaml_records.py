"""Records in YAML files that people edit: read with every problem and its line, updated with the least edits.

Shared by the spec file and the case file. Whose an item is: one that says ``extracted`` or ``generated`` and whose
``content`` hash still fits is the machine's; one that says ``edited`` or ``added``, says nothing, or no longer fits its
hash is a person's, and no machine write changes or removes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import ValidationError

from promptpex.core.records import Case, Problem, Record, Rule
from promptpex.documents import yaml_patch, yaml_writer
from promptpex.documents.record_problems import in_words, raise_first, record_problems
from promptpex.documents.yaml_reader import Keys, YamlDoc

MACHINE = ("extracted", "generated")

R = TypeVar("R", bound=Record)
Item = TypeVar("Item", Rule, Case)


@dataclass
class Findings:
    """The problems of one document, gathered."""

    doc: YamlDoc
    problems: list[Problem] = field(default_factory=list)

    def add(self, message: str, *keys: str | int, suggestion: str = "", severity: str = "error") -> None:
        self.problems.append(
            Problem.model_validate(
                {
                    "path": str(self.doc.path),
                    "line": self.doc.line(*keys),
                    "message": message,
                    "suggestion": suggestion,
                    "severity": severity,
                }
            )
        )

    def raise_first(self) -> None:
        """Raise the first error, if there is one, in the order of the file's lines."""
        raise_first(self.problems, self.doc.error, self.doc.path)


def take(kind: type[R], data: Any, keys: Keys, found: Findings, *, text_fields: Iterable[str] = ()) -> R | None:
    """The record that this data says, or None with its problems in ``found``.

    ``text_fields`` may stand as a number or a bare word in the file: what the file shows is taken as text.
    """
    if not isinstance(data, dict):
        found.add(f"there should be a mapping here, not {in_words(data)}", *keys)
        return None
    said = {name: value for name, value in data.items() if value is not None}
    for name in text_fields:
        if isinstance(said.get(name), bool | int | float):
            said[name] = found.doc.source(*keys, name)
    try:
        return kind.model_validate(said)
    except ValidationError as failure:
        for problem in record_problems(failure, kind):
            found.add(problem.message, *keys, *problem.place, suggestion=problem.suggestion)
        return None


def owned_by_people(origin: str) -> bool:
    """Whether the machine must leave such an item alone."""
    return origin not in MACHINE


def claimed(item: Item, said: Mapping[str, Any]) -> Item:
    """The item with the origin it has in truth, given what its file says."""
    if said.get("origin") is None:
        return item.replace(origin="added")
    if item.origin in MACHINE and item.content is not None and item.content != item.content_hash():
        return item.replace(origin="edited")
    return item


def sealed(item: Item) -> Item:
    """The item as the machine writes it: with the hash of its content, if it is the machine's."""
    return item if owned_by_people(item.origin) else item.replace(content=item.content_hash())


@dataclass
class ListUpdate:
    """What happens to the items of one list in a file: by id, file's order kept, new ones behind their neighbour."""

    key: str
    old: Sequence[Any]
    new: Sequence[Any]
    always: tuple[str, ...]
    by_hand: bool

    def wanted(self) -> list[Any]:
        """The items that the file shall hold afterwards, in the order of ``new``; people's own are kept."""
        on_file = {item.id: item for item in self.old}
        named = {item.id for item in self.new}
        result = [self._choice(on_file.get(item.id), item) for item in self.new]
        if self.by_hand:
            return result
        return result + [item for item in self.old if item.id not in named and owned_by_people(item.origin)]

    def _choice(self, old: Any, new: Any) -> Any:
        keep = old is not None and not self.by_hand and owned_by_people(old.origin)
        return old if keep else sealed(new)

    def shown(self, item: Any) -> dict[str, Any]:
        """The item as the file shows it: defaults left out, but for the keys that always stand there."""
        plain = item.model_dump(mode="json", by_alias=True)
        short = item.to_dict()
        return {name: short.get(name, plain[name]) for name in plain if name in short or name in self.always}

    def apply(self, edits: yaml_patch.Edits) -> None:
        wanted = {item.id: item for item in self.wanted()}
        kept = {item.id: position for position, item in enumerate(self.old) if item.id in wanted}
        for name, position in kept.items():
            self._update(edits, position, self.old[position], wanted[name])
        gone = [position for position, item in enumerate(self.old) if item.id not in wanted]
        fresh = [item for item in wanted.values() if item.id not in kept]
        if fresh and not kept:
            edits.set((), self.key, [self.shown(item) for item in fresh])
            return
        if gone:
            edits.remove_items((self.key,), gone)
        for after, group in _behind(list(wanted.values()), kept):
            edits.insert_items((self.key,), after, [self.shown(item) for item in group])

    def _update(self, edits: yaml_patch.Edits, position: int, old: Any, new: Any) -> None:
        if old == new:
            return
        before, after = old.model_dump(mode="json", by_alias=True), new.model_dump(mode="json", by_alias=True)
        shown, empty = self.shown(new), _defaults(type(new))
        for name in after:
            if before[name] == after[name]:
                continue
            if name in shown:
                edits.set((self.key, position), name, shown[name])
            else:
                edits.remove((self.key, position), name, empty.get(name))


def _behind(wanted: list[Any], kept: Mapping[str, int]) -> list[tuple[int | None, list[Any]]]:
    """New items grouped by the kept item they follow; those that follow none go to the end."""
    groups: dict[int | None, list[Any]] = {}
    after: int | None = None
    for item in wanted:
        if item.id in kept:
            after = kept[item.id]
        else:
            groups.setdefault(after, []).append(item)
    return list(groups.items())


def _defaults(kind: type[Record]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, info in kind.model_fields.items():
        default = info.get_default(call_default_factory=True, validated_data={})
        values[info.serialization_alias or info.alias or name] = (
            list(default) if isinstance(default, tuple) else default
        )
    return values


def new_document(schema: str, content: Mapping[str, Any]) -> str:
    """The text of a new file: the line that tells editors its schema, then the content."""
    return f"# yaml-language-server: $schema={schema}\n{yaml_writer.document(content)}"


def check_written(message: str, doc: YamlDoc, got: Sequence[Any], wanted: Sequence[Any]) -> None:
    """Refuse a text that does not say what it should: an update must never damage a file."""
    if {item.id: item for item in got} != {item.id: item for item in wanted} or len(got) != len(wanted):
        raise doc.error(message, path=doc.path)
