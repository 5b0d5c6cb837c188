"""Foreign text in Markdown is shown and makes nothing."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from promptpex.codecs.markdown import block, prose
from promptpex.codecs.text.control_characters import visible

RENDER = MarkdownIt("commonmark").enable("table")
SIGNS = st.text(st.sampled_from(list("ab1 .)-+=#*_`~<>[]()|&;!\\:/@$w\n\t\r'\"")), max_size=30)


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>", "[x](javascript:alert(1))", "![x](y)", "# no heading", "- no list", "1. none",
        "12) none", "+ none", "=== none", "--- none", "`code` & &lt;", "**b** _i_ ~~s~~", "a | b", "https://x.y/z",
        "www.example.com", "@someone", "$x$", "<https://x.y>", "back\\slash", "\u202eevil\x1b[2J",
    ],
)  # fmt: skip
def test_hostile_prose_is_one_paragraph_of_its_own_words(text: str) -> None:
    shown = RENDER.render(prose(text))
    assert re.fullmatch(r"<p>[^<]*</p>\n", shown), shown
    assert html.unescape(shown[3:-5]) == " ".join(visible(text).split())


def test_links_are_not_written_as_their_readers_know_them() -> None:
    assert prose("see https://x.y, www.x.y and me@x.y") == r"see https\://x.y, www\.x.y and me\@x.y"


@given(SIGNS)
def test_prose_is_always_the_text_alone(text: str) -> None:
    wanted = " ".join(text.split())
    shown = RENDER.render(prose(text))
    assert html.unescape(re.sub(r"</?p>|\n$", "", shown)) == wanted
    in_list = RENDER.render(f"- {prose(text)}")
    assert html.unescape(re.sub(r"</?(?:ul|li)>|\n", "", in_list)) == wanted


@given(SIGNS)
def test_nothing_ends_a_block(text: str) -> None:
    shown = RENDER.render(f"{block(text)}\n\nafter\n")
    code, after = shown[len('<pre><code class="language-text">') :].split("</code></pre>\n")
    wanted = text.replace("\r\n", "\n").replace("\r", "\n")
    assert html.unescape(code) == f"{wanted}\n"
    assert after == "<p>after</p>\n"
