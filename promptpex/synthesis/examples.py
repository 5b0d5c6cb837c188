"""Examples: what candidates are tried on, usable outputs of the final version of the prompt (SPADE, section 4.1).

An example is known by its inputs and its text. So outputs that repeat each other are one example, and a label holds in
every run that gives the same text to the same inputs.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from promptpex.codecs import json_text, jsonl, safe_csv
from promptpex.codecs.files.ordinary_files import read_text
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.codecs.text.wording import cut, named, plural
from promptpex.core.errors import RunError, SynthesisError
from promptpex.core.ids import digest
from promptpex.core.records import Example, GradeValue, OutputKey, Prompt, Run, output_key
from promptpex.core.time_allowance import Allowance
from promptpex.core.translation import stored_n
from promptpex.grading.labels import Vote
from promptpex.promptfile import RENDERING_SECONDS, sent_text


@dataclass(frozen=True, slots=True)
class RunExamples:
    """The examples that a run gives."""

    examples: tuple[Example, ...] = ()
    of_output: Mapping[OutputKey, str] = field(default_factory=dict)
    unusable: int = 0

    def sentence(self) -> str:
        """How many there are, and what outputs of the run are not among them."""
        parts = [stored_n("{count} example", "{count} examples", len(self.examples))]
        repeated = len(self.of_output) - len(self.examples)
        if repeated:
            again = stored_n(
                "{count} output with the same text as another one for the same inputs",
                "{count} outputs with the same text as another one for the same inputs",
                repeated,
            )
            parts.append(again)
        if self.unusable:
            parts.append(
                stored_n("{count} output that cannot be used", "{count} outputs that cannot be used", self.unusable)
            )
        return "; ".join(parts)


def require_final(run: Run, prompt: Prompt) -> None:
    """Refuses a run of another version of the prompt."""
    if run.prompt.fingerprint != prompt.fingerprint:
        message = (
            f"the run {run.manifest.run} was made with an earlier text of {run.prompt.name}; examples are outputs of "
            "the current version: run the prompt again, or name a run of this version with --run"
        )
        raise RunError(message, path=prompt.path)


def examples_of(run: Run) -> RunExamples:
    """The examples of a run: its outputs without an error, those with the same inputs and text once."""
    inputs = {case.id: case.inputs for case in run.suite.cases}
    usable = [output for output in run.outputs if output.key in run.item_ids]
    times = Counter(run.item_ids.values())
    time = Allowance(RENDERING_SECONDS)
    examples: dict[str, Example] = {}
    for output in usable:
        name = run.item_ids[output.key]
        if name not in examples:
            examples[name] = Example(
                id=name,
                inputs=inputs[output.case],
                prompt=sent_text(run.prompt, inputs[output.case], time),
                output=output.text or "",
                case=output.case,
                model=output.model,
                repeat=output.repeat,
                times=times[name],
                version=run.prompt.fingerprint,
            )
    return RunExamples(tuple(examples.values()), run.item_ids, len(run.outputs) - len(usable))


def merged(kept: Iterable[Example], new: Iterable[Example]) -> tuple[Example, ...]:
    """All examples, each once: what was there stays in its place, and is described as the new one of its id is.

    The label of an earlier table is kept.
    """
    examples = {example.id: example for example in kept}
    for example in new:
        before = examples.get(example.id)
        if before is not None and before.from_table and not example.from_table:
            example = example.replace(label=before.label, label_from=before.label_from, from_table=True)
        examples[example.id] = example
    return tuple(examples.values())


def of_version(examples: Iterable[Example], version: str) -> tuple[Example, ...]:
    """The examples that a choice is made on: those of this version of the prompt, and imported ones."""
    return tuple(example for example in examples if example.version in ("", version))


WHAT = "table of labels"
MAX_BYTES = 100_000_000
MAX_ROWS = 100_000
"""More than people label, and enough for the outputs of a large run."""

LABELS: Mapping[str, GradeValue] = {
    **dict.fromkeys(("good", "1", "1.0", "true", "pass"), "good"),
    **dict.fromkeys(("bad", "0", "0.0", "false", "fail"), "bad"),
    **dict.fromkeys(("", "unsure"), "unsure"),
}
"""What a label may be written as, in capitals too."""

OUTPUT, LABEL, PREFIX = ("output", "response"), "label", "inputs."
_KNOWN = frozenset((*OUTPUT, LABEL, "inputs", "case", "model", "repeat", "grader", "prompt"))
_REPEAT = re.compile(r"[0-9]{1,9}(\.0)?")


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A row: an output with its inputs, or the key of one of a run's outputs, and what somebody says of it."""

    line: int
    value: GradeValue
    inputs: dict[str, Any] | None = None
    output: str | None = None
    case: str = ""
    model: str | None = None
    repeat: int | None = None
    grader: str = ""
    prompt: str = ""


