"""What a GGUF file says of its model, read from its head alone.

GGUF specification (ggml, docs/gguf.md), versions 2 and 3: magic, version, counts, then typed key-value pairs.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from promptpex.core.translation import stored

_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_MAX_PAIRS = 100_000
_MAX_TEXT = 64 * 1024 * 1024


class NotGguf(ValueError):
    """The file is not a GGUF file, or a damaged one."""


@dataclass(frozen=True, slots=True)
class GgufHead:
    """A model's own facts.

    Attributes:
        context: tokens of context it was trained for; None if it does not say.
        name: as its maker calls it.
    """

    context: int | None
    name: str


def read_head(path: Path) -> GgufHead:
    """The head of the file at ``path``.

    Raises:
        NotGguf: when it is not one.
        OSError: when it cannot be read.
    """
    with path.open("rb") as file:
        try:
            pairs = _pairs(file)
        except (struct.error, UnicodeDecodeError, OverflowError, MemoryError) as error:
            raise NotGguf(stored("its head is damaged ({why})", why=error)) from error
    architecture = str(pairs.get("general.architecture", ""))
    context = pairs.get(f"{architecture}.context_length")
    return GgufHead(
        context=context if isinstance(context, int) and context > 0 else None,
        name=str(pairs.get("general.name", "")),
    )


def _pairs(file: BinaryIO) -> Mapping[str, object]:
    """The key-value pairs up to the tokenizer's, which are long and stand last."""
    if file.read(4) != b"GGUF":
        raise NotGguf(stored("it does not begin as a GGUF file does"))
    version, _tensors, count = struct.unpack("<IQQ", file.read(20))
    if version not in (2, 3) or count > _MAX_PAIRS:
        raise NotGguf(stored("its GGUF version {number} is not one of 2 and 3", number=version))
    pairs: dict[str, object] = {}
    for _ in range(count):
        key = _text(file)
        if key.startswith("tokenizer.") and pairs.get("general.architecture"):
            break
        (kind,) = struct.unpack("<I", file.read(4))
        pairs[key] = _value(file, kind)
    return pairs


def _value(file: BinaryIO, kind: int, depth: int = 0) -> object:
    if kind == _STRING:
        return _text(file)
    if kind == _ARRAY and depth < 4:
        inner, count = struct.unpack("<IQ", file.read(12))
        if count > _MAX_TEXT:
            raise NotGguf(stored("its head is damaged (an impossibly long array)"))
        return [_value(file, inner, depth + 1) for _ in range(count)]
    form = _SCALARS.get(kind)
    if form is None:
        raise NotGguf(stored("its head is damaged (value type {kind})", kind=kind))
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]


def _text(file: BinaryIO) -> str:
    (length,) = struct.unpack("<Q", file.read(8))
    if length > _MAX_TEXT:
        raise NotGguf(stored("its head is damaged (an impossibly long text)"))
    data = file.read(length)
    if len(data) < length:
        raise NotGguf(stored("its head is cut off"))
    return data.decode("utf-8")
