"""Texts of pages in the reader's language, with values that are escaped (what templates call ``tr`` and ``tr_n``), and
times."""

from __future__ import annotations

import re
from datetime import datetime

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
    safe = Markup(str(escape(text)).replace("&#39;", "'"))
    return safe.format(**{name: pictured(value) for name, value in values.items()}) if values else safe


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
