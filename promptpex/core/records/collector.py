"""Python's garbage collector, stopped while very many objects are made that nothing will free."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """No search for reference cycles inside, which would walk all objects again and again; afterwards as before.

    Also a decorator: ``@collector_paused()``.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
