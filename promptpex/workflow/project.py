"""The main job on files: a prompt, the spec and the cases beside it, and the folder of a run."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from promptpex.cases.file import read_suite, write_suite
from promptpex.cases.input_types import unusable_schemas
from promptpex.cases.plan import Plan
from promptpex.codecs.wording import named, plural
from promptpex.config import EFFORT, with_effort
from promptpex.core.errors import InputError, RunError, SpecError, SuiteError
from promptpex.core.events import Notice
from promptpex.core.records import Manifest, Output, Prompt, Run, Spec, Suite
from promptpex.documents.schema_ref import keep_schema
from promptpex.promptfile import beside, read_with_warnings
from promptpex.report import runs
from promptpex.specs.drift import changed, notices, orphans, ungrounded
from promptpex.specs.file import read_spec, write_spec
from promptpex.specs.groundedness import Groundedness
from promptpex.specs.prompt_diff import PromptDiff, diff_prompts
from promptpex.tables import check_weights
from promptpex.workflow import early_stopping, generating, running, specifying
from promptpex.workflow.estimate import EstimateLine, estimate, extraction_lines, generation_lines, total_in_words
from promptpex.workflow.generating import Generated
from promptpex.workflow.session import Session
from promptpex.workflow.specifying import Update
from promptpex.workflow.statistical_power import detectable


@dataclass(frozen=True, slots=True)
class Files:
    """A prompt and the files beside it."""

    prompt: Path
    spec: Path
    suite: Path


@dataclass(frozen=True, slots=True)
class Extracted:
    """A spec as extracted, and for each rule whether the prompt says it."""

    spec: Spec
    groundedness: tuple[Groundedness, ...]


def files_of(prompt: Path, *, spec: Path | None = None, suite: Path | None = None) -> Files:
    """The prompt's file with its spec and its cases: ``prompt.md``, ``prompt.spec.yaml``, ``prompt.cases.yaml``."""
    return Files(
        prompt=prompt,
        spec=spec or beside(prompt, "spec"),
        suite=suite or beside(prompt, "cases"),
    )


def refuse_missing(spec: Path | None, suite: Path | None) -> None:
    """Refuses files that were named and are not there: nobody who misspells one means to pay for a new one.

    Raises:
        SpecError, SuiteError: with the file.
    """
    if spec is not None and not spec.exists():
        raise SpecError("there is no such spec file; leave --spec out to have one written", path=spec)
    if suite is not None and not suite.exists():
        raise SuiteError("there is no such case file; leave --cases out to have one written", path=suite)


def read_prompt(session: Session, path: Path) -> Prompt:
    """The prompt, its warnings told to whoever listens."""
    prompt, warnings = read_with_warnings(path)
    for warning in warnings:
        session.emit(Notice(warning, "warning"))
    session.resolved = with_effort(session.resolved, prompt.meta.get("effort"), path=path)
    return prompt


async def extract(session: Session, files: Files) -> Extracted:
    """Extracts the spec of a prompt with the author model and writes it beside the prompt."""
    prompt = read_prompt(session, files.prompt)
    _refuse_unkept(session)
    say_effort(session, extraction_lines(session, prompt))
    return await _extract(session, prompt, files)


async def _extract(session: Session, prompt: Prompt, files: Files) -> Extracted:
    spec = await specifying.extract(session, prompt, spec_for=files.prompt.name, before=_run_before(session, prompt))
    session.refuse_if_stopped()
    write_spec(files.spec, spec)
    for said in ungrounded(prompt, spec.rules):
        session.emit(Notice(said, "warning"))
    return Extracted(spec, tuple(await specifying.groundedness(session, prompt, spec)))


def _run_before(session: Session, prompt: Prompt) -> Run | None:
    """The latest run of the prompt, if there is one that can be read; checks are held against its verdicts."""
    if not session.settings.checks:
        return None
    folder = runs.latest_of(Path(session.settings.results), prompt.name)
    try:
        return runs.read(folder) if folder is not None else None
    except InputError as error:
        session.emit(Notice(f"checks are not held against the latest run: {error}", "warning"))
        return None


async def update(session: Session, files: Files) -> Update:
    """Brings the spec up to date with a changed prompt and writes it; people's rules and comments stay."""
    prompt, spec, suite = _all(session, files)
    _refuse_unkept(session)
    done = await specifying.update(session, prompt, spec, suite, before=_run_before(session, prompt))
    session.refuse_if_stopped()
    write_spec(files.spec, done.spec)
    if session.settings.verify:
        return replace(done, groundedness=tuple(await specifying.groundedness(session, prompt, done.spec)))
    return done


async def generate(session: Session, files: Files) -> Generated:
    """Generates the cases that are missing or stale and writes the suite; people's cases stay as they are."""
    prompt, spec, suite = _all(session, files)
    _refuse_unkept(session)
    say_effort(session, generation_lines(session, prompt, spec, generating.planned(session, prompt, spec, suite)))
    return await _generate(session, files, prompt, spec, suite)


