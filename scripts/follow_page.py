"""Follows a page of ``docs/`` as a reader does: its commands in their order, its files as they are written and changed.

Three kinds of blocks are obeyed, all others are for reading:

- ``sh``: a line each of ``promptpex ...``, ``cd``, ``mkdir``, ``cp``, and files by ``cat > FILE <<'END'`` or ``>>``;
- ``diff``: after ``--- FILE`` the lines that go (``-``), that come (``+``) and that stay (a blank);
- ``text``: what the commands of the block before it print; a line ``...`` stands for any lines.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^```(sh|diff|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WRITTEN = re.compile(r"^cat (>>?) (\S+) <<'END'\n(.*?)^END$", re.MULTILINE | re.DOTALL)
VARIES = re.compile(r"\b[0-9a-f]{10}\b|\b\d{4}-\d\d-\d\d \d\d:\d\d\b|\b\d+ kB\b")

Command = Callable[[list[str], Path], str]
"""Runs ``promptpex`` with these arguments in this folder, and gives what it prints."""


class PageError(AssertionError):
    """A page asks for what cannot be followed, or shows what does not come out."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a page: its language, its text, and the line of the page on which it begins."""

    language: str
    text: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    """The blocks that are followed, in order."""
    for match in FENCE.finditer(page):
        yield Block(match[1], match[2], page.count("\n", 0, match.start()) + 1)


def follow(page: str, folder: Path, run: Command) -> int:
    """Does what the page says, beginning in ``folder``; gives how many of its outputs were compared.

    Raises:
        PageError: with the page's line, where something else comes out than it shows.
    """
    printed, compared = "", 0
    for block in blocks(page):
        if block.language == "sh":
            folder, printed = _in_shell(block, folder, run)
        elif block.language == "diff":
            _change(block, folder)
        else:
            _compare(block, printed)
            compared += 1
    return compared


def _in_shell(block: Block, folder: Path, run: Command) -> tuple[Path, str]:
    """Where the shell is after the block, and what its commands have printed."""
    printed = ""
    files = {f"cat {how} {name}": (how, name, text) for how, name, text in WRITTEN.findall(block.text)}
    for line in WRITTEN.sub(r"cat \1 \2", block.text).splitlines():
        if line in files:
            _write(folder, *files[line])
            continue
        match shlex.split(line, comments=True):
            case []:
                pass
            case ["promptpex", *arguments]:
                printed += run(arguments, folder)
            case ["cd", name]:
                folder = folder / name
            case ["mkdir", name]:
                (folder / name).mkdir()
            case ["cp", source, target]:
                shutil.copy(folder / source, folder / target)
            case _:
                raise PageError(f"line {block.line}: the page's reader does not know how to do: {line}")
    return folder, printed


def _write(folder: Path, how: str, name: str, text: str) -> None:
    path = folder / name
    before = path.read_text(encoding="utf-8") if how == ">>" else ""
    path.write_text(before + text, encoding="utf-8")


def _change(block: Block, folder: Path) -> None:
    first, *lines = block.text.splitlines()
    path = folder / first.removeprefix("--- ")
    old = "".join(f"{line[1:]}\n" for line in lines if line[:1] in " -")
    new = "".join(f"{line[1:]}\n" for line in lines if line[:1] in " +")
    text = path.read_text(encoding="utf-8")
    if text.count(old) != 1:
        raise PageError(f"line {block.line}: {path.name} does not have these lines once:\n{old}\nIt has:\n{text}")
    path.write_text(text.replace(old, new), encoding="utf-8")


def _compare(block: Block, printed: str) -> None:
    """Run ids, dates and sizes vary, blanks at the ends of lines and empty lines around the whole say nothing."""
    shown = [re.escape(_plain(part.strip("\n"))) for part in re.split(r"^\.\.\.\n", block.text, flags=re.MULTILINE)]
    if not re.fullmatch("(?:.*\n)?".join(f"\n*{part}\n*" for part in shown), _plain(printed) + "\n", re.DOTALL):
        raise PageError(f"line {block.line}: the page shows\n{block.text}\nand what comes out is\n{printed}")


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in VARIES.sub("~", text).splitlines())