@dataclass(slots=True)
class LabelTable:
    """The rows of a table, and the columns that mean nothing here."""

    path: Path
    rows: list[LabelRow] = field(default_factory=list)
    ignored: tuple[str, ...] = ()


def read_labels(path: Path, variables: Sequence[str]) -> LabelTable:
    """The rows of a CSV file, or of JSON lines where the name ends so.

    Columns are known by their names: ``output`` (or ``response``), ``label``, ``case``, ``model``, ``repeat``,
    ``grader``, ``prompt``, ``inputs`` with a JSON object; ``inputs.NAME``, or the name of a variable of the prompt, is
    the value of that input.

    Raises:
        SynthesisError: with file and line.
    """
    rows = _json_rows(path) if path.suffix.lower() in (".jsonl", ".ndjson") else _csv_rows(path)
    table, ignored = LabelTable(path), dict[str, None]()
    for line, cells in rows:
        if len(table.rows) == MAX_ROWS:
            raise _wrong(f"the {WHAT} has more than {MAX_ROWS:,} rows; split it", path, line)
        table.rows.append(_row(line, cells, variables, path))
        ignored.update(dict.fromkeys(name for name in cells if not _means_something(name, variables)))
    if not table.rows:
        raise SynthesisError(f"the {WHAT} has no rows; give one for each output", path=path)
    table.ignored = tuple(ignored)
    return table


def _means_something(name: str, variables: Sequence[str]) -> bool:
    return name in _KNOWN or name in variables or name.startswith(PREFIX)


def _csv_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    text = read_text(path, error=SynthesisError, what=WHAT, limit=MAX_BYTES)
    rows = iter(safe_csv.loads(text, path=path, error=SynthesisError))
    head = next(rows, None)
    names = [name.strip() for name in head.cells] if head is not None else []
    _check_head(names, path)
    for row in rows:
        if not any(cell.strip() for cell in row.cells):
            continue
        if len(row.cells) != len(names):
            raise _wrong(
                f"the row has {plural(len(row.cells), 'cell')} where the head has {len(names)}", path, row.line
            )
        yield row.line, {name: cell for name, cell in zip(names, row.cells, strict=True) if name}


def _check_head(names: Sequence[str], path: Path) -> None:
    twice = next((name for name, times in Counter(names).items() if name and times > 1), None)
    if twice is not None:
        raise _wrong(f"the {WHAT} has the column {twice!r} twice; rename one", path, 1)
    if LABEL not in names and not set(OUTPUT) & set(names):
        other = next((sign for sign in ";\t|" if len(names) == 1 and sign in names[0]), None)
        if other is not None:
            raise _wrong(f"the columns are divided by {other!r}; save the {WHAT} with commas", path, 1)
        names_shown = named([cut(name, 30) for name in names]) or "none"
        raise _wrong(f"the {WHAT} has no column {LABEL!r} (its columns: {names_shown}); name one so", path, 1)


