"""Connecting to Ray: what stands in the way is one sentence, and what was started ends."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from promptpex.core.errors import EngineError
from promptpex.engines import ray_cluster, usable_cpus
from promptpex.engines.ray_cluster import RayCluster

needs_ray = pytest.mark.usefixtures("ray_installed")


SETTINGS_FRAME = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""What a server of gRPC answers first."""


@contextmanager
def answering(reply: bytes) -> Iterator[str]:
    """The address of a server that says this to whoever comes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(reply)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join()


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


@needs_ray
@pytest.mark.parametrize("address", ["hello", "host:", "host:0", "host:99999", ":6379", "ray://h:1/x", "ray://h:1"])
def test_an_address_is_a_host_and_a_port(address: str) -> None:
    with pytest.raises(EngineError, match="is not the address of a Ray cluster; write HOST:PORT"):
        RayCluster(address).open()


@needs_ray
def test_an_address_where_nothing_or_something_else_answers_is_named() -> None:
    with pytest.raises(EngineError, match="no Ray cluster answers at 127"):
        RayCluster(closed_port()).open()
    with (
        answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address,
        pytest.raises(EngineError, match="is not a Ray cluster"),
    ):
        RayCluster(address).open()


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(EngineError, match=r"needs Ray: pip install 'promptpex\[ray\]'"):
        RayCluster().open()


def test_another_version_is_one_sentence() -> None:
    mismatch = RuntimeError(
        "Version mismatch: The cluster was started with:\n    Ray: 2.9.0\n    Python: 3.9.1\n"
        "This process on node 10.0.0.1:6379 was started with:\n    Ray: 2.60.0\n    Python: 3.11.7\n"
    )
    assert ray_cluster._why_not("h:1", mismatch) == (
        "the Ray cluster at h:1 has another version of Ray or Python than this command "
        "(Ray: 2.9.0, Python: 3.9.1, Ray: 2.60.0, Python: 3.11.7)"
    )


async def test_whoever_stops_waiting_for_a_cluster_need_not_wait_for_it() -> None:
    silent, over = threading.Event(), threading.Event()

    def connect() -> None:
        silent.wait()
        over.set()

    waiting = asyncio.ensure_future(ray_cluster._in_a_thread(connect))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not over.is_set()
    silent.set()
    assert over.wait(60)


async def test_what_keeps_a_cluster_from_being_reached_is_raised_where_it_is_waited_for() -> None:
    def refuse() -> None:
        raise EngineError("no cluster")

    with pytest.raises(EngineError, match="no cluster"):
        await ray_cluster._in_a_thread(refuse)


def test_a_machine_of_no_cluster_is_told_so() -> None:
    why = ray_cluster._why_not("auto", ConnectionError("Could not find any running Ray instance."))
    assert why == "this machine is not a node of a Ray cluster; run `ray start` on it, or write HOST:PORT"


def test_a_cluster_that_may_want_a_token_is_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = ConnectionError("Failed to connect to Ray cluster at h:1")
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    assert "RAY_AUTH_MODE=token" in ray_cluster._why_not("h:1", refused)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    assert ray_cluster._why_not("h:1", refused) == f"the Ray cluster at h:1 cannot be used: {refused}"


@needs_ray
def test_a_cluster_on_loopback_alone_is_looked_for_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        from ray.util import get_node_ip_address

        has_another = get_node_ip_address() != "127.0.0.1"  # type: ignore[no-untyped-call]
        assert ray_cluster._is_on_loopback_alone(f"127.0.0.1:{port}") is has_another
        assert ray_cluster._is_on_loopback_alone(f"localhost:{port}") is has_another
    assert not ray_cluster._is_on_loopback_alone("10.0.0.5:6379")


def test_a_cluster_that_is_not_needed_is_not_started() -> None:
    with RayCluster() as cluster:
        cluster.close()


@pytest.mark.slow
def test_a_started_ray_is_on_loopback_alone_shared_and_leaves_the_process_as_it_was(
    ray: RayCluster, tmp_path: Path
) -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    environment = dict(os.environ)
    with RayCluster() as second:
        second.open()
    assert _cpus() == min(2, usable_cpus()), "the first one goes on"
    assert dict(os.environ) == environment
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    assert not [
        name for name in environment if name in ("RAY_USAGE_STATS_ENABLED", "RAY_AUTH_MODE", "PYTHONBREAKPOINT")
    ]
    assert {host for host in listening("gcs_server", "raylet") if host} == {"127.0.0.1"}
    with (
        answering(SETTINGS_FRAME) as address,
        pytest.raises(EngineError, match="a Ray cluster other than"),
    ):
        RayCluster(address).open()


def _cpus() -> float:
    import ray

    return float(ray.cluster_resources()["CPU"])  # type: ignore[no-untyped-call]


def listening(*programs: str) -> set[str]:
    """The addresses on which these programs, started by this process, listen."""
    inodes = {inode for process in _ours(programs) for inode in _sockets(process)}
    hosts = set[str]()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                hosts.add(_host(fields[1].partition(":")[0]))
    return hosts


def _ours(programs: tuple[str, ...]) -> Iterator[int]:
    for place in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (place / "stat").read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if name in programs and int(rest.split()[1]) == os.getpid():
            yield int(place.name)


def _sockets(process: int) -> Iterator[str]:
    for handle in Path(f"/proc/{process}/fd").iterdir():
        try:
            target = os.readlink(handle)
        except OSError:
            continue
        if target.startswith("socket:["):
            yield target.removeprefix("socket:[").removesuffix("]")


def _host(text: str) -> str:
    """An address as /proc/net writes it: words of four bytes, the last byte first."""
    return socket.inet_ntoa(bytes.fromhex(text[-8:])[::-1])
