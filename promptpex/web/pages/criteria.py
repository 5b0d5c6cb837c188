"""The page of criteria and their candidates, and what it can ask for.

The page is made whole for each look at it; its script takes over the parts that have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from promptpex.core.errors import InputError
from promptpex.core.ids import digest
from promptpex.core.records import Choice, Means, Record
from promptpex.core.records.criteria_board import CandidateForm, CriteriaBoard
from promptpex.core.translation import Key, tr, tr_n
from promptpex.web.interfaces import CriteriaPort
from promptpex.web.script_texts import script_texts
from promptpex.web.shared_by_pages import Site, answer, body, text_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

CRITERIA = "/criteria"
LONGEST = 50_000
"""Characters of a text that is sent."""
WISHES = {
    Key("Others"): "",
    Key("Stricter"): "Stricter ones: what is only nearly right fails.",
    Key("Less strict"): "Less strict ones: what is right in other words, or in another form, passes.",
    Key("Simpler"): "Simpler ones: as few lines as will do, nothing clever.",
    Key("More thorough"): "More thorough ones: look at everything that the criterion says, and at special cases.",
}
"""What an author may be asked for at a criterion with one click, and how that is put."""

Sent = Mapping[str, Any]
Word = TypeVar("Word", bound=str)


def routes(site: Site) -> list[Route]:
    """``/criteria``, and below it what can be done there."""
    from starlette.routing import Route

    port = site.ports.criteria
    if port is None:
        return []

    def page(request: Request) -> Response:
        board = port.board()
        return site.page(
            request, "criteria.html.jinja", board=board, versions=_versions(board), wishes=WISHES, texts=script_texts()
        )

    doing = (Route(f"{CRITERIA}/{name}", _doing(port, work), methods=["POST"]) for name, work in ACTIONS.items())
    return [Route(CRITERIA, page), *doing]


def _versions(board: CriteriaBoard) -> dict[str, str]:
    """What changes with each part of the page: those of the whole, and those of the criteria by their ids."""
    whole = board.replace(criteria=())
    return {"whole": _version(whole), **{f"criterion {one.id}": _version(one) for one in board.criteria}}


def _version(part: Record) -> str:
    return digest(part.to_dict(), 12)


def _doing(port: CriteriaPort, work: Callable[[CriteriaPort, Sent], str]) -> Any:
    """The end point that does something and answers with a sentence."""

    async def end_point(request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        sent = await body(request)
        return answer({"sentence": await run_in_threadpool(work, port, sent)})

    return end_point


def _summary(port: CriteriaPort, sent: Sent) -> str:
    """What is being done, in a sentence; for the page on which people grade."""
    board = port.board()
    if board.trouble:
        return board.trouble
    results = tr_n("{count} result", "{count} results", board.tried)
    if board.to_try:
        results = f"{results} ({tr('{count} to come', count=board.to_try)})"
    parts = (
        tr_n("{count} criterion", "{count} criteria", len(board.criteria)),
        tr_n("{count} candidate made", "{count} candidates made", board.made),
        results,
        tr("{count} culled", count=board.culled),
    )
    return ", ".join(parts) + (f"; {board.spent}" if board.spent else "")


def _text(sent: Sent, name: str, *, needed: bool = True) -> str:
    return text_of(sent, name, LONGEST, needed=needed)


def _yes(sent: Sent, name: str) -> bool:
    value = sent.get(name)
    if not isinstance(value, bool):
        raise InputError(f"send {name!r} as true or false")
    return value


def _one_of(sent: Sent, name: str, words: tuple[Word, ...]) -> Word:
    value = sent.get(name)
    chosen = next((word for word in words if word == value), None)
    if chosen is None:
        raise InputError(f"send {name!r} as one of {', '.join(words)}")
    return chosen


def _limit(sent: Sent) -> float | None:
    text = _text(sent, "max_ffr", needed=False).strip()
    try:
        return float(text) if text else None
    except ValueError:
        raise InputError("the limit of false alarms is a share from 0 to 1, such as 0.1") from None


def _choice(sent: Sent) -> Choice | None:
    words: tuple[Literal["must", "never", "open"], ...] = ("must", "never", "open")
    chosen = _one_of(sent, "choice", words)
    return None if chosen == "open" else chosen


def _settle(port: CriteriaPort, sent: Sent) -> str:
    by: Means = _one_of(sent, "by", get_args(Means))
    return port.settle(_text(sent, "id"), by, _yes(sent, "selected"), _limit(sent), _yes(sent, "must"))


def _form(sent: Sent) -> CandidateForm:
    form: CandidateForm = _one_of(sent, "form", get_args(CandidateForm))
    return form


ACTIONS: dict[str, Callable[[CriteriaPort, Sent], str]] = {
    "add": lambda port, sent: port.add(_text(sent, "text", needed=False), _text(sent, "title", needed=False)),
    "from-note": lambda port, sent: port.from_note(*(_text(sent, name) for name in ("grader", "item", "subject"))),
    "reword": lambda port, sent: port.reword(_text(sent, "id"), _text(sent, "text", needed=False)),
    "delete": lambda port, sent: port.delete(_text(sent, "id")),
    "settle": _settle,
    "add-candidate": lambda port, sent: port.add_candidate(
        _text(sent, "id"), _form(sent), _text(sent, "text", needed=False)
    ),
    "edit-candidate": lambda port, sent: port.edit_candidate(
        _text(sent, "candidate"), _form(sent), _text(sent, "text", needed=False)
    ),
    "keep-candidate": lambda port, sent: port.keep_candidate(_text(sent, "candidate")),
    "choose": lambda port, sent: port.choose(_text(sent, "candidate"), _choice(sent)),
    "delete-candidate": lambda port, sent: port.delete_candidate(_text(sent, "candidate")),
    "infer": lambda port, sent: port.infer(),
    "from-notes": lambda port, sent: port.from_notes(),
    "make": lambda port, sent: port.make(_text(sent, "id", needed=False), _text(sent, "wish", needed=False)),
    "ask-judge": lambda port, sent: port.ask_judge(),
    "renew": lambda port, sent: port.renew(_yes(sent, "on")),
    "stop": lambda port, sent: port.stop(),
    "summary": _summary,
}
"""What can be done, by the last part of the address; each gives the sentence that says what was done."""
