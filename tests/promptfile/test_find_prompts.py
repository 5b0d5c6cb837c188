"""Which prompts files, patterns and folders stand for, as properties of folders of any shape."""

from __future__ import annotations

import contextlib
import glob
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptpex.core.errors import PromptFileError
from promptpex.promptfile import find_prompts, is_prompt
from promptpex.promptfile.find_prompts import MOST_FOLDERS, NOT_ENTERED, paths_that_fit

FOLDERS = ("a", "b.c", ".git", "node_modules", "results", "x.synthesis", "env")
NAMES = ("prompt.md", "mail.md", "mail.spec.yaml", "mail.cases.yaml", "README.md", "tone.metric.md", ".hidden.md")
LEFT_OUT = {".git", "x.synthesis", "env"} | NOT_ENTERED
PATHS = st.tuples(st.lists(st.sampled_from(FOLDERS), max_size=3), st.sampled_from(NAMES))

few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def fill(top: Path, files: set[tuple[tuple[str, ...], str]]) -> None:
    for folders, name in files:
        place = top.joinpath(*folders)
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("x: 1\n", encoding="utf-8")
        for parent in (place, *place.parents):
            if parent.name == "env":
                (parent / "pyvenv.cfg").touch()
            if parent == top:
                break


@few
@given(files=st.sets(PATHS.map(lambda drawn: (tuple(drawn[0]), drawn[1])), max_size=12))
def test_a_folder_stands_for_each_of_its_prompts_once_in_order(
    tmp_path_factory: pytest.TempPathFactory, files: set[tuple[tuple[str, ...], str]]
) -> None:
    top = tmp_path_factory.mktemp("prompts")
    fill(top, files)
    (top / "loop").symlink_to(top, target_is_directory=True)
    expected = [
        top.joinpath(*folders, name)
        for folders, name in files
        if not LEFT_OUT & set(folders) and name[0] != "." and is_prompt(top.joinpath(*folders, name))
    ]
    with contextlib.suppress(PromptFileError) if not expected else contextlib.nullcontext():
        assert find_prompts([top]) == sorted(expected)
        assert find_prompts([top, top / "loop", *expected]) == sorted(expected)


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    fill(tmp_path, {((), "mail.md"), (("a",), "prompt.md"), (("a",), "README.md"), (("a",), "tone.metric.md")})
    return tmp_path


def test_a_pattern_stands_for_files_that_may_be_prompts_and_for_folders(prompts: Path) -> None:
    named = {path.relative_to(prompts).as_posix() for path in find_prompts([prompts / "**" / "*.md"])}
    assert named == {"mail.md", "a/prompt.md", "a/README.md"}
    assert find_prompts([str(prompts / "[a]")]) == [prompts / "a" / "prompt.md"]


def test_a_file_with_the_signs_of_a_pattern_is_itself(prompts: Path) -> None:
    odd = prompts / "mail[1].md"
    odd.write_text("x", encoding="utf-8")
    assert find_prompts([odd]) == [odd]
    assert find_prompts([prompts / "nosuch.md"]) == [prompts / "nosuch.md"]


def test_a_prompt_behind_two_ways_is_one_prompt(prompts: Path) -> None:
    assert len(find_prompts([prompts / "a" / "prompt.md", prompts / "a" / ".." / "a" / "prompt.md"])) == 1


@pytest.mark.parametrize(("named", "why"), [("b", "no prompt in this folder"), ("*.txt", "no prompt fits")])
def test_what_stands_for_no_prompt_is_one_sentence(prompts: Path, named: str, why: str) -> None:
    (prompts / "b").mkdir()
    with pytest.raises(PromptFileError, match=why):
        find_prompts([prompts / named])


def test_a_folder_that_holds_far_too_much_is_not_searched(tmp_path: Path) -> None:
    for number in range(MOST_FOLDERS):
        (tmp_path / str(number)).mkdir()
    with pytest.raises(PromptFileError, match="2,000 others in it"):
        find_prompts([tmp_path])


def test_links_in_a_circle_are_one_folder_to_a_pattern(tmp_path: Path) -> None:
    """Followed, they would be 2^40 paths."""
    fill(tmp_path, {(("a",), "prompt.md"), (("node_modules", "x"), "README.md")})
    for name in ("here", "there"):
        (tmp_path / "a" / name).symlink_to(tmp_path / "a", target_is_directory=True)
    (tmp_path / "endless").symlink_to("endless")
    meant = [tmp_path / "a" / "prompt.md"]
    for pattern in ("**/*.md", "**", "*", "/".join(["**"] * 20 + ["*.md"])):
        assert find_prompts([tmp_path / pattern]) == meant
    assert len(find_prompts([tmp_path / "a" / ("*/" * 20) / "prompt.md"])) == 1
    assert find_prompts([tmp_path / "endless" / "prompt.md"]) == [tmp_path / "endless" / "prompt.md"]


@few
@given(files=st.sets(PATHS.map(lambda drawn: (tuple(drawn[0]), drawn[1])), max_size=12), data=st.data())
def test_a_pattern_fits_what_the_standard_library_says_where_nothing_is_left_out(
    tmp_path_factory: pytest.TempPathFactory, files: set[tuple[tuple[str, ...], str]], data: st.DataObject
) -> None:
    top = tmp_path_factory.mktemp("prompts")
    fill(top, {(folders, name) for folders, name in files if not LEFT_OUT & set(folders)})
    pattern = "/".join(
        data.draw(st.lists(st.sampled_from(["**", "*", "a", "[ab]*", "*.md", ".*", "a/.."]), min_size=1, max_size=4))
    )
    fitting = (path for path in glob.glob(str(top / pattern), recursive=True) if os.path.exists(path))
    expected = {os.path.realpath(path) for path in fitting}
    assert {os.path.realpath(path) for path in paths_that_fit(top / pattern)} == expected
