"""Graded outputs that judges are shown: how people mean the rules. None of them measures a judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

from promptpex.codecs.text.inputs_as_text import inputs_text
from promptpex.codecs.text.wording import plural
from promptpex.core.errors import InputError
from promptpex.core.events import Notice
from promptpex.core.ids import digest, text_digest
from promptpex.core.records import KEY_LENGTH, Example, Grade, Prompt, Rule, Spec
from promptpex.core.translation import stored
from promptpex.documents.human_grades import current, read_grades
from promptpex.grading.book import GradeBook, subjects_of
from promptpex.judging.judge_mode import JudgeExample
from promptpex.promptfile import sibling
from promptpex.report import runs
from promptpex.synthesis.examples import examples_of
from promptpex.synthesis.folder import SynthesisFolder
from promptpex.workflow.execution.judges import judging
from promptpex.workflow.session import Session

LONGEST = 1_500
"""Characters of an output, of its inputs and of a reason; longer ones are not examples, since half of one may mean
something else."""
MOST_CHARACTERS = 24_000
"""Characters of all examples together: some 6,000 tokens in each request."""


def take_judge_examples(session: Session, file: Path | None, prompt: Prompt, spec: Spec) -> None:
    """Gives the session the examples that its settings ask for.

    They are outputs of the prompt's runs and of its synthesis folder that people graded by a rule, good and bad in
    turn, of those inputs alone that models may be shown (``Example.is_shown``): always the same quarter, whatever else
    is graded, and calibrations and corrected figures leave it out.

    Args:
        file: the prompt's file; None: it is not known.

    Raises:
        GradeError: the file of grades cannot be read.
    """
    wanted_count = session.settings.judge_examples
    if not wanted_count:
        return
    rules = judging(session.settings, prompt).rules(spec)
    grades = current(read_grades(sibling(file, "grades"))) if file is not None else ()
    items = list(_items(session, file, prompt, grades)) if file is not None and grades else []
    book = GradeBook.of(grades, subjects_of(spec.rules))
    session.judge_examples = tuple(_within(_chosen(book, items, rule, wanted_count) for rule in rules))
    session.emit(_notice(session.judge_examples, rules))


def _notice(examples: Sequence[JudgeExample], rules: Sequence[Rule]) -> Notice:
    if not examples:
        message = stored(
            "judges are shown no graded outputs: no output whose input models may be shown is graded on a rule that "
            "a judge decides"
        )
        return Notice(message, "warning")
    rules_text = plural(len({one.rule for one in examples}), "rule")
    return Notice(
        stored(
            "judges are shown {outputs} on {shown} of {number}",
            outputs=plural(len(examples), "graded output"),
            shown=rules_text,
            number=len(rules),
        )
    )


def _items(session: Session, file: Path, prompt: Prompt, grades: Iterable[Grade]) -> Iterator[Example]:
    """The outputs that models may be shown and whose text is graded, for these or other inputs, each once."""
    graded, seen = {grade.output_digest for grade in grades}, set[str]()
    for item in (*SynthesisFolder.of(file).read_examples(), *_of_runs(session, prompt)):
        if item.is_shown and item.id not in seen and text_digest(item.output, KEY_LENGTH) in graded:
            seen.add(item.id)
            yield item


def _of_runs(session: Session, prompt: Prompt) -> Iterator[Example]:
    """The outputs of all runs of the prompt; a run that cannot be read is left out with a warning."""
    for folder in runs.all_of(Path(session.settings.results), prompt.name):
        try:
            yield from examples_of(runs.read(folder, verdicts=False)).examples
        except InputError as error:
            session.emit(Notice(stored("no examples for judges are taken from a run: {why}", why=error), "warning"))


def _chosen(book: GradeBook, items: Sequence[Example], rule: Rule, wanted: int) -> list[JudgeExample]:
    """Bad and good outputs in turn, those with a reason first, then in an order that says nothing of them."""
    by_label: Mapping[str, list[JudgeExample]] = {"bad": [], "good": []}
    for item in sorted(items, key=lambda one: digest(["example", one.id])):
        label = book.joint(item, rule.id).label
        inputs = inputs_text(item.inputs)
        if label is not None and max(len(item.output), len(inputs)) <= LONGEST:
            reason = _reason(book, item, rule.id) if label == "bad" else ""
            by_label[label].append(JudgeExample(rule.id, label == "bad", inputs, item.output, reason))
    bad = sorted(by_label["bad"], key=lambda one: not one.reason)
    pairs = zip_longest(_each_text(bad), _each_text(by_label["good"]))
    return [one for pair in pairs for one in pair if one is not None][:wanted]


def _each_text(examples: Iterable[JudgeExample]) -> list[JudgeExample]:
    return list({(one.output, one.inputs): one for one in reversed(list(examples))}.values())[::-1]


def _reason(book: GradeBook, item: Example, rule: str) -> str:
    notes = (" ".join(grade.note.split()) for grade in book.holding(item, rule) if grade.value == "bad")
    return next((note for note in notes if 0 < len(note) <= LONGEST), "")


def _within(by_rule: Iterable[Sequence[JudgeExample]]) -> Iterator[JudgeExample]:
    """The examples of all rules in turn, as many as one request has room for."""
    left = MOST_CHARACTERS
    for turn in zip_longest(*by_rule):
        for one in turn:
            size = len(one.inputs) + len(one.output) + len(one.reason) if one is not None else 0
            if one is not None and size <= left:
                left -= size
                yield one
