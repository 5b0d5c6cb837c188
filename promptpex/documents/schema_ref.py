"""Where editors find the JSON schemas of our YAML and TOML files: the line that names one, and the copy that it names.

The line is part of a file that people share, so it must say the same on every machine: never a path into somebody's
environment. Where the package is part of the same project (as here), the schema itself is named. Elsewhere it is a copy
under the project's ``.promptpex/schemas``, which is written again wherever it is missing or old.
"""

from __future__ import annotations

import contextlib
import os
import re
from importlib import resources
from pathlib import Path

from promptpex.codecs.files.atomic import write_text
from promptpex.codecs.files.ordinary_files import is_inside, opened, project_of, read_bytes
from promptpex.core.errors import InputError

FOLDER = ".promptpex/schemas"
_LINE = re.compile(
    rf"(?:#\s*yaml-language-server:\s*\$schema=|#:schema\s+)(?P<place>(?:\.\./)*{re.escape(FOLDER)}"
    r"/(?P<name>prompt|spec|cases|candidates|settings)\.schema\.json)\s*\Z"
)


def schema_place(path: Path | str, name: str) -> str:
    """The schema of ``spec``, ``cases``, ``candidates`` or ``settings`` files, as the first line of the one at ``path``
    should name it."""
    folder = Path(path).resolve().parent
    root = project_of(folder)
    own = _shipped(name)
    if own.is_relative_to(root) and "site-packages" not in own.parts:
        return Path(os.path.relpath(own, folder)).as_posix()
    return Path(os.path.relpath(root / FOLDER / f"{name}.schema.json", folder)).as_posix()


def keep_schema(path: Path | str) -> Path | None:
    """Writes the copy that the first line of the file at ``path`` names, where it is missing or old; gives its path.

    Other lines are the user's business. A folder that cannot be written is not an error: only the editor misses the
    copy. A link in the copy's place is replaced, and a folder that a link leads out of the project is left alone.
    """
    try:
        with opened(Path(path), error=InputError, what="file") as file:
            match = _LINE.match(file.readline(1000).decode("utf-8", "replace").lstrip("\ufeff").strip())
    except (InputError, OSError):
        return None
    if match is None:
        return None
    folder = Path(path).resolve().parent
    copy = Path(os.path.normpath(folder / match["place"]))
    text = _shipped(match["name"]).read_text(encoding="utf-8")
    project = project_of(folder)
    if copy.parent.parent.parent != project or not is_inside(copy.parent, project) or _says(copy, text):
        return None
    with contextlib.suppress(OSError):
        write_text(copy, text, links=False)
        return copy
    return None


def _shipped(name: str) -> Path:
    return Path(str(resources.files("promptpex.documents.schemas") / f"{name}.schema.json")).resolve()


def _says(path: Path, text: str) -> bool:
    try:
        return read_bytes(path, error=InputError, what="schema", links=False) == text.encode()
    except InputError:
        return False
