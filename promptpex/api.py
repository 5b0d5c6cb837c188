"""The steps as functions on records, for programs and notebooks.

Each opens a session, does its work and closes it. Settings are the command line's, by name (``seed=1``,
``store="..."``, ``max_cost=0.5``); environment and settings files apply here as well. ``client`` replaces the real
models, as ``FakeClient`` does in tests. An interruption (``KeyboardInterrupt``, a notebook's stop button) cancels what
is being asked; what was answered stays in the store.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, overload

from promptpex.config import load
from promptpex.core.errors import ConfigError, SynthesisError
from promptpex.core.events import ignore_events
from promptpex.core.records import Prompt, ReportCard, Run, Spec, Suite, Synthesis
from promptpex.llm.client import Client
from promptpex.synthesis.candidate_file import read_candidates
from promptpex.synthesis.folder import SynthesisFolder
from promptpex.synthesis.folder_choice import FolderChoice, choose_from, set_chosen
from promptpex.synthesis.folder_problem import read_folder
from promptpex.synthesis.selection import methods
from promptpex.synthesis.selection.limits import SelectionLimits, share
from promptpex.synthesis.selection.methods import SECONDS, Method
from promptpex.synthesis.selection.problem import SelectionProblem
from promptpex.synthesis.selection.result import Selection
from promptpex.workflow import early_stopping, generating, running, specifying
from promptpex.workflow.alignment import report_card as aligning
from promptpex.workflow.event_loop import result_of
from promptpex.workflow.files import files_of
from promptpex.workflow.judge_examples import take_judge_examples
from promptpex.workflow.session import Session, open_session
from promptpex.workflow.synthesis import synthesizing, trying_candidates

T = TypeVar("T")


def extract(prompt: Prompt, *, author: str | None = None, client: Client | None = None, **settings: Any) -> Spec:
    """The spec of a prompt, by the author model.

    Raises:
        errors.PromptpexError: settings that cannot be used; an author that could not name a single rule.
    """

    async def job(session: Session) -> Spec:
        return await specifying.extract(session, prompt, spec_for=Path(prompt.path or prompt.name).name)

    return _in_session(job, {"author": author, **settings}, client)


def generate(
    prompt: Prompt,
    spec: Spec,
    *,
    suite: Suite | None = None,
    author: str | None = None,
    more: int = 0,
    keep: int | None = None,
    client: Client | None = None,
    **settings: Any,
) -> Suite:
    """The suite with what is missing or stale made by the author model; people's cases stay as they are.

    Args:
        more: cases to make for each rule and inverse beyond those that there are.
        keep: how many cases to keep, the most valuable ones; the others are put aside. None: as it is.
    """

    async def job(session: Session) -> Suite:
        wishes = generating.Wishes(more=more, keep=keep)
        return (await generating.generate(session, prompt, spec, suite or Suite(prompt=spec.prompt), wishes)).suite

    return _in_session(job, {"author": author, **settings}, client)


def run(
    prompt: Prompt,
    spec: Spec,
    suite: Suite,
    *,
    models: str | Sequence[str],
    judge: str | Sequence[str] | None = None,
    client: Client | None = None,
    **settings: Any,
) -> Run:
    """Every usable case sent to every model, and each answer judged; ``promptpex.tables`` makes DataFrames of it."""

    async def job(session: Session) -> Run:
        take_judge_examples(session, _path(prompt.path), prompt, spec)
        return await early_stopping.execute(session, await running.begin(session, prompt, spec, suite))

    if not models:
        raise ConfigError("models names no model; give at least one")
    return _in_session(job, {"models": _listed(models), "judge": _listed(judge), **settings}, client)


def judge(run: Run, *, judge: str | Sequence[str] | None = None, client: Client | None = None, **settings: Any) -> Run:
    """The run with new verdicts on its outputs; no model under test is asked."""

    async def job(session: Session) -> Run:
        take_judge_examples(session, _path(run.prompt.path), run.prompt, run.spec)
        return await running.judge(session, run)

    return _in_session(job, {"judge": _listed(judge), **settings}, client)


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
    **settings: Any,
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

    return _in_session(job, {"author": author, "judge": _listed(judge), **settings}, client)


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
) -> FolderChoice: ...


def select(
    source: SelectionProblem | str | Path,
    *,
    method: Method = "sub",
    coverage: float | str = 0.6,
    ffr: float | str = 0.25,
    seconds: float = SECONDS,
) -> Selection | FolderChoice:
    """The candidates that are worth having, of a synthesis folder or of a problem; nobody is asked.

    A folder keeps the choice, and gives it with its figures on examples held out; ``to_dict`` has all of it.

    Args:
        source: a folder ``PROMPT.synthesis``, or what ``read_problem`` gives.
        method: ``sub``, ``cov``, ``baseline``, ``topological`` or ``all``.
        coverage: the least share of bad outputs to catch, such as 0.6 or ``60%``.
        ffr: the highest share of good outputs to flag.
        seconds: how long to search; the best selection so far counts then.

    Raises:
        errors.PromptpexError: a folder or a share that cannot be used.
    """
    limits = SelectionLimits(share(str(coverage)), share(str(ffr)))
    if isinstance(source, SelectionProblem):
        return methods.select(source, method, limits, seconds=seconds)
    folder = SynthesisFolder(Path(source))
    given = read_folder(folder.path, limits)
    return choose_from(given, folder, set_chosen(given, method, limits, seconds=seconds), curve_seconds=seconds / 6)


def align(
    run: str | Path | None = None,
    *,
    graders: str = "majority",
    ffr: float | str | None = None,
    against: str | Path | None = None,
    **settings: Any,
) -> ReportCard:
    """The report card of a run: how far checks, judges and the chosen set agree with people's grades; nobody is asked.

    Args:
        run: a folder or id of a run, or a prompt's file for its latest run; None: the latest run.
        graders: whose grades count where graders differ, as ``promptpex align --graders``.
        ffr: the FFR limit of a choice by alignment to look at; None: the kept choice.
        against: a run of other words of the prompt, for what an edit did.

    Raises:
        errors.PromptpexError: a run, a prompt or grades that cannot be used.
    """
    results = Path(load(settings, start=Path.cwd(), env=os.environ).settings.results)
    limit = None if ffr is None else share(str(ffr))
    wishes = aligning.CardWishes(rules=aligning.counting(graders), ffr=limit, against=_path(against))
    return aligning.align([] if run is None else [Path(run)], results, wishes, ignore_events).card


def _path(given: str | Path | None) -> Path | None:
    return None if given is None else Path(given)


def _paths(given: Sequence[str | Path]) -> list[Path]:
    return [Path(given)] if isinstance(given, str | Path) else [Path(one) for one in given]


def _listed(names: str | Sequence[str] | None) -> list[str] | None:
    return [names] if isinstance(names, str) else None if names is None else list(names)


def _in_session(job: Callable[[Session], Awaitable[T]], settings: dict[str, Any], client: Client | None) -> T:
    given = {name: value for name, value in settings.items() if value is not None}
    resolved = load(given, start=Path.cwd(), env=os.environ)

    async def work() -> T:
        async with open_session(resolved, provider=client) as session:
            return await job(session)

    return result_of(work)