async def _generate(session: Session, files: Files, prompt: Prompt, spec: Spec, suite: Suite) -> Generated:
    made = await generating.generate(session, prompt, spec, suite)
    session.refuse_if_stopped()
    write_suite(files.suite, made.suite)
    return made


def planned(session: Session, files: Files) -> tuple[Plan, list[EstimateLine]]:
    """What ``generate`` would do and what that would cost; nothing is asked and nothing written."""
    prompt, spec, suite = _all(session, files)
    todo = generating.planned(session, prompt, spec, suite)
    return todo, generation_lines(session, prompt, spec, todo)


async def make_baseline(session: Session, files: Files, path: Path, count: int) -> Suite:
    """Writes a baseline suite, made from the prompt alone, into a file of its own."""
    prompt = read_prompt(session, files.prompt)
    _refuse_unkept(session)
    suite = await generating.make_baseline(session, prompt, suite_for=files.prompt.name, count=count)
    write_suite(path, suite)
    return suite


async def run(session: Session, files: Files) -> tuple[Run, Path]:
    """The main job: extracts and generates what is missing, collects, judges, and writes the run's folder."""
    early_stopping.refuse_unanswerable(session)
    prompt = read_prompt(session, files.prompt)
    author = None if files.spec.exists() and files.suite.exists() else session.author().model
    session.refuse_unpriced([*session.models(), *session.named_judges(), *([author] if author else [])])
    if author:
        session.refuse_long_answers([author, *session.named_judges()], session.models())
    for file in (files.spec, files.suite):
        keep_schema(file)
    if session.settings.effort:
        say_effort(session, await estimate(session, prompt, *_written(prompt, files)))
    spec = await _spec(session, prompt, files)
    suite = await _suite(session, prompt, files, spec)
    session.emit(Notice(detectable(session, suite)))
    by = author.label if author else None
    return await _executed(session, await running.begin(session, prompt, spec, suite, author=by))


async def _spec(session: Session, prompt: Prompt, files: Files) -> Spec:
    """The spec of a run, extracted if it is missing; what is wrong with it beside the prompt is told."""
    made = not files.spec.exists()
    if made:
        await _extract(session, prompt, files)
    spec = read_spec(files.spec)
    for said in unusable_schemas(spec.inputs).values():
        session.emit(Notice(f"{files.spec.name}: {said}", "warning"))
    if not made:
        notice_change(session, prompt, spec, files)
    return spec


async def _suite(session: Session, prompt: Prompt, files: Files, spec: Spec) -> Suite:
    """The cases of a run, generated if they are missing.

    Raises:
        SuiteError: none of them can be used.
        InputError: weights that name no kind of case and no rule.
    """
    if not files.suite.exists():
        await _generate(session, files, prompt, spec, Suite(prompt=files.prompt.name))
    suite = read_suite(files.suite, spec, prompt)
    notice_orphans(session, spec, suite)
    usable = suite.usable()
    if not usable:
        raise SuiteError("holds no usable case; add some or run `promptpex generate`", path=files.suite)
    check_weights(session.settings.weights, [case.rule for case in usable], [case.inverse for case in usable])
    return suite


async def estimate_files(session: Session, files: Files) -> tuple[list[EstimateLine], str]:
    """What ``run`` would ask and what it would cost, and what it can show at best; nothing is sent or written."""
    prompt = read_prompt(session, files.prompt)
    spec, suite = _written(prompt, files)
    return await estimate(session, prompt, spec, suite), detectable(session, suite)


def _written(prompt: Prompt, files: Files) -> tuple[Spec | None, Suite | None]:
    """The spec and the suite, as far as they are there."""
    spec = read_spec(files.spec) if files.spec.exists() else None
    return spec, read_suite(files.suite, spec, prompt) if spec and files.suite.exists() else None


def compare_files(
    old: Path, new: Path, *, spec: Path | None = None, old_spec: Path | None = None, suite: Path | None = None
) -> tuple[PromptDiff, tuple[str, ...]]:
    """How two versions of a prompt differ, with the rules and cases that each difference touches, and warnings.

    Spec and cases are those given, else those beside the new version, else beside the old one; an own spec of the old
    version is compared with that of the new one.
    """
    (first, warned), (second, also) = read_with_warnings(old), read_with_warnings(new)
    before, after = files_of(old, spec=old_spec), files_of(new, spec=spec, suite=suite)
    spec_file = spec or next((file for file in (after.spec, before.spec) if file.exists()), None)
    suite_file = suite or next((file for file in (after.suite, before.suite) if file.exists()), None)
    own = old_spec or (before.spec if before.spec.exists() else None)
    if own is not None and spec_file is not None and own.resolve() == spec_file.resolve():
        own = None
    found = diff_prompts(
        first,
        second,
        spec=read_spec(spec_file) if spec_file else None,
        suite=read_suite(suite_file) if suite_file else None,
        old_spec=read_spec(own) if own else None,
    )
    return found, tuple(dict.fromkeys((*warned, *also)))


