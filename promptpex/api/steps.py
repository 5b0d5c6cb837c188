"""The steps that ask models, for one prompt or several, and the choice of assertions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar, Unpack, overload

from promptpex.api.keyword_settings import KeywordSettings, resolved_settings
from promptpex.api.runs import RunResult, warn
from promptpex.config import Resolved
from promptpex.core.errors import ConfigError, SynthesisError
from promptpex.core.records import Prompt, Run, Spec, Suite, Synthesis
from promptpex.core.shares import share
from promptpex.llm.client import Client
from promptpex.promptfile import common_folder, find_prompts
from promptpex.report.batches.batch_files import INDEX
from promptpex.report.batches.batch_report import BatchReport
from promptpex.report.runs import read
from promptpex.synthesis.choice.choose import choose_from_matrix
from promptpex.synthesis.folder import SynthesisFolder, read_candidates
from promptpex.synthesis.selection.methods import SECONDS, Method, Selection
from promptpex.synthesis.selection.problem import SelectionLimits, SelectionProblem
from promptpex.workflow import generating, specifying, synthesizing, trying_candidates
from promptpex.workflow.batches.batch_reports import MadeBatch, run_and_report
from promptpex.workflow.choosing import Choice, choose_by_labels
from promptpex.workflow.execution import early_stopping, run_records
from promptpex.workflow.execution.judge_examples import take_judge_examples
from promptpex.workflow.metrics import metrics_of
from promptpex.workflow.preconditions import require_judges_of_expected
from promptpex.workflow.project_files import files_of
from promptpex.workflow.session import Session, open_session, result_of

if TYPE_CHECKING:
    import pandas as pd


def extract(
    prompt: Prompt,
    *,
    author: str | None = None,
    judge: str | Sequence[str] | None = None,
    client: Client | None = None,
    **settings: Unpack[KeywordSettings],
) -> Spec:
    """The spec of a prompt, by the author model; whether the prompt says what its rules say is not asked (``verify``).

    Raises:
        errors.PromptpexError: settings that cannot be used; an author that could not name a single rule.
    """

    async def job(session: Session) -> Spec:
        return await specifying.extract(session, prompt, spec_for=Path(prompt.path or prompt.name).name)

    return in_session(job, {"author": author, "judge": listed(judge), **settings}, client)


def generate(
    prompt: Prompt,
    spec: Spec,
    *,
    suite: Suite | None = None,
    author: str | None = None,
    judge: str | Sequence[str] | None = None,
    more: int = 0,
    keep: int | None = None,
    replace: bool = False,
    client: Client | None = None,
    **settings: Unpack[KeywordSettings],
) -> Suite:
    """The suite with what is missing or stale made by the author model; people's cases stay as they are.

    Args:
        judge: who confirms expected outputs, where ``expected`` names a model that gives them.
        more: cases to make for each rule and inverse beyond those that there are.
        keep: how many cases to keep, the most valuable ones; the others are put aside. None: as it is.
        replace: whether more than a tenth of the cases may be retired as outdated.
    """

    async def job(session: Session) -> Suite:
        require_judges_of_expected(session)
        wishes = generating.Wishes(more=more, keep=keep, replace=replace)
        return (await generating.generate(session, prompt, spec, suite or Suite(prompt=spec.prompt), wishes)).suite

    return in_session(job, {"author": author, "judge": listed(judge), **settings}, client)


def run(
    prompt: Prompt,
    spec: Spec,
    suite: Suite,
    *,
    models: str | Sequence[str],
    judge: str | Sequence[str] | None = None,
    client: Client | None = None,
    **settings: Unpack[KeywordSettings],
) -> RunResult:
    """Every usable case sent to every model, and each answer judged; ``promptpex.tables`` makes DataFrames of it.

    Args:
        models: a name, names with commas between them, or a list of names.
        judge: the same; ``none`` where checks alone are to decide.

    Raises:
        errors.PromptpexError: settings or models that cannot be used.
    """

    async def job(session: Session) -> RunResult:
        take_judge_examples(session, _path(prompt.path), prompt, spec)
        begun = await run_records.begin(session, prompt, spec, suite, metrics=metrics_of(session, prompt))
        return RunResult.of(await early_stopping.execute(session, begun))

    if not models:
        raise ConfigError("models names no model; give at least one")
    return in_session(job, {"models": listed(models), "judge": listed(judge), **settings}, client)


def judge(
    run: Run,
    *,
    judge: str | Sequence[str] | None = None,
    client: Client | None = None,
    **settings: Unpack[KeywordSettings],
) -> RunResult:
    """The run with new verdicts on its outputs; no model under test is asked."""

    async def job(session: Session) -> RunResult:
        take_judge_examples(session, _path(run.prompt.path), run.prompt, run.spec)
        return RunResult.of(await run_records.judge(session, run))

    return in_session(job, {"judge": listed(judge), **settings}, client)


def synthesize(
    prompt: Prompt,
    *,
    versions: Sequence[str | Path] = (),
    since: datetime | None = None,
    run: str | Path | None = None,
    labels: str | Path | None = None,
    author: str | None = None,
    judge: str | Sequence[str] | None = None,
    client: Client | None = None,
    **settings: Unpack[KeywordSettings],
) -> Synthesis:
    """The criteria, candidates and implications that a prompt's history gives, in the folder beside its file.

    The folder, ``PROMPT.synthesis``, is brought up to date: candidates by the author model, and what each says of the
    examples. What is known already is not asked again.

    Args:
        prompt: as ``read_prompt`` gives it; its history is that of its file.
        versions: folders or files of versions; none: git.
        since: with git, the first version is the prompt as it was then.
        run: whose outputs are examples; None: the latest one of this version of the prompt.
        labels: a table of labels, CSV or JSON lines; people's grades count without it.

    Raises:
        errors.PromptpexError: a file or setting that cannot be used; a prompt that has no file.
    """
    if prompt.path is None:
        raise SynthesisError(f"the prompt {prompt.name} has no file, and so no history; read it with read_prompt")
    files = files_of(Path(prompt.path))
    wishes = synthesizing.SynthesisWishes(_paths(versions), since)
    trial = trying_candidates.TrialWishes(_path(run), _path(labels))

    async def job(session: Session) -> Synthesis:
        trying_candidates.require_sources(session, files, trial)
        await synthesizing.synthesize(session, files, wishes)
        await trying_candidates.try_candidates(session, files, trial)
        return read_candidates(SynthesisFolder.of(files.prompt).candidates)

    return in_session(job, {"author": author, "judge": listed(judge), **settings}, client)


@overload
def select(
    source: SelectionProblem,
    *,
    method: Method = "sub",
    coverage: float | str = 0.6,
    ffr: float | str = 0.25,
    seconds: float = SECONDS,
) -> Selection: ...


@overload
def select(
    source: str | Path,
    *,
    method: Method = "sub",
    coverage: float | str = 0.6,
    ffr: float | str = 0.25,
    seconds: float = SECONDS,
) -> Choice: ...


def select(
    source: SelectionProblem | str | Path,
    *,
    method: Method = "sub",
    coverage: float | str = 0.6,
    ffr: float | str = 0.25,
    seconds: float = SECONDS,
) -> Selection | Choice:
    """The candidates that are worth having, of a synthesis folder or of a problem; nobody is asked.

    ``to_dict`` has all of it, with the figures on examples held out. A folder keeps the choice.

    Args:
        source: a folder ``PROMPT.synthesis``, or what ``read_problem`` gives.
        method: ``sub``, ``cov``, ``baseline``, ``topological`` or ``all``.
        coverage: the least share of bad outputs to catch, such as 0.6 or ``60%``.
        ffr: the highest share of good outputs to flag.
        seconds: how long to search, and as much again for the figures on examples held out; the best selection so far
            counts then.

    Raises:
        errors.PromptpexError: a folder or a share that cannot be used.
    """
    limits = SelectionLimits(share(str(coverage)), share(str(ffr)))
    if isinstance(source, SelectionProblem):
        return choose_from_matrix(source, method, limits, seconds=seconds)
    return choose_by_labels(Path(source), method, limits, seconds=seconds)


def _path(given: str | Path | None) -> Path | None:
    return None if given is None else Path(given)


def _paths(given: Sequence[str | Path]) -> list[Path]:
    return [Path(given)] if isinstance(given, str | Path) else [Path(one) for one in given]


T = TypeVar("T")


def listed(names: str | Sequence[str] | None) -> str | list[str] | None:
    """Names as a setting: a text may hold several, divided by commas."""
    return names if names is None or isinstance(names, str) else list(names)


def in_session(
    job: Callable[[Session], Awaitable[T]],
    settings: Mapping[str, object],
    client: Client | None,
    *,
    start: Path | None = None,
) -> T:
    """What the job comes to. Replies of a client of the caller's own may be anybody's: unless the call names a store,
    they are kept until it ends, and no run that asks the real models is ever served them.

    Args:
        start: the folder from which a settings file is looked for; by default the working folder.
    """
    resolved = resolved_settings(settings, start=start)

    async def work(resolved: Resolved) -> T:
        async with open_session(resolved, provider=client, emit=warn) as session:
            return await job(session)

    if client is None or resolved.given("store"):
        return result_of(lambda: work(resolved))
    with TemporaryDirectory() as folder:
        kept_here = resolved.settings.replace(store=str(Path(folder, "store.db")))
        return result_of(lambda: work(resolved.replace(settings=kept_here)))


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
        return self._report.by_prompt.frame()

    @property
    def by_model(self) -> pd.DataFrame:
        """A row per model, columns ``tables.OVER_PROMPTS_COLUMNS``."""
        return self._report.by_model.frame()

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
