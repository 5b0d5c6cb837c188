"""Records as a list per field: what a report needs of a run, in a tenth of the memory that the records take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Any, get_args

from promptpex.records._base import Record
from promptpex.records.case import Suite
from promptpex.records.prompt import Prompt
from promptpex.records.run import Manifest, Run
from promptpex.records.spec import Spec

NOT_REPORTED = {"logprobs"}
"""Fields that no table shows; they can be many times larger than all the others."""

_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class Columns:
    """Records of one kind, in their order.

    Attributes:
        values: per field, but ``NOT_REPORTED``, a value for each record. Equal texts are one object.
    """

    values: Mapping[str, Sequence[Any]]

    @classmethod
    def of(cls, records: Columns | Iterable[Record], kind: type[Record]) -> Columns:
        """The columns of records of this kind, which may come one by one; of columns, themselves."""
        if isinstance(records, Columns):
            return records
        names = [name for name in kind.model_fields if name not in NOT_REPORTED]
        values: dict[str, list[Any]] = {name: [] for name in names}
        known: dict[str, dict[Any, Any]] = {name: {} for name in names if _is_text(kind, name)}
        fields = map(attrgetter(*names), records)
        while chunk := list(islice(fields, _AT_ONCE)):
            for name, column in zip(names, zip(*chunk, strict=True), strict=True):
                values[name] += map(known[name].setdefault, column, column) if name in known else column
        return cls(values)

    def __getitem__(self, field: str) -> Sequence[Any]:
        return self.values[field]

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))


def _is_text(kind: type[Record], field: str) -> bool:
    """Whether a field holds texts or nothing: of numbers, equal ones may differ in kind or sign."""
    annotation = kind.model_fields[field].annotation
    return annotation is str or str in get_args(annotation)


@dataclass(frozen=True, slots=True)
class RunColumns:
    """A run as a report needs it: outputs and verdicts as columns, everything else as in ``Run``."""

    manifest: Manifest
    prompt: Prompt
    spec: Spec
    suite: Suite
    outputs: Columns
    verdicts: Columns


AnyRun = Run | RunColumns
