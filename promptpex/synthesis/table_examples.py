"""Which example each row of a table of labels speaks of: one of the run's, or one that it brings along."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.codecs.text.wording import cut, named
from promptpex.core.errors import SynthesisError
from promptpex.core.ids import digest
from promptpex.core.records import Example, OutputKey, output_key
from promptpex.core.translation import stored_n
from promptpex.grading.labels import Vote
from promptpex.synthesis.examples import RunExamples
from promptpex.synthesis.label_table import LabelRow, LabelTable


@dataclass(slots=True)
class TableExamples:
    """What a table of labels comes to.

    Attributes:
        votes: by the ids of the examples.
        imported: examples that are not among the run's.
        rows: how many rows there were.
        ignored: columns that mean nothing here.
    """

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

    Raises:
        SynthesisError: a row names an output that is not there, or several.
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