async def judge(session: Session, folder: Path, *, spec: Path | None = None) -> Run:
    """Judges the outputs of a run again, by its own spec or another, and writes the folder anew."""
    kept = runs.read(folder, verdicts=False)
    session.refuse_unpriced(session.named_judges())
    session.refuse_long_answers(session.named_judges())
    judged = await running.judge(session, kept if spec is None else kept.replace(spec=read_spec(spec)))
    runs.finish(folder, judged)
    running.warn_about_self_preference(session, judged.manifest.judges, judged.manifest.models, judged.manifest.author)
    return judged


def _refuse_unkept(session: Session) -> None:
    """Refuses an author with whom a limit that the user set cannot be kept."""
    author = session.author().model
    session.refuse_unpriced([author])
    session.refuse_long_answers([author])


def say_effort(session: Session, lines: list[EstimateLine]) -> None:
    """Says what the effort means, if one is chosen: the counts, which of them somebody set otherwise, and the price."""
    effort = session.settings.effort
    if effort is None:
        return
    counts = []
    for name in EFFORT[effort]:
        value = getattr(session.settings, name)
        origin = session.resolved.origins[name]
        shown = ("no", "yes")[value] if isinstance(value, bool) else value
        counts.append(f"{name.replace('_', '-')} {shown}{'' if origin.startswith('preset') else f' ({origin})'}")
    session.emit(Notice(f"effort {effort}: {', '.join(counts)}; this means {total_in_words(lines)}"))


def notice_change(session: Session, prompt: Prompt, spec: Spec, files: Files) -> None:
    """Says what a changed prompt does to its spec: rules that lost their words, sentences that no rule rests on.

    A spec that people wrote may name no fingerprint, and may be another prompt's: the words it quotes are looked for
    all the same.
    """
    if Path(spec.prompt).name != files.prompt.name:
        told = f"{files.spec.name} is the spec of {spec.prompt}, and is used for {files.prompt.name}"
        session.emit(Notice(told, "warning"))
    if not changed(prompt, spec):
        for said in ungrounded(prompt, [rule for rule in spec.rules if not rule.stale]):
            session.emit(Notice(said, "warning"))
        return
    told = f"{files.prompt.name} has changed since {files.spec.name} was written"
    for said in (told, *notices(prompt, spec)):
        session.emit(Notice(said, "warning"))
    session.emit(Notice(f"to bring the spec up to date: promptpex extract {shlex.quote(str(files.prompt))} --update"))


def notice_orphans(session: Session, spec: Spec, suite: Suite) -> None:
    """Names the cases whose rule is gone; they are still run, and judged by the rules that are left."""
    lost = orphans(spec, suite)
    if lost:
        ids = named([case.id for case in lost])
        aim = plural(len(lost), "case aims at a rule that is gone", "cases aim at rules that are gone")
        said = f"{aim} ({ids}); `promptpex generate` retires those it made"
        session.emit(Notice(said, "warning"))


async def _executed(session: Session, begun: Run) -> tuple[Run, Path]:
    folder = runs.folder_for(Path(session.settings.results), begun.prompt.name, begun.manifest.run)
    now = begun.manifest.created
    begun = begun.replace(manifest=_as_first_made(folder, begun.manifest))
    runs.begin(folder, begun)
    failed: list[RunError] = []
    with runs.Appender(folder / "outputs.jsonl") as kept:

        def keep(output: Output) -> None:
            """A folder that takes no more ends the run as a user would: what is in flight is paid, so it may come."""
            try:
                kept.add(output)
            except RunError as error:
                failed.append(error)
                session.client.cancel()

        finished = await early_stopping.execute(session, begun, on_output=keep)
    if failed:
        raise failed[0]
    if finished.manifest.asked:
        finished = finished.replace(manifest=finished.manifest.replace(created=now))
    runs.finish(folder, finished)
    return finished, folder


def _all(session: Session, files: Files) -> tuple[Prompt, Spec, Suite]:
    """The prompt, its spec and its suite; an empty one where there is none yet.

    Cases that do not fit the prompt are read all the same: what the prompt lost or won since is for the plan to see.
    """
    prompt = read_prompt(session, files.prompt)
    spec = read_spec(files.spec)
    empty = Suite(prompt=files.prompt.name)
    return prompt, spec, read_suite(files.suite, spec, lost="warning") if files.suite.exists() else empty


def _as_first_made(folder: Path, manifest: Manifest) -> Manifest:
    """The manifest with the date, the author and the notices of the run's earlier execution, so that a repetition that
    asks nobody changes nothing."""
    try:
        first = runs.read_manifest(folder)
    except InputError:
        return manifest
    return manifest.replace(created=first.created, author=manifest.author or first.author, notices=first.notices)
