"""The main job on files: a prompt, the spec and the cases beside it, and the folder of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from promptpex import pipeline, runs
from promptpex.cases.file import read_suite, write_suite
from promptpex.cases.plan import Plan
from promptpex.errors import InputError, SuiteError
from promptpex.estimate import Line, estimate
from promptpex.events import Notice
from promptpex.promptfile import read_with_warnings
from promptpex.records import Manifest, Prompt, Run, Spec, Suite
from promptpex.session import Session
from promptpex.specs.file import read_spec, write_spec


@dataclass(frozen=True, slots=True)
class Files:
    """A prompt and the files beside it."""

    prompt: Path
    spec: Path
    suite: Path


def files_of(prompt: Path, *, spec: Path | None = None, suite: Path | None = None) -> Files:
    """The prompt's file with its spec and its cases: ``prompt.md``, ``prompt.spec.yaml``, ``prompt.cases.yaml``."""
    stem = prompt.name.split(".")[0] or prompt.name
    return Files(
        prompt=prompt,
        spec=spec or prompt.with_name(f"{stem}.spec.yaml"),
        suite=suite or prompt.with_name(f"{stem}.cases.yaml"),
    )


def read_prompt(session: Session, path: Path) -> Prompt:
    """The prompt, its warnings told to whoever listens."""
    prompt, warnings = read_with_warnings(path)
    for warning in warnings:
        session.emit(Notice(warning, "warning"))
    return prompt


async def extract(session: Session, files: Files) -> Spec:
    """Extracts the spec of a prompt with the author model and writes it beside the prompt."""
    spec = await pipeline.extract(session, read_prompt(session, files.prompt), spec_for=files.prompt.name)
    write_spec(files.spec, spec)
    return spec


async def generate(session: Session, files: Files) -> tuple[Suite, Plan]:
    """Generates the cases that are missing or stale and writes the suite; people's cases stay as they are."""
    prompt = read_prompt(session, files.prompt)
    spec = read_spec(files.spec)
    suite = read_suite(files.suite, spec, prompt) if files.suite.exists() else Suite(prompt=files.prompt.name)
    made, todo = await pipeline.generate(session, prompt, spec, suite)
    write_suite(files.suite, made)
    return made, todo


async def run(session: Session, files: Files) -> tuple[Run, Path]:
    """The main job: extracts and generates what is missing, collects, judges, and writes the run's folder."""
    prompt = read_prompt(session, files.prompt)
    session.models()
    author = None
    if not files.spec.exists():
        author = session.author().label
        await extract(session, files)
    spec = read_spec(files.spec)
    notice_change(session, prompt, spec, files)
    if not files.suite.exists():
        author = session.author().label
        await generate(session, files)
    suite = read_suite(files.suite, spec, prompt)
    if not suite.usable():
        raise SuiteError("holds no usable case; add some or run `promptpex generate`", path=files.suite)
    return await _executed(session, pipeline.begin(session, prompt, spec, suite, author=author))


def estimate_files(session: Session, files: Files) -> list[Line]:
    """What ``run`` would ask and what it would cost; nothing is sent and nothing written."""
    prompt = read_prompt(session, files.prompt)
    spec = read_spec(files.spec) if files.spec.exists() else None
    suite = read_suite(files.suite, spec, prompt) if spec and files.suite.exists() else None
    return estimate(session, prompt, spec, suite)


async def judge(session: Session, folder: Path, *, spec: Path | None = None) -> Run:
    """Judges the outputs of a run again, by its own spec or another, and writes the folder anew."""
    kept = runs.read(folder)
    judged = await pipeline.judge(session, kept if spec is None else kept.but(spec=read_spec(spec)))
    runs.finish(folder, judged)
    return judged


def notice_change(session: Session, prompt: Prompt, spec: Spec, files: Files) -> None:
    """Says so when the prompt is not the text that its spec was extracted from."""
    if spec.prompt_fingerprint in (None, prompt.fingerprint):
        return
    told = f"{files.prompt.name} has changed since {files.spec.name} was written"
    session.emit(Notice(f"{told}: look at it again, or run `promptpex extract --update`", "warning"))


async def _executed(session: Session, begun: Run) -> tuple[Run, Path]:
    folder = runs.folder_for(Path(session.settings.results_dir), begun.prompt.name, begun.manifest.run)
    begun = begun.but(manifest=_as_first_made(folder, begun.manifest))
    runs.begin(folder, begun)
    with runs.Appender(folder / "outputs.jsonl") as kept:
        finished = await pipeline.execute(session, begun, on_output=kept.add)
    runs.finish(folder, finished)
    return finished, folder


def _as_first_made(folder: Path, manifest: Manifest) -> Manifest:
    """The manifest with the date and the author of the run's first execution, so that a repetition changes nothing."""
    try:
        first = runs.read_manifest(folder)
    except InputError:
        return manifest
    return manifest.but(created=first.created, author=manifest.author or first.author)
