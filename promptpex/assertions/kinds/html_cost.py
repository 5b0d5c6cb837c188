"""How much an HTML5 parser would have to do with a text, reckoned before it begins, for it cannot be stopped.

Its work grows with the depth at which each element stands, and with the square of the attributes in a tag. The depth is
that of strict nesting: what is closed in the wrong order counts as open, as a parser may have to open it again.
"""

from __future__ import annotations

import re

from promptpex.core.translation import stored

MAX_DEPTHS = 3_000_000
"""Sum over all elements of how deep each stands: a nesting of 2,400, or 60,000 elements at a depth of 50."""
MAX_ATTRIBUTES = 4_000
_TAG = re.compile(
    r"<(/?)([a-zA-Z][^\s/>]*+)"
    r"((?:[^>=]++|=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|))*+)(?:>|\Z)"
)
_VALUE = re.compile(r"=\s*+(?:\"[^\"]*+\"?|'[^']*+'?)")
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split(" "))  # noqa: SIM905
_CLOSED_BY_OTHERS = frozenset("p li dt dd option optgroup tr td th thead tbody tfoot".split(" "))  # noqa: SIM905


def too_costly(text: str) -> str | None:
    """Why the text is not to be parsed; None where it may be. Takes time in proportion to the text."""
    open_: list[str] = []
    depths = 0
    for match in _TAG.finditer(text):
        closes, name, rest = match.group(1), match.group(2).lower(), match.group(3)
        if closes:
            _close(open_, name)
            continue
        if len(rest) > MAX_ATTRIBUTES and _attributes(rest) > MAX_ATTRIBUTES:
            return stored("a tag has more than {count} attributes", count=f"{MAX_ATTRIBUTES:,}")
        if name in _VOID:
            continue
        if name in _CLOSED_BY_OTHERS:
            _close(open_, name)
        open_.append(name)
        depths += len(open_)
        if depths > MAX_DEPTHS:
            return stored("its elements nest too deep, or are not closed")
    return None


def _close(open_: list[str], name: str) -> None:
    """Ends the innermost element if it has this name, or those around which only elements with optional ends are."""
    at = len(open_) - 1
    while at >= 0 and open_[at] != name and open_[at] in _CLOSED_BY_OTHERS and at > len(open_) - 4:
        at -= 1
    if at >= 0 and open_[at] == name:
        del open_[at:]


def _attributes(rest: str) -> int:
    """At least as many as a parser would find."""
    bare = _VALUE.sub("= ", rest)
    return len(bare.split()) + bare.count("/") + bare.count("=")
