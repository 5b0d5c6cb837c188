"""What CI systems read: JUnit XML, and foreign text in GitHub's Markdown and workflow commands."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import IO, Literal
from xml.sax.saxutils import escape, quoteattr

from promptpex.codecs.text.control_characters import visible

Outcome = Literal["pass", "failure", "error", "skipped"]

IN_MEMORY = 1_000_000
"""Characters of a suite that wait in memory; more of them wait in a temporary file."""
_BLOCK = 65_536
"""Characters that are copied out of that file at a time, as ``shutil.copyfileobj`` does."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0, section 2.2, has no place for."""


@dataclass(frozen=True, slots=True)
class JUnitCase:
    """One case of a suite.

    Attributes:
        outcome: whether it passed, failed, is in error, or could not be decided (``skipped``).
        kind: what sort of failure or error it is, in a word.
        details: the lines below; ``kind``, ``message`` and ``details`` are not written for a case that passed.
        seconds: how long it took; None = not known.
    """

    classname: str
    name: str
    outcome: Outcome = "pass"
    kind: str = ""
    message: str = ""
    details: str = ""
    seconds: float | None = None

    def xml(self) -> str:
        """Its element, on a line of its own."""
        time = "" if self.seconds is None else f' time="{self.seconds:.3f}"'
        start = f"<testcase classname={_attribute(self.classname)} name={_attribute(self.name)}{time}"
        if self.outcome == "pass":
            return f"{start}/>\n"
        about = f"type={_attribute(self.kind)} message={_attribute(self.message)}"
        return f"{start}><{self.outcome} {about}>{escape(_xml(self.details))}</{self.outcome}></testcase>\n"


def junit_document(suites: Iterable[tuple[str, Iterable[JUnitCase]]], name: str = "") -> Iterator[str]:
    """The document, part by part: suites of a name and cases, with their counts.

    The counts stand before the cases, so the cases wait, those of a long suite in a temporary file.
    """
    with ExitStack() as stack:
        written = [(title, *_spooled(cases, stack)) for title, cases in suites]
        total = sum((counts for _, counts, _ in written), Counter[str]())
        named = f" name={_attribute(name)}" if name else ""
        yield f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites{named} {_totals(total)}>\n'
        for title, counts, file in written:
            yield f"<testsuite name={_attribute(title)} {_totals(counts)}>\n"
            yield from iter(partial(file.read, _BLOCK), "")
            yield "</testsuite>\n"
        yield "</testsuites>\n"


def _spooled(cases: Iterable[JUnitCase], stack: ExitStack) -> tuple[Counter[str], IO[str]]:
    """How many cases there are of each outcome, and a file of their elements, at its start."""
    counts = Counter[str]()
    file = stack.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY, "w+", encoding="utf-8", newline=""))  # noqa: SIM115
    for case in cases:
        counts[case.outcome] += 1
        file.write(case.xml())
    file.seek(0)
    return counts, file


def _totals(counts: Counter[str]) -> str:
    skipped = f' skipped="{counts["skipped"]}"' if counts["skipped"] else ""
    return f'tests="{counts.total()}" failures="{counts["failure"]}" errors="{counts["error"]}"{skipped}'


def _attribute(text: str) -> str:
    return quoteattr(_xml(text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _xml(text: str) -> str:
    return visible(_NOT_XML.sub("\ufffd", text))


_SIGN = re.compile(r"[!-+\-./:-@\[-`{-~]")
"""Signs of ASCII that may mean something in Markdown, in HTML or to GitHub: all but the comma."""


def code(text: str) -> str:
    """A text as inline code, on one line: no Markdown, HTML, link, mention or formula comes of it, and no end of a
    table's cell.

    A reference to a character stands for it as text alone (CommonMark 0.31, section 2.5), and GitHub looks for no
    mention inside code.
    """
    line = " ".join(visible(text).split())
    return f"<code>{_SIGN.sub(lambda sign: f'&#{ord(sign.group())};', line)}</code>" if line else ""


def workflow_command(name: str, message: str, properties: Mapping[str, str | int | None]) -> str:
    """A line such as ``::error file=prompt.md,line=3::message``; properties that are None are left out.

    Escaped as GitHub's toolkit does: nothing in a message or a property ends it or begins another command.
    """
    present = {key: str(value) for key, value in properties.items() if value is not None}
    properties_text = ",".join(f"{key}={_property(value)}" for key, value in present.items())
    return f"::{name}{f' {properties_text}' if properties_text else ''}::{_data(message)}"


def plain_line(text: str) -> str:
    return " ".join(visible(text).splitlines()).strip()


def _data(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
