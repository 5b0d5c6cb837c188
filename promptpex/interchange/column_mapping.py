"""Tables of other tools as cases: which column is what, and what each type of value becomes.

A text, a number, and true or false become an input as they are; dates and times are ISO texts by then. A list or a
mapping stays one, which a prompt shows as JSON. An empty cell or NaN is not a value: the case has no such input.
Where a text is wanted (``expected``, ``id``), a number becomes its digits.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from promptpex.codecs import safe_csv
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.codecs.text.wording import did_you_mean
from promptpex.core.errors import InputError, SuiteError
from promptpex.core.records import Suite
from promptpex.core.translation import stored
from promptpex.documents.derived_ids import derived_id
from promptpex.documents.kinds import CASES
from promptpex.interchange.format import Imported, Option
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.exchanges import Ids
from promptpex.interchange.suite_rows import gather
from promptpex.interchange.suite_table import PREFIX, check_columns, fields_of, is_ours

COLUMNS = Option(
    "columns",
    "which columns are what: question=inputs.question,answer=expected.",
    metavar="THEIRS=OURS,...",
)
FIRST = Option("first", "read only the first N rows [all].", kind=int, minimum=1, metavar="N")
_TEXTS = ("id", "rule", "expected", "reasoning", "scenario", "match")
OURS = (*_TEXTS, "also_right", "inverse", "answer_in_context")
"""What a column may be besides an input."""
MOST_CASES = 100_000
_DEEPEST = 20
"""Levels of lists and mappings in an input."""
_SHOWN = 12
"""Columns that a sentence names."""
_NOUN = CASES.items[0].noun


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of another tool.

    Attributes:
        path: the file.
        columns: their names, as far as they are known before the rows are read.
        rows: the line, or number from 1, of each row, and its values by column, as JSON has them.
        unfit: columns that hold neither texts nor numbers, and what they hold; they are not in the rows.
        nested: whether rows may hold mappings that a name with dots leads into.
    """

    path: Path
    columns: tuple[str, ...]
    rows: Iterable[tuple[int, Mapping[str, object]]]
    unfit: Mapping[str, str] = field(default_factory=dict)
    nested: bool = False


def imported(table: Table, *, columns: str | None = None, first: int | None = None) -> Imported:
    """The rows of a table as cases; what of it does not come over is noted.

    Args:
        columns: as ``--columns`` has it; None: they are called as ours are.
        first: how many rows are read; None: all.

    Raises:
        SuiteError: no column is ours and there is no mapping, the mapping names what is not there, or a row is wrong;
            with file and row.
    """
    chosen = None if columns is None else mapping_of(columns)
    if chosen is None and not is_ours(table.columns):
        raise SuiteError(_sentence(table), path=table.path)
    log = Log()
    for name, holds in table.unfit.items():
        log.left_out(name, stored("it contains {kind}, neither text nor numbers", kind=holds), table.path, None)
    rows = _limited(table, first)
    if chosen is None:
        check_columns(table.columns, table.path)
        fields = [(line, _as_texts(fields_of(row, table.path, line))) for line, row in rows]
        log.came("rows", len(fields))
    else:
        fields = list(_Mapper(table, chosen, log).fields(rows))
    reading = gather(fields, table.path)
    return Imported(suite=reading.require(), problems=reading.problems, over=dict(log.over), notes=log.notes)


def first_of(suite: Suite, first: int | None) -> Imported:
    """A suite, or its first cases."""
    return Imported(suite=suite if first is None else suite.replace(cases=suite.cases[:first]))


