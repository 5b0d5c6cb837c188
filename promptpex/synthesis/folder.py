"""The synthesis folder, ``PROMPT.synthesis/`` beside the prompt: where its files are, and the examples in it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from promptpex.codecs import json_text, jsonl
from promptpex.codecs.files.atomic import write_text
from promptpex.codecs.files.file_lock import lock
from promptpex.codecs.files.ordinary_files import MEGABYTE, inside, opened, read_bytes, refuse_led_out
from promptpex.codecs.text.wording import did_you_mean
from promptpex.core.errors import CheckError, SynthesisError
from promptpex.core.records import Check, Example, History, Record, Synthesis
from promptpex.core.records.criteria_board import AskedCriteria
from promptpex.documents.editable_file import CANDIDATES, Reading, read, update
from promptpex.documents.record_problems import Findings, record_problems
from promptpex.documents.yaml_reader import Keys
from promptpex.promptfile import stem

MOST_BYTES = 100 * MEGABYTE

One = TypeVar("One", bound=Record)


@dataclass(frozen=True, slots=True)
class RecordFile(Generic[One]):
    """A kind of file that holds one record."""

    record: type[One]
    what: str
    instead: str

    def read(self, path: Path) -> One | None:
        """The record; None where there is no such file."""
        if not path.exists():
            return None
        data = read_bytes(path, error=SynthesisError, what=self.what, limit=MOST_BYTES, links=False)
        try:
            return jsonl.parse_record(data, self.record)
        except (ValidationError, ValueError, RecursionError):
            message = f"this is not a {self.what}; remove it, and {self.instead}"
            raise SynthesisError(message, path=path) from None

    def write(self, path: Path, record: One) -> None:
        """Writes the file in one step, in place of the one that is there."""
        try:
            write_text(path, jsonl.dump_record(record, indent=1), links=False)
        except OSError as failure:
            message = f"the {self.what} cannot be written ({failure.strerror or failure}); make it writable"
            raise SynthesisError(message, path=path) from None


HISTORY = RecordFile(History, "file of versions", "it is made again")
"""``versions.json``: the versions of a prompt and what each changed, as far as they were looked at."""


def history_in(path: Path, prompt: str) -> History:
    """The history in this file; that of the prompt of this name, which is empty, where there is no such file."""
    return HISTORY.read(path) or History(prompt=prompt)


ASKED = RecordFile(AskedCriteria, "file of what was asked", "authors are asked again")
"""``asked.json``: what authors were asked for each criterion on the local page, and what was unusable."""


_MOST_HINTS = 20


def read_candidates(path: Path) -> Synthesis:
    """The criteria, candidates and implications of this file, each with the origin it has in truth."""
    return examine(path).require()


def candidates_in(path: Path, prompt: str) -> Synthesis:
    """As ``read_candidates``; nothing, for the prompt of this name, where there is no such file."""
    return read_candidates(path) if path.exists() else Synthesis(prompt=prompt)


def examine(path: Path) -> Reading[Synthesis]:
    """What a file of candidates says, and all its problems, not just the first."""
    from promptpex.assertions import check_time

    with check_time():
        return read(CANDIDATES, path, checker=_CandidateChecker())


def write_candidates(path: Path, synthesis: Synthesis, *, by_hand: bool = False) -> Synthesis:
    """Writes the file, or brings it up to date with the least edits; gives what it then says."""
    from promptpex.assertions import check_time

    with check_time():
        return update(CANDIDATES, path, synthesis, by_hand=by_hand, checker=_CandidateChecker())


class _CandidateChecker:
    """What has to hold of candidates beyond their shape."""

    def admits(self, data: Mapping[str, Any], findings: Findings) -> bool:
        """Whether the checks are few enough to be compiled; their patterns are by then, in few calls."""
        from promptpex.assertions import MAX_CHECKS, compile_patterns, count_checks, prepare

        items = data["candidates"] if isinstance(data.get("candidates"), list) else []
        checks = [item["check"] for item in items if isinstance(item, dict) and isinstance(item.get("check"), dict)]
        if count_checks(checks) > MAX_CHECKS:
            findings.add(f"there are more than {MAX_CHECKS:,} checks", "candidates", suggestion="remove some")
            return False
        compile_patterns([prepare(checks)])
        return True

    def check(self, values: Mapping[str, Any], findings: Findings) -> None:
        """Checks that cannot be used; criteria and candidates that are named and not there."""
        criteria = {criterion.id for criterion in values["criteria"]}
        ids = {candidate.id for candidate in values["candidates"]}
        for candidate in values["candidates"]:
            place = findings.places["candidates", candidate.id]
            _compile(candidate.check, f"candidate {candidate.id}", (*place, "check"), findings)
            for name in candidate.criteria:
                _named(name, criteria, "criterion", (*place, "criteria"), findings)
        for implication in values["implications"]:
            place = findings.places["implications", implication.id]
            for name in (implication.stronger, implication.weaker):
                _named(name, ids, "candidate", place, findings)


def _named(name: str, names: set[str], noun: str, place: Keys, findings: Findings) -> None:
    if name not in names:
        hint = did_you_mean(name, names) if len(findings.problems) < _MOST_HINTS else ""
        message = f"there is no {noun} {name!r}"
        findings.add(message, *place, suggestion=hint or "it may have been removed", severity="warning")


def _compile(check: Check, where: str, place: Keys, findings: Findings) -> None:
    from promptpex.assertions import compile_checks

    try:
        compile_checks([check], where=where)
    except CheckError as failure:
        findings.add(failure.message, *place)


ENDING = ".synthesis"
LONGEST_LINE = 50_000_000
"""Bytes of an example: its inputs, the prompt with them, and the output."""


def is_synthesis_folder(path: Path) -> bool:
    return path.is_dir() and (SynthesisFolder(path).candidates.is_file() or path.name.endswith(ENDING))


@dataclass(frozen=True, slots=True)
class SynthesisFolder:
    """The folder of a prompt's synthesis; it need not exist."""

    path: Path

    @classmethod
    def of(cls, prompt: Path) -> SynthesisFolder:
        path = prompt.with_name(f"{stem(prompt) or prompt.name}{ENDING}")
        refuse_led_out(path, prompt.parent, SynthesisError)
        return cls(path)

    @property
    def versions(self) -> Path:
        return self.path / "versions.json"

    @property
    def candidates(self) -> Path:
        return self.path / "candidates.yaml"

    @property
    def examples(self) -> Path:
        return self.path / "examples.jsonl"

    @property
    def matrix(self) -> Path:
        """What each candidate says of each example, one on a line."""
        return self.path / "matrix.jsonl"

    @property
    def asked(self) -> Path:
        """What authors were asked for each criterion on the local page."""
        return self.path / "asked.json"

    @property
    def selection(self) -> Path:
        return self.path / "selection.json"

    def prompt(self, name: str) -> Path:
        """The prompt's file, which stands beside the folder."""
        if not name or Path(name).name != name:
            message = f"the candidates are for {name!r}, which is not the name of a prompt beside this folder"
            raise SynthesisError(message, path=self.path)
        return inside(self.path.resolve().parent, name, error=SynthesisError, what="prompt", path=self.path)

    def read_examples(self) -> tuple[Example, ...]:
        """The examples, each once; none where there is no such file."""
        if not self.examples.exists():
            return ()
        examples: dict[str, Example] = {}
        for line in jsonl.raw_lines(self.examples, what="file of examples", error=SynthesisError, longest=LONGEST_LINE):
            if not line.data.strip():
                continue
            example = _example(line, self.examples)
            if example.id in examples:
                message = f"the example {example.id} is there twice; take one out"
                raise SynthesisError(message, path=self.examples, line=line.number)
            examples[example.id] = example
        return tuple(examples.values())

    @contextlib.contextmanager
    def alone(self, prompt: Path) -> Iterator[None]:
        """No other program changes the folder's files meanwhile: for whoever reads one and writes it anew.

        The lock is on the prompt's file, since those of the folder are replaced when they are written. It is not to be
        taken twice.

        Args:
            prompt: the file beside which the folder is.

        Raises:
            SynthesisError: another program keeps it locked.
        """
        with opened(prompt, error=SynthesisError, what="prompt") as file:
            try:
                lock(file.fileno())
            except OSError as failure:
                message = f"the files of {self.path.name} cannot be changed just now: {failure.strerror or failure}"
                raise SynthesisError(message, path=prompt) from None
            yield

    def write_examples(self, examples: Iterable[Example]) -> None:
        """Replaces the file of examples in one step; who has read them before does both ``alone``."""
        try:
            write_text(self.examples, "".join(map(jsonl.dump_record, examples)), links=False)
        except OSError as failure:
            message = f"the file of examples cannot be written ({failure.strerror or failure}); make it writable"
            raise SynthesisError(message, path=self.examples) from None


def _example(line: jsonl.RawLine, path: Path) -> Example:
    try:
        return jsonl.parse_record(line.data, Example)
    except ValidationError as failure:
        problem = record_problems(failure, Example)[0]
        raise SynthesisError(problem.message, path=path, line=line.number) from None
    except (ValueError, RecursionError) as failure:
        reason = json_text.why_not_json(failure)
        message = f"the line is not valid JSON: {reason}; restore it from git, or remove the file and its labels"
        raise SynthesisError(message, path=path, line=line.number) from None
