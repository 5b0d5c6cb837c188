"""Selections and choices of assertions as people read them, at most 80 columns wide."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from promptpex.alignment.choose import CriterionChoice, Rated, lacking
from promptpex.alignment.cross_fit import WHOLE_SET
from promptpex.cli.output import and_more, apart, right_aligned, wrapped
from promptpex.codecs.text.wording import NAMED, cut, sentence
from promptpex.core.translation import Key, from_data, shown, tr, tr_n
from promptpex.report.cards.words import UNDEFINED, range_of
from promptpex.report.percentages import as_given, interval_or_unknown, limits_not_kept, limits_of_choice, percent
from promptpex.synthesis.choice.choose import CurvePoint
from promptpex.synthesis.choice.screens import NOT_COMPARABLE, indistinct_sentences
from promptpex.synthesis.selection.methods import Explanation, Reachable, Selection, Shares, fraction_as_json
from promptpex.synthesis.selection.problem import SelectionFigures, SelectionProblem
from promptpex.workflow.choice_report import criteria_not_kept
from promptpex.workflow.choosing import ByGrades, Choice

NAME = 40
"""Columns for the name of a candidate."""
SHOWN = 50
"""Candidates, or criteria, that are listed one by one."""

GOALS = {
    "weight": Key("the size"),
    "weight-and-left-out": "|F'| + |G|",
    "left-out": "|G|",
    "uncaught": Key("the coverage"),
    "flagged": Key("the FFR"),
}
MISSING = {
    "no-examples": Key("There are no labelled outputs, so neither coverage nor FFR is defined."),
    "no-good-examples": Key("No output is labelled good, so the FFR is not defined; label some good outputs."),
    "no-bad-examples": Key("No output is labelled bad, so the coverage is not defined; label some bad outputs."),
}


def lines(problem: SelectionProblem, selection: Selection) -> list[str]:
    """The lines of a selection, or of why there is none."""
    if selection.chosen is None or selection.figures is None:
        return wrapped(*no_selection_sentences(problem, selection))
    missing = MISSING.get(selection.state)
    elsewhere = wrapped(*_elsewhere(selection))
    return [
        *wrapped(_headline(problem, selection), *not_kept(selection)),
        *([missing.tr()] if missing else []),
        "",
        *_figures(selection, selection.figures),
        *_table(problem, selection.chosen),
        *(["", *elsewhere] if elsewhere else []),
    ]


def not_kept(selection: Selection) -> list[str]:
    return _not_kept(selection, float(selection.limits.coverage))


def ffr_not_kept(choice: Choice) -> list[str]:
    """The FFR limits that a choice does not keep, a sentence each: of the set, or of criteria."""
    if choice.by_grades:
        return criteria_not_kept(choice.kept.criteria) if choice.kept else []
    return _not_kept(choice.selection, 0.0)


def _not_kept(selection: Selection, coverage: float) -> list[str]:
    unknown = Shares(None, None)
    held_out = selection.held_out.shares if selection.held_out else unknown
    on_all = selection.on_all or unknown
    limits = (coverage, float(selection.limits.ffr))
    return limits_not_kept(limits, (held_out.coverage, held_out.ffr), (on_all.coverage, on_all.ffr))


def _elsewhere(selection: Selection) -> list[str]:
    """The figures with their intervals, where the selection was made and elsewhere."""
    sentences = []
    if (on_all := selection.on_all) and (figures := shares_in_words(on_all)):
        sentences.append(tr("On the examples that it was chosen by: {shares}.", shares=figures))
    if (held_out := selection.held_out) is not None:
        folds = tr("{count} folds", count=held_out.folds)
        if held_out.without:
            folds = f"{folds}; {tr('in {count} of them no set keeps the limits', count=held_out.without)}"
        sentences.append(
            tr(
                "Chosen in the same way without the examples that it is counted on ({folds}): {shares}.",
                folds=folds,
                shares=shares_in_words(held_out.shares) or tr("unknown"),
            )
        )
    elif sentences:
        sentences.append(tr("There are too few examples to hold some out: on other outputs the figures may be worse."))
    return sentences


def shares_in_words(given: Shares) -> str:
    """Coverage and FFR with their intervals; empty where there is neither."""
    pairs = ((tr("coverage"), given.coverage), ("FFR", given.ffr))
    return ", ".join(f"{name} {interval_or_unknown(one)}" for name, one in pairs if one is not None)


def _headline(problem: SelectionProblem, selection: Selection) -> str:
    assert selection.chosen is not None
    start = tr_n(
        "{method} chooses {chosen} of {count} candidate",
        "{method} chooses {chosen} of {count} candidates",
        problem.candidates,
        method=selection.method,
        chosen=len(selection.chosen),
    )
    if selection.objective is None:
        return f"{start}."
    if selection.optimal:
        return f"{start}; {tr('proven optimal')}."
    if selection.gap:
        unproven = tr(
            "the time ended before that was proven optimal: {reached} was reached, less than {bound} is impossible "
            "(a gap of {gap})",
            reached=_objective(selection.objective),
            bound=_objective(selection.bound),
            gap=percent(selection.gap),
        )
        return f"{start}; {unproven}."
    goal = next(GOALS[step.goal] for step in selection.steps if not step.proven)
    among = tr("no set is smaller, but the time ended before {goal} was proven best among equals", goal=shown(goal))
    return f"{start}; {among}."


def _objective(value: Fraction | None) -> str:
    return f"{fraction_as_json(value):g}" if value is not None else tr("nothing")


def _figures(selection: Selection, figures: SelectionFigures) -> list[str]:
    limits = selection.limits
    caught = tr("{some} of {all} bad outputs caught", some=figures.caught, all=figures.bad)
    flagged = tr("{some} of {all} good outputs flagged", some=figures.flagged, all=figures.good)
    least = tr("at least {share}", share=as_given(float(limits.coverage)))
    most = tr("at most {share}", share=as_given(float(limits.ffr)))
    rows = [
        share_line(tr("coverage"), figures.coverage, f"{caught:<42}{least}"),
        share_line("FFR", figures.ffr, f"{flagged:<42}{most}"),
    ]
    within = figures.not_subsumed_within_ffr
    left_out = tr("neither chosen nor implied, {count} of which would fit the FFR", count=within)
    rows.append(f"  {tr('left out'):<10}{figures.not_subsumed:>7}   {left_out}")
    if figures.weight != len(selection.chosen or ()):
        of_all_chosen = tr("of the chosen candidates together")
        rows.append(f"  {tr('weight'):<10}{_objective(figures.weight):>7}   {of_all_chosen}")
    return rows


def _table(problem: SelectionProblem, chosen: Sequence[int]) -> list[str]:
    if not chosen:
        return []
    head = f"  {tr('candidate'):<{NAME}}{_cells(*_headings())}"
    rows = [_row(problem, chosen, candidate) for candidate in chosen[:SHOWN]]
    return ["", head, *rows, *and_more(len(chosen), SHOWN)]


def _row(problem: SelectionProblem, chosen: Sequence[int], candidate: int) -> str:
    others = problem.flagged_by(other for other in chosen if other != candidate)
    failed = problem.fails[candidate]
    caught, flagged = failed & problem.bad, failed & problem.good
    implied = problem.spares[candidate].bit_count() - 1
    name = _name(problem, candidate, NAME - 2)
    alone = (caught & ~others).bit_count()
    return f"  {name:<{NAME}}{_cells(caught.bit_count(), alone, flagged.bit_count(), implied)}"


def _headings() -> tuple[str, ...]:
    return tr("catches"), tr("alone"), tr("flags"), tr("implies")


def _cells(*cells: object) -> str:
    return right_aligned(_headings(), (9, 8, 8, 9), cells)


def _name(problem: SelectionProblem, candidate: int, width: int) -> str:
    return cut(" ".join(problem.name(candidate).split()), width)


def no_selection_sentences(problem: SelectionProblem, selection: Selection) -> list[str]:
    """Why there is no selection, and what is nearest to one, a sentence each."""
    limits = selection.limits
    limits_text = limits_of_choice(float(limits.coverage), float(limits.ffr))
    missing = MISSING.get(selection.state)
    sentences = [missing.tr()] if missing else []
    if selection.state == "infeasible":
        sentences = [
            tr_n(
                "No set of the {count} candidate has {limits}.",
                "No set of the {count} candidates has {limits}.",
                problem.candidates,
                limits=limits_text,
            )
        ]
    elif selection.state == "undecided":
        sentences = [
            tr(
                "The time ended before a set with {limits} was found or ruled out; give a longer --time-limit.",
                limits=limits_text,
            )
        ]
    return sentences + (_explained(selection.explanation, problem, selection) if selection.explanation else [])


def _explained(why: Explanation, problem: SelectionProblem, selection: Selection) -> list[str]:
    sentences = []
    bad, good = problem.bad.bit_count(), problem.good.bit_count()
    if why.best_coverage is not None:
        sentences.append(
            tr("At this FFR the best coverage is {share}.", share=_nearest(why.best_coverage, bad, problem))
        )
    elif bad and good:
        sentences.append(tr("The candidates that must be chosen already flag more good outputs than the FFR allows."))
    if why.least_ffr is not None:
        sentences.append(tr("At this coverage the least FFR is {share}.", share=_nearest(why.least_ffr, good, problem)))
    elif bad and good:
        sentences.append(tr("This coverage is out of reach at any FFR."))
    if why.uncaught:
        sentences.append(
            tr("No candidate catches these bad outputs: {names}.", names=example_list(problem, why.uncaught))
        )
    if checked := [number for number in why.bad_to_check if number not in why.uncaught]:
        sentences.append(
            tr(
                "Only candidates above the FFR limit catch these bad outputs: {names}.",
                names=example_list(problem, checked),
            )
        )
    if why.good_to_check:
        sentences.append(
            tr(
                "Most candidates flag these good outputs; check their labels: {names}.",
                names=example_list(problem, why.good_to_check),
            )
        )
    return sentences


def _nearest(reached: Reachable, of: int, problem: SelectionProblem) -> str:
    values = {"share": percent(reached.share), "some": reached.count, "all": of}
    names = _listed(problem, reached.selection)
    if reached.proven:
        return tr("{share} ({some} of {all}): candidates {names}", **values, names=names)
    return tr("{share} ({some} of {all}) as far as the search went: candidates {names}", **values, names=names)


def _listed(problem: SelectionProblem, chosen: Sequence[int]) -> str:
    return _first([_name(problem, candidate, NAME) for candidate in chosen]) if chosen else tr("none")


def example_list(problem: SelectionProblem, examples: Sequence[int]) -> str:
    return _first([cut(problem.example_name(example), NAME) for example in examples])


def _first(names: Sequence[str]) -> str:
    more = len(names) - 2 * NAMED
    first = ", ".join(names[: 2 * NAMED])
    return tr("{names} and {count} more", names=first, count=more) if more > 0 else first


def folder_lines(choice: Choice) -> list[str]:
    """The lines of a choice from a synthesis folder: what was left out of it, the choice, its figures, its change."""
    made = choice.by_grades
    labels = [tr("Labels: {rules}.", rules=from_data(made.labels))] if made and made.labels else []
    of_set = [lines(choice.source.problem, choice.selection), wrapped(*_all_outputs(choice))]
    return apart(
        (
            wrapped(*labels, *left_out_sentences(choice)),
            *(_aligned_lines(choice, made) if made else of_set),
            _curve(choice.points) if choice.points else [],
            wrapped(*change_sentences(choice)),
        )
    )


def change_sentences(choice: Choice) -> list[str]:
    return [
        tr("Since the last choice: {change}.", change=from_data(one))
        for one in (choice.change.sentences() if choice.change else [])
    ]


def left_out_sentences(choice: Choice) -> list[str]:
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


def _all_outputs(choice: Choice) -> list[str]:
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


def _aligned_lines(choice: Choice, made: ByGrades) -> list[list[str]]:
    """What a choice by alignment chooses and what it does not, with its figures."""
    figures = choice.selection.figures
    return [
        wrapped(_aligned_headline(choice, made), *ffr_not_kept(choice)),
        _aligned_figures(figures) if figures is not None else [],
        _aligned_table(made.criteria),
        wrapped(*without_good_candidate(choice, made)),
        wrapped(*_aligned_elsewhere(choice, made)),
    ]


def without_good_candidate(choice: Choice, made: ByGrades) -> list[str]:
    """Why a criterion has no assertion, and what is nearest to one, a sentence each."""
    missing = MISSING.get(choice.selection.state)
    if missing:
        return [missing.tr()]
    sentences = lacking(made.criteria, made.texts, from_data)
    more = [tr("And {count} more; --json has all.", count=len(sentences) - SHOWN)] if len(sentences) > SHOWN else []
    return sentences[:SHOWN] + more


def _aligned_headline(choice: Choice, made: ByGrades) -> str:
    chosen = choice.selection.chosen or ()
    served = sum(bool(one.chosen) for one in made.criteria)
    count = choice.source.problem.candidates
    return tr(
        "aligned chooses {chosen} of {candidates}, for {served} of {criteria}.",
        chosen=len(chosen),
        candidates=tr_n("{count} candidate", "{count} candidates", count),
        served=served,
        criteria=tr_n("{count} criterion", "{count} criteria", len(made.criteria)),
    )


def _aligned_figures(figures: SelectionFigures) -> list[str]:
    caught = tr("{some} of {all} bad outputs caught by the set", some=figures.caught, all=figures.bad)
    flagged = tr("{some} of {all} good outputs flagged by the set", some=figures.flagged, all=figures.good)
    return [
        share_line(tr("coverage"), figures.coverage, caught),
        share_line("FFR", figures.ffr, flagged),
    ]


def _aligned_table(criteria: tuple[CriterionChoice, ...]) -> list[str]:
    """A line for each criterion that has an assertion: how far this one agrees with people where it was chosen."""
    rows = [
        f"  {cut(one.wanted.id, 14):<15}{cut(rated.contender.id, NAME - 10):<{NAME - 9}}"
        f"{_aligned_cells(_share(rated.caught, rated.bad), _share(rated.flagged, rated.good), _alignment(rated))}"
        for one in criteria
        for rated in one.rated
        if rated.state == "chosen"
    ]
    if not rows:
        return []
    names = f"{tr('criterion'):<15}{tr('candidate'):<{NAME - 9}}"
    return [f"  {names}{_aligned_cells(*_aligned_headings())}", *rows[:SHOWN], *and_more(len(rows), SHOWN)]


def _aligned_headings() -> tuple[str, ...]:
    return tr("coverage"), "FFR", tr("alignment")


def _aligned_cells(*cells: str) -> str:
    return right_aligned(_aligned_headings(), (9, 8, 12), cells)


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else "–"


def _alignment(rated: Rated) -> str:
    return "–" if rated.alignment is None else percent(float(rated.alignment))


def _aligned_elsewhere(choice: Choice, made: ByGrades) -> list[str]:
    """The figures of the set, chosen without the outputs that it is counted on."""
    if not choice.selection.chosen:
        return [tr("Nothing is chosen, so there are no figures for a set.")]
    whole = made.held_out.get(WHOLE_SET)
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


def share_line(name: str, share: float | None, count: str) -> str:
    """A share in a line of its own, below others, with what it was counted from; a dash where it is not defined."""
    return f"  {name:<10}{'–' if share is None else percent(share):>7}   {count}"
