"""The page over the runs of a batch: whole without a network or a script, whatever prompts and models are called."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from promptpex.core.records import BatchManifest, BatchPart, Run
from promptpex.core.translation import reading_in
from promptpex.report import runs, summarise
from promptpex.report.batches.batch_files import write_index
from promptpex.report.batches.batch_report import BatchReport, ReportedPart
from promptpex.report.html_page import write
from promptpex.report.page.script import SORTING, hash_source, script
from tests.tables.many import many

HOSTILE = "a</title><script>alert(1)</script>\u202e\"'&#"


class Read(HTMLParser):
    """The links, scripts and policies of a page, and the ids that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.scripts = 0
        self.policy = ""
        self.outside: list[str] = []
        self.unlabelled: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.links += [values["href"]] if tag == "a" else []
        self.scripts += tag == "script"
        self.policy = values["content"] if values.get("http-equiv") == "Content-Security-Policy" else self.policy
        self.outside += [values["src"]] if "src" in values or tag == "link" else []
        self.unlabelled += [tag] if tag == "section" and "aria-labelledby" not in values else []


@pytest.fixture
def report(tmp_path: Path) -> BatchReport:
    """A batch of two prompts with runs, one called so that it would break a page, and one without."""
    made = {"mild": many(30, {"a": lambda n: n % 3 > 0, "b": lambda n: True}), "odd": many(8, {"a": lambda n: n > 1})}
    parts = [_reported(tmp_path / "results", name, run) for name, run in made.items()]
    parts[1] = ReportedPart(parts[1].part.replace(prompt=HOSTILE, file=f"{HOSTILE}.md"), parts[1].summary)
    missing = ReportedPart(BatchPart(file="p/c.md", prompt="p/c.md", problem=f"the author {HOSTILE} is silent"))
    every = (*parts, missing)
    manifest = BatchManifest(batch="0123456789", created="2026-01-02T03:04:05+00:00", parts=[one.part for one in every])
    folder = tmp_path / "results" / "batches" / "0123456789"
    folder.mkdir(parents=True)
    return BatchReport(manifest, folder, every)


def _reported(results: Path, name: str, run: Run) -> ReportedPart:
    folder = runs.folder_for(results, name, run.manifest.run)
    runs.finish(folder, run)
    summary = summarise(run, folder=folder)
    write(summary, folder)
    part = BatchPart(file=f"p/{name}.md", prompt=name, run=f"{folder.parent.name}/{folder.name}")
    return ReportedPart(part, summary)


def test_every_link_leads_to_a_report_and_to_the_failures_in_it(report: BatchReport) -> None:
    page = write_index(report)
    read = Read(page.read_text(encoding="utf-8"))
    assert len(read.links) == 2 + 3
    for link in read.links:
        file, _, fragment = link.partition("#")
        target = (page.parent / unquote(file)).read_text(encoding="utf-8")
        assert not fragment or f'id="{fragment.replace("&", "&amp;")}"' in target
    assert sum("verdict=fail" in link for link in read.links) == 2
    assert (read.outside, read.unlabelled, read.scripts) == ([], [], 1)
    assert hash_source(script(SORTING)) in read.policy
    assert "default-src 'none'" in read.policy


def test_what_prompts_and_problems_are_called_is_text(report: BatchReport) -> None:
    text = write_index(report).read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert "\u202e" not in text
    assert text.count("&lt;script&gt;alert(1)") >= 3
    assert "'=" not in (report.folder / "models.csv").read_text(encoding="utf-8")


def test_means_are_over_the_prompts_that_all_models_share(report: BatchReport) -> None:
    rows = {row["model"]: row for row in report.to_dict()["models"]}
    assert {model: (row["prompts"], row["mean_of"]) for model, row in rows.items()} == {"a": (2, 1), "b": (1, 1)}
    assert rows["a"]["mean_non_compliance"] == pytest.approx(1 / 3)
    assert (rows["a"]["lowest"], rows["a"]["highest"]) == (0.25, pytest.approx(1 / 3))


def test_the_page_is_in_the_language_of_its_reader(report: BatchReport) -> None:
    with reading_in("vi"):
        text = write_index(BatchReport(report.batch, report.folder, report.parts)).read_text(encoding="utf-8")
    assert '<html lang="vi">' in text
    assert "Tỷ lệ vi phạm theo prompt và mô hình" in text
