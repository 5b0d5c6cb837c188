"""A whole report in another language has no English sentence left; in English nothing changes, nor do files of data."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from html import unescape as html_text
from pathlib import Path

import pytest

from promptpex.core.records import PartOfSuite, Run
from promptpex.core.translation import reading_in
from promptpex.promptfile import renderer
from promptpex.report import Summary, gate_formats, summarise, to_dict
from promptpex.report.files import write
from promptpex.report.gate import Limits, decided, stated
from promptpex.report.gate_result import GateResult, gate_result
from promptpex.report.html_page import html
from promptpex.report.notebook import run_html
from promptpex.report.translated_values import reason_of
from promptpex.tables import AnyRun, records
from tests.marked_language import Marked, ReadPage, data_of, unmarked
from tests.report.printed import printed
from tests.report.test_secondary_tables import full
from tests.tables.by_hand import colours, output, score, verdict
from tests.tables.by_hand import run as hand_made
from tests.tables.test_accuracy import answered
from tests.tables.test_metrics import scored

FILES = ("report.html", "results.csv", "scores.csv", "confusions.csv", "metrics.csv", "agreement.csv")
FIGURES = re.compile(r"<details><summary>⟦All figures⟧</summary>.*?</details>", re.DOTALL)
"""The table of report.csv, as it is."""
COMMANDS = re.compile(r"<code>promptpex .*?</code>")
IN_PROMPT = ("Name", "of the", ". Answer in capitals.")
"""Pieces of the prompt between the words that rules rest on."""
SAME = ("kappa", "OK", "promptpex judge", "disagreements.csv")
"""What is the same word in every language."""

RUNS: dict[str, Callable[[], Summary]] = {
    "full": lambda: summarise(full(), weights={"r1": 2}),
    "one against another": lambda: summarise(full(), against="a"),
    "errors": lambda: summarise(colours()),
    "incomplete": lambda: summarise(incomplete()),
    "accuracy": lambda: summarise(answered(30, 20, a=lambda n: n < 3, b=lambda n: n > 2)),
    "by accuracy": lambda: summarise(answered(30, 20, a=lambda n: n < 3, b=lambda n: n > 2), rank_by="accuracy"),
    "metrics": lambda: summarise(scored(20, a=lambda n: n / 20, b=lambda n: None if n < 5 else 1.0)),
    "by a metric": lambda: summarise(scored(20, a=lambda n: n / 20, b=lambda n: 1.0), rank_by="tone"),
    "nothing": lambda: summarise(colours().replace(outputs=(), verdicts=())),
}


def incomplete() -> Run:
    """A part of a suite, ended by its budget."""
    made = colours()
    part = PartOfSuite(words="rule r1; the first 3", cases=3, of=4)
    return made.replace(manifest=made.manifest.replace(partial="running", subset=part, stored=3, asked=5))


def foreign(texts: list[str], run: AnyRun) -> list[str]:
    """The texts that are neither marked nor data."""
    known = data_of(run) | {*run.manifest.settings, *FILES, *IN_PROMPT, *SAME}
    return sorted({rest for text in texts if (rest := unmarked(text, known))})


@cache
def marked(name: str) -> Summary:
    """The summary of one of the runs in the marked language, made once."""
    with reading_in(Marked()):
        return RUNS[name]()


@pytest.mark.parametrize("name", RUNS)
def test_every_text_of_a_page_is_of_the_catalogue(name: str) -> None:
    summary = marked(name)
    with reading_in(Marked()):
        page = FIGURES.sub("", html(summary, sent=renderer(summary.run.prompt)))
        texts = [text for shown in (page, run_html(summary)) for text in ReadPage(COMMANDS.sub("", shown)).texts]
    assert len(texts) > 30
    assert not foreign(texts, summary.run)


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("all_tables", [False, True])
def test_every_text_of_a_terminal_is_of_the_catalogue(name: str, all_tables: bool) -> None:
    summary = marked(name)
    with reading_in(Marked()):
        lines = printed(summary, width=4000, full=all_tables).splitlines()
    assert "⟦" in "".join(lines)
    assert not foreign(lines, summary.run)


@pytest.mark.parametrize("layout", [gate_formats.markdown, lambda one: gate_formats.junit([one], {})])
def test_every_text_of_a_gate_is_of_the_catalogue(layout: Callable[[GateResult], str]) -> None:
    summary = marked("full")
    with reading_in(Marked()):
        rows = records(summary.models)
        exceeded = decided(rows, Limits(max_non_compliance=0.4, min_accuracy=0.5, min_metrics={}, min_scored=13))
        result = gate_result(summary, exceeded, {row["model"]: stated(row) for row in rows}, None)
        text = html_text(re.sub(r"<[^<>]*>", " ", layout(result)))
    assert "⟦" in text
    assert not foreign(re.split(r"[|\n]", text), summary.run)


def test_what_is_not_translated_would_be_seen() -> None:
    with reading_in(Marked()):
        page = (
            html(summarise(colours()))
            .replace("⟦Models⟧", "Models")
            .replace('aria-label="⟦All figures⟧', 'aria-label="')
        )
    assert "Models" in foreign(ReadPage(page).texts, colours())


def test_files_of_data_are_the_same_in_every_language(tmp_path: Path) -> None:
    written = {}
    for name in ("en", "vi"):
        folder = tmp_path / name / "p" / "r"
        folder.mkdir(parents=True)
        with reading_in(name):
            files = write(summarise(full()), folder)
        written[name] = {file.name: file.read_bytes() for file in files}
    pages = [written[name].pop("report.html").decode() for name in ("en", "vi")]
    assert written["en"] == written["vi"]
    assert ['<html lang="en">' in pages[0], '<html lang="vi">' in pages[1]] == [True, True]


def test_a_report_in_vietnamese() -> None:
    with reading_in("vi"):
        summary = summarise(full())
        page, lines = html(summary), printed(summary, width=120)
        assert to_dict(summary)["models"][0]["decision"] == "undecided"
    assert "tỷ lệ vi phạm" in page
    assert "Lỗi theo quy tắc" in lines
    assert "chưa phân định" in lines


def test_a_judge_is_shown_in_the_words_that_it_wrote() -> None:
    with reading_in("vi"):
        assert reason_of("the output is JSON", "judge:m") == "the output is JSON"
        assert reason_of("the output is JSON", "check:is-json") == "đầu ra là JSON"
        assert reason_of("j: the output is JSON; k: nothing", "judges:mean") == "j: the output is JSON; k: nothing"
        assert reason_of("not all judges gave a score", "judges:mean") != "not all judges gave a score"


@pytest.mark.parametrize(("source", "words"), [("judge:m", "the output is JSON"), ("check:is-json", "đầu ra là JSON")])
def test_an_example_of_a_failure_is_in_the_words_that_its_judge_wrote(source: str, words: str) -> None:
    given = {"reason": "the output is JSON", "source": source}
    made = hand_made([output("c1")], [verdict("fail", **given)], scores=[score(0.0, name="tone", **given)])
    with reading_in("vi"):
        summary = summarise(made)
        exceeded = decided(records(summary.models), Limits(max_non_compliance=0.0))
        shown = {
            "page": " ".join(ReadPage(html(summary).partition(' id="results"')[0]).texts),
            "brief": printed(summary, width=400),
            "full": printed(summary, width=400, full=True),
            "notebook": run_html(summary),
            "gate": gate_formats.markdown(gate_result(summary, exceeded, {"m": "100%"}, None)),
        }
    other = ({"the output is JSON", "đầu ra là JSON"} - {words}).pop()
    assert [name for name, text in shown.items() if words not in text or other in text] == []
