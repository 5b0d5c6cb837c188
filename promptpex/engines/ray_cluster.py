"""A Ray cluster: the one at an address, or one that is started on this machine and ends with the command.

It is connected to when it is first needed, since a start takes some six seconds. One that is started here listens on
the loopback interface alone, keeps its files in a folder of its own, and reports to nobody: usage statistics and the
dashboard are off. Ray is imported in this package and nowhere else.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from importlib.metadata import version
from types import TracebackType
from typing import Any

from promptpex.core.errors import EngineError, PromptpexError
from promptpex.core.temporary_environment import SAFE_PATH, environment_with
from promptpex.engines.local import usable_cpus

OBJECT_STORE_BYTES = 300_000_000
"""Shared memory of a Ray that is started here; by default it would take a third of the machine's."""
REACHED_S = 5.0
"""Seconds in which a server has to be there at an address."""
CONNECTED_S = 180.0
"""Seconds in which Ray has to be started or reached: on a busy machine a start takes thirty."""
TOLD_APART_S = 60.0
"""Seconds in which every node has to say what it has installed: its first worker takes a second or two to start."""
LONGEST_TEMPORARY = 24
"""Characters of the folder for temporary files with which Ray's sockets still have names that are short enough."""

_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", **SAFE_PATH}
_LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""What Ray asks, on any system, to know whether a node may be reached from others."""

AUTO = "auto"
"""The address of the cluster that this machine is a node of, as Ray's own tools call it."""

_HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
_SETTINGS_FRAME = b"\4"
"""What a client of gRPC says first, and the type of what its server answers (RFC 9113, 3.4)."""

_LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")

_lock = threading.Lock()
_connection: _Connection | None = None


