"""What grading in a terminal shows: an output with its inputs, a rule, how far one is.

Foreign text stands on lines of its own, so that a text that runs from right to left does not take ours along, and the
terminal breaks its lines; signs that a terminal would obey are shown as U+FFFD.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from textwrap import wrap

import click

from promptpex.cli.output import say
from promptpex.codecs.text.control_characters import visible
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.codecs.text.wording import named
from promptpex.core.records import OUTPUT_SUBJECT, Grade
from promptpex.core.translation import Key, digits, from_data, tr, tr_n
from promptpex.grading.desk import Assignment, GradingDesk
from promptpex.grading.labels import LabelRules
from promptpex.grading.progress import Progress, missing_grades_sentence
from promptpex.grading.subjects import Subject

KEYS = Key("g good  b bad  u unsure  n note  z undo  p back  r rules  m all  ? help  q end")
KEYS_OF_RULES = Key("g good  b bad  u unsure  n note  z undo  p back  a all others good  x leave  q end")
HELP = {
    "g b u": Key("the whole output is good, bad, or you are unsure"),
    "n": Key("a note, which goes with the next grade; on an output that you have graded, with that grade"),
    "r": Key("grade the rules and criteria one by one; there: g b u n, p the one before, a all others good, x leave"),
    "z": Key("undo your latest grade; press again for earlier ones"),
    "p, left": Key("back to the output before; right: on again"),
    "m": Key("the whole of it: all inputs, the prompt as it was sent, the output"),
    "q": Key("the end, for today; each grade is on disk as soon as you have given it"),
}
_KEYS_WIDTH = 11
ROWS = 24
"""Rows of a terminal that each of inputs and output takes at most, until all of it is asked for."""
_LONG = 200_000
_MOST_LACKING = 8
"""Sentences about grades that are missing: one for each rule that a judge decides, of a usual spec."""


def show_head(prompt: str, grader: str, rules: LabelRules) -> None:
    """What is graded, by whom, and what grades come to."""
    text = tr(
        "{prompt}, graded by {grader} (--as NAME); labels: {rules}",
        prompt=prompt,
        grader=grader,
        rules=from_data(rules.sentence()),
    )
    say(click.wrap_text(visible(text), _width(), preserve_paragraphs=False))


def show_item(assignment: Assignment, progress: Progress, own: Sequence[Grade], subjects: Sequence[Subject]) -> None:
    """An output with its inputs, and what the grader has said of it.

    Args:
        subjects: what can be graded.
    """
    subject_of = {subject.id: subject for subject in subjects}
    item = assignment.item
    where = [tr("case {case}", case=item.case)] if item.case else []
    if item.put_up and not item.case:
        where = [tr("production, {why}", why=item.put_up)]
    _title(" · ".join((graded_so_far(progress), *where)))
    for name, value in item.inputs.items():
        _named(name)
        _text(value_text(value), ROWS)
    _named(tr("output"))
    _text(item.output, ROWS)
    _title("")
    for grade in own:
        value = _value_of(grade, subject_of.get(grade.subject))
        if grade.subject == OUTPUT_SUBJECT:
            say(tr("You said {grade}", grade=value))
        else:
            say(tr("{subject}: you said {grade}", subject=grade.subject, grade=value))


def show_all(assignment: Assignment) -> None:
    """All of an item, the prompt as it was sent too."""
    item = assignment.item
    if item.prompt:
        _named(tr("prompt, as it was sent"))
        say(item.prompt)
    for name, value in item.inputs.items():
        _named(name)
        say(value_text(value))
    _named(tr("output"))
    say(item.output)
    _title("")


def show_subject(subject: Subject, number: int, of: int, own: Grade | None) -> None:
    """A rule or criterion, and what the grader has said of it."""
    _named(tr("{subject} ({number} of {all})", subject=subject.id, number=number, all=of))
    say(subject.text)
    if own is not None:
        say(tr("You said {grade}", grade=_value_of(own, subject)))


def _value_of(grade: Grade, subject: Subject | None) -> str:
    """A grade with its note, and whether it was given to older words of the rule or criterion."""
    value = from_data(grade.value)
    if subject is not None and grade.subject_digest != subject.digest:
        value = tr("{grade} of older words of it", grade=value)
    return f"{value}{f': {grade.note}' if grade.note else ''}"


def show_help() -> None:
    """What each key does, in lines that the terminal has room for."""
    width, indent = max(40, _width()), " " * _KEYS_WIDTH
    for keys, meaning in HELP.items():
        for line in wrap(meaning.tr(), width, initial_indent=keys.ljust(_KEYS_WIDTH), subsequent_indent=indent):
            say(line)


def show_keys(keys: str) -> None:
    """The keys that can be pressed."""
    click.secho(keys, dim=True)


def graded_so_far(progress: Progress) -> str:
    """How many outputs are graded in full, and how many in part."""
    graded = tr_n(
        "{done} of {count} output graded", "{done} of {count} outputs graded", progress.items, done=progress.done
    )
    return f"{graded}, {tr('{count} more begun', count=progress.begun)}" if progress.begun else graded


def show_end(progress: Progress, path: str) -> None:
    """How far grading is."""
    open_items = progress.items - progress.done
    parts = [graded_so_far(progress)]
    for count, what in (
        (progress.unsure, Key("{count} of them unsure")),
        (progress.disputed, Key("{count} with graders who disagree")),
        (progress.stale, Key("{count} with grades on older words, which count no more")),
    ):
        parts += [what.tr(count=count)] if count else []
    say(tr("{what}; the grades are in {file}", what=", ".join(parts), file=path))
    if not open_items and progress.unseen:
        say(
            tr(
                "Nothing is left but {count} that others have graded and you have not: --second-opinions 1 shows them.",
                count=progress.unseen,
            )
        )
    elif not open_items:
        say(tr("Nothing is left to grade."))


def show_outlook(desk: GradingDesk) -> None:
    """How far graders agree, how accurate they are where that counts, and which grades are missing."""
    for pair in desk.book.person_pairs(OUTPUT_SUBJECT, desk.pool):
        both = sum(map(sum, pair.table))
        if both:
            same = pair.table[0][0] + pair.table[1][1]
            say(
                tr_n(
                    "{first} and {second} agree on {same} of {count} output that both have graded.",
                    "{first} and {second} agree on {same} of {count} outputs that both have graded.",
                    both,
                    first=pair.first,
                    second=pair.second,
                    same=same,
                )
            )
    accuracies = [f"{name} {share:.0%}" for name, share in desk.book.accuracies.items()]
    if accuracies:
        say(tr("Estimated accuracy: {names}.", names=named(accuracies)))
    for subject, count in list(desk.lacking().items())[:_MOST_LACKING]:
        say(missing_grades_sentence(subject, count))


def _title(text: str) -> None:
    line = f"── {text} " if text else ""
    click.secho(line + "─" * max(0, _width() - len(line)), dim=True)


def _width() -> int:
    return min(shutil.get_terminal_size().columns, 100)


def _named(name: str) -> None:
    click.secho(visible(name), bold=True)


def _text(text: str, rows: int) -> None:
    """The beginning of a text that fits into so many rows, and how much there is besides."""
    beginning = _beginning(visible(text), rows, shutil.get_terminal_size().columns)
    say(beginning.removesuffix("\n") if text.strip() else tr("(empty)"))
    if len(beginning) < len(text):
        left = digits(f"{len(text) - len(beginning):,}")
        click.secho(tr("... {count} more characters: m shows all of it", count=left), dim=True)


def _beginning(text: str, rows: int, columns: int) -> str:
    """As much of a text as fits, counting that a Chinese or Japanese character takes two columns."""
    from rich.cells import cell_len

    taken = used = 0
    for line in text[:_LONG].splitlines(keepends=True):
        height = max(1, -(-cell_len(line.rstrip("\n")) // max(1, columns)))
        if used + height > rows:
            return text[: taken + _fitting(line, (rows - used) * columns)] if used < rows else text[:taken]
        taken, used = taken + len(line), used + height
    return text[:taken]


def _fitting(line: str, cells: int) -> int:
    """How many characters of a line fit into so many columns."""
    from rich.cells import cell_len

    low, high = 0, min(len(line), cells)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if cell_len(line[:middle]) <= cells else (low, middle - 1)
    return low
