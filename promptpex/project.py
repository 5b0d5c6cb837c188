"""The main job on files: a prompt, the spec and the cases beside it, and the folder of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from promptpex import pipeline, runs
from promptpex.cases.file import read_suite, write_suite
from promptpex.cases.plan import Plan
from promptpex.errors import InputError, SuiteError
from promptpex.estimate import Line, estimate, generation_lines
from promptpex.events import Notice
from promptpex.pipeline import Generated, Update
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


async def update(session: Session, files: Files) -> Update:
    """Brings the spec up to date with a changed prompt and writes it; people's rules and comments stay."""
    done = await pipeline.update(session, read_prompt(session, files.prompt), read_spec(files.spec))
    write_spec(files.spec, done.spec)
    return done


async def generate(session: Session, files: Files) -> Generated:
    """Generates the cases that are missing or stale and writes the suite; people's cases stay as they are."""
    prompt, spec, suite = _all(session, files)
    made = await pipeline.generate(session, prompt, spec, suite)
    write_suite(files.suite, made.suite)
    return made


def planned(session: Session, files: Files) -> tuple[Plan, list[Line]]:
    """What ``generate`` would do and what that would cost; nothing is asked and nothing written."""
    prompt, spec, suite = _all(session, files)
    todo = pipeline.planned(session, prompt, spec, suite)
    return todo, generation_lines(session, prompt, spec, todo)


async def make_baseline(session: Session, files: Files, path: Path, count: int) -> Suite:
    """Writes a baseline suite, made from the prompt alone, into a file of its own."""
    prompt = read_prompt(session, files.prompt)
    suite = await pipeline.make_baseline(session, prompt, suite_for=files.prompt.name, count=count)
    write_suite(path, suite)
    return suite


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


def _all(session: Session, files: Files) -> tuple[Prompt, Spec, Suite]:
    """The prompt, its spec and its suite; an empty one where there is none yet."""
    prompt = read_prompt(session, files.prompt)
    spec = read_spec(files.spec)
    empty = Suite(prompt=files.prompt.name)
    return prompt, spec, read_suite(files.suite, spec, prompt) if files.suite.exists() else empty


def _as_first_made(folder: Path, manifest: Manifest) -> Manifest:
    """The manifest with the date and the author of the run's first execution, so that a repetition changes nothing."""
    try:
        first = runs.read_manifest(folder)
    except InputError:
        return manifest
    return manifest.but(created=first.created, author=manifest.author or first.author)
