from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from promptpex.core.records import Message, Rule, Run
from promptpex.report import summarise
from promptpex.report import view_model as pages
from promptpex.report.html_page import TEMPLATES, html, write
from promptpex.report.page.script import script
from promptpex.report.page.values import coded, pictured
from promptpex.report.view_model import heat, page
from promptpex.tables import MODEL_COLUMNS
from tests.samples import prompt
from tests.tables.by_hand import colours, output, run, verdict

EVIL = "<script>alert(1)</script></style></title></details>\"'><img src=x onerror=alert(1)>{{ 7 * 7 }}&amp;]]><!--"
OURS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "header",
        "main",
        "section",
        "article",
        "h1",
        "h2",
        "h3",
        "h4",
        "p",
    ),
    *("div", "span", "bdi", "code", "small", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "dl", "dt", "dd"),
    *("details", "summary", "fieldset", "legend", "label", "input", "svg", "line", "circle", "text", "mark", "q"),
    *("a", "button", "select", "option", "noscript", "script", "wbr", "figure", "figcaption"),
}
VOID = {"meta", "input", "wbr"}


class Reader(HTMLParser):
    """What a browser would see: tags with their attributes, the text, and whether tags close in their order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.comments: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> out of order"

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def having(self, name: str) -> list[str]:
        return [value or "" for _, attributes in self.tags for key, value in attributes.items() if key == name]


def read(made: Run) -> Reader:
    return Reader(html(summarise(made)))


def hostile(text: str) -> Run:
    broken = verdict("fail", text or "r", text, text, reason=text, source=text)
    cut = output("c2", text, None, error=text, message=text)
    open_ = verdict("unscored", "r1", "c2", text, unscored=text, source=text)
    made = run(
        [output(text, text, text), cut],
        [broken, open_],
        models=(text,),
        rules=(Rule(id="r1", rule=text or "r", inverse=text, source=text),),
        name=text,
        partial=text,
        author=text,
        judges=(text,),
        settings={f"{text}!": {text: [text]}},  # never the name of a setting
        origins={text: text},
        reported={text: (text, "other")},
        versions={text: text},
        templates={text: text},
        created=text,
    )
    hostile_prompt = prompt().replace(name=text, messages=(Message(role="user", content=text),))
    return made.replace(prompt=hostile_prompt, spec=made.spec.replace(intent=text))


def assert_harmless(page_: Reader) -> None:
    assert {tag for tag, _ in page_.tags} <= OURS
    assert not page_.open
    assert not page_.comments
    names = {name for _, attributes in page_.tags for name in attributes}
    assert not {name for name in names if name.startswith("on")}
    assert {address[:1] for address in page_.having("href")} <= {"#"}
    assert not names & {"src", "srcset", "style", "action", "formaction", "xlink:href", "ping", "background"}


def test_commands_in_the_answer_are_set_as_code() -> None:
    text = html(replace(summarise(colours()), answer="Check this judge with `promptpex grade`."))
    assert "Check this judge with <code>promptpex grade</code>." in text
    assert coded("`<b>` `a") == "<code>&lt;b&gt;</code> `a"


def test_hostile_text_is_shown_and_never_taken_for_html() -> None:
    page_ = read(hostile(EVIL))
    assert_harmless(page_)
    assert page_.text.count("<script>alert(1)</script>") >= 15
    assert "{{ 7 * 7 }}" in page_.text
    assert "49" not in page_.text
    titles = [value for value in page_.having("title") if EVIL in value]
    assert titles


@settings(deadline=None, max_examples=12)
@example("</style><script>")
@example('" onmouseover="alert(1)')
@example("\x00\x1b\r\x9b")
@given(st.text(max_size=60) | st.text(alphabet="<>\"'&/=!-{}%# ascript\n", max_size=60))
def test_no_text_breaks_the_page(text: str) -> None:
    made = html(summarise(hostile(text)))
    made.encode("utf-8")
    assert_harmless(Reader(made))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", made)


def test_the_page_loads_nothing_and_runs_its_own_script_alone() -> None:
    made = html(summarise(hostile("https://example.org/x.js url(http://example.org)")))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', made)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    digest = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy[1]
    assert "require-trusted-types-for 'script'; trusted-types 'none'" in policy[1]
    assert made.index("Content-Security-Policy") < made.index("<style>")
    style = made[made.index("<style>") : made.index("</style>")]
    assert not re.search(r"url\(|@import|@font-face|//", style)
    assert made.lower().count("<script") == 1
    assert f"<script>{script()}</script>" in made
    assert "<link" not in made.lower()
    assert "//" not in html(summarise(colours())).replace(script(), "")


def test_the_figures_are_on_the_page() -> None:
    text = read(colours()).text
    for phrase in ("2 models, 4 cases, 7 outputs: 6 scored, of which 4 break a rule; 1 unscored.", "1 of 3", "3 of 3"):
        assert phrase in text
    assert "33% (0.8–91%)" in text
    assert "only 3 cases scored" in text
    assert "r2 fails in 3 of 3 (100%)" in text
    assert "$0.0300" in text
    assert "unknown" in text


def test_every_column_rule_model_and_output_is_there() -> None:
    page_ = read(colours())
    for name in (*MODEL_COLUMNS, "r1", "r2", "The output is one word.", "The output is a colour.", "truncated"):
        assert name in page_.text
    classes = page_.having("class")
    assert sum(name.startswith("output m0 ") for name in classes) == 3
    assert sum(name.startswith("output m1 ") for name in classes) == 4
    labels = page_.having("aria-label")
    assert "r2, b: fails in 3 of 3, 100% (29–100%), 1 unscored" in labels
    assert "r1, b: nothing scored" in labels


def test_a_judge_that_does_not_count_is_shown_as_such() -> None:
    text = read(colours()).text
    assert "judge:j , does not count" in text or "judge:j, does not count" in text


def test_the_manifest_is_on_the_page() -> None:
    made = run(
        [output()],
        [verdict()],
        settings={"temperature": 0, "seed": None},
        origins={"temperature": "flag"},
        reported={"m": ("m-2026-01-01",)},
        versions={"python": "3.11.7"},
        templates={"specs/rules": "abcd1234"},
        judges=("judge-1",),
        author="author-1",
    )
    text = read(made).text
    for phrase in ("run-1", "f1", "d1", "d2", "m-2026-01-01", "temperature 0 (flag)", "seed –", "3.11.7", "abcd1234"):
        assert phrase in text
    assert "judge-1" in text
    assert "author-1" in text
    assert "reported as m-2026-01-01" in text
    assert re.search("Name the colour (r2 )?of the thing", text)


@pytest.mark.parametrize(
    "made", [run(), run(models=()), run(rules=(), cases=()), run([output()])], ids=["empty", "none", "bare", "unjudged"]
)
def test_a_run_with_little_in_it_is_a_whole_page(made: Run) -> None:
    page_ = read(made)
    assert_harmless(page_)
    for title in ("Models", "Failures by rule and model", "Outputs"):
        assert title in page_.text
    for nothing in ("Most frequent failures", "as their providers returned them", "Settings", "Versions", "templates"):
        assert nothing not in page_.text
    assert "nan" not in page_.text.lower().split()
    assert "None" not in page_.text


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    path = write(summarise(colours()), tmp_path)
    assert path == tmp_path / "report.html"
    assert path.read_bytes() == html(summarise(colours(), folder=tmp_path)).encode("utf-8")


def test_an_answer_stands_on_top() -> None:
    summary = summarise(colours())
    assert "answer" not in Reader(html(replace(summary, answer=None))).having("class")
    assert summary.answer
    assert summary.answer in Reader(html(summary)).text
    text = Reader(html(replace(summary, answer="Use a & not <b>."))).text
    assert text.index("Use a & not <b>.") < text.index("2 models, 4 cases")


def test_a_rule_that_nothing_judged_says_so() -> None:
    nobody = verdict("unscored", "r2", unscored="no-judge", counts=False, source="none")
    text = read(run([output()], [verdict(), nobody])).text
    assert "Not judged: 1 of 2 rules (r2) has no check and no judge." in text
    assert "not judged: no check and no judge" in text


def test_filters_find_every_case_by_model_and_verdict() -> None:
    made = html(summarise(colours()))
    cases = re.findall(r'<details class="(case [^"]*)"', made)
    assert cases[0].split() == ["case", "fail-in", "m0-in", "m0-fail-in", "m1-in", "m1-fail-in"]
    assert cases[3].split() == ["case", "m1-in", "m1-unscored-in", "unscored-in"]
    shown = {name.removesuffix("-in") for case in cases for name in case.split()[1:]}
    for name in shown:
        assert f".case:not(.{name}-in) {{ display: none; }}" in made
    ids = re.findall(r'<input type="radio"[^>]* id="([^"]+)"', made)
    assert ids == ["v-all", "v-fail", "v-unscored", "v-pass", "m-all", "m0", "m1"]


def test_long_outputs_are_folded_and_cut() -> None:
    page_ = read(run([output(text="x" * 30_000)], [verdict()]))
    assert "30000 characters" in page_.text
    assert "Cut: 10000 more characters" in page_.text
    assert max(len(word) for word in page_.words if set(word) == {"x"}) == 20_000


def test_many_outputs_are_folded_per_case_and_capped_with_the_failing_ones_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert pages.MOST_ROWS == 10_000
    monkeypatch.setattr(pages, "MOST_ROWS", 400)
    count = pages.MOST_ROWS + 5
    made = run(
        [output(f"c{n}", text="RED") for n in range(count)],
        [verdict("fail" if n >= count - 3 else "pass", case=f"c{n}") for n in range(count)],
    )
    summary = summarise(made)
    contents = page(summary)
    assert (contents.total, contents.left_out, contents.unfold) == (count, 5, False)
    kept = [case.id for case in contents.cases]
    assert kept[:3] == [f"c{n}" for n in range(count - 3, count)]
    assert kept[3] == "c0"
    made_page = html(summary)
    assert f"5 of {count} outputs are left out here" in made_page
    assert " open>" not in made_page


def test_few_samples_look_like_few_samples() -> None:
    few = read(run([output(f"c{n}") for n in range(19)], [verdict(case=f"c{n}") for n in range(19)]))
    many = read(run([output(f"c{n}") for n in range(20)], [verdict(case=f"c{n}") for n in range(20)]))
    assert "only 19 scored" in few.text
    assert "only 20 scored" not in many.text
    assert "h0 few" in few.having("class")
    assert "h0" in many.having("class")
    assert "h0 few" not in many.having("class")


@pytest.mark.parametrize(("broken", "axis"), [(0, 0.1), (14, 0.25), (40, 0.5), (150, 1.0)])
def test_all_bars_share_an_axis_that_holds_the_widest_interval(broken: int, axis: float) -> None:
    judged = [verdict("fail" if n < broken else "pass", case=f"c{n}", model=m) for n in range(200) for m in "ab"]
    contents = page(summarise(run([output(f"c{n}", m) for n in range(200) for m in "ab"], judged, models=("a", "b"))))
    assert contents.axis == axis
    for model in contents.models:
        assert model.bar is not None
        assert 0 <= model.bar.low <= model.bar.point <= model.bar.high <= 100
        assert model.bar.point == pytest.approx(100 * broken / 200 / axis, abs=0.01)


def test_heat_grows_with_the_share() -> None:
    shares = [0.0, 0.01, 0.05, 0.06, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9, 1.0]
    assert [heat(share) for share in shares] == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, two: str) -> float:
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_every_text_stands_out_from_its_ground(scheme: int) -> None:
    """WCAG 2.2, 1.4.3: at least 4.5 to 1."""
    style = (TEMPLATES / "report.css.jinja").read_text(encoding="utf-8")
    colours_ = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", style.split(":root")[1 + scheme]))
    pairs = [(f"h{step}", f"t{step}") for step in range(6)]
    pairs += [(ground, ink) for ground in ("paper", "panel") for ink in ("ink", "quiet", "accent")]
    pairs += [("paper", ink) for ink in ("pass", "fail", "open")]
    for ground, ink in pairs:
        assert contrast(colours_[ground], colours_[ink]) >= 4.5, (ground, ink)


def test_control_characters_are_made_visible() -> None:
    assert pictured("a\x00b\x1b[31m\x7f\x9b\r\nc\rd\te") == "a␀b␛[31m␡\ufffd\nc␍d\te"
    assert pictured("\u202eabc") == "[U+202E]abc"
    assert pictured("مرحبا Tiếng Việt 👩‍👩‍👧") == "مرحبا Tiếng Việt 👩‍👩‍👧"


def test_what_no_file_can_hold_does_not_stop_the_page() -> None:
    made = html(summarise(run([output(text="a\ud800b", message="\udfff")], [verdict("fail", reason="\ud83d")])))
    assert "a\ufffdb" in made
    assert made.encode("utf-8")


def test_texts_in_any_writing_direction_keep_to_themselves() -> None:
    made = html(summarise(run([output(text="مرحبا")], [verdict()])))
    assert '<div class="text" dir="auto">مرحبا</div>' in made
