"""The project's folder ``.promptpex``, which is kept out of git."""

from __future__ import annotations

from pathlib import Path

from promptpex.codecs.files.atomic import write_bytes

OWN_FOLDER = ".promptpex"
IGNORED = b"*\n!.gitignore\n!schemas/\n!schemas/**\n"
"""What git leaves out of our folder: all but the schemas, which the files of people name."""
IGNORED_ONCE = b"*\n"
"""What earlier versions wrote there."""


def ignore(folder: Path) -> None:
    """Keeps our own folder out of git, but for the schemas; what a person wrote there stays."""
    file = folder / ".gitignore"
    if folder.name != OWN_FOLDER or file.is_symlink() or (file.exists() and file.read_bytes() != IGNORED_ONCE):
        return
    write_bytes(file, IGNORED, links=False)
