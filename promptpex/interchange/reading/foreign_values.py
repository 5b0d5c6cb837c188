"""Where things stand in foreign files, and reading them as what they have to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from promptpex.core.errors import InputError
from promptpex.documents.yaml_reader import Keys, YamlDoc
from promptpex.interchange.notes import one_line


@dataclass(frozen=True, slots=True)
class At:
    """Where something stands.

    Attributes:
        path: the file. keys: what leads to it in the file.
        doc: the document that knows its lines; without one ``row`` is the line.
    """

    path: Path
    keys: Keys = ()
    doc: YamlDoc | None = None
    row: int | None = None

    def __getitem__(self, key: str | int) -> At:
        return replace(self, keys=(*self.keys, key))

    @property
    def line(self) -> int | None:
        """From 1."""
        return self.doc.line(*self.keys) if self.doc is not None else self.row

    @property
    def name(self) -> str:
        """As one would say it: ``tests[3].assert[0]``."""
        parts = (f"[{key}]" if isinstance(key, int) else f".{one_line(key)}" for key in self.keys)
        return "".join(parts).lstrip(".") or self.path.name

    def fail(self, message: str) -> InputError:
        """The error that there is something wrong here."""
        return InputError(f"{self.name}: {message}" if self.keys else message, path=self.path, line=self.line)


def mapping(value: object, at: At, what: str) -> Mapping[str, object]:
    """The value, which has to be a mapping; nothing counts as an empty one.

    Raises:
        InputError: it is something else.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise at.fail(f"{what} must be a mapping, not {named(value)}")
    return value


def items(value: object, at: At, what: str) -> Iterator[tuple[object, At]]:
    """The items of a list with their places; a single value counts as a list of it, nothing as none."""
    if isinstance(value, list):
        yield from ((item, at[number]) for number, item in enumerate(value))
    elif value is not None:
        if isinstance(value, bool | int | float):
            raise at.fail(f"{what} must be a list, not {named(value)}")
        yield value, at


def named(value: object) -> str:
    """What a value of the wrong type is, for sentences."""
    kinds = ((bool, "true or false"), (str, "a text"), (int | float, "a number"), (list, "a list"), (dict, "a mapping"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "nothing")


def text_of_parts(content: object) -> str | None:
    """The text of a turn, whether it is one or a list of parts; None where it has parts that are not texts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [None]
    texts = [part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None for part in parts]
    strings = [text for text in texts if isinstance(text, str)]
    return "\n".join(strings) if len(strings) == len(texts) else None
