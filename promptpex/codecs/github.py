"""Foreign text in GitHub's Markdown and in the workflow commands that GitHub Actions reads from what a step prints."""

from __future__ import annotations

import re
from collections.abc import Mapping

from promptpex.codecs.text.control_characters import visible

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
    """A line for the log of a step in which the runner finds no command."""
    return " ".join(visible(text).splitlines()).strip()


def _data(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
