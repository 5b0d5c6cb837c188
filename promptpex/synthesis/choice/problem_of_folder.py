"""A synthesis folder as a selection problem: the labelled examples, the candidates that tell something, and what
implies what."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

from promptpex.codecs.files.ordinary_files import refuse_led_out
from promptpex.codecs.text.wording import named, plural
from promptpex.core.errors import InputError, SynthesisError
from promptpex.core.records import Candidate, Criterion, Example, Implication, Synthesis
from promptpex.core.translation import stored
from promptpex.promptfile import read
from promptpex.synthesis.choice.screens import (
    NOT_COMPARABLE,
    Screened,
    chosen_all_the_same,
    not_comparable,
    preference,
    require_run,
    screened,
)
from promptpex.synthesis.examples import of_version
from promptpex.synthesis.folder import SynthesisFolder, read_candidates
from promptpex.synthesis.results.matrix import Matrix, MatrixFile, in_force
from promptpex.synthesis.selection.problem import (
    SelectionLimits,
    SelectionProblem,
    below_ffr,
    closed,
    gathered,
    uncontradicted,
)

CONFIDENCE = 0.95
"""Of the intervals that shares of a choice are given with."""

SHOWN_AT_MOST = 0.95
"""Shares nearer to 1 are asked of no number of examples: 100% cannot be shown by any."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """Too few examples of a kind.

    Attributes:
        state: ``no-good`` and ``no-bad`` leave nothing to choose by; ``few-good`` and ``few-bad`` leave figures that
            even the best outcome does not show.
        there, wanted: how many there are, and how many would do.
        sentence: the same in words, with why.
    """

    state: Literal["no-good", "no-bad", "few-good", "few-bad"]
    there: int
    wanted: int
    sentence: str


def shortages_of(examples: Iterable[Example], *, coverage: float, ffr: float) -> tuple[Shortage, ...]:
    """What the labelled examples are too few for, at these thresholds."""
    labels = [example.label for example in examples]
    return shortages(labels.count("good"), labels.count("bad"), coverage=coverage, ffr=ffr)


def shortages(good: int, bad: int, *, coverage: float, ffr: float) -> tuple[Shortage, ...]:
    """What so many good and bad examples are too few for.

    Enough is where the best outcome would show what is asked for: that none of the good examples is flagged, that the
    true rate is at most ``ffr``; that all bad ones are caught, that the true coverage is at least ``coverage``; by the
    exact interval (Clopper and Pearson 1934).
    """
    pass_rate, caught = min(SHOWN_AT_MOST, 1.0 - ffr), min(SHOWN_AT_MOST, coverage)
    enough_good, enough_bad = least_shown(pass_rate), least_shown(caught)
    short = []
    if good < enough_good:
        why = stored(
            "if none of these is flagged, at most {share} of all good outputs are", share=f"{1.0 - pass_rate:.0%}"
        )
        short.append(_shortage("good", good, enough_good, why))
    if bad < enough_bad:
        why = stored("if all of these are caught, at least {share} of all bad outputs are", share=f"{caught:.0%}")
        short.append(_shortage("bad", bad, enough_bad, why))
    return tuple(short)


def least_shown(share: float) -> int:
    """How many successes without a failure show that at least this share, below 1, are successes."""
    if share <= 0.0:
        return 1
    return max(1, math.ceil(math.log((1.0 - CONFIDENCE) / 2.0) / math.log(share) - 1e-9))


def _shortage(kind: Literal["good", "bad"], there: int, wanted: int, why: str) -> Shortage:
    one, several = _FEW[kind]
    words = _NONE[kind] if there == 0 else one if there == 1 else several
    sentence = words.format(count=there, least=wanted, reason=why, level=f"{CONFIDENCE:.0%}")
    if there == 0:
        return Shortage("no-good" if kind == "good" else "no-bad", there, wanted, sentence)
    return Shortage("few-good" if kind == "good" else "few-bad", there, wanted, sentence)


_NONE = {
    "good": stored(
        "there is no good example, so there is no rate of false alarms: label at least {least}: {reason}, "
        "by the exact {level} interval"
    ),
    "bad": stored(
        "there is no bad example, so there is no coverage: label at least {least}: {reason}, "
        "by the exact {level} interval"
    ),
}
_FEW = {
    "good": (
        stored("{count} good example shows little: label at least {least}: {reason}, by the exact {level} interval"),
        stored("{count} good examples show little: label at least {least}: {reason}, by the exact {level} interval"),
    ),
    "bad": (
        stored("{count} bad example shows little: label at least {least}: {reason}, by the exact {level} interval"),
        stored("{count} bad examples show little: label at least {least}: {reason}, by the exact {level} interval"),
    ),
}


Pair = tuple[int, int]


@dataclass(frozen=True)
class FolderProblem:
    """What a synthesis folder gives to choose from.

    Attributes:
        problem: the labelled examples, and the candidates that are not screened.
        columns: the number in ``matrix`` of each candidate of the problem.
        rows: the number in ``matrix`` of each example of the problem.
        matrix: all candidates on all examples of the prompt's final version.
        screens: candidates that are not chosen from, and why: they tell nothing, or cannot be compared.
        notices: what else a person should know, a sentence each.
    """

    problem: SelectionProblem
    columns: tuple[int, ...]
    rows: tuple[int, ...]
    matrix: Matrix
    screens: tuple[Screened, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        return tuple(self.matrix.candidates[column] for column in self.columns)

    @property
    def examples(self) -> tuple[Example, ...]:
        return tuple(self.matrix.examples[row] for row in self.rows)

    @property
    def not_comparable(self) -> dict[int, str]:
        """Why no method chooses from a candidate, by its number in the matrix."""
        return {one.candidate: one.sentence for one in self.screens if one.state in NOT_COMPARABLE}

    def order(self, candidate: int) -> tuple[float, ...]:
        """A sort key of a candidate of the problem: which of several that do the same stands for all."""
        return preference(self.matrix, self.columns[candidate])


def read_folder(
    path: Path,
    limits: SelectionLimits,
    *,
    weigh_questions: bool = False,
    screens: bool = True,
    labels: Callable[[Sequence[Example]], Sequence[Example]] | None = None,
    graded: Callable[[Sequence[Example]], int] | None = None,
) -> FolderProblem:
    """What a synthesis folder gives to choose from, with what is known by now.

    Args:
        path: such as ``prompt.synthesis``.
        limits: implications count between candidates whose own FFR is below the limit.
        weigh_questions: whether a candidate weighs 1, and 1 more for each question that a judge is asked per example.
        screens: whether candidates that tell nothing are left out.
        labels: gives the examples other labels than those in the file.
        graded: says which examples a choice is made by besides those with a label, as bits.
    """
    whole = Path(os.path.abspath(path))
    refuse_led_out(whole, whole.parent, SynthesisError)
    folder = SynthesisFolder(path)
    synthesis = _candidates(folder)
    stored_examples = folder.read_examples()
    current = _current(stored_examples, path, synthesis)
    examples = current if labels is None else tuple(labels(current))
    matrix = _filled(folder, synthesis, examples)
    waiting = _graded_before_run(matrix, 0 if graded is None else graded(examples))
    if waiting:
        matrix = _filled(folder, synthesis, [one for one in examples if one.id not in waiting])
    further = 0 if graded is None else graded(matrix.examples)
    problem = problem_of(
        matrix,
        synthesis.implications,
        limits,
        weigh_questions=weigh_questions,
        screens=screens,
        criteria=synthesis.criteria,
        graded=further,
    )
    require_run(matrix, problem.screens, folder.path, further)
    not_run = len(synthesis.candidates) - len(matrix.candidates)
    notices = _not_used(len(stored_examples) - len(examples), not_run, len(waiting))
    return FolderProblem(
        problem.problem, problem.columns, problem.rows, matrix, problem.screens, (*notices, *problem.notices)
    )


def _candidates(folder: SynthesisFolder) -> Synthesis:
    if not folder.candidates.is_file():
        message = "this folder has no candidates.yaml; `promptpex synthesize PROMPT` makes one"
        raise SynthesisError(message, path=folder.path)
    return read_candidates(folder.candidates)


def _filled(folder: SynthesisFolder, synthesis: Synthesis, examples: Sequence[Example]) -> Matrix:
    matrix = Matrix(in_force(synthesis), examples)
    matrix.take(MatrixFile(folder.matrix).read())
    return matrix


def _graded_before_run(matrix: Matrix, graded: int) -> frozenset[str]:
    """The ids of outputs of production that people have judged before any candidate was run on them: they wait, and
    stop no choice by the others.

    Args:
        graded: as for ``not_comparable``.
    """
    unknown = [matrix.unknown(number) for number in range(len(matrix.candidates))]
    return frozenset(
        one.id
        for row, one in enumerate(matrix.examples)
        if one.put_up and (one.label is not None or graded >> row & 1) and all(open_ >> row & 1 for open_ in unknown)
    )


def _not_used(old: int, aside: int, waiting: int) -> list[str]:
    """What of a folder takes no part: so many examples of other versions, so many candidates, and so many outputs of
    production that wait for results."""
    notices = [f"{plural(old, 'example')} of other versions of the prompt not used"] if old else []
    if waiting:
        is_out, them = ("is", "it") if waiting == 1 else ("are", "them")
        left_out = f"{plural(waiting, 'graded output')} of production {is_out} left out"
        notices.append(f"{left_out} until `promptpex synthesize PROMPT --author none` runs the candidates on {them}")
    if aside:
        notices.append(
            f"{plural(aside, 'candidate')} of criteria that are set aside, or ask for another kind, not used"
        )
    return notices


def _current(examples: Sequence[Example], path: Path, synthesis: Synthesis) -> tuple[Example, ...]:
    """The examples of the prompt as it is now; all of them where the prompt is not there."""
    try:
        fingerprint = read(SynthesisFolder(path).prompt(synthesis.prompt)).fingerprint
    except InputError:
        return tuple(examples)
    current = of_version(examples, fingerprint)
    if examples and not current:
        message = f"all examples are of other versions of {synthesis.prompt}; run it, and synthesize with --run"
        raise SynthesisError(message, path=path)
    return current


def problem_of(
    matrix: Matrix,
    implications: Iterable[Implication],
    limits: SelectionLimits,
    *,
    weigh_questions: bool = False,
    screens: bool = True,
    criteria: Iterable[Criterion] = (),
    graded: int = 0,
) -> FolderProblem:
    """The problem that a matrix and implications make.

    Candidates that were not run on all examples that a choice is made by, or that were written for other words of these
    criteria, are left out.

    Args:
        graded: further examples that a choice is made by than those with a label, as bits.
        screens: whether candidates that tell nothing are left out, too.
    """
    left_out = not_comparable(matrix, criteria, graded)
    dropped = {one.candidate for one in left_out}
    settled = matrix.settled(number for number in range(len(matrix.candidates)) if number not in dropped)
    if screens:
        left_out = tuple(sorted((*left_out, *screened(matrix, dropped, settled)), key=lambda one: one.candidate))
        dropped = {one.candidate for one in left_out}
    columns = tuple(number for number in range(len(matrix.candidates)) if number not in dropped)
    rows = tuple(number for number, example in enumerate(matrix.examples) if example.label is not None)
    places = {column: place for place, column in enumerate(columns)}
    pairs, notices = implied(matrix, implications, limits)
    chosen = [matrix.candidates[column] for column in columns]
    problem = SelectionProblem(
        examples=len(rows),
        good=gathered(sum(1 << row for row in rows if matrix.examples[row].label == "good"), rows),
        fails=tuple(gathered(matrix.fails(column), rows) for column in columns),
        implications=tuple((places[a], places[b]) for a, b in pairs if a in places and b in places),
        names=tuple(candidate.id for candidate in chosen),
        weights=_weights(matrix, columns) if weigh_questions else (),
        must=frozenset(place for place, candidate in enumerate(chosen) if candidate.choice == "must"),
        must_not=frozenset(place for place, candidate in enumerate(chosen) if candidate.choice == "never"),
        example_names=tuple(matrix.examples[row].name for row in rows),
    )
    notices += (*_not_run_yet(len(matrix.examples) - settled.bit_count()), *chosen_all_the_same(matrix))
    return FolderProblem(problem, columns, rows, matrix, left_out, tuple(notices))


def _not_run_yet(examples: int) -> list[str]:
    if not examples:
        return []
    one = stored(
        "{count} example without a label waits for results of some candidates: the choice needs none, and figures over "
        "all outputs rest on the others; {command} runs them"
    )
    several = stored(
        "{count} examples without a label wait for results of some candidates: the choice needs none, and figures over "
        "all outputs rest on the others; {command} runs them"
    )
    command = "`promptpex synthesize PROMPT --author none`"
    return [(one if examples == 1 else several).format(count=examples, command=command)]


def _weights(matrix: Matrix, columns: Sequence[int]) -> tuple[Fraction, ...]:
    """1, and the questions to a judge per example that a candidate was run on, in tenths."""
    return tuple(
        1 + Fraction(round(10 * matrix.asked[column] / max(1, len(matrix.results(column)))), 10) for column in columns
    )


def implied(
    matrix: Matrix, implications: Iterable[Implication], limits: SelectionLimits
) -> tuple[list[Pair], list[str]]:
    """The pairs that count, by the candidates' numbers in the matrix, and what to know of those that do not.

    A pair counts unless a person struck it, an example passes the first and fails the second, or one of them has an FFR
    of the limit or more by itself; then what follows from several pairs counts too, but for what was struck.
    """
    numbers = {candidate.id: number for number, candidate in enumerate(matrix.candidates)}
    named_pairs = {
        (numbers[one.stronger], numbers[one.weaker]): one
        for one in implications
        if one.stronger in numbers and one.weaker in numbers and one.stronger != one.weaker
    }
    struck = {pair for pair, one in named_pairs.items() if one.accepted is False}
    fails = [matrix.fails(number) for number in range(len(matrix.candidates))]
    good = sum(1 << row for row, example in enumerate(matrix.examples) if example.label == "good")
    upheld = uncontradicted([pair for pair in named_pairs if pair not in struck], fails, matrix.unknown)
    # With a limit of 0 the paper's rule would leave no pair at all: those stay whose candidates flag nothing good.
    limit = max(limits.ffr, Fraction(1, 1 + good.bit_count()))
    counting = closed(len(matrix.candidates), below_ffr(upheld, fails, good, limit))
    left = [pair for pair in counting if pair not in struck]
    return left, _sentences(named_pairs, struck, upheld, len(counting) - len(left), matrix)


def _sentences(
    pairs: Mapping[Pair, Implication], struck: set[Pair], upheld: Sequence[Pair], followed: int, matrix: Matrix
) -> list[str]:
    said_by_people = [pair for pair, one in pairs.items() if one.accepted or one.evidence == "person"]
    contradicted = [pairs[pair].id for pair in said_by_people if pair not in struck and pair not in set(upheld)]
    sentences = []
    if contradicted:
        sentences.append(
            stored("accepted implications that an example contradicts do not count: {names}", names=named(contradicted))
        )
    if followed:
        one = stored("{count} struck implication would follow from others that were not struck")
        several = stored("{count} struck implications would follow from others that were not struck")
        sentences.append((one if followed == 1 else several).format(count=followed))
    return sentences
