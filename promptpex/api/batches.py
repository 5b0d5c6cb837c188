"""Several prompts with one call, as ``promptpex run prompts/``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from promptpex.api.keyword_settings import KeywordSettings
from promptpex.api.open_session import in_session, listed
from promptpex.api.run_result import RunResult
from promptpex.core.errors import ConfigError
from promptpex.llm.client import Client
from promptpex.promptfile import common_folder, find_prompts
from promptpex.report.batches.batch_files import INDEX
from promptpex.report.batches.batch_report import BatchReport
from promptpex.report.runs import read
from promptpex.workflow.batches.batch_reports import MadeBatch, run_and_report
from promptpex.workflow.session import Session

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class BatchResult:
    """A batch as ``promptpex.run_batch`` gives it.

    Attributes:
        runs: the run of each prompt, by its file; of prompts that could be run.
        problems: why others could not, in one sentence, by their files.
    """

    runs: Mapping[str, RunResult]
    problems: Mapping[str, str]
    _report: BatchReport

    @property
    def models(self) -> pd.DataFrame:
        """A row per prompt and model, columns ``tables.PROMPT_MODEL_COLUMNS``."""
        return self._report.by_prompt

    @property
    def by_model(self) -> pd.DataFrame:
        """A row per model, columns ``tables.OVER_PROMPTS_COLUMNS``."""
        return self._report.by_model

    @property
    def answer(self) -> str:
        """What the batch says of its models, in plain words."""
        return self._report.answer

    @property
    def index(self) -> Path:
        """The page that leads to the reports of all runs."""
        return self._report.folder / INDEX

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.runs)} prompts: {self.answer!r}>"


def run_batch(
    prompts: str | Path | Sequence[str | Path],
    *,
    models: str | Sequence[str],
    judge: str | Sequence[str] | None = None,
    author: str | None = None,
    client: Client | None = None,
    **settings: Unpack[KeywordSettings],
) -> BatchResult:
    """Runs several prompts within one budget, each with the files beside it, and keeps their runs and a page over them.

    Settings files are looked for from the folder that has all prompts upwards, as ``promptpex run`` does.

    Args:
        prompts: files, folders and patterns.
        models: a name, names with commas between them, or a list of names.
        judge: the same; ``none`` where checks alone are to decide.
        author: who extracts specs and generates cases where they are missing.

    Raises:
        errors.PromptpexError: files, settings or models that cannot be used, before anything is asked; no prompt could
            be run.
    """
    if not models:
        raise ConfigError("models names no model; give at least one")
    named = [prompts] if isinstance(prompts, str | Path) else prompts
    prompt_files = find_prompts(named)
    start = common_folder(prompt_files)

    async def job(session: Session) -> MadeBatch:
        return await run_and_report(session, prompt_files, start=start)

    roles = {"models": listed(models), "judge": listed(judge), "author": author}
    results = in_session(job, {**roles, **settings}, client, start=start)
    made = {str(one.files.prompt): one.unanswered if one.folder is None else read(one.folder) for one in results.runs}
    runs = {prompt: RunResult.of(run) for prompt, run in made.items() if run is not None}
    problems = {str(one.files.prompt): str(one.problem) for one in results.runs if one.problem is not None}
    return BatchResult(runs, problems, results.report)
