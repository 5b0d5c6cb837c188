"""The figures of a run that somebody found good enough; and a batch: several prompts that one command ran."""

from __future__ import annotations

from typing import Annotated, Self

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


Outputs = Annotated[int, Field(ge=0, le=1_000_000)]


class CaseCounts(Record):
    """What came of the repeats of a case with one model.

    Attributes:
        broken: outputs that break a rule. kept: outputs that keep all.
        unjudged: usable answers that nothing could judge. failed: errors instead of usable answers.
    """

    broken: Outputs = 0
    kept: Outputs = 0
    unjudged: Outputs = 0
    failed: Outputs = 0


class BlessedCase(Record):
    """A case of the suite as it was.

    Attributes:
        id, inputs: by which the case is known again; a hash of the inputs.
        rule, inverse: what it aims at.
        counts: for each model, in the order of ``Blessed.models``.
        texts: for each model a hash of its answers, by which they are known again; empty where one is missing.
    """

    id: str
    inputs: str
    rule: str | None = None
    inverse: bool = False
    counts: tuple[CaseCounts, ...]
    texts: tuple[str, ...] = ()


class Blessed(Record):
    """A run's outcome per model and case, without a text of a case or an output.

    Attributes:
        prompt, prompt_fingerprint, spec_digest, suite_digest: what the run was made from.
        run, name, created: which run it was: its folder's name, the name that people gave it, its date.
        rules_digest: hash of the rules and of how they are decided; empty in files of earlier versions.
        judges: who judged.
        promptpex: the version.
        models: labels of the models.
        cases: every case that was asked.
        failed_in: as in ``PartOfSuite``, where the cases were chosen by that.
    """

    prompt: str
    run: str
    name: str | None = None
    created: str = ""
    prompt_fingerprint: str
    spec_digest: str
    suite_digest: str
    rules_digest: str = ""
    judges: tuple[str, ...] = ()
    promptpex: str = ""
    models: tuple[str, ...]
    failed_in: str | None = None
    cases: tuple[BlessedCase, ...]

    @model_validator(mode="after")
    def _whole(self) -> Self:
        ids = [case.id for case in self.cases]
        if len(set(ids)) < len(ids):
            raise ValueError("a case stands there twice")
        if any(len(case.counts) != len(self.models) for case in self.cases):
            raise ValueError("a case does not have counts for each model")
        if any(len(case.texts) not in (0, len(self.models)) for case in self.cases):
            raise ValueError("a case does not have a hash of answers for each model")
        return self
