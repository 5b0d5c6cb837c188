"""The page on which people grade, and what its script asks for.

Everything is read anew for each request, so what other people and programs add to the file of grades appears.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from promptpex.core.errors import GradeError
from promptpex.core.records import KEY_LENGTH, Example
from promptpex.core.records.grade import LONGEST_NAME
from promptpex.core.translation import from_data, tr
from promptpex.grading.desk import GradingDesk
from promptpex.grading.policies import require_policy
from promptpex.web.grading.given_grades import take
from promptpex.web.grading.live_page import live_page
from promptpex.web.grading.progress import progress_view
from promptpex.web.grading.views import item_view, opinion_views, subject_views, trail
from promptpex.web.interfaces import GradingPort
from promptpex.web.shared_by_pages import Site, answer, body, text_of

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

    handlers = {
        "state": _state,
        "next": _next,
        "item": _item,
        "give": _give,
        "undo": _undo,
        "opinions": _opinions,
        "progress": _progress,
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


def _progress(desk: GradingDesk, asked: Asked) -> dict[str, Any]:
    return {"progress": progress_view(desk, _grader(asked))}


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


def _give(desk: GradingDesk, asked: Asked) -> dict[str, Any]:
    return {"results": take(desk, asked.get("grades"))}


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


def _opinions(desk: GradingDesk, asked: Asked) -> dict[str, Any]:
    return {"opinions": opinion_views(desk, _asked_item(desk, asked), _grader(asked))}
