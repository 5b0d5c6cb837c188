"""Long ids of rules and cases: shortened where they are shown, whole on hover and in the anchor."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.records import Case, Rule, Run
from promptpex.report import summarise
from promptpex.report.html_page import html
from promptpex.report.ids import anchor, shortened
from tests.report.printed import printed
from tests.report.test_html_page import EVIL, Reader, assert_harmless
from tests.tables.by_hand import output, run, score, verdict

RULE = "the-output-names-exactly-one-tag-of-the-list-in-the-prompt-"
CASE = "a_word_without_any_place_at_which_a_browser_would_break_a_line_" * 3
MODEL = "m" * 150


@given(st.text(max_size=80), st.integers(2, 60))
def test_a_shortened_id_has_at_most_so_many_characters_and_both_its_ends(name: str, most: int) -> None:
    short = shortened(name, most)
    assert len(short) <= most
    assert short == name if len(name) <= most else "…" in short
    assert name.startswith(short.partition("…")[0]) or "…" in name
    assert name.endswith(short.rpartition("…")[2]) or "…" in name


def test_ids_that_begin_alike_are_told_apart_by_their_ends() -> None:
    assert len({shortened(f"{RULE}{n}") for n in range(200)}) == 200


@given(st.lists(st.text(max_size=20), unique=True, max_size=8))
def test_anchors_differ_and_have_no_blank(names: list[str]) -> None:
    anchors = [anchor("case", name) for name in names]
    assert len(set(anchors)) == len(names)
    assert not any(letter.isspace() or letter in "\"'<>&" for one in anchors for letter in one)


def test_an_anchor_is_the_id_where_it_can_be() -> None:
    assert anchor("case", "t-7_b.2") == "case-t-7_b.2"
    assert anchor("rule", "a b\ud800") == "rule-a%20b%3F"


def made(rule: str = RULE, case: str = CASE, model: str = MODEL) -> Run:
    rules = tuple(Rule(id=f"{rule}{n}", rule="The output is a tag.", source="a tag") for n in (1, 2))
    cases = tuple(Case(id=f"{case}{n}", rule=rules[0].id, inputs={"thing": "x"}, expected="NN") for n in range(4))
    outputs = [output(one.id, model, "JJ" if n else "w" * 300) for n, one in enumerate(cases)]
    judged = [
        verdict("fail" if n == 0 else "pass", each.id, one.id, model, reason="r" * 300)
        for n, one in enumerate(cases)
        for each in rules
    ]
    scores = [score(0.0, one.id, model) for one in cases]
    scores += [score(0.5, one.id, model, name="tone", source="judge:" + "j" * 90) for one in cases]
    return run(outputs, judged, scores=scores, models=(model,), rules=rules, cases=cases)


def test_the_page_shows_long_ids_short_and_keeps_them_whole() -> None:
    text = html(summarise(made()))
    page = Reader(text)
    short, whole = shortened(f"{RULE}1"), f"{RULE}1"
    assert re.search(f'<code>(<a [^>]*>)?<bdi title="{whole}">{short}</bdi>(</a>)?</code>', text)
    assert {f"rule-{RULE}1", f"case-{CASE}3"} <= set(page.having("id"))
    ids = page.having("id")
    assert len(ids) == len(set(ids))
    assert f"Id: {whole}" in page.text
    assert f'passes <bdi title="{RULE}1, {RULE}2">{short}, {shortened(f"{RULE}2")}</bdi>' in text
    short_ids = html(summarise(made("r", "t")))
    assert 'title="r1"' not in short_ids
    assert "Id: " not in short_ids


def test_hostile_ids_are_escaped_in_titles_and_anchors() -> None:
    evil = f"{EVIL} \x00\u202e "
    page = Reader(html(summarise(run([output(evil)], [verdict("fail", evil, evil)]))))
    assert_harmless(page)
    assert any(EVIL in title for title in page.having("title"))
    assert not any(" " in one for one in page.having("id"))


def test_the_terminal_shows_the_ends_of_long_ids() -> None:
    text = printed(summarise(made()), width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert shortened(f"{RULE}1") in text
    assert CASE not in text.replace("\n", "")


CHROMIUM = shutil.which("chromium")
FRAMES = """<!doctype html><body><pre id=o></pre><script>
const frames = [360, 768, 1280].map(width => [width, 'report.html']);
const measured = [];
for (const [width, file] of frames) {
  const frame = document.createElement('iframe');
  frame.style.cssText = `width:${width}px;height:900px;border:0`;
  frame.src = file;
  frame.onload = () => {
    const page = frame.contentDocument, right = frame.contentWindow.innerWidth;
    page.querySelectorAll('details').forEach(one => one.open = true);
    const over = [...page.querySelectorAll('body *')].filter(
      one => !one.closest('.scroll') && !one.closest('svg') && one.getBoundingClientRect().right > right + 1);
    const elements = page.querySelectorAll('body *').length;
    measured.push({width, file, elements, over: over.map(one => one.outerHTML.slice(0, 90))});
    if (measured.length === frames.length) o.textContent = JSON.stringify(measured) + 'END';
  };
  document.body.append(frame);
}
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_nothing_stands_out_of_the_page_at_any_width(tmp_path: Path) -> None:
    """A phone's 360 px among them; only what scrolls by itself may be wider."""
    assert CHROMIUM is not None
    (tmp_path / "report.html").write_text(html(summarise(made())), encoding="utf-8")
    (tmp_path / "frames.html").write_text(FRAMES, encoding="utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
               "--virtual-time-budget=20000", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom",
               (tmp_path / "frames.html").as_uri()]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    measured = json.loads(unescape(done.stdout.partition('<pre id="o">')[2].partition("END</pre>")[0]))
    assert sorted(one["width"] for one in measured) == [360, 768, 1280]
    for one in measured:
        assert one["elements"] > 100
        assert one["over"] == []
