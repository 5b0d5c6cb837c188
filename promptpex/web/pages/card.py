"""The report card of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptpex.core.records import ReportCard
from promptpex.core.translation import tr
from promptpex.report.cards import words
from promptpex.report.cards.words import BOTTOM, LEFT, drawn_histogram
from promptpex.report.runs.listing import ListedRun
from promptpex.report.view_model import Bar
from promptpex.web.shared_by_pages import Site, answer

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

CARD = "/card"
MOST_OUTPUTS, MOST_COLUMNS = 500, 60
"""Rows and columns of the table of outputs on the page; ``align --csv`` has all."""
MOST_CANDIDATES = 300
MOST_RUNS = 50
"""Other runs of the prompt that the card can be compared with."""
MOST_LIMIT = 20
"""Characters of a limit in an address."""


def routes(site: Site) -> list[Route]:
    """``/card``, with ``?limit=SHARE`` for another FFR limit and ``?against=RUN`` for what an edit did; ``/card.json``:
    the same as data."""
    from starlette.exceptions import HTTPException
    from starlette.responses import HTMLResponse
    from starlette.routing import Route

    port = site.ports.card
    if port is None:
        return []

    def wishes(request: Request) -> tuple[str, ListedRun | None]:
        limit, key = request.query_params.get("limit", "")[:MOST_LIMIT], request.query_params.get("against", "")
        run = site.runs.one(key) if key else None
        if key and run is None:
            raise HTTPException(404)
        return limit, run

    def page(request: Request) -> Response:
        limit, run = wishes(request)
        key, folder = (run.key, run.folder) if run is not None else ("", None)
        html = site.made.get(
            ("card", limit, key), port.stamp(), lambda: _page(site, port.card(limit, folder), limit, key)
        )
        return HTMLResponse(html)

    def data(request: Request) -> Response:
        limit, run = wishes(request)
        return answer(port.card(limit, run.folder if run is not None else None).model_dump(mode="json"))

    return [Route(CARD, page), Route(f"{CARD}.json", data)]


def _page(site: Site, card: ReportCard, limit: str, against: str) -> str:
    chosen = {one.id for one in card.candidates if one.state == "chosen"}
    return site.rendered(
        "card.html.jinja",
        CARD,
        card=card,
        limit=limit,
        against=against,
        others=[
            run
            for run in site.runs.all()
            if run.prompt == card.prompt and not run.problem and run.folder.name not in card.runs
        ][:MOST_RUNS],
        words=words,
        opening=list(words.opening(card)),
        parts=(
            ("set", tr("The chosen set"), [row for row in card.rows if row.kind in ("set", "criterion")]),
            (
                "verdicts",
                tr("The verdicts of the run"),
                [r for r in card.rows if r.kind in ("verdicts", "check", "judge")],
            ),
        ),
        out=[one for one in card.candidates if one.id not in chosen][:MOST_CANDIDATES],
        more_candidates=max(0, len(card.candidates) - len(chosen) - MOST_CANDIDATES),
        checks={one.id: one for one in card.candidates},
        columns=card.columns[:MOST_COLUMNS],
        outputs=card.outputs[:MOST_OUTPUTS],
        measures=list(dict.fromkeys(name for one in card.outputs for name in one.measures)),
        histograms=[drawn_histogram(one) for one in card.distributions],
        bar_of=lambda figure: Bar.of(figure.low, figure.estimate, figure.high),
        LEFT=LEFT,
        BOTTOM=BOTTOM,
    )
