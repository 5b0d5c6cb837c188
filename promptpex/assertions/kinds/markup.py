"""The kinds ``is-xml``, ``contains-xml``, ``is-html`` and ``contains-html``."""

from __future__ import annotations

from collections.abc import Mapping

from promptpex.assertions.javascript import js_values
from promptpex.assertions.kinds import xml_parser
from promptpex.assertions.model import Assertion, CheckedOutput, KindResult, Unscorable
from promptpex.assertions.registry import Kind
from promptpex.assertions.time_limits import in_time
from promptpex.codecs.text.wording import beginning, quoted_json
from promptpex.core.translation import stored


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
        tree = xml_parser.strict(checked.text)
    except xml_parser.NotXml as error:
        return KindResult(False, stored("not XML ({reason}): {excerpt}", reason=error, excerpt=beginning(checked.text)))
    return _by_paths([tree], paths, _IS_XML)


def _contains_xml(assertion: Assertion, paths: tuple[str, ...], checked: CheckedOutput) -> KindResult:
    combined: xml_parser.Element = {}
    elements: list[xml_parser.Element] = []
    for name, tree in xml_parser.pieces(checked.text):
        xml_parser.add(combined, name, tree)
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


def _by_paths(trees: list[xml_parser.Element], paths: tuple[str, ...], words: tuple[str, str, str]) -> KindResult:
    plain, with_elements, lacking = words
    if any(all(xml_parser.reaches(tree, path) for path in paths) for tree in in_time(trees)):
        return KindResult(True, with_elements if paths else plain)
    missing = next((path for path in paths if not xml_parser.reaches(trees[0], path)), paths[0])
    return KindResult(False, lacking.format(quoted=quoted_json(missing)))


def _nothing(assertion: Assertion, value: object) -> None:
    return None


def _is_html(assertion: Assertion, plan: None, checked: CheckedOutput) -> KindResult:
    from promptpex.assertions.kinds import html_cost, html_detection

    reason = html_cost.too_costly(checked.text)
    if reason is not None:
        raise Unscorable("timeout", stored("the output was not read as HTML: {reason}", reason=reason))
    problem = html_detection.problem(checked.text)
    return KindResult(problem is None, problem or stored("the output is HTML"))


def _contains_html(assertion: Assertion, plan: None, checked: CheckedOutput) -> KindResult:
    from promptpex.assertions.kinds import html_detection

    holds = html_detection.holds_html(checked.text)
    if holds:
        return KindResult(True, stored("the output holds HTML"))
    return KindResult(False, stored("the output holds no HTML: {excerpt}", excerpt=beginning(checked.text)))


KINDS = (
    Kind("is-xml", _paths, _is_xml),
    Kind("contains-xml", _paths, _contains_xml),
    Kind("is-html", _nothing, _is_html, renders=False),
    Kind("contains-html", _nothing, _contains_html, renders=False),
)
