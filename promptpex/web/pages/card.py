"""The report card of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptpex.core.records import CardFigure, ReportCard
from promptpex.report.cards import words
from promptpex.report.cards.histogram import BOTTOM, LEFT, drawn_histogram
from promptpex.report.view_model import Bar
from promptpex.web.site import Site, answer

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

CARD = "/card"
MOST_OUTPUTS, MOST_COLUMNS = 500, 60
"""Rows and columns of the table of outputs on the page; ``align --csv`` has all."""
MOST_CANDIDATES = 300
MOST_LIMIT = 20
"""Characters of a limit in an address."""


def routes(site: Site) -> list[Route]:
    """``/card``, with ``?limit=SHARE`` for another FFR limit; ``/card.json``: the same as data."""
    from starlette.responses import HTMLResponse
    from starlette.routing import Route

    port = site.ports.card
    if port is None:
        return []

    def page(request: Request) -> Response:
        limit = request.query_params.get("limit", "")[:MOST_LIMIT]
        made = site.made.get(("card", limit), port.stamp(), lambda: _page(site, port.card(limit), limit))
        return HTMLResponse(made)

    def data(request: Request) -> Response:
        return answer(port.card(request.query_params.get("limit", "")[:MOST_LIMIT]).model_dump(mode="json"))

    return [Route(CARD, page), Route(f"{CARD}.json", data)]


def _page(site: Site, card: ReportCard, limit: str) -> str:
    chosen = {one.id for one in card.candidates if one.state == "chosen"}
    return site.rendered(
        "card.html.jinja",
        CARD,
        card=card,
        limit=limit,
        words=words,
        opening=list(words.opening(card)),
        parts=(
            ("set", "The chosen set", [row for row in card.rows if row.kind in ("set", "criterion")]),
            ("verdicts", "The verdicts of the run", [r for r in card.rows if r.kind in ("verdicts", "check", "judge")]),
        ),
        out=[one for one in card.candidates if one.id not in chosen][:MOST_CANDIDATES],
        more_candidates=max(0, len(card.candidates) - len(chosen) - MOST_CANDIDATES),
        checks={one.id: one for one in card.candidates},
        columns=card.columns[:MOST_COLUMNS],
        outputs=card.outputs[:MOST_OUTPUTS],
        measures=list(dict.fromkeys(name for one in card.outputs for name in one.measures)),
        histograms=[drawn_histogram(one) for one in card.distributions],
        bar_of=_bar,
        LEFT=LEFT,
        BOTTOM=BOTTOM,
    )


def _bar(figure: CardFigure) -> Bar | None:
    """A share's place on an axis from 0 to 100%."""
    if figure.estimate is None:
        return None
    return Bar(*(round(100 * value, 2) for value in (figure.low, figure.estimate, figure.high)))
