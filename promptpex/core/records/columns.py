"""Records as a column per field: what a report needs of a run, in a twentieth of the memory that the records take."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Any, get_args

from promptpex.core.records._base import Record
from promptpex.core.records.case import Suite
from promptpex.core.records.prompt import Prompt
from promptpex.core.records.run import Manifest, Run
from promptpex.core.records.spec import Spec

NOT_REPORTED = {"logprobs"}
"""Fields that no table shows; they can be many times larger than all the others."""

_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class Coded:
    """A column in which values come again and again.

    Attributes:
        known: the different values, as they first appear.
        codes: for each record, the place of its value in ``known``.
    """

    known: Sequence[Any]
    codes: Sequence[int]

    def __iter__(self) -> Iterator[Any]:
        return map(self.known.__getitem__, self.codes)

    def __len__(self) -> int:
        return len(self.codes)

    def told(self, of: Callable[[Any], Any]) -> Coded:
        """The column of what a function says of each value; it is asked once for each that is different."""
        return Coded([of(value) for value in self.known], self.codes)


Column = Coded | Sequence[Any]


@dataclass(frozen=True, slots=True)
class Columns:
    """Records of one kind, in their order: a column for each field but ``NOT_REPORTED``.

    Attributes:
        coded: all fields but the measures.
        measures: the fields that hold floats, which seldom come again; a value for each record.
    """

    coded: Mapping[str, Coded]
    measures: Mapping[str, Sequence[float | None]]

    @classmethod
    def of(cls, records: Columns | Iterable[Record], kind: type[Record]) -> Columns:
        """The columns of records of this kind, which may come one by one; of columns, themselves."""
        if isinstance(records, Columns):
            return records
        names = [name for name in kind.model_fields if name not in NOT_REPORTED]
        measures: dict[str, list[float | None]] = {name: [] for name in names if _is_measure(kind, name)}
        known = {name: _Numbered() for name in names if name not in measures}
        codes = {name: array("i") for name in known}
        fields = map(attrgetter(*names), records)
        while chunk := list(islice(fields, _AT_ONCE)):
            for name, column in zip(names, zip(*chunk, strict=True), strict=True):
                if name in measures:
                    measures[name].extend(column)
                else:
                    codes[name].fromlist(list(map(known[name].__getitem__, column)))
        return cls({name: Coded(list(known[name]), codes[name]) for name in known}, measures)

    def __getitem__(self, field: str) -> Column:
        return self.coded[field] if field in self.coded else self.measures[field]

    def __len__(self) -> int:
        return len(next(iter(self.coded.values())))


class _Numbered(dict[Any, int]):
    """Gives each new value the next number."""

    def __missing__(self, value: Any) -> int:
        self[value] = number = len(self)
        return number


def _is_measure(kind: type[Record], field: str) -> bool:
    """Whether a field holds floats; of those, equal ones may differ (0.0 and -0.0)."""
    annotation = kind.model_fields[field].annotation
    return annotation is float or float in get_args(annotation)


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
