"""The YAML files that people edit, what each of them holds, and the ways to one: ``read``, and ``update`` in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

from promptpex.codecs.files.atomic import write_text
from promptpex.codecs.text.wording import MOST_HINTS
from promptpex.core.errors import InputError, SpecError, SuiteError, SynthesisError
from promptpex.core.records import (
    Candidate,
    Case,
    Criterion,
    Implication,
    InputCheck,
    Problem,
    Record,
    Rule,
    Spec,
    Suite,
    Synthesis,
    VariableSpec,
)
from promptpex.documents import yaml_reader, yaml_writer
from promptpex.documents.field_types import Checker, Items, Named, Pairs, Part, Records, Text
from promptpex.documents.record_problems import Findings, as_problem, raise_first, take, unknown_key
from promptpex.documents.schema_ref import keep_schema, schema_place
from promptpex.documents.yaml_reader import YamlDoc
from promptpex.documents.yaml_writer import Edits

D = TypeVar("D", bound=Record)


@dataclass(frozen=True)
class DocumentKind(Generic[D]):
    """How a record stands in a YAML file.

    Attributes:
        what: the file, for messages: ``spec file``.
        schema: the name of its JSON schema: ``spec``.
        empty: the record of a file that says nothing.
        parts: its keys, in the order of a new file.
    """

    what: str
    schema: str
    error: type[InputError]
    empty: D
    parts: tuple[Part, ...]

    @property
    def items(self) -> tuple[Items, ...]:
        """The parts that belong to people and the machine item by item; the first is what the file is for."""
        return tuple(part for part in self.parts if isinstance(part, Items))


@dataclass(frozen=True)
class Reading(Generic[D]):
    """What a file says.

    Attributes:
        record: what of it can be used; all of it if no problem is an error.
        lines: the line that each item begins on, by its id.
        doc: the YAML text with its lines; None for other formats, and for a file that is not YAML.
    """

    record: D
    problems: tuple[Problem, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict)
    doc: YamlDoc | None = None
    error: type[InputError] = InputError
    path: Path | str | None = None

    @property
    def usable(self) -> D | None:
        return None if any(problem.severity == "error" for problem in self.problems) else self.record

    def line(self, *keys: str | int) -> int | None:
        """The line of the value at this path of keys; None where the file could not be read."""
        return self.doc.line(*keys) if self.doc is not None else None

    def require(self) -> D:
        raise_first(self.problems, self.error, self.path)
        return self.record


def read(kind: DocumentKind[D], path: Path | str, *, checker: Checker | None = None) -> Reading[D]:
    """What the file says, with all its problems.

    Args:
        checker: what else has to hold.
    """
    try:
        doc = yaml_reader.read(path, error=kind.error, what=kind.what)
    except InputError as failure:
        return Reading(kind.empty, (as_problem(failure),), error=kind.error, path=path)
    return _load(kind, doc, checker)


def update(
    kind: DocumentKind[D],
    path: Path | str,
    record: D,
    *,
    by_hand: bool = False,
    schema: str | None = None,
    checker: Checker | None = None,
) -> D:
    """Writes the record, or brings the file up to it with the least edits; gives what the file now says.

    What has not changed keeps every byte: comments, order, quoting, blank lines. Items are matched by id. One that is a
    person's on file is neither changed nor removed, unless ``by_hand`` says that a person asked for it.

    Args:
        schema: what the first line of a new file names as its JSON schema; by default a place that is the same on
            every machine (``documents.schema_ref``).

    Raises:
        OSError: it cannot be written.
    """
    if not Path(path).exists():
        new_record = _merged(kind, _with_texts_of(kind, record), record, by_hand)
        write_text(path, _new_text(kind, new_record, schema or schema_place(path, kind.schema)))
    else:
        doc = yaml_reader.read(path, error=kind.error, what=kind.what, to_edit=True)
        old = _load(kind, doc, checker).require()
        new_record = _merged(kind, old, record, by_hand)
        text = _edited(kind, doc, old, new_record)
        if text != doc.text:
            _verify(kind, text, doc, new_record, checker)
            write_text(path, doc.mark + text)
    keep_schema(path)
    return new_record


def _load(kind: DocumentKind[D], doc: YamlDoc, checker: Checker | None) -> Reading[D]:
    findings = Findings(doc)
    record = _record(kind, doc.data, findings, checker)
    names = [part.name for part in kind.items]
    lines = {str(key): doc.line(*keys) for (part, key), keys in findings.places.items() if part in names}
    return Reading(record, tuple(findings.problems), lines, doc, kind.error, doc.path)


def _record(kind: DocumentKind[D], data: Any, findings: Findings, checker: Checker | None) -> D:
    if not isinstance(data, dict):
        main = kind.items[0].name
        findings.add(f"a {kind.what} must be a mapping with {main!r}", suggestion=f"write '{main}:' above the list")
        return kind.empty
    names = [part.name for part in kind.parts]
    for key in islice((key for key in data if key not in names), MOST_HINTS):
        message, suggestion = unknown_key(key, names)
        findings.add(message, key, suggestion=suggestion)
    if checker is not None and not checker.admits(data, findings):
        return kind.empty
    values = {part.name: part.load(data.get(part.name), findings) for part in kind.parts}
    texts = {part.name: values.pop(part.name) for part in kind.parts if isinstance(part, Text)}
    if checker is not None:
        checker.check(values, findings)
    head = take(type(kind.empty), texts, (), findings)
    return (head or kind.empty).replace(**values)


def _with_texts_of(kind: DocumentKind[D], record: D) -> D:
    """What a new file has to be brought up from: nothing but the record's own texts."""
    return kind.empty.replace(
        **{part.name: getattr(record, part.name) for part in kind.parts if isinstance(part, Text)}
    )


