"""What the grading page is told, as JSON-ready data: the outputs, what can be graded, what this person said of it.

Nothing that a machine, or another person, says of an output is in it: that is asked for separately, and given only to
those who have graded the output, so that nobody's grade leans on it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from promptpex.codecs.text.wording import named
from promptpex.core.errors import GradeError
from promptpex.core.records import OUTPUT_SUBJECT, Example, Grade
from promptpex.core.translation import Key, tr, tr_n
from promptpex.grading.book import GradeBook, GradeCounts, Subject
from promptpex.grading.desk import GradingDesk
from promptpex.grading.labels import moment
from promptpex.grading.next_item import Progress, missing_grades_sentence
from promptpex.report.page.values import pretty

MOST_OUTPUT = 400_000
"""Characters of an output that are sent to the page."""
MOST_PROMPT = 100_000
"""Characters of what the model was sent."""
MOST_INPUT = 50_000
"""Characters of one variable."""
MOST_REASON = 5_000
"""Characters of what one machine says."""
MOST_OPINIONS = 500

JsonData = dict[str, Any]


def shown(text: str, most: int) -> JsonData:
    return {"text": text[:most], "more": max(0, len(text) - most)}


def subject_views(subjects: tuple[Subject, ...]) -> list[JsonData]:
    """What can be graded, in the order of its numbers on the page; the whole output is the first."""
    return [
        {"id": one.id, "text": one.text, "kind": one.kind, "needs": one.needs, "wording": one.digest}
        for one in subjects
        if one.asked
    ]


def item_view(
    desk: GradingDesk, item: Example, grader: str, chosen: tuple[str, float | None] | None = None
) -> JsonData:
    """An output with this person's own grades. Which model wrote it and how it was chosen are named after the grade:
    nobody grades a name, and a policy that looks for disagreement would tell that machines, or people, disagree.

    Args:
        chosen: policy and probability of a new output; of one that was graded they are as in its grade.
    """
    policy, probability = chosen or _chosen(desk.book, item, grader)
    grades = {one.id: _own_view(desk.book, item, one, grader) for one in desk.subjects}
    graded = _has_graded(desk.book, item, grader)
    return {
        "id": item.id,
        "case": item.case,
        "repeat": item.repeat,
        "times": item.times,
        "inputs": [{"name": name, **shown(pretty(value), MOST_INPUT)} for name, value in item.inputs.items()],
        "sent": shown(item.prompt, MOST_PROMPT),
        "output": shown(item.output, MOST_OUTPUT),
        "model_name": item.model if graded else "",
        "policy": policy,
        "policy_name": own_policy(policy).replace("-", " ") if graded else "",
        "probability": probability,
        "grades": {name: view for name, view in grades.items() if view is not None},
        "stale": _stale_views(desk, item, grader),
    }


def _stale_views(desk: GradingDesk, item: Example, grader: str) -> JsonData:
    views = {one.id: _stale_view(desk.book, item, one, grader) for one in desk.subjects}
    return {name: view for name, view in views.items() if view is not None}


def own_policy(policy: str) -> str:
    return policy.partition(" after ")[0]


def _has_graded(book: GradeBook, item: Example, grader: str) -> bool:
    return any(grade.grader == grader for grade in book.holding(item))


def _chosen(book: GradeBook, item: Example, grader: str) -> tuple[str, float | None]:
    first = next((grade for grade in book.given_on(item) if grade.grader == grader), None)
    return ("", None) if first is None else (first.policy, first.probability)


def _own_view(book: GradeBook, item: Example, subject: Subject, grader: str) -> JsonData | None:
    vote = next((one for one in book.joint(item, subject.id).votes if one.grader == grader), None)
    if vote is None:
        return None
    if vote.derived or vote.by_rules:
        return {"value": vote.value, "note": "", "derived": "rules" if vote.by_rules else "output"}
    own = [one for one in book.holding(item, subject.id) if one.grader == grader]
    return {"value": vote.value, "note": own[-1].note if own else "", "derived": ""}


def _stale_view(book: GradeBook, item: Example, subject: Subject, grader: str) -> JsonData | None:
    """The last grade under older words: this person's own, else anybody's."""
    stale = sorted(book.joint(item, subject.id).stale, key=lambda one: (one.grader == grader, moment(one)))
    if not stale:
        return None
    grade = stale[-1]
    who = "" if grade.grader == grader else grade.grader
    return {"value": grade.value, "note": grade.note, "time": grade.time, "grader": who}


def opinion_views(desk: GradingDesk, item: Example, grader: str) -> list[JsonData]:
    """What others and machines say of an output that this person has graded.

    Raises:
        GradeError: the person has not graded it.
    """
    grades = [one for one in desk.book.holding(item) if _is_current(one, desk)]
    if not any(one.grader == grader for one in grades):
        raise GradeError("what others and machines say is shown once you have graded the output")
    people = [
        _opinion(one.grader, one.subject, {"good": "pass", "bad": "fail"}.get(one.value, "none"), one.note)
        for one in grades
        if one.grader != grader
    ]
    machines = [
        _opinion(_machine(one.source, one.judge, one.assertion), one.subject, one.status, one.reason)
        for one in desk.opinions.get(item.id, ())
    ]
    return [*people, *machines][:MOST_OPINIONS]


def _is_current(grade: Grade, desk: GradingDesk) -> bool:
    return any(one.id == grade.subject and one.digest == grade.subject_digest for one in desk.subjects)


def _machine(source: str, judge: str, assertion: str) -> str:
    return f"{source} {assertion if source == 'candidate' else judge or assertion}"


def _opinion(who: str, subject: str, status: str, reason: str) -> JsonData:
    return {"who": who, "subject": subject, "status": status, "reason": reason[:MOST_REASON]}


def trail(desk: GradingDesk, grader: str) -> list[str]:
    """The keys of the outputs that this person graded, in the order of their last grades."""
    last: dict[str, tuple[Any, ...]] = {}
    for item in desk.book.having_grades(desk.pool):
        own = [grade for grade in desk.book.given_on(item) if grade.grader == grader]
        if own:
            last[item.id] = moment(own[-1])
    return sorted(last, key=last.__getitem__)


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
        "sentences": [*_stand(progress, counts), *_people(desk), *_how_chosen(desk), _sample(sample, progress.items)],
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
    graders = desk.book.graders
    if len(graders) < 2:
        return []
    tally = Counter({grader: len(trail(desk, grader)) for grader in graders})
    return [tr("By person: {figures}.", figures=", ".join(f"{name} {count}" for name, count in tally.most_common(20)))]


def _how_chosen(desk: GradingDesk) -> list[str]:
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
