"""The kinds ``is-xml``, ``contains-xml``, ``is-html`` and ``contains-html``.

HTML: the tree by the HTML5 parser Lexbor, the traces by promptfoo's points. The parser cannot be stopped, so its work
is reckoned before: it grows with the depth at which each element stands, and with the square of the attributes in a
tag. The depth is that of strict nesting: what is closed in the wrong order counts as open, as a parser may open it
again.  XML is read into plain data: elements as objects, repeated ones as lists, attributes as ``@_name``. Strict is
well-formed XML 1.0 with namespaces, by expat, an internal DTD refused. Lax takes what models write: attributes without
quotes, unknown entities, bare ``<`` in text; it looks for balanced elements inside of other text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias
from xml.parsers import expat

from promptpex.assertions.javascript import js_values, v8
from promptpex.assertions.model import Assertion, CheckedOutput, Kind, KindResult, Unscorable
from promptpex.assertions.time_limits import in_time
from promptpex.codecs.text.wording import beginning, quoted_json
from promptpex.core.translation import stored

Element: TypeAlias = "dict[str, Tree]"
Tree: TypeAlias = "Element | list[Tree] | str"


class NotXml(ValueError):
    """The text is not well-formed."""


class _TreeBuilder:
    """Collects what a parser meets; the root is a nameless object."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.nodes: list[Element] = [{}]
        self.texts: list[list[str]] = [[]]

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self.nodes) > 500:
            raise NotXml(stored("it nests too deep"))
        self.names.append(name)
        self.nodes.append({f"@_{key}": value for key, value in attributes.items()})
        self.texts.append([])

    def text(self, data: str) -> None:
        self.texts[-1].append(data)

    def end(self, name: str) -> None:
        node, words = self.nodes.pop(), "".join(self.texts.pop()).strip()
        if node and words:
            node["#text"] = words
        add(self.nodes[-1], self.names.pop(), node or words)


def add(parent: Element, name: str, value: Tree) -> None:
    """Put an element in; several of one name become a list."""
    if name not in parent:
        parent[name] = value
        return
    others = parent[name]
    if isinstance(others, list):
        others.append(value)
    else:
        parent[name] = [others, value]


def strict(source: str) -> Element:
    """The document as ``{root: ...}``.

    Raises:
        NotXml: it is not well-formed, or has a DTD inside.
    """
    raw = source.removeprefix("\ufeff").encode("utf-8", "surrogatepass")
    _feed(expat.ParserCreate("utf-8", namespace_separator=" "), raw)
    builder = _TreeBuilder()
    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    _feed(parser, raw)
    return builder.nodes[0]


def _feed(parser: expat.XMLParserType, raw: bytes) -> None:
    parser.StartDoctypeDeclHandler = _refuse_dtd
    try:
        parser.Parse(raw, True)
    except expat.ExpatError as error:
        raise NotXml(str(error)) from error


def _refuse_dtd(name: str, system: str | None, public: str | None, internal: bool | int) -> None:
    if internal:
        raise NotXml(stored("it holds a DTD"))


_NAME = r"[^\W\d][\w.\-:]*"
_TOKEN = re.compile(
    rf"<!--.*?-->|<!\[CDATA\[(?P<cdata>.*?)\]\]>|</(?P<close>{_NAME})\s*>"
    rf"|<(?P<open>{_NAME})(?P<attributes>(?:\s+(?:\"[^\"]*\"|'[^']*'|[^\s<>\"'])+)*)\s*(?P<empty>/)?>",
    re.S,
)
_ATTRIBUTE = re.compile(r"([^\s=\"'<>/]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'<>]+)))?")
_MAX_STEPS = 200_000
"""Tags that are looked at in the search for balanced elements."""


def pieces(source: str) -> Iterator[tuple[str, Tree]]:
    """The balanced elements in a text, from left to right, those inside of another left out."""
    tokens = [match for match in _TOKEN.finditer(_closable(source)) if match.group("open") or match.group("close")]
    at, steps = 0, 0
    while at < len(tokens) and steps < _MAX_STEPS:
        if not tokens[at].group("open"):
            at += 1
            continue
        end = _balanced(tokens, at)
        steps += abs(end) - at
        if end > 0:
            yield _read(source, tokens[at:end])
        at = end if end > 0 else at + 1


def _closable(source: str) -> str:
    """The text without openings of comments and CDATA that nothing closes: each would be looked at to the very end."""
    for opening, closing in (("<!--", "-->"), ("<![CDATA[", "]]>")):
        last = max(source.rfind(closing), 0)
        source = source[:last] + source[last:].replace(opening, " " * len(opening))
    return source


def _balanced(tokens: list[re.Match[str]], start: int) -> int:
    """Where the element that starts here ends; the negative of where it went wrong if it does not."""
    stack: list[str] = []
    for index in range(start, len(tokens)):
        opened, closed = tokens[index].group("open"), tokens[index].group("close")
        if opened and not _is_empty(tokens[index]):
            stack.append(opened)
        elif closed and (not stack or stack.pop() != closed):
            return -index - 1
        if not stack:
            return index + 1
        if len(stack) > 400:
            return -index - 1
    return -len(tokens) - 1