def _merged(kind: DocumentKind[D], old: D, new: D, by_hand: bool) -> D:
    values = {
        part.name: part.merge(getattr(old, part.name), getattr(new, part.name), by_hand=by_hand) for part in kind.parts
    }
    return new.replace(**values)


def _new_text(kind: DocumentKind[D], record: D, schema: str) -> str:
    parts = {part.name: part.show(getattr(record, part.name)) for part in kind.parts}
    content = {name: value for name, value in parts.items() if value is not None}
    return f"# yaml-language-server: $schema={schema}\n{yaml_writer.document(content)}"


def _edited(kind: DocumentKind[D], doc: YamlDoc, old: D, new: D) -> str:
    edits = Edits(doc)
    for part in kind.parts:
        part.edit(edits, getattr(old, part.name), getattr(new, part.name))
    return edits.text()


def _verify(kind: DocumentKind[D], text: str, doc: YamlDoc, wanted: D, checker: Checker | None) -> None:
    """Refuses a text that does not say what it should: an update must never damage a file."""
    try:
        again = _load(kind, yaml_reader.load(text, path=doc.path, error=kind.error, what=kind.what), checker).require()
        is_as_wanted = _by_id(kind, again) == _by_id(kind, wanted)
    except InputError:
        is_as_wanted = False
    if not is_as_wanted:
        sentence = f"the {kind.what} cannot be edited in place without harm; it was left as it is"
        raise kind.error(sentence, path=doc.path)


def _by_id(kind: DocumentKind[D], record: D) -> tuple[Any, ...]:
    """The record without the order of its items, which follows the file."""
    lists = {part.name: getattr(record, part.name) for part in kind.items}
    by_id = [({item.id: item for item in items}, len(items)) for items in lists.values()]
    return record.replace(**dict.fromkeys(lists, ())), by_id


SPEC = DocumentKind(
    what="spec file",
    schema="spec",
    error=SpecError,
    empty=Spec(),
    parts=(
        Text("prompt", placed=True),
        Text("prompt_fingerprint"),
        Text("intent"),
        Named("inputs", VariableSpec, short="constraints", wanted="name the variables, each with its constraints"),
        Records("input_checks", InputCheck, texts=("variable",)),
        Items(
            "rules",
            Rule,
            noun="rule",
            texts=("id", "rule", "inverse", "source", "after", "content"),
            always=("id", "rule", "origin"),
            named_by="rule",
        ),
    ),
)

CASES = DocumentKind(
    what="case file",
    schema="cases",
    error=SuiteError,
    empty=Suite(),
    parts=(
        Text("prompt", placed=True),
        Text("match", stays=True),
        Items(
            "cases",
            Case,
            noun="case",
            texts=(
                "id",
                "rule",
                "reasoning",
                "expected",
                "scenario",
                "inputs_fingerprint",
                "expanded_from",
                "expected_from",
                "invalid",
                "aside",
                "content",
            ),
            always=("id", "rule", "inverse", "inputs", "origin"),
            named_by="inputs",
            keeps_repeated_ids=True,
        ),
    ),
)

CANDIDATES = DocumentKind(
    what="file of candidates",
    schema="candidates",
    error=SynthesisError,
    empty=Synthesis(prompt=""),
    parts=(
        Text("prompt"),
        Items(
            "criteria",
            Criterion,
            noun="criterion",
            texts=("id", "text", "source", "version", "rule", "content"),
            always=("id", "text", "category", "origin"),
        ),
        Items(
            "candidates",
            Candidate,
            noun="candidate",
            texts=("id", "description", "content"),
            always=("id", "criteria", "check", "origin"),
        ),
        Pairs(
            "implications",
            Implication,
            noun="implication",
            texts=("stronger", "weaker"),
            always=("stronger", "weaker", "evidence"),
        ),
    ),
)

KINDS = (SPEC, CASES, CANDIDATES)
