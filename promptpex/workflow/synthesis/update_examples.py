"""The examples of a prompt's synthesis, brought up to date with a run, people's grades and a table of labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from promptpex.core.events import Listener, Notice
from promptpex.core.records import Criterion, Example, Prompt, Rule, Run
from promptpex.core.translation import stored, stored_n
from promptpex.documents.human_grades import read_grades
from promptpex.grading.book import GradeBook
from promptpex.grading.labels import LabelRules, accuracies, labelled, require_known_grader
from promptpex.grading.subjects import subjects_of
from promptpex.promptfile import sibling
from promptpex.synthesis.candidate_file import read_candidates
from promptpex.synthesis.examples import RunExamples, examples_of, merged, of_version, require_final
from promptpex.synthesis.folder import SynthesisFolder
from promptpex.synthesis.label_table import read_labels
from promptpex.synthesis.table_examples import TableExamples, examples_of_table


@dataclass(frozen=True, slots=True)
class ExampleSources:
    """Where examples and labels come from.

    Attributes:
        run: whose outputs are examples; None = those that the folder has already.
        table: a file of labels, and of examples with labels; None = none.
        rules: how what people say becomes a label.
    """

    run: Run | None = None
    table: Path | None = None
    rules: LabelRules = field(default_factory=LabelRules)


def update_examples(
    folder: SynthesisFolder, file: Path, prompt: Prompt, rules: Sequence[Rule], sources: ExampleSources, emit: Listener
) -> tuple[Example, ...]:
    """The examples that a choice is made on, after the folder's file has been brought up to date.

    Earlier examples stay in the file, those of other versions of the prompt too. What is read, how labels came about
    and how many there are is emitted.

    Args:
        file: the prompt's file, beside which its grades are.
        rules: of the spec, as it is now; grades on rules are held against them.

    Raises:
        RunError: the run is of another version of the prompt.
        GradeError, SynthesisError: a file that cannot be used, with its line; or another program keeps them locked.
    """
    run = _of_run(prompt, sources.run, emit)
    with folder.alone(file):
        examples, book = _updated(folder, file, prompt, rules, sources, run, emit)
    current = of_version(examples, prompt.fingerprint)
    _report(current, len(examples), book, emit)
    return current


def _updated(
    folder: SynthesisFolder,
    file: Path,
    prompt: Prompt,
    rules: Sequence[Rule],
    sources: ExampleSources,
    run: RunExamples,
    emit: Listener,
) -> tuple[Sequence[Example], GradeBook]:
    """All examples, as they stand in the file now, and the grades that their labels come from."""
    merged_examples = merged(folder.read_examples(), run.examples)
    table = _of_table(prompt, merged_examples, run, sources, emit)
    book = GradeBook.of(read_grades(sibling(file, "grades")), subjects_of(rules, _criteria(folder)), sources.rules)
    unlabelled = (*merged_examples, *table.imported.values())
    votes = {example.id: book.joint(example).votes for example in unlabelled}
    spoken = [vote for voices in (votes, table.votes) for each in voices.values() for vote in each]
    require_known_grader(sources.rules, {vote.grader for vote in spoken})
    weights = {**accuracies(table.votes.values()), **book.accuracies}
    examples = labelled(unlabelled, votes, table.votes, sources.rules, weights)
    folder.write_examples(examples)
    return examples, book


def _criteria(folder: SynthesisFolder) -> Iterator[Criterion]:
    """The criteria that take part; grades on them are held against their words, too."""
    if folder.candidates.exists():
        yield from (one for one in read_candidates(folder.candidates).criteria if one.selected)


def _of_run(prompt: Prompt, run: Run | None, emit: Listener) -> RunExamples:
    if run is None:
        return RunExamples()
    require_final(run, prompt)
    run_examples = examples_of(run)
    emit(Notice(stored("run {run}: {shown}", run=run.manifest.run, shown=run_examples.sentence())))
    return run_examples


def _of_table(
    prompt: Prompt, known: Iterable[Example], run: RunExamples, sources: ExampleSources, emit: Listener
) -> TableExamples:
    if sources.table is None:
        return TableExamples()
    inputs = {case.id: case.inputs for case in sources.run.suite.cases} if sources.run is not None else {}
    table_examples = examples_of_table(read_labels(sources.table, prompt.variables), known, run, inputs)
    emit(Notice(stored("labels of {file}: {shown}", file=sources.table.name, shown=table_examples.sentence())))
    return table_examples


def _report(examples: Sequence[Example], total: int, book: GradeBook, emit: Listener) -> None:
    """Says how labels came about, how many there are, and what gave none."""
    tally = Counter(example.label for example in examples)
    message = stored_n(
        "labels: {count} good example, {number} bad, {rest} without a label; {words}",
        "labels: {count} good examples, {number} bad, {rest} without a label; {words}",
        tally["good"],
        number=tally["bad"],
        rest=tally[None],
        words=book.rules.sentence(),
    )
    emit(Notice(message, "always"))
    for words in _without_label(examples, total, book):
        emit(Notice(words))


def _without_label(examples: Sequence[Example], total: int, book: GradeBook) -> Iterator[str]:
    """What gave no label, a sentence each."""
    if total > len(examples):
        yield stored_n(
            "{count} example of other versions of the prompt: kept, but not used for the choice",
            "{count} examples of other versions of the prompt: kept, but not used for the choice",
            total - len(examples),
        )
    if disagreeing := sum(example.label is None and "disagree" in example.label_from for example in examples):
        yield stored_n(
            "labels: {count} output without a label since the graders disagree evenly",
            "labels: {count} outputs without a label since the graders disagree evenly",
            disagreeing,
        )
    if partial := book.partial(examples):
        yield stored_n(
            "labels: {count} output with all graded rules good, but not every rule graded: no label from that person",
            "labels: {count} outputs with all graded rules good, but not every rule graded: no label from that person",
            partial,
        )
    if book.outdated:
        yield stored_n(
            "labels: {count} grade given to words that their rules and criteria no longer have was left out",
            "labels: {count} grades given to words that their rules and criteria no longer have were left out",
            book.outdated,
        )