def _is_empty(token: re.Match[str]) -> bool:
    return token.group("empty") is not None or token.group("attributes").endswith("/")


def _read(source: str, tokens: list[re.Match[str]]) -> tuple[str, Tree]:
    builder = _TreeBuilder()
    before = tokens[0].start()
    for token in tokens:
        builder.text(source[before : token.start()])
        before = token.end()
        if token.group("open"):
            builder.start(token.group("open"), _attributes_in(token.group("attributes")))
        if token.group("close") or _is_empty(token):
            builder.end(token.group("close") or token.group("open"))
    name, tree = next(iter(builder.nodes[0].items()))
    return name, tree


def _attributes_in(source: str) -> dict[str, str]:
    return {match.group(1): _first(match.groups()[1:]) for match in _ATTRIBUTE.finditer(source)}


def _first(values: Iterable[str | None]) -> str:
    return next((value for value in values if value is not None), "")


def reaches(tree: object, path: str) -> bool:
    """Whether a dotted path such as ``root.user.0.name`` leads to something."""
    for step in path.split("."):
        if isinstance(tree, dict) and step in tree:
            tree = tree[step]
        elif isinstance(tree, list) and step.isascii() and step.isdigit() and int(step) < len(tree):
            tree = tree[int(step)]
        else:
            return False
    return True


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
    bare = _VALUE.sub("= ", rest)
    return len(bare.split()) + bare.count("/") + bare.count("=")


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
    return traces(source) >= _ENOUGH


def problem_of_html(source: str) -> str | None:
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


def _paths(assertion: Assertion, value: object) -> tuple[str, ...]:
    """The elements that have to be there, as dotted paths: from a list, a comma list, or ``requiredElements``."""
    if isinstance(value, str):
        return tuple(js_values.trim(path) for path in value.split(","))
    if isinstance(value, Mapping) and value:
        value = value.get("requiredElements")
        if not isinstance(value, list | tuple):
            raise Unscorable("bad-value", f"an object as the value of {assertion.kind} needs a list requiredElements")
    return tuple(js_values.text(path) for path in value) if isinstance(value, list | tuple) else ()


def _is_xml(assertion: Assertion, paths: tuple[str, ...], checked: CheckedOutput) -> KindResult:
    try:
        tree = strict(checked.text)
    except NotXml as error:
        return KindResult(False, stored("not XML ({reason}): {excerpt}", reason=error, excerpt=beginning(checked.text)))
    return _by_paths([tree], paths, _IS_XML)


def _contains_xml(assertion: Assertion, paths: tuple[str, ...], checked: CheckedOutput) -> KindResult:
    combined: Element = {}
    elements: list[Element] = []
    for name, tree in pieces(checked.text):
        add(combined, name, tree)
        elements.append({name: tree})
    if not elements:
        return KindResult(False, stored("the output holds no XML: {excerpt}", excerpt=beginning(checked.text)))
    return _by_paths([combined, *elements], paths, _HOLDS_XML)


_IS_XML = (
    stored("the output is XML"),
    stored("the output is XML with the elements wanted"),
    stored("the output is XML, but has no element {quoted}"),
)
_HOLDS_XML = (
    stored("the output holds XML"),
    stored("the output holds XML with the elements wanted"),
    stored("the output holds XML, but has no element {quoted}"),
)


def _by_paths(trees: list[Element], paths: tuple[str, ...], words: tuple[str, str, str]) -> KindResult:
    plain, with_elements, lacking = words
    if any(all(reaches(tree, path) for path in paths) for tree in in_time(trees)):
        return KindResult(True, with_elements if paths else plain)
    missing = next((path for path in paths if not reaches(trees[0], path)), paths[0])
    return KindResult(False, lacking.format(quoted=quoted_json(missing)))


def _nothing(assertion: Assertion, value: object) -> None:
    return None


def _is_html(assertion: Assertion, plan: None, checked: CheckedOutput) -> KindResult:

    reason = too_costly(checked.text)
    if reason is not None:
        raise Unscorable("timeout", stored("the output was not read as HTML: {reason}", reason=reason))
    problem = problem_of_html(checked.text)
    return KindResult(problem is None, problem or stored("the output is HTML"))


def _contains_html(assertion: Assertion, plan: None, checked: CheckedOutput) -> KindResult:

    holds = holds_html(checked.text)
    if holds:
        return KindResult(True, stored("the output holds HTML"))
    return KindResult(False, stored("the output holds no HTML: {excerpt}", excerpt=beginning(checked.text)))


KINDS = (
    Kind("is-xml", _paths, _is_xml),
    Kind("contains-xml", _paths, _contains_xml),
    Kind("is-html", _nothing, _is_html, renders=False),
    Kind("contains-html", _nothing, _contains_html, renders=False),
)
