"""JUnit XML: counts before cases, any text in it, and suites longer than memory should hold."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from promptpex.codecs.ci_reports import IN_MEMORY, JUnitCase, junit_document

FAILED = JUnitCase("shop", "c2", "failure", kind="broken rule", message="r1", details="r1: too long")
UNSCORED = JUnitCase("shop", "c3", "error", kind="timeout", message="no answer")


def test_every_suite_and_the_whole_have_their_counts() -> None:
    suites = [("m1", [JUnitCase("shop", "c1", seconds=1.5), FAILED]), ("m2", iter([UNSCORED])), ("m3", [])]
    root = ElementTree.fromstring("".join(junit_document(suites, name="shop")))
    totals = [(each.get("name"), each.get("tests"), each.get("failures"), each.get("errors")) for each in (root, *root)]
    assert totals == [("shop", "3", "1", "1"), ("m1", "2", "1", "0"), ("m2", "1", "0", "1"), ("m3", "0", "0", "0")]
    passed, failed = root[0]
    assert (passed.get("time"), list(passed)) == ("1.500", [])
    assert [(each.tag, each.get("message"), each.text) for each in failed] == [("failure", "r1", "r1: too long")]


@given(st.text(), st.text(), st.text())
def test_it_is_xml_whatever_stands_in_it(name: str, message: str, details: str) -> None:
    case = JUnitCase(name, name, "failure", message, message, details)
    root = ElementTree.fromstring("".join(junit_document([(name, [case])], name=name)))
    assert [each.tag for each in root.iter()] == ["testsuites", "testsuite", "testcase", "failure"]


def test_a_suite_that_is_longer_than_its_memory_comes_whole_and_in_blocks() -> None:
    cases = (JUnitCase("shop", f"c{number}", "error", details="é" * 1000) for number in range(1200))
    blocks = list(junit_document([("m", cases)]))
    assert sum(map(len, blocks)) > IN_MEMORY
    assert max(map(len, blocks)) < IN_MEMORY / 10
    assert len(ElementTree.fromstring("".join(blocks))[0]) == 1200
