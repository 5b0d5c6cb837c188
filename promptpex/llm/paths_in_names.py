"""Files in the names of models, ``replay/FILE`` and ``embedded/FILE``, as a name can hold them.

A name is divided by ``,``, ``?`` and ``#`` and holds no blank; these, and ``%``, are written as addresses write them:
``replay/my%20answers.jsonl``.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, unquote

_SIGNS = ",?#%"


def as_in_name(path: Path | str) -> str:
    """The path as the name of a model holds it."""
    return "".join(quote(sign, safe="", errors="surrogateescape") if _is_odd(sign) else sign for sign in str(path))


def from_name(text: str) -> str:
    """The path that a name holds: of ``as_in_name``."""
    return unquote(text, errors="surrogateescape") if "%" in text else text


def file_of(label: str) -> str | None:
    """The file that a model's name is, if it is one."""
    written = written_file_of(label)
    return None if written is None else from_name(written)


def written_file_of(label: str) -> str | None:
    """The same as the name holds it, in the form of ``as_in_name``."""
    provider, _, rest = label.partition("?")[0].partition("/")
    if provider == "replay":
        return rest.partition("#")[0]
    is_file = provider == "embedded" and not rest.startswith("hf:")
    return rest if is_file and (rest.endswith(".gguf") or "/" in rest or "\\" in rest) else None


def _is_odd(sign: str) -> bool:
    return sign in _SIGNS or sign.isspace() or not sign.isprintable()
