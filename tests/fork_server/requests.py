"""What the tests' process and the fork server say to each other: a packet with a request, and one with its answer."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

LARGEST = 150_000
"""Bytes of a request; what is larger, by its environment or arguments, is started as usual."""


@dataclass(frozen=True, slots=True)
class Request:
    """A command to be forked: what a start of Python would be given.

    Attributes:
        arguments: those of Python: ``-m MODULE ...`` or ``-c CODE ...``.
        folder: the working folder, absolute.
        environment: all of it.
        session: whether the command gets a session of its own.
        ignored: signals that are ignored where it is asked for, and so in what is started there.
    """

    arguments: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    session: bool
    ignored: Sequence[int]

    def packed(self) -> bytes:
        """As bytes, of which there may be ``LARGEST``."""
        return json.dumps(asdict(self)).encode()


def receive(connection: socket.socket) -> tuple[Request, list[int]] | None:
    """The next request and its stdin, stdout and stderr; None when nobody can ask any more."""
    try:
        packet, streams, _, _ = socket.recv_fds(connection, LARGEST, 3)
    except ConnectionResetError:  # the other end went without having read an answer
        return None
    return (Request(**json.loads(packet)), streams) if packet else None