def _json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    text = read_text(path, error=SynthesisError, what=WHAT, limit=MAX_BYTES)
    for line in jsonl.parse(text, path=path, error=SynthesisError):
        if not isinstance(line.value, dict):
            raise _wrong("a row is an object with an output and a label", path, line.number)
        twice = _repeated_key(line.text)
        if twice is not None:
            raise _wrong(f"the row has {cut(twice, 40)!r} twice; keep one", path, line.number)
        yield line.number, line.value


def _repeated_key(text: str) -> str | None:
    """A key that an object of a JSON text has twice, of which JSON would keep the last without a word."""
    twice: list[str] = []

    def seen(pairs: list[tuple[str, Any]]) -> None:
        counts = Counter(name for name, _ in pairs)
        twice.extend(name for name, count in counts.items() if count > 1)

    json.loads(text, object_pairs_hook=seen)
    return twice[0] if twice else None


def _row(line: int, cells: Mapping[str, Any], variables: Sequence[str], path: Path) -> LabelRow:
    outputs = [name for name in OUTPUT if cells.get(name) not in (None, "")]
    if len(outputs) > 1:
        raise _wrong(f"the row has both {outputs[0]} and {outputs[1]}; keep one", path, line)
    row = LabelRow(
        line=line,
        value=_value(cells.get(LABEL), path, line),
        inputs=_inputs(cells, variables, path, line),
        output=_text(cells[outputs[0]]) if outputs else None,
        case=_text(cells.get("case")),
        model=_text(cells.get("model")) or None,
        repeat=_repeat(cells.get("repeat"), path, line),
        grader=_text(cells.get("grader")),
        prompt=_text(cells.get("prompt")),
    )
    if row.output is None and not row.case:
        raise _wrong("the row names no output; give its text under output, or its case", path, line)
    return row


def _value(given: object, path: Path, line: int) -> GradeValue:
    written = "" if given is None else _text(given).strip().lower()
    if written not in LABELS:
        allowed = "good or bad, 1 or 0, true or false, pass or fail, unsure or nothing"
        raise _wrong(f"the label {cut(str(given), 40)!r} is not one of {allowed}", path, line)
    return LABELS[written]


def _inputs(cells: Mapping[str, Any], variables: Sequence[str], path: Path, line: int) -> dict[str, Any] | None:
    cell = cells.get("inputs")
    values: dict[str, Any] = {}
    if isinstance(cell, str) and cell.strip() and "inputs" not in variables:
        try:
            cell = json_text.loads(cell)
        except (ValueError, RecursionError) as failure:
            raise _wrong(f"the cell inputs is not JSON: {json_text.why_not_json(failure)}", path, line) from None
    if cell not in (None, "") and "inputs" not in variables:
        if not isinstance(cell, Mapping):
            raise _wrong("inputs is not a JSON object of values by the names of variables", path, line)
        values |= cell
    values |= {name: cells[name] for name in variables if name in cells and name not in _KNOWN - {"inputs"}}
    values |= {name.removeprefix(PREFIX): value for name, value in cells.items() if name.startswith(PREFIX)}
    return values if any(value != "" for value in values.values()) else None


def _repeat(given: object, path: Path, line: int) -> int | None:
    written = _text(given).strip()
    if not written:
        return None
    if not _REPEAT.fullmatch(written):
        raise _wrong(f"the repeat {cut(written, 40)!r} is not a whole number from 0", path, line)
    return int(float(written))


def _text(given: object) -> str:
    return "" if given is None else value_text(given)


def _wrong(message: str, path: Path, line: int) -> SynthesisError:
    return SynthesisError(message, path=path, line=line)


