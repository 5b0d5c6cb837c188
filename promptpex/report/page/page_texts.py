"""Texts of pages in the reader's language, with values that are escaped (what templates call ``tr`` and ``tr_n``), and
times."""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from string import Formatter

from markupsafe import Markup, escape

from promptpex.core import translation
from promptpex.core.translation import day, tr
from promptpex.report.page.values import pictured


def tr_on_page(message: str, /, **values: object) -> Markup:
    """The sentence in the reader's language; values are escaped, HTML that a template has made stays HTML."""
    return _filled(translation.tr(message), values)


def tr_n_on_page(one: str, many: str, count: int, /, **values: object) -> Markup:
    """The same for a sentence that counts; ``{count}`` is the number."""
    return _filled(translation.spoken().plural(one, many, count), {"count": count, **values})


def _filled(text: str, values: dict[str, object]) -> Markup:
    safe, pieces = _parsed(text)
    if not values:
        return safe
    if pieces is None:
        return safe.format(**{name: pictured(value) for name, value in values.items()})
    return Markup("".join([before + ("" if name is None else _escaped(values[name])) for before, name in pieces]))


@lru_cache(maxsize=4096)
def _parsed(text: str) -> tuple[Markup, tuple[tuple[str, str | None], ...] | None]:
    """A sentence as HTML, and its pieces: what stands before each place, and the value's name; None where a place says
    how its value is written.

    A page has the same few sentences a thousand times, which ``Markup.format`` would take apart each time.
    """
    safe = Markup(str(escape(text)).replace("&#39;", "'"))
    try:
        pieces = tuple(Formatter().parse(str(safe)))
    except ValueError:  # a brace of a sentence without values
        return safe, None
    plain = all(name is None or (name.isidentifier() and not how and not as_what) for _, name, how, as_what in pieces)
    return safe, tuple((before, name) for before, name, _, _ in pieces) if plain else None


def _escaped(value: object) -> str:
    shown = pictured(value)
    return str(escape(shown if isinstance(shown, str) or hasattr(shown, "__html__") else format(shown)))


_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)")


def moment(created: str) -> str:
    """A time in UTC as people write it, to the minute; any other text as it is."""
    match = _MOMENT.fullmatch(created)
    if match is None:
        return created
    try:
        date = day(datetime.fromisoformat(match[1]))
    except ValueError:
        return created
    return tr("{date} {time} UTC", date=date, time=match[2])