def mapping_of(text: str) -> dict[str, str]:
    """Their columns and what each is here, of ``THEIRS=OURS,...``; a name that holds a comma stands in quotes, as in
    CSV.

    Raises:
        InputError: it cannot be read, or names a column that does not exist.
    """
    try:
        parts = [part for part in safe_csv.cells_of(text) if part.strip()]
    except InputError as failure:
        raise InputError(f"--columns cannot be read ({failure}); write THEIRS=OURS,THEIRS=OURS") from None
    chosen: dict[str, str] = {}
    for part in parts:
        their_column, sign, ours = part.rpartition("=")
        ours = ours.strip()
        if not sign or not their_column.strip() or not (ours in OURS or (ours.startswith(PREFIX) and ours != PREFIX)):
            meant = did_you_mean(ours, (*OURS, PREFIX + "NAME")) if sign else ""
            hint = meant or f"there are inputs.NAME, {', '.join(OURS)}"
            raise InputError(f"--columns: {part.strip()!r} is not THEIRS=OURS; {hint}")
        if ours in chosen.values():
            raise InputError(f"--columns: two columns are {ours}; name one")
        chosen[their_column.strip()] = ours
    if not any(ours.startswith(PREFIX) for ours in chosen.values()):
        raise InputError("--columns names no input; write one as THEIRS=inputs.NAME")
    return chosen


def _sentence(table: Table) -> str:
    """That no column is known here, which there are, and what to write."""
    names = [name for name in table.columns if name not in table.unfit]
    names_text = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    if not names:
        return "there are no columns with text or numbers; give a table with a header row"
    return f"none of the columns is known ({names_text}); say what they are: --columns {_example(names)}"


def _example(names: Sequence[str]) -> str:
    """A mapping that could be meant."""
    right = next((name for name in names if re.search("answer|target|label|expected|output", name, re.I)), None)
    pairs = [f"{name}=inputs.{_variable(name)}" for name in names if name != right][:2]
    pairs += [f"{right}=expected"] if right is not None and pairs else []
    pairs = pairs or [f"{names[0]}=inputs.{_variable(names[0])}"]
    return "'" + ",".join(f'"{pair}"' if "," in pair else pair for pair in pairs) + "'"


def _variable(name: str) -> str:
    return re.sub(r"\W+", "_", name.strip()).strip("_") or "input"


def _limited(table: Table, first: int | None) -> Iterator[tuple[int, Mapping[str, object]]]:
    for number, row in enumerate(table.rows):
        if first is not None and number >= first:
            return
        if number >= MOST_CASES:
            raise SuiteError(f"there are more than {MOST_CASES:,} rows; take some with --first N", path=table.path)
        yield row


