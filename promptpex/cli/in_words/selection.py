"""A selection as people read it: its figures beside the limits, and what each chosen candidate does; 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from promptpex.cli.in_words.layout import and_more, share_line, wrapped
from promptpex.codecs.wording import NAMED, cut, plural
from promptpex.report.percentages import as_given, limits_of_choice, percent
from promptpex.synthesis.selection.explanation import Explanation, Reachable
from promptpex.synthesis.selection.problem import SelectionFigures, SelectionProblem
from promptpex.synthesis.selection.result import Selection, plain

NAME = 40
"""Columns for the name of a candidate."""
SHOWN = 50
"""Candidates that are listed one by one."""

GOALS = {
    "weight": "the size",
    "weight-and-left-out": "|F'| + |G|",
    "left-out": "|G|",
    "uncaught": "the coverage",
    "flagged": "the FFR",
}
MISSING = {
    "no-examples": "There are no labelled outputs, so neither coverage nor FFR is defined.",
    "no-good-examples": "No output is labelled good, so the FFR is not defined; label some good outputs.",
    "no-bad-examples": "No output is labelled bad, so the coverage is not defined; label some bad outputs.",
}


def lines(problem: SelectionProblem, selection: Selection) -> list[str]:
    """The lines of a selection, or of why there is none."""
    if selection.chosen is None or selection.figures is None:
        return wrapped(*no_selection_sentences(problem, selection))
    missing = MISSING.get(selection.state)
    return [
        *wrapped(_headline(problem, selection)),
        *([missing] if missing else []),
        "",
        *_figures(selection, selection.figures),
        *_table(problem, selection.chosen),
    ]


def _headline(problem: SelectionProblem, selection: Selection) -> str:
    assert selection.chosen is not None
    start = f"{selection.method} chooses {len(selection.chosen)} of {plural(problem.candidates, 'candidate')}"
    if selection.objective is None:
        return f"{start}."
    if selection.optimal:
        return f"{start}; proven optimal."
    if selection.gap:
        return (
            f"{start}; the time ended before that was proven optimal: {_objective(selection.objective)} was reached, "
            f"less than {_objective(selection.bound)} is impossible (a gap of {percent(selection.gap)})."
        )
    open_goals = [GOALS[step.goal] for step in selection.steps if not step.proven]
    return f"{start}; no set is smaller, but the time ended before {open_goals[0]} was proven best among equals."


def _objective(value: Fraction | None) -> str:
    return f"{plain(value):g}" if value is not None else "nothing"


def _figures(selection: Selection, figures: SelectionFigures) -> list[str]:
    limits = selection.limits
    caught = f"{figures.caught} of {figures.bad} bad outputs caught"
    flagged = f"{figures.flagged} of {figures.good} good outputs flagged"
    shown = [
        share_line("coverage", figures.coverage, f"{caught:<42}at least {as_given(float(limits.coverage))}"),
        share_line("FFR", figures.ffr, f"{flagged:<42}at most {as_given(float(limits.ffr))}"),
    ]
    within = figures.not_subsumed_within_ffr
    left_out = f"neither chosen nor implied, {within} of which would fit the FFR"
    shown.append(f"  {'left out':<10}{figures.not_subsumed:>7}   {left_out}")
    if figures.weight != len(selection.chosen or ()):
        shown.append(f"  {'weight':<10}{_objective(figures.weight):>7}   of the chosen candidates together")
    return shown


def _table(problem: SelectionProblem, chosen: Sequence[int]) -> list[str]:
    """What each chosen candidate catches, what it alone catches, what it flags, and how many others it implies."""
    if not chosen:
        return []
    head = f"  {'candidate':<{NAME}}{'catches':>9}{'alone':>8}{'flags':>8}{'implies':>9}"
    rows = [_row(problem, chosen, candidate) for candidate in chosen[:SHOWN]]
    return ["", head, *rows, *and_more(len(chosen), SHOWN)]


def _row(problem: SelectionProblem, chosen: Sequence[int], candidate: int) -> str:
    others = problem.flagged_by(other for other in chosen if other != candidate)
    failed = problem.fails[candidate]
    caught, flagged = failed & problem.bad, failed & problem.good
    implied = problem.spares[candidate].bit_count() - 1
    name = _name(problem, candidate, NAME - 2)
    alone = (caught & ~others).bit_count()
    return f"  {name:<{NAME}}{caught.bit_count():>9}{alone:>8}{flagged.bit_count():>8}{implied:>9}"


def _name(problem: SelectionProblem, candidate: int, width: int) -> str:
    """The name on one line."""
    return cut(" ".join(problem.name(candidate).split()), width)


def no_selection_sentences(problem: SelectionProblem, selection: Selection) -> list[str]:
    """Why there is no selection, and what is nearest to one, a sentence each."""
    limits = selection.limits
    asked = limits_of_choice(float(limits.coverage), float(limits.ffr))
    missing = MISSING.get(selection.state)
    sentences = {
        "infeasible": [f"No set of the {plural(problem.candidates, 'candidate')} has {asked}."],
        "undecided": [f"The time ended before a set with {asked} was found or ruled out; give a longer --time-limit."],
    }.get(selection.state, [missing] if missing else [])
    return sentences + (_explained(selection.explanation, problem, selection) if selection.explanation else [])


def _explained(why: Explanation, problem: SelectionProblem, selection: Selection) -> list[str]:
    sentences = []
    bad, good = problem.bad.bit_count(), problem.good.bit_count()
    if why.best_coverage is not None:
        sentences.append(f"At this FFR the best coverage is {_nearest(why.best_coverage, bad, problem)}.")
    elif bad and good:
        sentences.append("The candidates that must be chosen already flag more good outputs than the FFR allows.")
    if why.least_ffr is not None:
        sentences.append(f"At this coverage the least FFR is {_nearest(why.least_ffr, good, problem)}.")
    elif bad and good:
        sentences.append("This coverage is out of reach at any FFR.")
    if why.uncaught:
        sentences.append(f"No candidate catches these bad outputs: {example_list(problem, why.uncaught)}.")
    if checked := [number for number in why.bad_to_check if number not in why.uncaught]:
        sentences.append(
            f"Only candidates above the FFR limit catch these bad outputs: {example_list(problem, checked)}."
        )
    if why.good_to_check:
        sentences.append(
            f"Most candidates flag these good outputs; check their labels: {example_list(problem, why.good_to_check)}."
        )
    return sentences


def _nearest(reached: Reachable, of: int, problem: SelectionProblem) -> str:
    """A share that can be reached, of how many outputs, and the candidates that reach it."""
    known = "" if reached.proven else " as far as the search went"
    names = _listed(problem, reached.selection)
    return f"{percent(reached.share)} ({reached.count} of {of}){known}: candidates {names}"


def _listed(problem: SelectionProblem, chosen: Sequence[int]) -> str:
    return _first([_name(problem, candidate, NAME) for candidate in chosen]) if chosen else "none"


def example_list(problem: SelectionProblem, examples: Sequence[int]) -> str:
    """The first of these examples by their names."""
    return _first([cut(problem.example_name(example), NAME) for example in examples])


def _first(names: Sequence[str]) -> str:
    more = len(names) - 2 * NAMED
    return ", ".join(names[: 2 * NAMED]) + (f" and {more} more" if more > 0 else "")
