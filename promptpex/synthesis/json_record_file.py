"""Files of a synthesis folder that hold one record, as JSON: the versions of a prompt, the last choice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import ValidationError

from promptpex.codecs import jsonl
from promptpex.codecs.files.atomic import write_text
from promptpex.codecs.files.ordinary_files import MEGABYTE, read_bytes
from promptpex.core.errors import SynthesisError
from promptpex.core.records import History, Record
from promptpex.core.records.criteria_board import AskedCriteria

MOST_BYTES = 100 * MEGABYTE

One = TypeVar("One", bound=Record)


@dataclass(frozen=True, slots=True)
class RecordFile(Generic[One]):
    """A kind of file that holds one record.

    Attributes:
        record: the kind of the record.
        what: what the file is, for sentences: ``file of versions``.
        instead: what happens when somebody removes a file that cannot be read.
    """

    record: type[One]
    what: str
    instead: str

    def read(self, path: Path) -> One | None:
        """The record; None where there is no such file.

        Raises:
            SynthesisError: the file cannot be read, or is not one of ours.
        """
        if not path.exists():
            return None
        data = read_bytes(path, error=SynthesisError, what=self.what, limit=MOST_BYTES, links=False)
        try:
            return jsonl.parse_record(data, self.record)
        except (ValidationError, ValueError, RecursionError):
            message = f"this is not a {self.what}; remove it, and {self.instead}"
            raise SynthesisError(message, path=path) from None

    def write(self, path: Path, record: One) -> None:
        """Writes the file in one step, in place of the one that is there.

        Raises:
            SynthesisError: it cannot be written.
        """
        try:
            write_text(path, jsonl.dump_record(record, indent=1), links=False)
        except OSError as failure:
            message = f"the {self.what} cannot be written ({failure.strerror or failure}); make it writable"
            raise SynthesisError(message, path=path) from None


HISTORY = RecordFile(History, "file of versions", "it is made again")
"""``versions.json``: the versions of a prompt and what each changed, as far as they were looked at."""


def history_in(path: Path, prompt: str) -> History:
    """The history in this file; that of the prompt of this name, which is empty, where there is no such file.

    Raises:
        SynthesisError: the file cannot be read, or is not one of ours.
    """
    return HISTORY.read(path) or History(prompt=prompt)


ASKED = RecordFile(AskedCriteria, "file of what was asked", "authors are asked again")
"""``asked.json``: what authors were asked for each criterion on the local page, and what was unusable."""