class RayCluster:
    """A cluster to be connected to, in one process by any number of these at a time, but to one cluster only.

    A connection that the program itself made (``ray.init``) is used and left as it is.

    Args:
        address: HOST:PORT of the cluster's head; this process has to run on one of its nodes. ``auto``: the cluster
            that this machine was made a node of. None: what the variable ``RAY_ADDRESS`` says, else a Ray is started
            here.
        workers: CPUs of the one that is started here, at most those that may be used; None = all of them.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._address = address or os.environ.get("RAY_ADDRESS") or None
        self._workers = min(workers or usable_cpus(), usable_cpus())
        self._connected: _Connection | None = None
        self._changing = threading.Lock()
        self._left = False

    def open(self) -> None:
        """Connects, unless that is done.

        Raises:
            EngineError: Ray is not installed, nothing answers at the address, or the cluster has another version of
                Ray, Python or promptpex.
        """
        self._open()
        _take_signals_back()

    async def opened(self) -> None:
        """As ``open``, while the event loop goes on; cancelling it does not wait for a cluster that says nothing."""
        if self._connected is None:
            await _in_a_thread(self._open)
        _take_signals_back()

    def close(self) -> None:
        """Ends the connection, and the Ray that was started for it, once nobody here uses it. May be called twice.

        A Ray that is just being started is waited for, so that nothing of it stays; a cluster elsewhere is not.
        """
        self._left = True
        if not self._changing.acquire(blocking=self._address is None):
            return
        try:
            self._leave()
        finally:
            self._changing.release()

    def _open(self) -> None:
        with self._changing:
            self._left = False
            if self._connected is None:
                self._connected = self._shared()
            if self._left:  # meanwhile nobody waits for it any more
                self._leave()

    def _leave(self) -> None:
        connected, self._connected = self._connected, None
        if connected is not None:
            connected.leave()

    @property
    def cpus(self) -> int:
        """The CPUs of all nodes that are there by now; it has to be open."""
        import ray

        return int(ray.cluster_resources().get("CPU", 0))  # type: ignore[no-untyped-call]

    def _shared(self) -> _Connection:
        global _connection
        _require_ray()
        with _lock:
            if self._address is not None and (_connection is None or _connection.address != self._address):
                _require_server(self._address)
            if _connection is None:
                _connection = _Connection(self._address, self._workers)
            elif self._address not in (None, _connection.address):
                raise EngineError(f"this process is connected to a Ray cluster other than the one at {self._address}")
            _connection.users += 1
            return _connection

    def __enter__(self) -> RayCluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class _Connection:
    """This process's connection to Ray, in a thread that lives as long.

    Ray has its own handler of SIGTERM where it is connected in the main thread, and hangs where the thread that
    connected it has ended.

    Raises:
        EngineError: as ``RayCluster.open``.
    """

    def __init__(self, address: str | None, workers: int) -> None:
        self.address = address
        self.users = 0
        self._workers = workers
        self._ready: Future[None] = Future()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._live, name="promptpex-ray", daemon=True)
        self._thread.start()
        try:
            self._ready.result(CONNECTED_S)
        except TimeoutError as error:
            if self._ready.done():  # it is Ray's own
                raise
            self._over.set()
            raise EngineError(f"Ray does not answer within {CONNECTED_S:.0f} s{_at(address)}") from error

    def leave(self) -> None:
        """Ends it when the last user leaves."""
        global _connection
        with _lock:
            self.users -= 1
            if not self.users:
                _connection = None
                self._over.set()
                self._thread.join()

    def _live(self) -> None:
        try:
            with contextlib.ExitStack() as stack:
                _connect(self.address, self._workers, stack)
                self._ready.set_result(None)
                self._over.wait()
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(error)


def _connect(address: str | None, workers: int, stack: contextlib.ExitStack) -> None:
    """Connects; the stack then ends what was made for it."""
    with _environment(_QUIET):
        import ray

        if ray.is_initialized():
            return
        logging.getLogger("ray").setLevel(logging.ERROR)
        stack.enter_context(_silent())
        if address is None:
            _start(workers, stack)
        else:
            _join(address, stack)


def _start(workers: int, stack: contextlib.ExitStack) -> None:
    """Starts a Ray on this machine, for this process alone."""
    import ray

    folder = tempfile.mkdtemp(prefix="ppx-", dir=_short_temporary())
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    stack.callback(ray.shutdown)
    try:
        with _loopback_alone():
            _init(
                address="local",
                num_cpus=workers,
                include_dashboard=False,
                object_store_memory=OBJECT_STORE_BYTES,
                _temp_dir=folder,
            )
    except Exception as error:
        raise EngineError(f"Ray cannot be started on this machine: {_first_line(error)}") from error


def _join(address: str, stack: contextlib.ExitStack) -> None:
    """Connects to the cluster at an address, if its nodes have what a job needs.

    Raises:
        EngineError: what keeps them from it.
    """
    import ray

    stack.callback(ray.shutdown)
    try:
        with _loopback_alone() if _is_on_loopback_alone(address) else contextlib.nullcontext():
            _init(address=address)
        _require_same_code(address)
    except PromptpexError:
        raise
    except Exception as error:
        raise EngineError(_why_not(address, error)) from error


def _init(**options: Any) -> None:
    """Connects. Ray lets workers import from the working folder, which may be a stranger's checkout, unless the job
    says that it has one of its own; a real one would start a further process for each worker."""
    import ray

    job = ray.job_config.JobConfig()
    job._runtime_env_has_working_dir = lambda: True  # type: ignore[method-assign]
    ray.init(log_to_driver=False, configure_logging=False, job_config=job, **options)


def _require_ray() -> None:
    with _environment(_QUIET):
        try:
            import ray  # noqa: F401
        except ImportError as error:
            raise EngineError("the engine ray needs Ray: pip install 'promptpex[ray]'") from error


def _require_server(address: str) -> None:
    """Ray itself would try for a minute, and then end the process."""
    if address == AUTO:
        return
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdigit() or not 0 < int(port) < 65_536:
        raise EngineError(f"{address!r} is not the address of a Ray cluster; write HOST:PORT, as `ray start` prints it")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), REACHED_S) as connection:
            connection.sendall(_HTTP2_PREFACE)
            if connection.recv(4)[3:4] != _SETTINGS_FRAME:
                raise EngineError(
                    f"what answers at {address} is not a Ray cluster; use the address that `ray start` prints"
                )
    except OSError as error:
        why = error.strerror or str(error)
        raise EngineError(f"no Ray cluster answers at {address} ({why}); start one, or leave --address out") from error


def _is_on_loopback_alone(address: str) -> bool:
    """Whether a cluster can be reached at 127.0.0.1 and not where Ray would look for it instead: at this machine's own
    address, for ever."""
    from ray.util import get_node_ip_address

    host, _, port = address.rpartition(":")
    if host not in _LOOPBACK_HOSTS:
        return False
    try:
        own: str = get_node_ip_address()  # type: ignore[no-untyped-call]
        with socket.create_connection((own, int(port)), REACHED_S):
            return False
    except OSError:
        return True


def _at(address: str | None) -> str:
    return "" if address is None else f" at {address}"


async def _in_a_thread(work: Callable[[], None]) -> None:
    """Waits for something that may wait for ever; unlike the loop's own threads, this one is not waited for at its end.

    Raises:
        Exception: that of ``work``.
    """
    loop, outcome = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()

    def settle(error: BaseException | None) -> None:
        if not outcome.done():
            outcome.set_result(None) if error is None else outcome.set_exception(error)

    def run() -> None:
        failure: BaseException | None = None
        try:
            work()
        except BaseException as error:
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, failure)

    threading.Thread(target=run, name="promptpex-ray-open", daemon=True).start()
    await outcome


def _why_not(address: str, error: Exception) -> str:
    text = str(error)
    if address == AUTO and isinstance(error, ConnectionError):
        return "this machine is not a node of a Ray cluster; run `ray start` on it, or write HOST:PORT"
    if "ersion mismatch" in text:
        pairs = ", ".join(line.strip() for line in text.splitlines() if line.strip().startswith(("Ray:", "Python:")))
        return f"the Ray cluster at {address} has another version of Ray or Python than this command ({pairs})"
    if isinstance(error, ConnectionError) and "RAY_AUTH_MODE" not in os.environ:
        return f"the Ray cluster at {address} refuses this command; a cluster with a token takes RAY_AUTH_MODE=token"
    return f"the Ray cluster at {address} cannot be used: {_first_line(error)}"


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _require_same_code(address: str) -> None:
    """Has every node say which promptpex its workers have.

    Raises:
        EngineError: one has none, another version, or does not say it.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    def installed() -> str:  # sent by value: a node without promptpex cannot import it
        try:
            import promptpex.engines.jobs

            return f"promptpex {version(promptpex.__name__)}"
        except ImportError as error:
            return f"no promptpex that can be imported ({error})"

    own_version = installed()
    remote_version = ray.remote(num_cpus=0, max_retries=0)(installed)
    places = [node["NodeID"] for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
    strategies = [NodeAffinitySchedulingStrategy(place, soft=False) for place in places]
    for answer in ray.get(
        [remote_version.options(scheduling_strategy=one).remote() for one in strategies], timeout=TOLD_APART_S
    ):
        if answer != own_version:
            raise EngineError(
                f"a node of the Ray cluster at {address} has {answer}; install {own_version} on every node"
            )


def _short_temporary() -> str | None:
    """Where Ray's sockets go: names of sockets have at most some hundred characters."""
    return "/tmp" if len(tempfile.gettempdir()) > LONGEST_TEMPORARY and os.path.isdir("/tmp") else None


@contextlib.contextmanager
def _loopback_alone() -> Iterator[None]:
    """Has the Ray that is started meanwhile listen on 127.0.0.1 and nowhere else."""
    constants: Any = sys.modules.get("ray._private.ray_constants")
    before = getattr(constants, "ENABLE_RAY_CLUSTER", True)
    with _environment({_LOOPBACK: "0"}):
        try:
            constants.ENABLE_RAY_CLUSTER = False  # it was read from the environment when Ray was imported
            yield
        finally:
            constants.ENABLE_RAY_CLUSTER = before


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Keeps what nodes say of workers that they lost out of stdout, where it would stand among results."""
    printing: Any = sys.modules["ray._private.worker"]
    before = printing.print_to_stdstream
    printing.print_to_stdstream = lambda *arguments, **options: None
    try:
        yield
    finally:
        printing.print_to_stdstream = before


def _environment(values: Mapping[str, str]) -> contextlib.AbstractContextManager[None]:
    """These variables, for a while, and without what Ray adds to them."""
    return environment_with(values, kept=("RAY_AUTH_MODE", "RAY_CLIENT_MODE", "PYTHONBREAKPOINT"))


def _take_signals_back() -> None:
    """Ray writes down where a process was when it is told to end, and takes the signal for that."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if handler is not None:
                signal.signal(number, handler)
