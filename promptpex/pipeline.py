"""The order of the stages: the only place that knows it."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from promptpex import runs, templates
from promptpex.assertions import check_rules
from promptpex.cases.file import read_suite, write_suite
from promptpex.cases.generate import generate as generate_cases
from promptpex.cases.plan import Generation, Plan, plan
from promptpex.config import Settings
from promptpex.engines import run_all
from promptpex.errors import InputError, SuiteError
from promptpex.events import Notice, StageEnded, StageStarted, StepDone
from promptpex.ids import digest
from promptpex.judging.decide import unjudged, unusable, weigh
from promptpex.judging.judge import Judge, Judging, judgeable
from promptpex.llm.asker import Asker
from promptpex.outputs import cells, collect
from promptpex.promptfile import read_with_warnings
from promptpex.records import PROMPT_RULE, Manifest, Output, Prompt, Run, Spec, Suite, Verdict
from promptpex.session import Session
from promptpex.specs.extract import Extraction
from promptpex.specs.extract import extract as extract_spec
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


async def extract(session: Session, files: Files, *, prompt: Prompt | None = None) -> Spec:
    """Extracts the spec of a prompt with the author model and writes it beside the prompt."""
    prompt = prompt or read_prompt(session, files.prompt)
    spec = await extract_spec(
        session.author(),
        prompt,
        spec_for=files.prompt.name,
        options=Extraction(max_rules=session.settings.max_rules, instructions=notes(session.settings, prompt)),
        emit=session.emit,
    )
    write_spec(files.spec, spec)
    return spec


async def generate(
    session: Session, files: Files, *, prompt: Prompt | None = None, spec: Spec | None = None
) -> tuple[Suite, Plan]:
    """Generates the cases that are missing or stale and writes the suite; people's cases stay as they are."""
    prompt = prompt or read_prompt(session, files.prompt)
    spec = spec or read_spec(files.spec)
    suite = read_suite(files.suite, spec, prompt) if files.suite.exists() else Suite(prompt=files.prompt.name)
    author = session.author()
    options = generation(session.settings, prompt)
    todo = plan(prompt, spec, suite, author=author.label, options=options)
    for orphan in todo.orphans:
        session.emit(Notice(f"case {orphan.id} is yours and stays, but its rule {orphan.rule} is gone", "warning"))
    made = await generate_cases(
        author, prompt, spec, todo, suite_for=files.prompt.name, options=options, emit=session.emit
    )
    write_suite(files.suite, made)
    return made, todo


async def run(session: Session, files: Files) -> tuple[Run, Path]:
    """The main job: extracts and generates what is missing, collects, judges, and writes the run's folder."""
    prompt = read_prompt(session, files.prompt)
    models = session.models()
    author: Asker | None = None
    if not files.spec.exists():
        author = session.author()
        await extract(session, files, prompt=prompt)
    spec = read_spec(files.spec)
    _notice_changed(session, prompt, spec, files)
    if not files.suite.exists():
        author = session.author()
        await generate(session, files, prompt=prompt, spec=spec)
    suite = read_suite(files.suite, spec, prompt)
    if not suite.usable():
        raise SuiteError("holds no usable case; add some or run `promptpex generate`", path=files.suite)
    judges = judges_for(session, prompt, spec)
    manifest = _manifest(session, prompt, spec, suite, [m.label for m in models], author, judges)
    folder = runs.folder_for(Path(session.settings.results_dir), prompt.name, manifest.run)
    begun = Run(manifest=_keeping_date(folder, manifest), prompt=prompt, spec=spec, suite=suite)
    runs.begin(folder, begun)
    questions = cells(suite.usable(), models, session.settings.repeats)
    with runs.Appender(folder / "outputs.jsonl") as kept:
        outputs = await collect(
            session.client,
            prompt,
            questions,
            defaults=session.output_params(),
            emit=session.emit,
            on_output=kept.add,
        )
    judged = await judge(session, begun.but(outputs=tuple(outputs)), judges)
    finished = judged.but(manifest=_reported(judged.manifest, outputs, session))
    runs.finish(folder, finished)
    return finished, folder


async def judge(session: Session, run: Run, judges: Sequence[Judge]) -> Run:
    """The run with verdicts on all its outputs: code first, the judges for the rest. No output is asked for again."""
    spec, outputs = run.spec, run.outputs
    rules = [rule for rule in spec.rules if not rule.gone]
    inputs = {case.id: case.inputs for case in run.suite.cases}
    usable = judgeable(outputs)
    checked = check_rules(rules, usable, lambda output: inputs.get(output.case, {}))
    judged = [await _ask_judge(session, one, usable, inputs) for one in judges]
    verdicts = weigh(spec, checked, judged, quorum=session.settings.quorum)
    if not judges:
        verdicts += [verdict for output in usable for verdict in unjudged(output, rules)]
    names = [rule.id for rule in rules]
    if session.settings.judge_mode == "prompt" and judges:
        names.append(PROMPT_RULE)
    verdicts += [verdict for output in outputs if output.error for verdict in unusable(output, names)]
    return run.but(verdicts=tuple(_in_order(outputs, names, verdicts)))


