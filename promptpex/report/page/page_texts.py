"""Texts of pages in the reader's language, with values that are escaped: what templates call ``tr`` and ``tr_n``."""

from __future__ import annotations

from markupsafe import Markup, escape

from promptpex.core import texts
from promptpex.report.page.values import visible


def tr_on_page(message: str, /, **values: object) -> Markup:
    """The sentence in the reader's language; values are escaped, HTML that a template has made stays HTML."""
    return _filled(texts.tr(message), values)


def tr_n_on_page(one: str, many: str, count: int, /, **values: object) -> Markup:
    """The same for a sentence that counts; ``{count}`` is the number."""
    return _filled(texts.spoken().plural(one, many, count), {"count": count, **values})


def _filled(text: str, values: dict[str, object]) -> Markup:
    safe = Markup(str(escape(text)).replace("&#39;", "'"))
    return safe.format(**{name: visible(value) for name, value in values.items()}) if values else safe
