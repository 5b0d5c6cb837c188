"""A batch: several prompts that one command ran, and where the run of each is."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from promptpex.core.records._base import Record


class BatchPart(Record):
    """One prompt of a batch.

    Attributes:
        file: the prompt's file, as the command named it.
        prompt: its name; its file's where it could not be read.
        run: the folder of its run under the folder of the runs, ``NAME/RUN``; None where there is none.
        problem: why there is no run, in one sentence.
    """

    file: str
    prompt: str
    run: str | None = None
    problem: str | None = None

    @model_validator(mode="after")
    def _run_or_problem(self) -> Self:
        if (self.run is None) == (self.problem is None):
            raise ValueError("a prompt has either a run or a problem")
        return self


class BatchManifest(Record):
    """The manifest of a batch.

    Attributes:
        batch: its id, a hash of what it holds.
        name: the name that people gave the runs, if they did.
        created: ISO 8601, UTC.
        parts: the prompts, in the order of their paths.
        ran: whether one command ran the prompts; otherwise their runs, made at different times, were put together for a
            report.
        sent, stored: how many requests were sent, and how many answers came from the store.
    """

    batch: str
    name: str | None = None
    created: str = ""
    parts: tuple[BatchPart, ...] = Field(min_length=1)
    ran: bool = True
    sent: int = 0
    stored: int = 0
