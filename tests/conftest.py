"""What all tests share: no network but loopback, real servers of the model APIs, and where shared data is."""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import settings
from hypothesis.errors import InvalidArgument

from promptpex.__main__ import GARBAGE_AFTER
from promptpex.assertions import worker_process
from promptpex.engines import ray_engine
from promptpex.llm.providers.weights import DEFAULT_NAME, found_default, weights_path
from tests.fork_server import start
from tests.importing import import_share
from tests.postgres import Cluster, missing, shared_cluster
from tests.servers import LlamaServer, OllamaServer, ScriptedServer
from tests.shallow_model import write_shallow
from tests.spread import spread

gc.set_threshold(GARBAGE_AFTER)  # as the command does
os.environ["PROMPTPEX_EMBEDDED_THREADS"] = "1"
os.environ |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
os.environ.pop("CI", None)  # a command that chooses its author itself refuses there
settings.register_profile("promptpex", deadline=None, max_examples=15)  # a busy machine is not a failure
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "promptpex"))
PARSERS = ("codecs", "documents", "interchange", "promptfile")
"""Folders whose property tests, of parsers and round trips, take fifty examples."""
start.install()

LIBPQ = ("PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE", "PGSERVICE", "PGOPTIONS", "PGSSLMODE")
_LOOPBACK = ("127.", "::1", "localhost")
_REAL_CONNECT = socket.socket.connect
_REAL_CONNECT_EX = socket.socket.connect_ex
_REAL_SENDTO = socket.socket.sendto
_REAL_GETADDRINFO = socket.getaddrinfo


class NetworkForbidden(OSError):
    """A test reached for something that is not on this machine."""


def _check(host: object) -> None:
    name = host.decode() if isinstance(host, bytes) else host
    if name is None or (isinstance(name, str) and (name == "" or name.startswith(_LOOPBACK) or name == "0.0.0.0")):
        return
    raise NetworkForbidden(f"tests may reach loopback alone, not {name!r}")


def _check_address(sock: socket.socket, address: Any) -> None:
    if sock.family in (socket.AF_INET, socket.AF_INET6):
        _check(address[0])


def _connect(sock: socket.socket, address: Any) -> None:
    _check_address(sock, address)
    _REAL_CONNECT(sock, address)


def _connect_ex(sock: socket.socket, address: Any) -> int:
    _check_address(sock, address)
    return _REAL_CONNECT_EX(sock, address)


def _sendto(sock: socket.socket, data: Any, *rest: Any) -> int:
    _check_address(sock, rest[-1])
    return _REAL_SENDTO(sock, data, *rest)


def _getaddrinfo(host: Any, *rest: Any, **named: Any) -> Any:
    try:
        _check(host)
    except NetworkForbidden as error:
        raise socket.gaierror(socket.EAI_NONAME, str(error)) from error
    return _REAL_GETADDRINFO(host, *rest, **named)


@pytest.fixture(autouse=True)
def _no_overruns_before() -> None:
    """What hung in another test is not held against this one."""
    worker_process.PROCESS_STRIKES.reset()


@pytest.fixture(autouse=True, scope="session")
def loopback_only() -> Iterator[None]:
    """Blocks every socket and every name that is not loopback, for the whole session."""
    patch = pytest.MonkeyPatch()
    patch.setattr(socket.socket, "connect", _connect)
    patch.setattr(socket.socket, "connect_ex", _connect_ex)
    patch.setattr(socket.socket, "sendto", _sendto)
    patch.setattr(socket, "getaddrinfo", _getaddrinfo)
    patch.setattr(socket, "gethostbyname", lambda host: _getaddrinfo(host, None)[0][4][0])
    yield
    patch.undo()


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, address, proxy or settings file of the person who runs the tests."""
    monkeypatch.setenv("XDG_CONFIG_HOME", os.devnull)
    for name in list(os.environ):
        named = name.endswith(("_API_KEY", "_API_BASE", "_BASE_URL", "_PROXY", "_proxy"))
        if named or name in ("OLLAMA_HOST", "PROMPTPEX_EMBEDDED_MODEL") or name in LIBPQ:
            monkeypatch.delenv(name)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Shares the work of importing the test modules with the other processes of the run."""
    process = getattr(session.config, "workerinput", None)
    if process is not None:
        import_share(session.config, int(process["workerid"].removeprefix("gw")), process["workercount"])


