"""Records as one column per field: what a report needs of a run, in a twentieth of the memory of the records."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from operator import attrgetter
from typing import Any, get_args

from promptpex.core.records._base import Record
from promptpex.core.records.call import Output
from promptpex.core.records.case import Suite
from promptpex.core.records.prompt import Prompt
from promptpex.core.records.run import Manifest, Run
from promptpex.core.records.score import Metric
from promptpex.core.records.spec import Spec

NOT_REPORTED = {"logprobs"}
"""Fields that no table shows and that can be many times larger than all others together."""

_CHUNK = 4096
"""Records turned into columns at a time: enough to work in C loops, few enough to stay in the CPU's cache."""


@dataclass(frozen=True, slots=True)
class Coded:
    """A column whose values repeat, stored as codes, like a pandas Categorical.

    Attributes:
        values: the distinct values, in order of first appearance.
        codes: for each record, the index of its value in ``values``.
    """

    values: Sequence[Any]
    codes: Sequence[int]

    def __iter__(self) -> Iterator[Any]:
        return map(self.values.__getitem__, self.codes)

    def __len__(self) -> int:
        return len(self.codes)

    def map(self, function: Callable[[Any], Any]) -> Coded:
        """The column of the function's results; it is called once per distinct value."""
        return Coded([function(value) for value in self.values], self.codes)


Column = Coded | Sequence[Any]


@dataclass(frozen=True, slots=True)
class Columns:
    """Records of one kind, in their order: a column for each field but ``NOT_REPORTED``.

    Attributes:
        coded: all fields but the measures.
        measures: the fields that hold floats, which seldom repeat; a value for each record.
    """

    coded: Mapping[str, Coded]
    measures: Mapping[str, Sequence[float | None]]

    @classmethod
    def of(cls, records: Columns | Iterable[Record], kind: type[Record]) -> Columns:
        """The columns of records of this kind, from any iterable; columns are returned as they are."""
        if isinstance(records, Columns):
            return records
        names = [name for name in kind.model_fields if name not in NOT_REPORTED]
        measures: dict[str, list[float | None]] = {name: [] for name in names if _is_measure(kind, name)}
        distinct = {name: _Numbered() for name in names if name not in measures}
        codes = {name: array("i") for name in distinct}
        fields = map(attrgetter(*names), records)
        while chunk := list(islice(fields, _CHUNK)):
            for name, column in zip(names, zip(*chunk, strict=True), strict=True):
                if name in measures:
                    measures[name].extend(column)
                else:
                    codes[name].fromlist(list(map(distinct[name].__getitem__, column)))
        return cls({name: Coded(list(distinct[name]), codes[name]) for name in distinct}, measures)

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
    annotation = kind.model_fields[field].annotation
    return annotation is float or float in get_args(annotation)


@dataclass(frozen=True, slots=True)
class RunColumns:
    """A run as a report needs it: outputs, verdicts and scores as columns, everything else as in ``Run``."""

    manifest: Manifest
    prompt: Prompt
    spec: Spec
    suite: Suite
    metrics: tuple[Metric, ...]
    outputs: Columns
    verdicts: Columns
    scores: Columns


@dataclass(frozen=True)
class RunInParts:
    """A run that is read from its folder part by part: some outputs, and the verdicts on them. Whoever looks at all of
    its outputs, verdicts or scores has them read into columns.

    Attributes:
        parts: reads it once more; each part is a run of some of the outputs, in their order.
        each_output: reads the outputs alone, one after the other.
        whole: reads all of it.
    """

    manifest: Manifest
    prompt: Prompt
    spec: Spec
    suite: Suite
    metrics: tuple[Metric, ...]
    parts: Callable[[], Iterator[RunColumns]] = field(repr=False)
    each_output: Callable[[], Iterator[Output]] = field(repr=False)
    whole: Callable[[], RunColumns] = field(repr=False)

    @cached_property
    def in_columns(self) -> RunColumns:
        return self.whole()

    @property
    def outputs(self) -> Columns:
        return self.in_columns.outputs

    @property
    def verdicts(self) -> Columns:
        return self.in_columns.verdicts

    @property
    def scores(self) -> Columns:
        return self.in_columns.scores


AnyRun = Run | RunColumns | RunInParts
