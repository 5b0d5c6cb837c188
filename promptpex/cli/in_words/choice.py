"""A choice from a synthesis folder as people read it: what it leaves out, how good it is elsewhere, what it changes."""

from __future__ import annotations

from collections.abc import Sequence

from promptpex.cli.in_words.layout import apart, right_aligned, wrapped
from promptpex.cli.in_words.selection import lines
from promptpex.codecs.text.wording import NAMED, sentence
from promptpex.core.translation import from_data, tr, tr_n
from promptpex.report.percentages import interval_or_unknown, percent
from promptpex.synthesis.choice.choose import FolderChoice
from promptpex.synthesis.choice.curve import CurvePoint
from promptpex.synthesis.choice.ineligible_candidates import NOT_COMPARABLE
from promptpex.synthesis.choice.screens import indistinct_sentences


def folder_lines(choice: FolderChoice, *, with_curve: bool = False) -> list[str]:
    """The lines of a choice from a synthesis folder: what was left out of it, the choice, its figures, its change."""
    return apart(
        (
            wrapped(*left_out_sentences(choice)),
            lines(choice.source.problem, choice.selection),
            wrapped(*_all_outputs(choice)),
            _curve(choice.points) if with_curve and choice.points else [],
            wrapped(*change_sentences(choice)),
        )
    )


def change_sentences(choice: FolderChoice) -> list[str]:
    """What a choice does otherwise than the one before it, a sentence each."""
    return [
        tr("Since the last choice: {change}.", change=from_data(one))
        for one in (choice.change.sentences() if choice.change else [])
    ]


def left_out_sentences(choice: FolderChoice) -> list[str]:
    """What a choice was made from, what was not chosen from, and which labels to look at, a sentence each."""
    source, problem = choice.source, choice.source.problem
    labelled = tr_n(
        "{count} good example and {bad} bad",
        "{count} good examples and {bad} bad",
        problem.good.bit_count(),
        bad=problem.bad.bit_count(),
    )
    examples = tr_n("{count} example", "{count} examples", len(source.matrix.examples))
    sentences = [tr("{labelled}, of {examples}.", labelled=labelled, examples=examples)]
    sentences += [sentence(from_data(one)) for one in source.notices]
    sentences += [sentence(from_data(one.sentence)) for one in choice.shortages]
    screens = sorted(source.screens, key=lambda one: one.state not in NOT_COMPARABLE)
    sentences += [tr("Not chosen from: {reason}.", reason=from_data(one.sentence)) for one in screens[:NAMED]]
    if len(source.screens) > NAMED:
        more = len(source.screens) - NAMED
        sentences.append(tr("And {count} more that are not chosen from; the report lists all.", count=more))
    sentences += indistinct_sentences(problem)
    return sentences


def _all_outputs(choice: FolderChoice) -> list[str]:
    """The FFR over outputs with and without a label."""
    elsewhere = choice.all_outputs
    if elsewhere is None or elsewhere.power == 0.0:
        return []
    return [
        tr(
            "FFR over all {all} outputs, {some} of them without a label, if those with one are a random sample "
            "(prediction-powered): {share}.",
            all=elsewhere.labelled + elsewhere.unlabelled,
            some=elsewhere.unlabelled,
            share=interval_or_unknown(elsewhere.interval),
        )
    ]


def _curve(points: Sequence[CurvePoint]) -> list[str]:
    words = ("FFR", tr("coverage"), tr("candidates"))
    rows = [words, *((percent(one.ffr), percent(one.coverage), len(one.selection)) for one in points)]
    return [f"  {right_aligned(words, (6, 10, 12), row)}" for row in rows]
