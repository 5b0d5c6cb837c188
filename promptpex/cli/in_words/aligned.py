"""A choice by alignment as people read it: what was chosen for each criterion, and for which there is nothing good."""

from __future__ import annotations

from promptpex.alignment.choose import CriterionChoice, Rated
from promptpex.alignment.cross_fit import WHOLE_SET
from promptpex.alignment.reasons import lacking
from promptpex.cli.in_words.choice import change_sentences, left_out_sentences
from promptpex.cli.in_words.layout import and_more, apart, share_line, wrapped
from promptpex.cli.in_words.selection import MISSING, NAME
from promptpex.codecs.wording import cut, plural
from promptpex.report.cards.words import UNDEFINED, range_of
from promptpex.report.percentages import percent
from promptpex.synthesis.selection.problem import SelectionFigures
from promptpex.workflow.alignment.choosing import AlignedChoice

SHOWN = 50
"""Criteria that are listed one by one."""


def aligned_lines(made: AlignedChoice) -> list[str]:
    """The lines of a choice by alignment, at most 80 columns wide."""
    figures = made.choice.selection.figures
    labels = [f"Labels: {made.labels}."] if made.labels else []
    return apart(
        (
            wrapped(*labels, *left_out_sentences(made.choice)),
            wrapped(_headline(made)),
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
        return [missing]
    sentences = lacking(made.criteria, made.texts)
    more = [f"And {len(sentences) - SHOWN} more; --json has all."] if len(sentences) > SHOWN else []
    return sentences[:SHOWN] + more


def _headline(made: AlignedChoice) -> str:
    chosen = made.choice.selection.chosen or ()
    served = sum(bool(one.chosen) for one in made.criteria)
    candidates = plural(made.choice.source.problem.candidates, "candidate")
    of_criteria = f"{served} of {plural(len(made.criteria), 'criterion', 'criteria')}"
    return f"aligned chooses {len(chosen)} of {candidates}, for {of_criteria}."


def _figures(figures: SelectionFigures) -> list[str]:
    return [
        share_line("coverage", figures.coverage, f"{figures.caught} of {figures.bad} bad outputs caught by the set"),
        share_line("FFR", figures.ffr, f"{figures.flagged} of {figures.good} good outputs flagged by the set"),
    ]


def _table(criteria: tuple[CriterionChoice, ...]) -> list[str]:
    """A line for each criterion that has an assertion: how far this one agrees with people where it was chosen."""
    rows = [
        f"  {cut(one.wanted.id, 14):<15}{cut(rated.contender.id, NAME - 10):<{NAME - 9}}"
        f"{_share(rated.caught, rated.bad):>9}{_share(rated.flagged, rated.good):>8}{_alignment(rated):>12}"
        for one in criteria
        for rated in one.rated
        if rated.state == "chosen"
    ]
    if not rows:
        return []
    head = f"  {'criterion':<15}{'candidate':<{NAME - 9}}{'coverage':>9}{'FFR':>8}{'alignment':>12}"
    return [head, *rows[:SHOWN], *and_more(len(rows), SHOWN)]


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else "–"


def _alignment(rated: Rated) -> str:
    return "–" if rated.alignment is None else percent(float(rated.alignment))


def _elsewhere(choice: AlignedChoice) -> list[str]:
    """The figures of the set, chosen without the outputs that it is counted on."""
    if not choice.choice.selection.chosen:
        return ["Nothing is chosen, so there are no figures of a set."]
    whole = choice.held_out.get(WHOLE_SET)
    if whole is None:
        return ["There are too few examples to hold some out: expect worse figures on other outputs."]
    made = whole.figures
    without = f"; where nothing is good enough, in {whole.without}, nothing is flagged" if whole.without else ""
    known = (("coverage", made.coverage), ("FFR", made.ffr), ("alignment", made.alignment))
    figures = ", ".join(f"{name} {range_of(one)}" for name, one in known)
    lacking = "".join(f" ({UNDEFINED[why].tr()})" for why in made.undefined if why != "one-answer")
    return [
        f"Chosen in the same way without the outputs that it is counted on ({whole.folds} folds{without}): "
        f"{figures}{lacking}."
    ]
