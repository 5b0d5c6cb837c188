"""The heads of GGUF files: facts, or a named error for any bytes."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptpex.llm.providers.llama_engine import GgufHead, NotGguf, read_head


def _text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _head(*pairs: bytes, version: int = 3, count: int | None = None) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(pairs) if count is None else count) + b"".join(pairs)


ARCHITECTURE = _text("general.architecture") + struct.pack("<I", 8) + _text("tiny")
NAME = _text("general.name") + struct.pack("<I", 8) + _text("Tiny")
LIST = _text("tiny.list") + struct.pack("<IIQ", 9, 4, 2) + struct.pack("<II", 7, 8)
CONTEXT = _text("tiny.context_length") + struct.pack("<II", 4, 512)
TOKENS = _text("tokenizer.ggml.tokens") + b"never read"


def test_the_facts_of_a_head(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(_head(ARCHITECTURE, NAME, LIST, CONTEXT, TOKENS))
    assert read_head(file) == GgufHead(context=512, name="Tiny")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GGUF",
        b"GGML" + b"\0" * 100,
        _head(version=1),
        _head(count=2**60),
        _head(ARCHITECTURE)[:-1],
        _head(_text("a") + struct.pack("<I", 99)),
        _head(struct.pack("<Q", 2**50)),
        _head(_text("a") + struct.pack("<IIQ", 9, 0, 2**40)),
        _head(_text("a") + struct.pack("<I", 8) + struct.pack("<Q", 2) + b"\xff\xff"),
    ],
)
def test_what_is_no_head_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(content)
    with pytest.raises(NotGguf):
        read_head(file)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_a_head_or_no_gguf(tmp_path: Path, junk: bytes, looks_right: bool) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(_head(ARCHITECTURE, count=3) + junk if looks_right else junk)
    try:
        head = read_head(file)
    except NotGguf:
        return
    assert head.context is None or head.context > 0
