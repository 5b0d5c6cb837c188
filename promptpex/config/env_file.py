"""Keys from a ``.env`` file: of the variables in it those of providers' keys, and none that the environment has.

The file lies in the checkout and may be a stranger's. So it sets no server, no setting and nothing of this process
but keys; a key goes where one of the environment would go, which no file of the checkout decides. Keys are in the
environment while a session is open, since libraries look for them there, and nowhere else.
"""

from __future__ import annotations

import io
import os
import re
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path

from promptpex.codecs.files.find_settings_files import not_obeyed
from promptpex.codecs.files.ordinary_files import is_inside, project_of, read_bytes
from promptpex.core.errors import ConfigError
from promptpex.core.translation import stored, stored_n
from promptpex.llm.providers.prices import key_variable, known_providers, vendor_of
from promptpex.llm.redaction import names_variable_of_key

FILE = ".env"
LONGEST_FILE = 64_000
MOST_ENTRIES = 1_000
LONGEST_KEY = 4_096
OWN = "PROMPTPEX_"

_FURTHER = {
    "gemini": ("GOOGLE_API_KEY",),
    "huggingface": ("HF_TOKEN",),
    "together_ai": ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY"),
    "perplexity": ("PERPLEXITYAI_API_KEY",),
    "cohere": ("CO_API_KEY",),
}
"""Variables by which libraries know a provider's key, beside the usual one."""
_KEY = re.compile(r"[!-~]{8,}")
_EXPECTED_TO_COUNT = re.compile(rf"{OWN}\w*|\w+_(?:BASE_URL|API_BASE|HOST|PROXY)", re.ASCII | re.IGNORECASE)
"""Variables that people might believe to be obeyed."""


@dataclass(frozen=True, slots=True)
class EnvFile:
    """What a ``.env`` file gives.

    Attributes:
        keys: by their variables.
        notices: what people should know of it; no value is repeated.
    """

    keys: Mapping[str, str]
    notices: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"EnvFile({sorted(self.keys)})"


def find_env_file(start: Path, warnings: list[str]) -> Path | None:
    """The ``.env`` in this folder or the nearest above it in its project; None where there is none, or where it is not
    obeyed, which ``warnings`` then says."""
    folder, top = start.resolve(), project_of(start.resolve())
    places = takewhile(lambda place: place.is_relative_to(top), (folder, *folder.parents))
    path = next((place / FILE for place in places if (place / FILE).is_file()), None)
    if path is None:
        return None
    why = not_obeyed(path, start)
    if why is not None:
        warnings.append(stored("{file} is not read: {reason}", file=path, reason=why))
        return None
    return path


def read_env_file(path: Path, *, further: Collection[str] = ()) -> EnvFile:
    """The keys of a ``.env`` file that the environment leaves open. What cannot be read gives none, and a notice."""
    try:
        data = read_bytes(path, error=ConfigError, what=".env file", limit=LONGEST_FILE)
        entries = _entries(data.decode("utf-8-sig"))
    except (ConfigError, UnicodeDecodeError) as failure:
        why = failure.message if isinstance(failure, ConfigError) else "it is not UTF-8"
        return EnvFile({}, (stored("no key is taken from {file}: {why}", file=path, why=why),))
    of_vendor = _variables_by_vendor(further)
    keys_of_vendors = {name: value for name, value in entries.items() if name in of_vendor and value.strip()}
    keys = {name: value for name, value in keys_of_vendors.items() if not any(map(_is_set, of_vendor[name]))}
    bad = [name for name, value in keys.items() if not _is_key(value)]
    keys = {name: value for name, value in keys.items() if name not in bad}
    return EnvFile(keys, tuple(_notices(path, keys, bad, [name for name in entries if name not in of_vendor])))


@contextmanager
def in_environment(keys: Mapping[str, str]) -> Iterator[None]:
    """The keys in this process's environment for as long as this lasts, where it has none of these names. Where it is
    entered twice, as by two sessions of a program, the first value holds until both have ended."""
    lent = []
    with _LOCK:
        for name, value in keys.items():
            if name in _LENT or name not in os.environ:
                held, times = _LENT.get(name, (value, 0))
                _LENT[name] = (held, times + 1)
                os.environ.setdefault(name, value)
                lent.append(name)
    try:
        yield
    finally:
        with _LOCK:
            for name in lent:
                _give_back(name)


_LOCK = threading.Lock()
_LENT: dict[str, tuple[str, int]] = {}
"""What is in the environment because of a file: the value, and how many sessions need it."""


def _give_back(name: str) -> None:
    value, times = _LENT.pop(name)
    if times > 1:
        _LENT[name] = (value, times - 1)
    elif os.environ.get(name) == value:
        del os.environ[name]


def _entries(text: str) -> dict[str, str]:
    """The variables of the file, unexpanded; the last of a name counts. Lines that are not entries are left out."""
    from dotenv.parser import parse_stream

    bindings = islice(parse_stream(io.StringIO(text)), MOST_ENTRIES)
    return {each.key: each.value for each in bindings if each.key is not None and each.value is not None}


def _variables_by_vendor(further: Collection[str]) -> dict[str, set[str]]:
    by_vendor: dict[str, set[str]] = {}
    for provider in known_providers():
        names = (key_variable(provider), *_FURTHER.get(provider, ()))
        by_vendor.setdefault(vendor_of(provider), set()).update(names)
    own = {name: {name} for name in further if not name.startswith(OWN) and names_variable_of_key(name)}
    return own | {name: names for names in by_vendor.values() for name in names}


def _is_set(name: str) -> bool:
    return name in os.environ and name not in _LENT


def _is_key(value: str) -> bool:
    return len(value) <= LONGEST_KEY and _KEY.fullmatch(value) is not None


def _notices(path: Path, keys: Mapping[str, str], bad: list[str], rest: list[str]) -> Iterator[str]:
    shown_path = os.path.relpath(path) if is_inside(path, Path.cwd()) else path
    if keys:
        yield stored("{names} taken from {file}", names=", ".join(sorted(keys)), file=shown_path)
    if bad:
        yield stored(
            "{names} in {file} cannot be a key: it has 8 to {limit} signs, no blanks",
            names=", ".join(bad),
            file=shown_path,
            limit=f"{LONGEST_KEY:,}",
        )
    unused = [name[:60] for name in rest if _EXPECTED_TO_COUNT.fullmatch(name)]
    if unused:
        yield stored_n(
            "{count} variable of {file} not used ({names}): it gives keys of providers alone; servers and settings "
            "come from flags, the environment or settings files",
            "{count} variables of {file} not used ({names}): it gives keys of providers alone; servers and settings "
            "come from flags, the environment or settings files",
            len(unused),
            file=shown_path,
            names=", ".join(unused[:5]),
        )
