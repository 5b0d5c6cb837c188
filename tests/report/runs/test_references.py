"""What people may call a run, and which run that is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from promptpex.core.errors import RunError
from promptpex.report import runs
from tests.tables.by_hand import colours


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Four runs of two prompts, from the oldest to the latest; two have a name, and one a manifest that is damaged."""
    root = tmp_path / "results"
    made = (("red/r1", "before"), ("red/r2", None), ("blue/b1", "before"), ("red/r3", "nightly"))
    for age, (place, name) in enumerate(made):
        manifest = colours().manifest.replace(name=name)
        runs.begin(root / place, colours().replace(manifest=manifest))
        os.utime(root / place / "manifest.json", ns=(age, age))
    (root / "red" / "r2" / "manifest.json").write_text("{", encoding="utf-8")
    os.utime(root / "red" / "r2" / "manifest.json", ns=(1, 1))
    return root


@pytest.mark.parametrize(
    ("named", "meant"),
    [
        ("latest", "red/r3"),
        ("latest~0", "red/r3"),
        ("latest~1", "red/r2"),
        ("latest~2", "red/r1"),
        ("blue", "blue/b1"),
        ("red", "red/r3"),
        ("red~1", "red/r2"),
        ("red/latest~2", "red/r1"),
        ("blue/latest", "blue/b1"),
        ("blue/before", "blue/b1"),
        ("red/before", "red/r1"),
        ("nightly", "red/r3"),
        ("nightly~2", "red/r1"),
        ("r2~1", "red/r1"),
    ],
)
def test_a_reference_means_one_run(results: Path, named: str, meant: str) -> None:
    assert runs.resolve(Path(named), results) == results / meant


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("before", "names several runs (blue/b1, red/r1)"),
        ("latest~3", "of red, 2 runs are older than r3"),
        ("blue~1", "of blue, 0 runs are older than b1"),
        ("r2~2", "of red, 1 run is older than r2"),
        ("latest~", "no such run"),
        ("latest~-1", "no such run"),
        ("latest~99999999", "no such run"),
        ("~1", "no such run"),
        ("red/r2/x", "no such run"),
        ("../results/red", "no such run"),
        ("\0", "no such run"),
    ],
)
def test_a_reference_that_means_no_run_or_several_says_so(results: Path, named: str, why: str) -> None:
    with pytest.raises(RunError) as caught:
        runs.resolve(Path(named), results)
    assert why in str(caught.value)


def test_a_name_means_the_latest_run_that_has_it(results: Path) -> None:
    runs.begin(results / "red" / "r4", colours().replace(manifest=colours().manifest.replace(name="nightly")))
    assert runs.resolve(Path("nightly"), results) == results / "red" / "r4"
    assert runs.resolve(Path("nightly~1"), results) == results / "red" / "r3"


def test_an_id_comes_before_a_name_and_a_name_before_a_prompt(results: Path) -> None:
    for place, name in (("red/x1", "b1"), ("red/x2", "blue")):
        runs.begin(results / place, colours().replace(manifest=colours().manifest.replace(name=name)))
    assert runs.resolve(Path("b1"), results) == results / "blue" / "b1"
    assert runs.resolve(Path("blue"), results) == results / "red" / "x2"


def test_a_link_out_of_the_folder_is_no_run_of_it(results: Path, tmp_path: Path) -> None:
    runs.finish(tmp_path / "elsewhere" / "far", colours())
    (results / "green").symlink_to(tmp_path / "elsewhere")
    for named in ("far", "green", "green/far", "green/latest"):
        with pytest.raises(RunError, match="no such run"):
            runs.resolve(Path(named), results)
    assert runs.resolve(Path("latest"), results) == results / "red" / "r3"


@pytest.mark.parametrize("name", ["nightly", "v1.2", "before_edit", "2026-11-22", "trước-khi-sửa", "a" * 40])
def test_names_that_can_be_given(name: str) -> None:
    assert runs.checked_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "latest", "blessed", "73b8b3769d", "73b8b3769d-2", "a b", "a/b", "a~1", "-q", ".x", "a" * 41, "a\n"]
)
def test_names_that_would_mean_something_else_are_refused(name: str) -> None:
    with pytest.raises(RunError, match="name"):
        runs.checked_name(name)