def pytest_collection_finish() -> None:
    """Thousands of collected tests stay to the end: the garbage collector need not look at them again and again."""
    gc.freeze()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Gives the property tests of parsers more examples, unless they have settings of their own."""
    test = getattr(item, "obj", None)
    if getattr(test, "is_hypothesis_test", False) and set(PARSERS) & set(item.path.parts):
        with suppress(InvalidArgument):  # it has some
            settings(max_examples=max(50, settings().max_examples))(test)


@pytest.hookimpl(trylast=True)  # pytest itself has put those of a parametrized fixture together
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Spreads the tests over processes, and skips, visibly, what needs the embedded model where it is not installed."""
    if hasattr(config, "workerinput"):
        items[:] = spread(items, config.workerinput["workercount"])
    why = _embedded_missing()
    if why is None:
        return
    for item in items:
        if item.get_closest_marker("embedded"):
            item.add_marker(pytest.mark.skip(reason=why))


def _embedded_missing() -> str | None:
    try:
        import xllamacpp  # noqa: F401
    except ImportError:
        return "xllamacpp is not installed"
    return None if found_default() else "the weights of embedded/smollm2-135m are not on this machine"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared test data beside the repository; tests that need it are skipped without it."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("the shared test data is not beside the repository")
    return folder


@pytest.fixture(scope="session")
def shallow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the embedded model with few of its layers, for tests in which its words mean nothing."""
    source = weights_path(DEFAULT_NAME)
    return write_shallow(source, tmp_path_factory.mktemp("shallow") / source.name)


@pytest.fixture(scope="session")
def llama(shallow: Path) -> Iterator[LlamaServer]:
    """A real OpenAI-compatible server on loopback: llama.cpp's own, with the shallow model."""
    server = LlamaServer(shallow)
    yield server
    server.close()


@pytest_asyncio.fixture
async def ollama(llama: LlamaServer) -> AsyncIterator[OllamaServer]:
    """A server that speaks Ollama's API and answers with the shallow model."""
    async with OllamaServer(llama) as server:
        yield server


@pytest_asyncio.fixture
async def scripted() -> AsyncIterator[ScriptedServer]:
    """A server that answers as its ``steps`` say."""
    async with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="session")
def ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Ray cluster on loopback with two CPUs, which this process is connected to."""
    library = pytest.importorskip("ray", reason="Ray is not installed (the extra ray)")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    words = f"--head --block --port {address.partition(':')[2]} --node-ip-address 127.0.0.1 --num-cpus 2"
    with tempfile.TemporaryDirectory(prefix="ppx-", dir="/tmp") as folder:  # names of sockets have to be short
        command = [f"{Path(sys.executable).parent}/ray", "start", *words.split(), f"--temp-dir={folder}"]
        started = subprocess.Popen([*command, "--include-dashboard=false"], stdout=subprocess.DEVNULL)
        try:
            _await_server(address)
            ray_engine._connect(address)
            yield address
            library.shutdown()
        finally:
            started.terminate()
            started.wait()


def _await_server(address: str) -> None:
    host, _, port = address.partition(":")
    while True:
        try:
            return socket.create_connection((host, int(port)), 1).close()
        except OSError:
            time.sleep(0.1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """A PostgreSQL server on loopback that the tests of this run share; skips where there can be none."""
    why = missing()
    if why is not None:
        pytest.skip(why)
    with shared_cluster() as cluster:
        yield cluster
