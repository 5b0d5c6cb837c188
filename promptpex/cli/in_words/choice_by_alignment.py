"""A choice by alignment as people read it: what was chosen for each criterion, and for which there is nothing good."""

from __future__ import annotations

from promptpex.alignment.choose import CriterionChoice, Rated
from promptpex.alignment.cross_fit import WHOLE_SET
from promptpex.alignment.why_chosen import lacking
from promptpex.cli.in_words.choice import change_sentences, left_out_sentences
from promptpex.cli.in_words.layout import and_more, apart, right_aligned, share_line, wrapped
from promptpex.cli.in_words.selection import MISSING, NAME
from promptpex.codecs.text.wording import cut
from promptpex.core.translation import from_data, tr, tr_n
from promptpex.report.cards.words import UNDEFINED, range_of
from promptpex.report.percentages import percent
from promptpex.synthesis.selection.problem import SelectionFigures
from promptpex.workflow.alignment.choose_candidates import AlignedChoice
from promptpex.workflow.synthesis.choice_report import criteria_not_kept

SHOWN = 50
"""Criteria that are listed one by one."""


def aligned_lines(made: AlignedChoice) -> list[str]:
    """The lines of a choice by alignment, at most 80 columns wide."""
    figures = made.choice.selection.figures
    labels = [tr("Labels: {rules}.", rules=from_data(made.labels))] if made.labels else []
    return apart(
        (
            wrapped(*labels, *left_out_sentences(made.choice)),
            wrapped(_headline(made), *criteria_not_kept(made.kept)),
            _figures(figures) if figures is not None else [],
            _table(made.criteria),
            wrapped(*without_good_candidate(made)),
            wrapped(*_elsewhere(made)),
            wrapped(*change_sentences(made.choice)),
        )
    )


def without_good_candidate(made: AlignedChoice) -> list[str]:
    """Why a criterion has no assertion, and what is nearest to one, a sentence each."""
    missing = MISSING.get(made.choice.selection.state)
    if missing:
        return [missing.tr()]
    sentences = lacking(made.criteria, made.texts, from_data)
    more = [tr("And {count} more; --json has all.", count=len(sentences) - SHOWN)] if len(sentences) > SHOWN else []
    return sentences[:SHOWN] + more


def _headline(made: AlignedChoice) -> str:
    chosen = made.choice.selection.chosen or ()
    served = sum(bool(one.chosen) for one in made.criteria)
    count = made.choice.source.problem.candidates
    return tr(
        "aligned chooses {chosen} of {candidates}, for {served} of {criteria}.",
        chosen=len(chosen),
        candidates=tr_n("{count} candidate", "{count} candidates", count),
        served=served,
        criteria=tr_n("{count} criterion", "{count} criteria", len(made.criteria)),
    )


def _figures(figures: SelectionFigures) -> list[str]:
    caught = tr("{some} of {all} bad outputs caught by the set", some=figures.caught, all=figures.bad)
    flagged = tr("{some} of {all} good outputs flagged by the set", some=figures.flagged, all=figures.good)
    return [
        share_line(tr("coverage"), figures.coverage, caught),
        share_line("FFR", figures.ffr, flagged),
    ]


def _table(criteria: tuple[CriterionChoice, ...]) -> list[str]:
    """A line for each criterion that has an assertion: how far this one agrees with people where it was chosen."""
    rows = [
        f"  {cut(one.wanted.id, 14):<15}{cut(rated.contender.id, NAME - 10):<{NAME - 9}}"
        f"{_cells(_share(rated.caught, rated.bad), _share(rated.flagged, rated.good), _alignment(rated))}"
        for one in criteria
        for rated in one.rated
        if rated.state == "chosen"
    ]
    if not rows:
        return []
    names = f"{tr('criterion'):<15}{tr('candidate'):<{NAME - 9}}"
    return [f"  {names}{_cells(*_headings())}", *rows[:SHOWN], *and_more(len(rows), SHOWN)]


def _headings() -> tuple[str, ...]:
    return tr("coverage"), "FFR", tr("alignment")


def _cells(*cells: str) -> str:
    return right_aligned(_headings(), (9, 8, 12), cells)


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else "–"


def _alignment(rated: Rated) -> str:
    return "–" if rated.alignment is None else percent(float(rated.alignment))


def _elsewhere(choice: AlignedChoice) -> list[str]:
    """The figures of the set, chosen without the outputs that it is counted on."""
    if not choice.choice.selection.chosen:
        return [tr("Nothing is chosen, so there are no figures for a set.")]
    whole = choice.held_out.get(WHOLE_SET)
    if whole is None:
        return [tr("There are too few examples to hold some out: on other outputs the figures may be worse.")]
    whole_figures = whole.figures
    folds = tr("{count} folds", count=whole.folds)
    if whole.without:
        without = tr("where nothing is good enough, in {count}, nothing is flagged", count=whole.without)
        folds = f"{folds}; {without}"
    named_shares = (
        (tr("coverage"), whole_figures.coverage),
        ("FFR", whole_figures.ffr),
        (tr("alignment"), whole_figures.alignment),
    )
    figures = ", ".join(f"{name} {range_of(one)}" for name, one in named_shares)
    lacking = "".join(f" ({UNDEFINED[why].tr()})" for why in whole_figures.undefined if why != "one-answer")
    return [
        tr(
            "Chosen in the same way without the outputs that it is counted on ({folds}): {shares}.",
            folds=folds,
            shares=f"{figures}{lacking}",
        )
    ]