@dataclass(slots=True)
class _Mapper:
    """Makes fields of cases of rows, by a mapping."""

    table: Table
    chosen: Mapping[str, str]
    log: Log
    _ids: Ids = field(default_factory=Ids)
    _seen: dict[str, None] = field(default_factory=dict)
    _nested: set[str] = field(default_factory=set)

    def fields(self, rows: Iterable[tuple[int, Mapping[str, object]]]) -> Iterator[tuple[int, dict[str, Any]]]:
        """The fields of each row that has an input.

        Raises:
            SuiteError: the mapping names a column that is not there.
        """
        if not self.table.nested:
            self._require(self.table.columns)
        for line, row in rows:
            self._name_others(row, line)
            fields = self._of_row(row, line)
            if fields is not None:
                yield line, fields
        self._require(self._seen)

    def _require(self, there: Iterable[str]) -> None:
        names = list(there)
        missing = next((name for name in self.chosen if name not in names), None)
        if missing is None:
            return
        if missing in self.table.unfit:
            message = f"the column {missing!r} contains {self.table.unfit[missing]}, neither text nor numbers"
        else:
            message = f"there is no column {missing!r}; there are {', '.join(names[:_SHOWN]) or 'none'}"
        raise SuiteError(message, path=self.table.path)

    def _name_others(self, row: Mapping[str, object], line: int) -> None:
        """Notes columns that the mapping does not name, each once, and which ones there are."""
        for name in row:
            if name in self._seen:
                continue
            self._seen[name] = None
            if name not in self.chosen and not (self.table.nested and self._leads_into(name)):
                self.log.left_out(name, stored("--columns does not name it"), self.table.path, line)
        present = (name for name in self.chosen if _value(row, name, self.table.nested) is not None)
        self._seen.update(dict.fromkeys(present))

    def _leads_into(self, name: str) -> bool:
        return any(theirs.startswith(f"{name}.") for theirs in self.chosen)

    def _of_row(self, row: Mapping[str, object], line: int) -> dict[str, Any] | None:
        fields: dict[str, Any] = {"inputs": {}}
        for their_column, ours in self.chosen.items():
            value = self._usable(_value(row, their_column, self.table.nested), their_column, line)
            if value is None:
                continue
            self.log.came(their_column)
            if ours.startswith(PREFIX):
                self._note_nested(value, their_column, line)
                fields["inputs"][ours.removeprefix(PREFIX)] = value
            else:
                fields[ours] = value
        if not fields["inputs"]:
            why = stored("none of its inputs has a value")
            names = ", ".join(name for name, ours in self.chosen.items() if ours.startswith(PREFIX))
            self.log.left_out(names, why, self.table.path, line)
            return None
        filled = {name: value for name, value in _as_texts(fields).items() if value != ""}
        if "expected" not in filled:
            filled.pop("also_right", None)
        return {**filled, "id": self._id(filled, line)}

    def _usable(self, value: object, name: str, line: int) -> object:
        """The value; None where it is nothing, which is noted unless it is an empty cell of text."""
        if isinstance(value, float) and not math.isfinite(value):
            self.log.left_out(name, stored("it is not a number (NaN, or infinite)"), self.table.path, line)
            return None
        if isinstance(value, dict | list) and not is_plain(value):
            self.log.left_out(
                name,
                stored("it is nested too deeply, or contains something that is not a number"),
                self.table.path,
                line,
            )
            return None
        return value

    def _note_nested(self, value: object, name: str, line: int) -> None:
        if isinstance(value, dict | list) and name not in self._nested:
            self._nested.add(name)
            why = stored("lists and mappings are kept, and a prompt shows them as JSON")
            self.log.changed(name, why, self.table.path, line)

    def _id(self, fields: Mapping[str, Any], line: int) -> str:
        """The id of a case, made fit; of rows that are alike the later ones get a number."""
        given_id = fields.get("id")
        name = self._ids.free(
            "" if given_id is None else str(given_id), derived_id(fields["inputs"], _NOUN), longest=100
        )
        if given_id is not None and name != given_id:
            why = stored("an id consists of letters, digits, '.', '_' and '-', and is unique")
            self.log.changed("id", why, self.table.path, line)
        return name


def _value(row: Mapping[str, object], name: str, nested: bool) -> object:
    """What a row has under a name, which may lead into mappings."""
    if name in row or not nested:
        return row.get(name)
    at: object = row
    for part in name.split("."):
        at = at.get(part) if isinstance(at, Mapping) else None
    return at


def _as_texts(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with texts where texts are wanted; a list of expected outputs is the first and further right ones."""
    texts = dict(fields)
    expected = texts.get("expected")
    if isinstance(expected, list):
        texts["expected"], *others = expected or [""]
        if others:
            texts["also_right"] = [*others, *_list(texts.get("also_right"))]
    for name in _TEXTS:
        if texts.get(name) is not None:
            texts[name] = value_text(texts[name])
    if "also_right" in texts:
        texts["also_right"] = [value_text(one) for one in _list(texts["also_right"])]
        if not texts["also_right"]:
            del texts["also_right"]
    return texts


def _list(value: object) -> list[object]:
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
    return value if isinstance(value, list) else [] if value in (None, "") else [value]


def is_plain(value: object, depth: int = 0) -> bool:
    """Whether a value is of texts, finite numbers, truth values, lists and mappings, and does not nest too deep."""
    if isinstance(value, dict):
        return depth < _DEEPEST and all(isinstance(key, str) and is_plain(one, depth + 1) for key, one in value.items())
    if isinstance(value, list):
        return depth < _DEEPEST and all(is_plain(one, depth + 1) for one in value)
    return not (isinstance(value, float) and not math.isfinite(value))
