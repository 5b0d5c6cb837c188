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
from promptpex.promptfile import find_prompts, is_prompt, sibling
from promptpex.promptfile.find_prompts import MOST_FOLDERS, NOT_ENTERED, paths_that_fit
from promptpex.workflow.validation.validate import validate

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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A prompt without files, one with a spec, one with cases, and much that is no prompt."""
    names = ("prompt.md", "a.md", "a.spec.yaml", "b.prompt.yml", "b.cases.yaml", "a.txt", "README.md", "data.json")
    others = ("tone.metric.md", "prompt.metric.md", "prompt.blessed.json", "a.grades.jsonl", "prompt.spec.yaml", "x.py")
    for name in (*names, *others):
        (tmp_path / name).write_text("prompt: a.md\n" if name == "a.spec.yaml" else "x: 1\n", encoding="utf-8")
    return tmp_path


def test_prompts_are_named_so_or_have_files_of_their_own(folder: Path) -> None:
    assert {path.name for path in folder.iterdir() if is_prompt(path)} == {"prompt.md", "a.md", "b.prompt.yml"}


def test_a_file_that_the_user_names_may_be_any_that_a_prompt_may_be(folder: Path) -> None:
    named = {path.name for path in folder.iterdir() if is_prompt(path, named=True)}
    assert named == {"prompt.md", "a.md", "b.prompt.yml", "a.txt", "README.md", "data.json"}


@pytest.mark.parametrize(
    ("prompt", "spec"),
    [
        ("prompt.md", "prompt.spec.yaml"),
        ("mail.v1.md", "mail.v1.spec.yaml"),
        ("2024.01-report.md", "2024.01-report.spec.yaml"),
        ("support.prompt.yml", "support.spec.yaml"),
        ("a.prompty", "a.spec.yaml"),
        ("no-end", "no-end.spec.yaml"),
    ],
)
def test_the_name_loses_its_end_alone(tmp_path: Path, prompt: str, spec: str) -> None:
    assert sibling(tmp_path / prompt, "spec") == tmp_path / spec
    assert sibling(tmp_path / prompt, "cases") == tmp_path / spec.replace(".spec.", ".cases.")


@pytest.mark.parametrize(
    "line", ["prompt: mail.v1.md", 'prompt: "mail.v1.md"  # ours', "rules: []\nprompt: 'mail.v1.md'\r"]
)
def test_an_old_short_name_is_found_by_the_prompt_that_it_names(tmp_path: Path, line: str) -> None:
    (tmp_path / "mail.spec.yaml").write_text(line + "\n", encoding="utf-8", newline="")
    assert sibling(tmp_path / "mail.v1.md", "spec") == tmp_path / "mail.spec.yaml"
    assert sibling(tmp_path / "mail.v2.md", "spec") == tmp_path / "mail.v2.spec.yaml"
    (tmp_path / "mail.v1.spec.yaml").write_text("prompt: mail.v1.md\n", encoding="utf-8")
    assert sibling(tmp_path / "mail.v1.md", "spec") == tmp_path / "mail.v1.spec.yaml"


def test_validate_holds_each_version_against_its_own_files(tmp_path: Path) -> None:
    for version in ("v1", "v2"):
        (tmp_path / f"mail.{version}.md").write_text(f"Write {version} of {{{{x}}}}.\n", encoding="utf-8")
        text = (
            f"prompt: mail.{version}.md\nrules:\n  - {{id: r1, rule: It is {version}., source: Write {version} of}}\n"
        )
        (tmp_path / f"mail.{version}.spec.yaml").write_text(text, encoding="utf-8")
    for version in ("v1", "v2"):
        for file in (f"mail.{version}.md", f"mail.{version}.spec.yaml"):
            assert [problem.text() for problem in validate([tmp_path / file]) if problem.severity != "info"] == []


def test_validate_says_that_a_spec_is_another_prompt_s(tmp_path: Path) -> None:
    (tmp_path / "mail.md").write_text("Write it: {{x}}.\n", encoding="utf-8")
    text = "prompt: other.md\nrules:\n  - {id: r1, rule: It is., source: Write it}\n"
    (tmp_path / "mail.spec.yaml").write_text(text, encoding="utf-8")
    assert any("is the spec of 'other.md'" in problem.message for problem in validate([tmp_path / "mail.md"]))