def judges_for(session: Session, prompt: Prompt, spec: Spec) -> tuple[Judge, ...]:
    """The judges, if anything is left to judge; none where every rule is decided by code."""
    options = judging(session.settings, prompt)
    if options.mode == "rules" and not options.rules_for_judge(spec):
        return ()
    return tuple(Judge(asker, prompt, spec, options) for asker in session.judges())


def judging(settings: Settings, prompt: Prompt) -> Judging:
    """How to judge, by the settings."""
    return Judging(
        mode=settings.judge_mode,
        sees_input=settings.judge_sees_input,
        all_rules=settings.judge_all,
        instructions=notes(settings, prompt).get("judging", ""),
    )


def generation(settings: Settings, prompt: Prompt) -> Generation:
    """How to generate, by the settings."""
    return Generation(
        per_rule=settings.cases_per_rule,
        per_inverse=settings.inverse_cases,
        instructions=notes(settings, prompt).get("cases", ""),
    )


def notes(settings: Settings, prompt: Prompt) -> dict[str, str]:
    """The owner's instructions per stage: the prompt's front matter, then the settings over it."""
    own = prompt.meta.get("instructions") or {}
    return {**(own if isinstance(own, dict) else {}), **settings.instructions}


async def _ask_judge(
    session: Session, judge: Judge, outputs: Sequence[Output], inputs: dict[str, dict[str, Any]]
) -> list[Verdict]:
    label = judge.asker.label
    session.emit(StageStarted("judge", len(outputs), label))

    async def one(output: Output) -> list[Verdict]:
        verdicts = await judge.judge(output, inputs.get(output.case, {}))
        missing = next((verdict.unscored for verdict in verdicts if verdict.unscored), None)
        session.emit(StepDone("judge", label, missing))
        return verdicts

    found = await run_all(one, outputs)
    session.emit(StageEnded("judge", label))
    return [verdict for verdicts in found for verdict in verdicts]


def _in_order(outputs: Sequence[Output], rules: Sequence[str], verdicts: Sequence[Verdict]) -> list[Verdict]:
    place = {output.key: index for index, output in enumerate(outputs)}
    rank = {rule: index for index, rule in enumerate(rules)}
    return sorted(verdicts, key=lambda verdict: (place[verdict.key], rank.get(verdict.rule, -1)))


def _notice_changed(session: Session, prompt: Prompt, spec: Spec, files: Files) -> None:
    if spec.prompt_fingerprint not in (None, prompt.fingerprint):
        session.emit(
            Notice(
                f"{files.prompt.name} has changed since {files.spec.name} was written: "
                "look at it again, or run `promptpex extract --update`",
                "warning",
            )
        )


def _manifest(
    session: Session,
    prompt: Prompt,
    spec: Spec,
    suite: Suite,
    models: Sequence[str],
    author: Asker | None,
    judges: Sequence[Judge],
) -> Manifest:
    made_of = {
        "prompt": prompt.fingerprint,
        "spec": digest(spec.plain()),
        "suite": digest(suite.plain()),
        "models": list(models),
        "judges": [judge.fingerprint() for judge in judges],
        "settings": session.settings.shaping(),
    }
    return Manifest(
        run=digest(made_of, 10),
        prompt=prompt.name,
        prompt_fingerprint=prompt.fingerprint,
        spec_digest=made_of["spec"],
        suite_digest=made_of["suite"],
        models=tuple(models),
        author=author.label if author else None,
        judges=tuple(judge.asker.label for judge in judges),
        settings=session.settings.plain(),
        origins=dict(session.resolved.origins),
        versions={"promptpex": version("promptpex"), "python": platform.python_version()},
        templates={name: templates.fingerprint(name) for name in templates.names()},
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _keeping_date(folder: Path, manifest: Manifest) -> Manifest:
    """The manifest with the date of the run's first execution, so that a repeated command changes nothing."""
    try:
        return manifest.but(created=runs.read(folder).manifest.created)
    except InputError:
        return manifest


def _reported(manifest: Manifest, outputs: Sequence[Output], session: Session) -> Manifest:
    reported: dict[str, dict[str, None]] = {label: {} for label in manifest.models}
    for output in outputs:
        if output.model_reported:
            reported[output.model][output.model_reported] = None
    partial = next((output.error for output in outputs if output.error in ("interrupted", "budget")), None)
    return manifest.but(reported={label: tuple(ids) for label, ids in reported.items()}, partial=partial)
