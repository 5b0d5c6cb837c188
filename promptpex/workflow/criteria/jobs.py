"""Jobs that people start on the page of criteria: a few at a time, each with what came of it."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from promptpex.core.errors import ModelError, PromptpexError, Stopped
from promptpex.core.records.criteria_board import ShownWork
from promptpex.workflow.criteria.background import Background

MOST_AT_A_TIME = 3
MOST_KEPT = 6
"""Finished jobs that are shown."""


@dataclass(eq=False)
class BackgroundJob:
    """One piece of work.

    Attributes:
        what: in words.
        criterion: the id of the criterion that it is for; empty: for none.
    """

    what: str
    criterion: str = ""
    state: Literal["waiting", "running", "done", "failed", "dropped"] = "waiting"
    sentence: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it is still to come or under way."""
        return self.state in ("waiting", "running")


class JobList:
    """The jobs of a page, in the order in which they were started. Safe in several threads.

    Args:
        background: where they run.
        exhausted: told when a model cannot be asked any more, so that nothing further is started.
    """

    def __init__(self, background: Background, exhausted: Callable[[], object]) -> None:
        self._background, self._exhausted = background, exhausted
        self._slots = asyncio.Semaphore(MOST_AT_A_TIME)
        self._open: list[BackgroundJob] = []
        self._ended: deque[BackgroundJob] = deque(maxlen=MOST_KEPT)
        self._lock = threading.Lock()

    def start(self, job: BackgroundJob, work: Callable[[], Awaitable[str]]) -> None:
        """Starts a job, unless the same is open: ``work`` gives the sentence that says what came of it."""
        with self._lock:
            if any((one.what, one.criterion) == (job.what, job.criterion) for one in self._open):
                return
            self._open.append(job)
        self._background.start(self._run(job, work))

    async def _run(self, job: BackgroundJob, work: Callable[[], Awaitable[str]]) -> None:
        try:
            async with self._slots:
                if job.state == "waiting":
                    job.state = "running"
                    job.sentence = await work()
                    job.state = "done"
        except (Stopped, asyncio.CancelledError):
            job.state = "dropped"
            raise
        except (PromptpexError, OSError) as failure:
            job.state, job.sentence = "failed", str(failure)
            if isinstance(failure, ModelError) and failure.model_wide:
                self._exhausted()
        finally:
            with self._lock:
                self._open.remove(job)
                self._ended.append(job)

    def drop(self) -> int:
        """Takes back what has not begun, and gives how many jobs that were."""
        with self._lock:
            waiting = [one for one in self._open if one.state == "waiting"]
            for one in waiting:
                one.state = "dropped"
            return len(waiting)

    @property
    def is_working(self) -> bool:
        """Whether any job is open."""
        return bool(self._open)

    def working(self) -> dict[str, str]:
        """What is being done for each criterion, by its id."""
        with self._lock:
            return {one.criterion: one.what for one in self._open if one.criterion and one.is_open}

    def shown(self) -> tuple[ShownWork, ...]:
        """What is being done, then what was done last, the latest first."""
        with self._lock:
            all_jobs = (*self._open, *reversed(self._ended))
            return tuple(
                ShownWork(what=one.what, criterion=one.criterion, state=one.state, sentence=one.sentence)
                for one in all_jobs
            )
