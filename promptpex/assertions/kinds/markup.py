"""The kinds ``is-xml``, ``contains-xml``, ``is-html`` and ``contains-html``."""

from __future__ import annotations

from collections.abc import Mapping

from promptpex.assertions.javascript import js_values
from promptpex.assertions.kinds import xml_text
from promptpex.assertions.model import Assertion, CheckedOutput, KindResult, Unscorable
from promptpex.assertions.registry import Kind
from promptpex.assertions.time_limits import in_time
from promptpex.codecs.wording import beginning, quoted_json


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
        tree = xml_text.strict(checked.text)
    except xml_text.NotXml as error:
        return KindResult(False, f"not XML ({error}): {beginning(checked.text)}")
    return _by_paths([tree], paths, "is XML")


def _contains_xml(assertion: Assertion, paths: tuple[str, ...], checked: CheckedOutput) -> KindResult:
    together: xml_text.Element = {}
    elements: list[xml_text.Element] = []
    for name, tree in xml_text.pieces(checked.text):
        xml_text.add(together, name, tree)
        elements.append({name: tree})
    if not elements:
        return KindResult(False, f"the output holds no XML: {beginning(checked.text)}")
    return _by_paths([together, *elements], paths, "holds XML")


def _by_paths(trees: list[xml_text.Element], paths: tuple[str, ...], what: str) -> KindResult:
    if any(all(xml_text.reaches(tree, path) for path in paths) for tree in in_time(trees)):
        return KindResult(True, f"the output {what}" + (" with the elements wanted" if paths else ""))
    missing = next((path for path in paths if not xml_text.reaches(trees[0], path)), paths[0])
    return KindResult(False, f"the output {what}, but has no element {quoted_json(missing)}")


def _nothing(assertion: Assertion, value: object) -> None:
    return None


def _is_html(assertion: Assertion, plan: None, checked: CheckedOutput) -> KindResult:
    from promptpex.assertions.kinds import html_cost, html_text

    reason = html_cost.too_costly(checked.text)
    if reason is not None:
        raise Unscorable("timeout", f"the output was not read as HTML: {reason}")
    problem = html_text.problem(checked.text)
    return KindResult(problem is None, problem or "the output is HTML")


def _contains_html(assertion: Assertion, plan: None, checked: CheckedOutput) -> KindResult:
    from promptpex.assertions.kinds import html_text

    holds = html_text.holds_html(checked.text)
    return KindResult(
        holds, "the output holds HTML" if holds else f"the output holds no HTML: {beginning(checked.text)}"
    )


KINDS = (
    Kind("is-xml", _paths, _is_xml),
    Kind("contains-xml", _paths, _contains_xml),
    Kind("is-html", _nothing, _is_html, renders=False),
    Kind("contains-html", _nothing, _contains_html, renders=False),
)
