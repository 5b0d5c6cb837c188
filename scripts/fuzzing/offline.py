"""Keeps a process's sockets on loopback, so that nothing is asked outside whatever a hostile file names."""

from __future__ import annotations

import socket
from typing import Any


def only_loopback() -> None:
    """From now on, connecting anywhere else is an ``OSError``."""
    for name in ("connect", "connect_ex"):
        _guard(name)
    resolve = socket.getaddrinfo

    def getaddrinfo(host: Any, *rest: Any, **named: Any) -> Any:
        return resolve(host if _local(host) else _refuse(host), *rest, **named)

    socket.getaddrinfo = getaddrinfo


def _guard(name: str) -> None:
    real = getattr(socket.socket, name)

    def call(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _local(address[0]):
            _refuse(address[0])
        return real(self, address)

    setattr(socket.socket, name, call)


def _local(host: Any) -> bool:
    name = host.decode("latin-1") if isinstance(host, bytes) else host
    return name in (None, "", "localhost", "::1") or str(name).startswith("127.")


def _refuse(host: Any) -> str:
    raise OSError(f"only loopback can be reached, not {host!r}")
