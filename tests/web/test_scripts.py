"""What every script of the pages keeps to, as text: a policy that is not there yet cannot forbid it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from promptpex.report.page import script
from promptpex.web.app import STATIC
from promptpex.web.shared_by_pages import TEMPLATES

SCRIPTS = {path.name: path for place in (STATIC, script.SCRIPTS) for path in sorted(place.glob("*.js"))}
MAKES_HTML_OR_CODE = re.compile(
    r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|setHTMLUnsafe|eval|Function)\b"
)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_strict_and_makes_no_html_of_text(name: str) -> None:
    text = SCRIPTS[name].read_text(encoding="utf-8")
    assert text.startswith("'use strict';\n")
    assert MAKES_HTML_OR_CODE.findall(text) == []


@pytest.mark.parametrize("name", script.NAMES)
def test_a_script_can_stand_in_a_page(name: str) -> None:
    """Nothing in it ends the element that it stands in, or makes the browser read on in another way."""
    text = SCRIPTS[name].read_text(encoding="utf-8")
    assert re.search(r"</script|<script|<!--", text, re.IGNORECASE) is None
    assert "\r" not in text


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*.jinja")), ids=lambda path: path.name)
def test_a_template_has_no_script_style_or_handler_inside(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    inside = re.findall(
        r"<script(?![^>]*\bsrc=)[^>]*>(?!\{\{ script \}\})|<style>(?!\{\{ styles \}\})|\son\w+=|\sstyle=", text
    )
    assert inside == []
