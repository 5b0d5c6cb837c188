"""How far grading is, in sentences: who graded how much, how it was chosen, what it is good for."""

from __future__ import annotations

from collections import Counter
from typing import Any

from promptpex.codecs.text.wording import named
from promptpex.core.records import OUTPUT_SUBJECT
from promptpex.core.translation import Key, tr, tr_n
from promptpex.grading.book import GradeCounts
from promptpex.grading.desk import GradingDesk
from promptpex.grading.progress import Progress, missing_grades_sentence
from promptpex.web.grading.views import own_policy, trail

ENOUGH_TO_CHOOSE = 8
"""Outputs with a label from which a choice of assertions means something: half of the 16 of EvalGen's evaluation."""
MOST_LACKING = 8
KEPT = Key("The grades stand in a file beside the prompt: commit it, and others can add theirs.")


def progress_view(desk: GradingDesk, grader: str) -> dict[str, Any]:
    """All that the page shows of it.

    ``mine`` is how many outputs this person has graded as far as is asked, ``begun`` how many others in part.
    """
    progress = desk.progress(grader)
    counts = desk.book.counts(OUTPUT_SUBJECT, desk.pool)
    seen_items = trail(desk, grader)
    graded_by_me = sum(desk.is_graded_by(grader, key) for key in seen_items)
    sample = len(desk.book.random_sample(OUTPUT_SUBJECT, desk.pool, desk.seed))
    return {
        "items": progress.items,
        "mine": graded_by_me,
        "begun": len(seen_items) - graded_by_me,
        "sentences": [*_stand(progress, counts), *_people(desk), *_chosen(desk), _sample(sample, progress.items)],
        "finish": [*_good_for(counts), *_measured(desk), KEPT.tr()],
    }


def _stand(progress: Progress, counts: GradeCounts) -> list[str]:
    lines = [
        tr_n(
            "{done} of {count} output graded by anybody: {good} good, {bad} bad, {unsure} unsure.",
            "{done} of {count} outputs graded by anybody: {good} good, {bad} bad, {unsure} unsure.",
            progress.items,
            done=progress.done,
            good=counts.good,
            bad=counts.bad,
            unsure=counts.unsure,
        )
    ]
    if progress.disputed:
        lines.append(
            tr_n(
                "On {count} output the graders disagree.", "On {count} outputs the graders disagree.", progress.disputed
            )
        )
    if progress.stale:
        lines.append(
            tr_n(
                "{count} output has a grade under an older wording: offered again.",
                "{count} outputs have grades under an older wording: offered again.",
                progress.stale,
            )
        )
    return lines


def _people(desk: GradingDesk) -> list[str]:
    """How much each of them graded, where there are several."""
    graders = desk.book.graders
    if len(graders) < 2:
        return []
    tally = Counter({grader: len(trail(desk, grader)) for grader in graders})
    return [tr("By person: {figures}.", figures=", ".join(f"{name} {count}" for name, count in tally.most_common(20)))]


def _chosen(desk: GradingDesk) -> list[str]:
    """How the graded outputs were chosen."""
    own = (grade for item in desk.pool for grade in desk.book.given_on(item))
    tally = Counter({grade.key: own_policy(grade.policy) or tr("by hand") for grade in own}.values())
    chosen = ", ".join(f"{name} {count}" for name, count in tally.most_common())
    return [tr("Chosen: {figures}.", figures=chosen)] if tally else []


def _sample(size: int, items: int) -> str:
    if size == items:
        return tr("All outputs are graded, so nothing is estimated from a sample.")
    if not size:
        return tr("No output is in the random sample yet, from which estimates for all of them are made.")
    return tr_n(
        "The random sample is {count} output: estimates for all {all} are made from it.",
        "The random sample is {count} outputs: estimates for all {all} are made from it.",
        size,
        all=items,
    )


def _measured(desk: GradingDesk) -> list[str]:
    """How many outputs of the random sample judges are held against, by what they judge."""
    judged = desk.judged
    sizes = [
        f"{tr('whole outputs') if one.id == OUTPUT_SUBJECT else one.id}"
        f" {len(desk.book.random_sample(one.id, desk.pool, desk.seed))}"
        for one in desk.subjects
        if one.asked and one.id in judged
    ]
    if not sizes:
        return []
    waiting = [missing_grades_sentence(name, count) for name, count in desk.lacking().items()]
    measured = tr("Judges are measured on the random sample alone. So far it has: {sizes}.", sizes=named(sizes))
    return [measured, *waiting[:MOST_LACKING]]


def _good_for(counts: GradeCounts) -> list[str]:
    labelled = counts.good + counts.bad
    lines = [
        tr_n(
            "The grades come to {good} good and {count} bad output.",
            "The grades come to {good} good and {count} bad outputs.",
            counts.bad,
            good=counts.good,
        )
    ]
    if not counts.bad:
        lines.append(tr("No output is bad so far: what assertions catch cannot be told until one is."))
    elif not counts.good:
        lines.append(tr("No output is good so far: how often assertions flag good ones cannot be told until one is."))
    elif labelled < ENOUGH_TO_CHOOSE:
        lines.append(
            tr(
                "That is little to choose assertions by: from about {count} on it means something.",
                count=ENOUGH_TO_CHOOSE,
            )
        )
    else:
        lines.append(
            tr("That is enough to choose assertions by, with wide intervals; each further grade narrows them.")
        )
    return lines
