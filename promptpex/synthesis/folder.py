"""The synthesis folder, ``PROMPT.synthesis/`` beside the prompt: where its files are, and the examples in it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from promptpex.codecs import json_text, jsonl
from promptpex.codecs.files.atomic import write_text
from promptpex.codecs.files.file_lock import lock
from promptpex.codecs.files.ordinary_files import inside, opened, refuse_led_out
from promptpex.core.errors import SynthesisError
from promptpex.core.records import Example
from promptpex.documents.record_problems import record_problems
from promptpex.promptfile import stem

ENDING = ".synthesis"
LONGEST_LINE = 50_000_000
"""Bytes of an example: its inputs, the prompt with them, and the output."""


def is_synthesis_folder(path: Path) -> bool:
    """Whether this is the folder of a synthesis, and not of a run."""
    return path.is_dir() and (SynthesisFolder(path).candidates.is_file() or path.name.endswith(ENDING))


@dataclass(frozen=True, slots=True)
class SynthesisFolder:
    """The folder of a prompt's synthesis; it need not exist."""

    path: Path

    @classmethod
    def of(cls, prompt: Path) -> SynthesisFolder:
        """The folder beside a prompt's file.

        Raises:
            SynthesisError: a link leads it out of the prompt's folder.
        """
        path = prompt.with_name(f"{stem(prompt) or prompt.name}{ENDING}")
        refuse_led_out(path, prompt.parent, SynthesisError)
        return cls(path)

    @property
    def versions(self) -> Path:
        """The versions of the prompt and what each changed."""
        return self.path / "versions.json"

    @property
    def candidates(self) -> Path:
        """Criteria, candidates and implications, edited by people."""
        return self.path / "candidates.yaml"

    @property
    def examples(self) -> Path:
        """The examples with their labels, one on a line."""
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
        """The last choice."""
        return self.path / "selection.json"

    def prompt(self, name: str) -> Path:
        """The prompt's file, which stands beside the folder.

        Args:
            name: as the candidates have it.

        Raises:
            SynthesisError: it is not the name of a file there, or a link leads out of the prompt's folder.
        """
        if not name or Path(name).name != name:
            message = f"the candidates are for {name!r}, which is not the name of a prompt beside this folder"
            raise SynthesisError(message, path=self.path)
        return inside(self.path.resolve().parent, name, error=SynthesisError, what="prompt", path=self.path)

    def read_examples(self) -> tuple[Example, ...]:
        """The examples, each once; none where there is no such file.

        Raises:
            SynthesisError: a line that is not an example, or an id that occurs twice; with file and line.
        """
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
        """Replaces the file of examples in one step; who has read them before does both ``alone``.

        Raises:
            SynthesisError: it cannot be written.
        """
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
