"""The embedded model without most of its layers: a real file for a real engine, whose words mean nothing.

For tests that need a model's bytes, tokens and grammar, and no sense: a prompt takes a tenth of the time. GGUF
specification (ggml, docs/gguf.md), version 3: head, typed pairs, the list of tensors, their data.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass
from pathlib import Path

LAYERS = 2
"""How many of the 30 are kept."""

_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _ARRAY = 8, 9
_ALIGNMENT = 32


@dataclass(slots=True)
class _Reader:
    """A place in the bytes of a file."""

    data: memoryview
    at: int = 0

    def numbers(self, form: str) -> tuple[int, ...]:
        numbers = struct.unpack_from(f"<{form}", self.data, self.at)
        self.at += struct.calcsize(f"<{form}")
        return numbers

    def text(self) -> str:
        (length,) = self.numbers("Q")
        self.at += length
        return bytes(self.data[self.at - length : self.at]).decode()

    def skip(self, kind: int) -> None:
        """Goes past a value of this type."""
        if kind == _STRING:
            self.text()
        elif kind == _ARRAY:
            inner, count = self.numbers("IQ")
            if inner in _SIZES:
                self.at += count * _SIZES[inner]
            else:
                for _ in range(count):
                    self.skip(inner)
        else:
            self.at += _SIZES[kind]


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A tensor in the list: its name, shape and type as they stand there, and where its data begin."""

    name: str
    form: bytes
    offset: int

    def is_kept(self, layers: int) -> bool:
        block = re.match(r"blk\.(\d+)\.", self.name)
        return block is None or int(block[1]) < layers


def write_shallow(source: Path, target: Path, *, layers: int = LAYERS) -> Path:
    """Writes the first ``layers`` layers of the GGUF file ``source`` to ``target``."""
    data = memoryview(source.read_bytes())
    reader = _Reader(data, 4)
    version, tensor_count, pair_count = reader.numbers("IQQ")
    assert version == 3
    pairs = _pairs(reader, pair_count, layers)
    tensors = [_tensor(reader) for _ in range(tensor_count)]
    begin = _aligned(reader.at)
    ends = sorted([*(tensor.offset for tensor in tensors), len(data) - begin])
    kept = [tensor for tensor in tensors if tensor.is_kept(layers)]
    listed, bodies, offset = bytearray(), [], 0
    for tensor in kept:
        end = next(end for end in ends if end > tensor.offset)
        body = bytes(data[begin + tensor.offset : begin + end])
        listed += _text(tensor.name) + tensor.form + struct.pack("<Q", offset)
        bodies.append(body.ljust(_aligned(len(body)), b"\0"))
        offset += len(bodies[-1])
    head = b"GGUF" + struct.pack("<IQQ", version, len(kept), pair_count) + pairs + listed
    target.write_bytes(head.ljust(_aligned(len(head)), b"\0") + b"".join(bodies))
    return target


def _pairs(reader: _Reader, count: int, layers: int) -> bytes:
    """The pairs as they are, but for the number of layers."""
    written = bytearray()
    for _ in range(count):
        begin = reader.at
        name = reader.text()
        (kind,) = reader.numbers("I")
        value = reader.at
        reader.skip(kind)
        written += reader.data[begin:value]
        written += struct.pack("<I", layers) if name.endswith(".block_count") else reader.data[value : reader.at]
    return bytes(written)


def _tensor(reader: _Reader) -> _Tensor:
    name, begin = reader.text(), reader.at
    (dimensions,) = reader.numbers("I")
    reader.numbers(f"{dimensions}QI")
    form = bytes(reader.data[begin : reader.at])
    return _Tensor(name, form, *reader.numbers("Q"))


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _aligned(length: int) -> int:
    return math.ceil(length / _ALIGNMENT) * _ALIGNMENT
