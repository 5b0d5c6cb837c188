"""The pages tell the truth: commands exist, files exist, examples run; and the habits that pages promise are kept."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import pytest

from promptpex.cli.main import cli

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "promptpex"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "results" / "README.md"])
GUIDES = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
MOST_WORDS = 36_500
MOST_OF_ARCHITECTURE = 2_500

WRITTEN = re.compile(r"^cat >>? \S+ <<'END'\n.*?^END$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PATH_LIKE = re.compile(r"`((?:\.ci|benchmarks|promptpex|prompts|results|scripts|tests|docs)/[\w./-]*)`")
LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)")
# Written in two parts, so that this file is not what it looks for.
MACHINE = re.compile("/" + r"(?:home|root|work|Users)/\w|/" + r"tmp/\w")
REGISTRY = re.compile("py" + r"pi\.org|files\.python" + r"hosted\.org|registry\.npmjs" + r"\.org|/sim" + "ple/")


def _blocks(page: Path, *languages: str) -> list[str]:
    return [body for language, body in FENCE.findall(page.read_text(encoding="utf-8")) if language in languages]


def _tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in done.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


def _command_lines() -> Iterator[tuple[str, list[str]]]:
    """Every ``promptpex ...`` line of a shell block, with its words."""
    for page in PAGES:
        for block in _blocks(page, "sh", "bash", "console"):
            for line in WRITTEN.sub("", block).replace("\\\n", " ").splitlines():
                words = shlex.split(line.removeprefix("$ "), comments=True)
                if words and Path(words[0]).name == "promptpex":
                    yield f"{page.name}: {line.strip()}", words[1:]


COMMANDS = list(_command_lines())


def _command(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that the words call, and the words that are left for it."""
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        subcommand = command.get_command(context, words[0])
        assert subcommand is not None, f"there is no command {words[0]!r}"
        command, words = subcommand, words[1:]
    return command, words


def _wrong_in(words: list[str]) -> str | None:
    """Why the command would refuse these words."""
    try:
        command, rest = _command(words)
        if not isinstance(command, click.Group):
            command.parse_args(click.Context(command, info_name=command.name), rest)
    except (click.ClickException, AssertionError) as error:
        return str(error)
    return None


def test_commands_and_options_exist() -> None:
    assert len(COMMANDS) > 100
    assert {where: wrong for where, words in COMMANDS if (wrong := _wrong_in(words)) is not None} == {}


@pytest.mark.parametrize("script", ["scripts/demo", "scripts/test", "scripts/check", "scripts/lint-ci", ".ci/run"])
def test_scripts_are_executable_and_strict(script: str) -> None:
    path = ROOT / script
    text = path.read_text(encoding="utf-8")
    assert text.startswith("#!/usr/bin/env bash\n")
    assert "set -euo pipefail" in text
    assert path.stat().st_mode & 0o111 == 0o111
    assert subprocess.run(["bash", "-n", str(path)], check=False).returncode == 0


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_files_that_guides_name_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = {path for path in PATH_LIKE.findall(text) if not re.search(r"[A-Z]{3,}(?!\.md)", path)}
    named -= {"results/reference/", "promptpex/_prompts"}
    missing = [path for path in sorted(named) if not (ROOT / path).exists()]
    assert not missing


def test_the_architecture_page_names_files_of_the_package_that_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = {path for path in re.findall(r"`((?:\w+/)+\w+\.py)`", text) if "NAME" not in path}
    assert len(named) > 5
    assert not [path for path in sorted(named) if not (ROOT / path).exists() and not (PACKAGE / path).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    dead = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()]
    assert not dead


def _anchors(page: Path) -> set[str]:
    """Where links into a page may lead: its headings, as they are turned into anchors."""
    headings = re.findall(r"^#{1,6}\s+(.*)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_headings(page: Path) -> None:
    links = re.findall(r"\]\((?!https?://)([^)\s]*)#([^)\s]+)\)", page.read_text(encoding="utf-8"))
    pages = [(page.parent / name if name else page, anchor) for name, anchor in links]
    assert not [(str(to), anchor) for to, anchor in pages if to.suffix == ".md" and anchor not in _anchors(to)]


@pytest.mark.parametrize("code", _blocks(ROOT / "README.md", "python"))
def test_readme_examples_run(code: str, tmp_path: Path) -> None:
    (tmp_path / "benchmarks").symlink_to(ROOT / "benchmarks")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1.0" in done.stdout


def test_no_file_names_a_machine_or_a_registry() -> None:
    places = []
    for path in _tracked():
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            hit = MACHINE.search(line) or REGISTRY.search(line)
            if hit:
                places.append(f"{path.relative_to(ROOT)}:{number}: {hit[0]}")
    assert not places, "\n".join(places)


def test_the_probes_find_what_they_look_for() -> None:
    assert MACHINE.search("see /" + "tmp/x.txt")
    assert REGISTRY.search("https://py" + "pi.org/x")
    assert not MACHINE.search("a/tmp and temporary, http://127.0.0.1/v1")
    command, rest = _command(["run", "prompt.md", "--no-such-option"])
    with pytest.raises(click.NoSuchOption):
        command.parse_args(click.Context(command), rest)
    with pytest.raises(AssertionError):
        _command(["no-such-verb"])


def _words(pages: Iterable[Path]) -> int:
    return sum(len(page.read_text(encoding="utf-8").split()) for page in pages)


def test_all_pages_together_are_short_enough_to_be_read() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert len(pages) > 20
    assert _words(pages) <= MOST_WORDS
    assert _words([ROOT / "ARCHITECTURE.md"]) <= MOST_OF_ARCHITECTURE
