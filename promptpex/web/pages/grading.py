"""The page on which people grade, what its script asks for, and how grades get into the file.

Everything is read anew for each request, so what other people and programs add to the file of grades appears.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field, ValidationError

from promptpex.core.errors import GradeError, InputError
from promptpex.core.records import KEY_LENGTH, Example, GradeValue
from promptpex.core.records._base import Record
from promptpex.core.records.grade import LONGEST_NAME, LONGEST_NOTE, Digest, Name
from promptpex.core.translation import Key, from_data, tr
from promptpex.documents.record_problems import record_problems
from promptpex.grading.desk import Assignment, GradingDesk
from promptpex.grading.next_item import require_policy
from promptpex.web.interfaces import GradingPort
from promptpex.web.pages.card import CARD
from promptpex.web.pages.criteria import CRITERIA
from promptpex.web.pages.grading_views import item_view, opinion_views, progress_view, subject_views, trail
from promptpex.web.script_texts import script_texts
from promptpex.web.shared_by_pages import Site, Tab, answer, body, text_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route


Asked = Mapping[str, Any]


def routes(site: Site) -> list[Route]:
    """``/grade``, and below it what the page asks for."""
    from starlette.routing import Route

    grading = site.ports.grading
    if grading is None:
        return []

    def page(request: Request) -> Response:
        return site.page(request, "grading.html.jinja", **live_page(grading, site.tabs))

    handlers: dict[str, Callable[[GradingDesk, Asked], dict[str, Any]]] = {
        "state": _state,
        "next": _next,
        "item": _item,
        "give": lambda desk, asked: {"results": take(desk, asked.get("grades"))},
        "undo": _undo,
        "opinions": lambda desk, asked: {"opinions": opinion_views(desk, _asked_item(desk, asked), _grader(asked))},
        "progress": lambda desk, asked: {"progress": progress_view(desk, _grader(asked))},
    }
    return [
        Route("/grade", page),
        *(Route(f"/grade/{name}", _answering(grading, work), methods=["POST"]) for name, work in handlers.items()),
    ]


def _answering(grading: GradingPort, work: Callable[[GradingDesk, Asked], dict[str, Any]]) -> Any:
    """The end point that answers with what ``work`` gives; a file that cannot be used is the server's trouble, 503."""

    async def end_point(request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        request_body = await body(request)
        try:
            return answer(await run_in_threadpool(_worked, grading.desk, work, request_body))
        except GradeError as failure:
            return answer({"error": str(failure)}, status=503 if failure.path is not None else 422)

    return end_point


def _worked(desk: GradingDesk, work: Callable[[GradingDesk, Asked], dict[str, Any]], asked: Asked) -> dict[str, Any]:
    desk.refresh()
    return work(desk, asked)


def _grader(asked: Asked) -> str:
    return text_of(asked, "grader", LONGEST_NAME)


def _asked_item(desk: GradingDesk, asked: Asked) -> Example:
    return desk.item(text_of(asked, "item", KEY_LENGTH))


def _state(desk: GradingDesk, asked: Asked) -> dict[str, Any]:
    grader = _grader(asked)
    graders = list(desk.book.graders)
    return {"trail": trail(desk, grader), "graders": graders, "subjects": subject_views(desk.subjects)}


def _next(desk: GradingDesk, asked: Asked) -> dict[str, Any]:
    grader, policy = _grader(asked), text_of(asked, "policy", LONGEST_NAME)
    require_policy(policy)
    assignment = desk.next(grader, policy)
    item = (
        None
        if assignment is None
        else item_view(desk, assignment.item, grader, (assignment.policy, assignment.probability))
    )
    return {"item": item, "subjects": subject_views(desk.subjects)}


def _item(desk: GradingDesk, asked: Asked) -> dict[str, Any]:
    grader = _grader(asked)
    return {"item": item_view(desk, _asked_item(desk, asked), grader), "subjects": subject_views(desk.subjects)}


def _undo(desk: GradingDesk, asked: Asked) -> dict[str, Any]:
    grader = _grader(asked)
    undone = desk.undo(grader)
    if undone is None:
        return {"item": None, "sentence": tr("There is nothing to undo.")}
    name = tr("the output") if undone.subject == "output" else undone.subject
    return {
        "item": item_view(desk, desk.item(undone.key), grader),
        "sentence": tr("Taken back: {subject} is {grade}.", subject=name, grade=from_data(undone.value)),
        "trail": trail(desk, grader),
        "subjects": subject_views(desk.subjects),
    }


SCRIPTS = (
    "problem.js",
    "ask.js",
    "elements.js",
    "shown_text.js",
    "keys.js",
    "item_view.js",
    "subject_rows.js",
    "progress_view.js",
    "counting.js",
    "grader_dialog.js",
    "grading.js",
)
"""In the order in which they run: each adds to one object."""

POLICIES = {
    "alternating": Key("the next two in turn, as EvalGen does"),
    "highest": Key("what assertions fail most surely comes first"),
    "lowest": Key("what assertions fail least surely comes first"),
    "random": Key("by chance alone"),
}
"""The policies in words; each leaves a share to the random sample."""
ENDINGS = (CARD, CRITERIA)
"""The pages that grading leads to."""
AGAIN = Key("Start {command} again and open the link that it prints")


def live_page(grading: GradingPort, tabs: Sequence[Tab]) -> dict[str, Any]:
    """The values of the page's template.

    Args:
        tabs: the pages that this server has.
    """
    return {
        "prompt_name": grading.prompt_name,
        "texts": script_texts(),
        "scripts": SCRIPTS,
        "policies": [{"name": name, "sentence": sentence} for name, sentence in POLICIES.items()],
        "endings": [tab for tab in tabs if tab.path in ENDINGS],
        "settings": {
            "grader": grading.grader,
            "suggested": grading.suggested,
            "policy": grading.desk.policy,
            "first": grading.first,
            "variables": grading.variables,
            "criteria": any(tab.path == CRITERIA for tab in tabs),
            "again": AGAIN.tr(command="promptpex grade"),
        },
    }


MOST_AT_ONCE = 1_000
"""Grades in one request: more than an output has rules."""


class GivenGrade(Record):
    """A grade on its way from the page.

    Attributes:
        grader: who gave it.
        item: the output's key.
        subject: ``output``, or the id of a rule or criterion.
        wording: the digest of the rule's or criterion's text as the person read it; None for the whole output.
        value: the verdict.
        note: the person's words.
        policy, probability: how the output was chosen.
    """

    grader: Name
    item: Digest
    subject: Name
    wording: Digest | None = None
    value: GradeValue
    note: str = Field(default="", max_length=LONGEST_NOTE)
    policy: str = Field(default="", max_length=LONGEST_NAME)
    probability: float | None = Field(default=None, gt=0, le=1)


def take(desk: GradingDesk, grades: object) -> list[dict[str, str]]:
    """Writes the grades that a request brings, and says of each ``{}`` (it is on disk) or why it was not taken.

    Raises:
        InputError: the request holds no list of grades.
        GradeError: with its path, where the file cannot be read or written: nothing is lost, it can be sent again.
    """
    if not isinstance(grades, list) or len(grades) > MOST_AT_ONCE:
        raise InputError(f"send a list of at most {MOST_AT_ONCE} grades")
    return [_taken(desk, one) for one in grades]


def _taken(desk: GradingDesk, data: object) -> dict[str, str]:
    try:
        grade = _read_grade(data)
        _require_wording(desk, grade)
        how = Assignment(desk.item(grade.item), grade.policy, grade.probability, ()) if grade.policy else None
        desk.give(grade.grader, grade.item, grade.subject, grade.value, grade.note, how)
    except GradeError as failure:
        if failure.path is not None:
            raise
        return {"problem": failure.message}
    return {}


def _read_grade(data: object) -> GivenGrade:
    try:
        return GivenGrade.model_validate(data)
    except ValidationError as failure:
        raise GradeError(record_problems(failure, GivenGrade)[0].message) from None


def _require_wording(desk: GradingDesk, grade: GivenGrade) -> None:
    """Refuses a grade on words that the rule no longer has: the person has not read the present ones."""
    if desk.subject(grade.subject).digest != grade.wording:
        raise GradeError(f"{grade.subject} was reworded meanwhile: load the page again and read it")