@dataclass(slots=True)
class TableExamples:
    """What a table of labels comes to."""

    votes: dict[str, list[Vote]] = field(default_factory=dict)
    imported: dict[str, Example] = field(default_factory=dict)
    rows: int = 0
    ignored: tuple[str, ...] = ()

    def sentence(self) -> str:
        """What became of the rows, with the columns that were not read."""
        of_run = len(self.votes) - len(self.imported)
        rows = stored_n("{count} row of labels", "{count} rows of labels", self.rows)
        known_sentence = stored_n("on {count} known example", "on {count} known examples", of_run)
        parts = [rows, known_sentence]
        if self.imported:
            parts.append(
                stored_n(
                    "{count} example of the table alone", "{count} examples of the table alone", len(self.imported)
                )
            )
        if self.ignored:
            names = named([cut(name, 30) for name in self.ignored])
            parts.append(
                stored_n(
                    "{count} column not read: {names}",
                    "{count} columns not read: {names}",
                    len(self.ignored),
                    names=names,
                )
            )
        return "; ".join(parts)


def examples_of_table(
    table: LabelTable,
    known: Iterable[Example],
    run: RunExamples,
    inputs: Mapping[str, Mapping[str, Any]],
) -> TableExamples:
    """The votes of a table, and the examples that only it has.

    A row with an output is about the example with these inputs and this text, however a spreadsheet has written its
    numbers and line ends; where it gives no inputs but a case, they are the case's. A row without an output is about
    the output of the run that its case, model and repeat name.

    Args:
        known: the examples that are there, those of the run among them.
        run: of the run; empty where none is read.
        inputs: of the run's cases, by their ids.
    """
    ids = {_likeness(example.inputs, example.output): example.id for example in known}
    outputs = _by_case(run)
    result = TableExamples(rows=len(table.rows), ignored=table.ignored)
    for row in table.rows:
        if row.output is None:
            name = _named_output(row, outputs, table)
        else:
            example = _example(row, row.output, inputs)
            likeness = _likeness(example.inputs, example.output)
            if likeness not in ids:
                ids[likeness] = example.id
                result.imported[example.id] = example
            name = ids[likeness]
        vote = Vote(row.grader or f"line {row.line}", row.value, float(row.line))
        result.votes.setdefault(name, []).append(vote)
    return result


def _likeness(inputs: Mapping[str, Any], output: str) -> str:
    """What inputs and an output are known by once they have been through a spreadsheet."""
    return digest([{name: _plain(value_text(value)) for name, value in inputs.items()}, _plain(output)], 32)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").rstrip()


def _example(row: LabelRow, output: str, inputs: Mapping[str, Mapping[str, Any]]) -> Example:
    example_inputs = dict(inputs.get(row.case, {})) if row.inputs is None else row.inputs
    return Example(
        id=output_key(example_inputs, output),
        inputs=example_inputs,
        prompt=row.prompt,
        output=output,
        case=row.case,
        model=row.model or "",
        repeat=row.repeat or 0,
    )


def _by_case(run: RunExamples) -> dict[str, list[tuple[OutputKey, str]]]:
    outputs: defaultdict[str, list[tuple[OutputKey, str]]] = defaultdict(list)
    for key, name in run.of_output.items():
        outputs[key[0]].append((key, name))
    return outputs


def _named_output(row: LabelRow, outputs: Mapping[str, list[tuple[OutputKey, str]]], table: LabelTable) -> str:
    """The example that a row means by its case, model and repeat, as far as it gives them."""
    matching_outputs = [
        (key, name)
        for key, name in outputs.get(row.case, ())
        if row.model in (None, key[1]) and row.repeat in (None, key[2])
    ]
    if len({name for _, name in matching_outputs}) == 1:
        return matching_outputs[0][1]
    what = " ".join([f"case {row.case!r}", *([f"of {row.model!r}"] if row.model else [])])
    if matching_outputs:
        message = f"{what} has {len(matching_outputs)} outputs that differ; name the model and the repeat"
    elif not outputs:
        message = f"{what}: no run is read whose outputs could be meant; give --run, or the texts under output"
    else:
        repeat = "" if row.repeat is None else f" repeat {row.repeat}"
        message = f"the run has no usable output for {what}{repeat}; name a case, model and repeat of the run"
    raise SynthesisError(cut(message, 300), path=table.path, line=row.line)
