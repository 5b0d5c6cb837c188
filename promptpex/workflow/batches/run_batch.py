"""Running several prompts in one session: each as ``pipeline.run`` would alone, with its own files and run folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from promptpex.config import Resolved, find_file
from promptpex.core.errors import ConfigError, InputError, ModelError, NothingChosen, PromptpexError
from promptpex.core.records import Manifest, Run
from promptpex.engines import run_all
from promptpex.workflow.batches.joint_collection import JointCollection
from promptpex.workflow.batches.shared_notices import SharedNotices
from promptpex.workflow.execution.run_into_folder import execute_into_folder
from promptpex.workflow.execution.subset import WHOLE, Subset
from promptpex.workflow.pipeline import begin_run, check_run, needs_author
from promptpex.workflow.project_files import Files, files_of, read_existing
from promptpex.workflow.session import Session
from promptpex.workflow.validation.validate import validate


@dataclass(frozen=True, slots=True)
class RunOfPrompt:
    """What came of one prompt of a batch: a run, by its manifest and its folder, or why there is none.

    Attributes:
        unanswered: the run where no model gave an answer, so that it has no folder.
        left_out: whether the prompt was not to be run, as none of its cases was chosen.
    """

    files: Files
    manifest: Manifest | None = None
    folder: Path | None = None
    unanswered: Run | None = None
    problem: PromptpexError | None = None

    @property
    def left_out(self) -> bool:
        return isinstance(self.problem, NothingChosen)


async def run_batch(
    session: Session, prompts: Sequence[Path], subset: Subset = WHOLE, *, name: str | None = None
) -> list[RunOfPrompt]:
    """A run of each prompt, in their order.

    All have one budget, one deadline and one pacing, those of the session. What is missing of specs and cases is made
    first, for all prompts at once; then the outputs of all are collected together (``joint_collection``), and then
    judged. With ``drop_worse`` each prompt collects and judges by itself, part by part.

    A prompt whose files are in order and whose author does not answer has no run and stops no other.

    Args:
        subset: which cases to keep to, of each prompt; prompts that have none of them are left out.
        name: of each of the runs.

    Raises:
        InputError: files or settings that cannot be used, before anything is asked: all problems of all prompts; or no
            prompt has a chosen case.
        StoreError: answers cannot be kept.
    """
    prompt_files = [files_of(prompt) for prompt in prompts]
    notices = SharedNotices(session.emit)
    sessions = [session.for_one_of(len(prompt_files), notices.of(str(files.prompt))) for files in prompt_files]
    with notices.together():
        begun, refused = await _begun(sessions, prompt_files, subset, name)
    refuse({prompt_files[number].prompt: error for number, error in refused.items()}, len(prompt_files))

    async with JointCollection(len(prompt_files), session.emit) as collection:

        async def one(number: int) -> RunOfPrompt:
            own, files = sessions[number], prompt_files[number]
            if not session.settings.drop_worse:
                own = replace(own, collect=collection.of(number))
            try:
                if number in refused:
                    raise refused[number]
                run = begun.get(number) or await begin_run(own, files, subset, name=name)
                made, folder = await execute_into_folder(own, run)
                return RunOfPrompt(files, made.manifest, folder, made if folder is None else None)
            except (InputError, ModelError) as error:
                return RunOfPrompt(files, problem=error)
            finally:
                collection.leave(number)

        return await run_all(one, range(len(prompt_files)), alive=len(prompt_files))


async def _begun(
    sessions: Sequence[Session], every: Sequence[Files], subset: Subset, name: str | None
) -> tuple[dict[int, Run], dict[int, InputError]]:
    """The runs that need no author, before their first output, and what keeps prompts from being run, by their numbers;
    nothing is asked."""
    begun: dict[int, Run] = {}
    refused: dict[int, InputError] = {}
    for number, (own, files) in enumerate(zip(sessions, every, strict=True)):
        try:
            if needs_author(files):
                read_existing(check_run(own, files, subset).prompt, files)
            else:
                begun[number] = await begin_run(own, files, subset, name=name)
        except InputError as error:
            refused[number] = error
    return begun, refused


def refuse(refused: Mapping[Path, InputError], prompts: int) -> None:
    """Raises what keeps the prompts from being run, all of it; what was merely not chosen does not, unless nothing was.

    Raises:
        InputError: as ``run_batch``.
    """
    wrong = {prompt: error for prompt, error in refused.items() if not isinstance(error, NothingChosen)}
    if not wrong and len(refused) < prompts:
        return
    sentences = dict.fromkeys(_sentences(wrong or refused))
    if len(sentences) == 1:
        raise next(iter((wrong or refused).values()))
    if sentences:
        sentence_lines = "\n".join(f"  {sentence}" for sentence in sentences)
        raise InputError(f"fix these {len(sentences)} problems first:\n{sentence_lines}")


def _sentences(refused: Mapping[Path, InputError]) -> list[str]:
    """All that ``validate`` finds wrong with the files of these prompts, and what else keeps them from being run."""
    sentences: list[str] = []
    for prompt, error in refused.items():
        if isinstance(error, ConfigError | NothingChosen):
            sentences.append(str(error) if isinstance(error, ConfigError) else f"{prompt}: {error}")
            continue
        errors = [problem for problem in validate([prompt]) if problem.severity == "error"]
        sentences += [problem.text() for problem in errors]
        if not any(error.message.startswith(problem.message) for problem in errors):
            sentences.append(str(error) if error.path else f"{prompt}: {error}")
    return sentences


def require_one_settings_file(resolved: Resolved, prompts: Sequence[Path], start: Path) -> None:
    """Refuses prompts that would each be run under settings of their own.

    Args:
        resolved: the settings of the command.
        start: the folder from which they were looked for.

    Raises:
        ConfigError: with the files.
    """
    if not resolved.searched:
        return
    own = {find_file(folder) for folder in {prompt.parent for prompt in prompts}} | {find_file(start)}
    if len(own) > 1:
        files = ", ".join(sorted(str(file) for file in own if file is not None))
        raise ConfigError(
            f"these prompts have different settings files ({files}); run them separately, or name one with --config"
        )
