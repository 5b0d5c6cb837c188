"""``--open``: the report in a browser, or a sentence about where it is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.e2e.command import Done, in_process, promptpex
from tests.e2e.faults import Place, place

NO_SCREEN = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is always a screen")


@pytest.fixture
def here(tmp_path: Path) -> Place:
    return place(tmp_path, cells=1)


def run(here: Place, *more: str, verb: str = "run") -> Done:
    models = ("--models", "fake/NN", "--judge", "none") if verb == "run" else ()
    arguments = here.arguments(*models, *more) if verb == "run" else [verb, *more, "--results", "results"]
    return in_process(*arguments, cwd=here.folder, env=NO_SCREEN)


def test_without_a_display_the_place_is_said_and_nothing_fails(here: Place) -> None:
    for done in (run(here, "--open"), run(here, "--open", verb="report")):
        assert done.code == 0, done.err
        assert "no display here to open a browser on; the report is " in done.err
        assert Path(done.err.rsplit("the report is ")[-1].split("\n")[0]).name == "report.html"
    assert "no display" not in run(here).err


def test_the_report_is_what_the_browser_is_given(here: Place) -> None:
    assert run(here).code == 0
    browser = here.folder / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {here.folder}/opened\n', encoding="utf-8")
    browser.chmod(0o755)
    shown = {**NO_SCREEN, "BROWSER": str(browser)}
    done = promptpex("report", "--open", "--results", "results", cwd=here.folder, env=shown)
    assert done.code == 0, done.err
    (report,) = here.folder.glob("results/*/*/report.html")
    assert (here.folder / "opened").read_text(encoding="utf-8").strip() == report.as_uri()
    broken = promptpex(
        "report", "--open", "--results", "results", cwd=here.folder, env={**NO_SCREEN, "BROWSER": "/no/such"}
    )
    assert broken.code == 0, broken.err
    assert "no browser could be opened; the report is " in broken.err
