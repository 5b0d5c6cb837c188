"""Limits for what never ends: its test need not wait for those that are meant for honest work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from promptpex.assertions import time_limits, worker_process
from promptpex.assertions.javascript import v8

SECONDS = 0.25


@contextmanager
def little_time() -> Iterator[None]:
    """The process of V8 and the parsers gives whatever it is asked in the block a quarter of a second, and is given as
    much more to say so.

    Only for what has no end: a busy machine may take as long over something small.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in ("MATCH_SECONDS", "SCRIPT_SECONDS", "HTML_SECONDS", "SQL_SECONDS"):
            patch.setattr(v8, name, SECONDS)
        patch.setattr(worker_process, "_GRACE_SECONDS", SECONDS)
        yield


@contextmanager
def little_time_for_python() -> Iterator[None]:
    """The same for what is checked in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time_limits, "CHECK_SECONDS", SECONDS)
        yield
