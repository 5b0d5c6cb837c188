"""The engines that there are: their names and what help says of them, known before any of them is loaded."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineKind:
    """A kind of engine.

    Attributes:
        name: in settings and options.
        place: where its workers are, in words.
        home: the module whose ``opened(workers, address)`` opens it.
        cluster: what its address leads to, in words; None = it has no address.
        otherwise: where that is without an address, in words.
    """

    name: str
    place: str
    home: str
    cluster: str | None = None
    otherwise: str = ""


DEFAULT = "local"

_KINDS = (
    EngineKind(name=DEFAULT, place="on this machine", home="promptpex.engines.local"),
    EngineKind(
        name="ray",
        place="on a Ray cluster",
        home="promptpex.engines.ray_engine",
        cluster="Ray cluster",
        otherwise="as RAY_ADDRESS says, else one is started on this machine",
    ),
)


def names() -> tuple[str, ...]:
    """What the setting ``engine`` may say; the default first."""
    return tuple(kind.name for kind in _KINDS)


def engine_kind(name: str) -> EngineKind:
    """The kind of this name.

    Raises:
        KeyError: there is none.
    """
    return {kind.name: kind for kind in _KINDS}[name]


def places() -> str:
    """All engines in words: ``local, on this machine, or ray, on a Ray cluster``."""
    return ", or ".join(f"{kind.name}, {kind.place}" for kind in _KINDS)


def clusters() -> str:
    """What an address may lead to, in words, without an article."""
    return " or ".join(kind.cluster for kind in _KINDS if kind.cluster is not None)


def without_address() -> str:
    """Where these clusters are without an address, in words."""
    return "; ".join(kind.otherwise for kind in _KINDS if kind.otherwise)
