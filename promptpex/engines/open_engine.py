"""An engine by its name, as settings have it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from promptpex.core.engine_kinds import engine_kind
from promptpex.engines.jobs import Engine
from promptpex.engines.links import Carrier


@dataclass(frozen=True, slots=True)
class OpenEngine:
    """An engine with what has to be ended when it is no longer needed.

    Attributes:
        engine: where jobs run.
        carrier: starts services on its workers, so that models are asked there; None = they are asked by this process.
        end: ends what was started or connected to, and blocks meanwhile; None = there is nothing of that kind.
    """

    engine: Engine
    carrier: Carrier | None = None
    end: Callable[[], None] | None = None

    def close(self) -> None:
        """Ends what was started or connected to; blocks meanwhile."""
        if self.end is not None:
            self.end()


def open_engine(name: str, *, workers: int | None, address: str | None) -> OpenEngine:
    """The engine of this name; a cluster is connected to when it is first needed.

    Args:
        workers: how many work at most; None = as many as the engine itself takes.
        address: where its cluster is, if it has one; None = as the engine itself finds it.

    Raises:
        KeyError: there is no engine of this name.
    """
    opened: OpenEngine = import_module(engine_kind(name).home).opened(workers, address)
    return opened
