"""Whether a text is HTML, or holds some: the tree by the HTML5 parser Lexbor, the traces by promptfoo's points."""

from __future__ import annotations

import re

from promptpex.assertions.javascript import js_values, v8
from promptpex.assertions.model import Unscorable
from promptpex.core.translation import stored

_BLANK = " "
_ELEMENTS = tuple(
    (
        "a abbr address area article aside audio b base bdi bdo blockquote body br button canvas caption "
        "cite code col colgroup data datalist dd del details dfn dialog div dl dt em embed fieldset "
        "figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins "
        "kbd label legend li link main map mark menu meta meter nav noscript object ol optgroup option "
        "output p picture pre progress q rp rt ruby s samp script search section select slot small source "
        "span strong style sub summary sup svg table tbody td template textarea tfoot th thead time title tr "
        "track u ul var video wbr math"
    ).split(_BLANK)
)
"""The elements of the living standard; ``center``, ``font`` and the like are obsolete and unknown."""

_SKELETON = ("html", "head", "body")
_COMMON = (
    "a body br button code div em footer form h1 h2 h3 h4 h5 h6 head header hr html iframe img input li link main meta "
    "nav ol p pre script section span strong style table tbody td th thead title tr ul"
).replace(" ", "|")
_TRACES: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(r"<(\w[\w-]*)(?:\s[^<>]*)?/>"), 1),
    (re.compile(r"&(?:[a-z]+|#\d+|#x[0-9a-f]+);", re.I), 1),
    (re.compile(r"<!doctype\s+html", re.I), 2),
    (re.compile(r"""<\w[^<>]*\s[\w:-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>]+)"""), 1),
    (re.compile(rf"<(?:{_COMMON})(?![\w-])", re.I), 2),
)
_OPEN = re.compile(r"<([a-z][\w-]*)(?:\s[^<>]*)?/?>", re.I)
_CLOSE = re.compile(r"</([a-z][\w-]*)\s*>", re.I)
_ADDRESS = re.compile(r"<[\w.+-]+@[\w-]+(?:\.[\w-]+)+>")
_ENOUGH = 2
"""Points from which a text holds HTML, as in promptfoo."""


def traces(source: str) -> int:
    """How much in a text looks like HTML, in points; 2 are enough to say that it holds some.

    An address in angle brackets is not one: promptfoo takes ``email <a@b.co>`` for HTML, a tester would not.
    """
    text = _ADDRESS.sub(" ", source)
    points = sum(worth for pattern, worth in _TRACES if pattern.search(text)) + _has_comment(text)
    opened = {match.group(1).lower() for match in _OPEN.finditer(text)}
    closed = {match.group(1).lower() for match in _CLOSE.finditer(text)}
    if opened & closed:
        return points + 2
    return points + (1 if opened or closed else 0)


def _has_comment(text: str) -> bool:
    start = text.find("<!--")
    return start >= 0 and text.find("-->", start + 4) >= 0


def holds_html(source: str) -> bool:
    """Whether a text holds HTML."""
    return traces(source) >= _ENOUGH


def problem(source: str) -> str | None:
    """Why a text is not HTML alone; None where it is.

    Raises:
        Unscorable: ``timeout`` or ``memory``: parsing it takes too much.
    """
    text = js_values.trim(source)
    if not text or text.startswith("<?xml"):
        return stored("the output is XML") if text else stored("the output is empty")
    written = [name for name in _SKELETON if re.search(rf"<{name}(?![\w-])", text, re.I)]
    whole = text.encode("utf-8", "replace").decode("utf-8")
    parsed = v8.html(whole, written=written, skeleton=_SKELETON, elements=_ELEMENTS, blanks=js_values.BLANKS)
    if parsed["kind"] != "html":
        reason = stored("parsing it takes too long, or too much memory")
        raise Unscorable(parsed["kind"], stored("the output was not read as HTML: {reason}", reason=reason))
    if parsed["loose"]:
        return stored("there is text outside of all elements")
    return None if parsed["recognized"] else stored("the output holds no element of HTML")
