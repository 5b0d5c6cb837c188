"""The run before a run on its report: where its figures say what changed, and nothing where they would mislead."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from promptpex.core.records import PartOfSuite
from promptpex.report import runs, summarise
from promptpex.report.files import write
from promptpex.report.page.run_before import RunBefore, run_before
from tests.report.test_html_page import Reader
from tests.tables.many import many
from tests.web.serving import page_of, served
from tests.web.stored_runs import with_comparisons

SUBSET = PartOfSuite(words="rule r1", cases=60, of=100)


def kept(results: Path, name: str, failing: int, at: int, **manifest: Any) -> Path:
    """A run of 60 cases of which so many fail, written at this moment."""
    made = many(60, {"small": lambda n: n >= failing}, run=name, **manifest)
    folder = results / "colours" / name
    runs.finish(folder, made)
    write(summarise(runs.read_for_report(folder), folder=folder), folder)
    os.utime(folder / "manifest.json", ns=(at, at))
    return folder


def before(folder: Path) -> RunBefore | None:
    return run_before(summarise(runs.read_for_report(folder), folder=folder))


def test_the_figures_of_then_and_now_stand_beside_each_other(tmp_path: Path) -> None:
    kept(tmp_path, "aaaaaaaaaa", 30, 1)
    folder = kept(tmp_path, "bbbbbbbbbb", 6, 2)
    earlier = before(folder)
    assert earlier is not None
    assert earlier.shares == (("small", "50% (37–63%)", "10% (3.8–21%)"),)
    assert (earlier.name, earlier.address) == ("aaaaaaaaaa", "../aaaaaaaaaa/report.html")
    assert earlier.command == "promptpex compare aaaaaaaaaa bbbbbbbbbb"
    write(summarise(runs.read_for_report(folder), folder=folder), folder)
    reader = Reader((folder / "report.html").read_text(encoding="utf-8"))
    assert "Non-compliance then and now: small 50% (37–63%) → 10% (3.8–21%)." in reader.text
    assert "../aaaaaaaaaa/report.html" in reader.having("href")
    assert str(tmp_path) not in reader.text
    assert before(folder.parent / "aaaaaaaaaa") is None


@pytest.mark.parametrize(
    "other",
    [{"suite_digest": "x"}, {"subset": SUBSET}, {"partial": "budget"}, {"models": ("large",)}],
    ids=lambda other: next(iter(other)),
)
def test_nothing_is_said_of_a_run_that_would_mislead(tmp_path: Path, other: dict[str, Any]) -> None:
    made = many(60, {"small": lambda n: True})
    folder = tmp_path / "colours" / "aaaaaaaaaa"
    runs.finish(folder, made.replace(manifest=made.manifest.replace(run="aaaaaaaaaa", **other)))
    assert before(kept(tmp_path, "bbbbbbbbbb", 6, 2**62)) is None


def test_nothing_is_said_of_a_part_of_the_suite(tmp_path: Path) -> None:
    kept(tmp_path, "aaaaaaaaaa", 30, 1)
    assert before(kept(tmp_path, "bbbbbbbbbb", 6, 2, subset=SUBSET)) is None
    assert before(kept(tmp_path, "cccccccccc", 6, 3, partial="deadline")) is None


def test_by_other_rules_or_judges_there_is_a_link_and_no_figure(tmp_path: Path) -> None:
    kept(tmp_path, "aaaaaaaaaa", 30, 1, spec_digest="x")
    folder = kept(tmp_path, "bbbbbbbbbb", 6, 2)
    earlier = before(folder)
    assert earlier is not None
    assert earlier.shares == ()
    assert "Its spec or judges are others" in Reader((folder / "report.html").read_text(encoding="utf-8")).text


@pytest.mark.parametrize(
    "other",
    [
        {"judges": ("j",), "named": {"j": "openai/large"}},
        {"judges": ("j",), "settings": {"confidence": 0.9}},
        {"judges": ("j",), "settings": {"judge_repeat": 3}},
    ],
)
def test_a_judge_is_who_its_name_stands_for_and_how_it_was_asked(tmp_path: Path, other: dict[str, Any]) -> None:
    now = {"judges": ("j",), "named": {"j": "openai/small"}, "settings": {"confidence": 0.95, "judge_repeat": 1}}
    kept(tmp_path, "aaaaaaaaaa", 30, 1, **{**now, **other})
    earlier = before(kept(tmp_path, "bbbbbbbbbb", 6, 2, **now))
    assert earlier is not None
    assert earlier.shares == ()


def test_a_judge_of_another_name_is_the_same_judge(tmp_path: Path) -> None:
    kept(tmp_path, "aaaaaaaaaa", 30, 1, judges=("old",), named={"old": "openai/small"})
    earlier = before(kept(tmp_path, "bbbbbbbbbb", 6, 2, judges=("openai/small",), settings={"confidence": 0.95}))
    assert earlier is not None
    assert earlier.shares


async def test_the_local_page_leads_to_its_own_pages_and_follows_the_files(tmp_path: Path) -> None:
    kept(tmp_path, "bbbbbbbbbb", 6, 2)
    with served(with_comparisons(tmp_path)) as server:
        assert "The run before" not in await page_of(server, "/runs/colours/bbbbbbbbbb")
        kept(tmp_path, "aaaaaaaaaa", 30, 1)
        page = await page_of(server, "/runs/colours/bbbbbbbbbb")
    links = Reader(page).having("href")
    assert "/runs/colours/aaaaaaaaaa" in links
    assert "/compare?before=colours%2Faaaaaaaaaa&after=colours%2Fbbbbbbbbbb" in links
