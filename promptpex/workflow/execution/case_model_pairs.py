"""A run of chosen pairs of case and model, made in one or several portions, as test runners ask for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from promptpex.cases.file import read_suite, usable_cases
from promptpex.config import Resolved, with_effort
from promptpex.core.errors import ConfigError, SpecError, SuiteError
from promptpex.core.ids import digest
from promptpex.core.records import Manifest, PartOfSuite, Prompt, Record, Run, Score, Spec, Suite, Verdict
from promptpex.core.records.call import Output
from promptpex.llm.names import parse_models
from promptpex.promptfile import read_with_warnings
from promptpex.workflow.execution import early_stopping, run_records
from promptpex.workflow.execution.judge_examples import take_judge_examples
from promptpex.workflow.metrics import metrics_of
from promptpex.workflow.preconditions import require_prices
from promptpex.workflow.project_files import Files
from promptpex.workflow.session import Session
from promptpex.workflow.validation.spec_problems import read_for_prompt

Pair = tuple[str, str]
"""The id of a case and the label of a model."""


class AskedPortion(Record):
    """What asking some pairs of a run gave.

    Attributes:
        manifest: with what counts for these pairs alone: how many were asked, what providers said of themselves.
        warnings: what people should know, sentence by sentence.
    """

    manifest: Manifest
    outputs: tuple[Output, ...]
    verdicts: tuple[Verdict, ...]
    scores: tuple[Score, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Planned:
    """What can be asked of a prompt.

    Attributes:
        resolved: the settings, with the effort of the prompt.
        models: the labels of the models under test.
    """

    files: Files
    resolved: Resolved
    prompt: Prompt
    spec: Spec
    suite: Suite
    models: tuple[str, ...]


def plan(files: Files, resolved: Resolved, *, with_cases: bool = True) -> Planned:
    """Reads a prompt, its spec and its cases; nothing is asked, and nothing is written that is missing.

    All chosen pairs are asked: no model is dropped.

    Args:
        with_cases: whether the prompt's cases are wanted; otherwise the suite is empty.

    Raises:
        InputError: a file that is missing or cannot be used, no usable case, or no model under test.
    """
    prompt = read_with_warnings(files.prompt)[0]
    settings = with_effort(resolved, prompt.meta.get("effort"), path=files.prompt)
    settings = settings.replace(settings=settings.settings.replace(drop_worse=False))
    if not files.spec.exists():
        raise SpecError("there is no spec; write one, or `promptpex extract` the prompt", path=files.spec)
    spec = read_for_prompt(files.spec, prompt)
    suite = _usable_suite(files, spec, prompt) if with_cases else Suite(prompt=files.prompt.name)
    return Planned(files, settings, prompt, spec, suite, labels_of(settings))


def _usable_suite(files: Files, spec: Spec, prompt: Prompt) -> Suite:
    if not files.suite.exists():
        raise SuiteError("there are no cases; write some, or `promptpex generate` them", path=files.suite)
    suite = read_suite(files.suite, spec, prompt)
    usable_cases(suite, files.suite)
    return suite


def labels_of(resolved: Resolved) -> tuple[str, ...]:
    """The labels of the models under test that the settings name.

    Raises:
        ConfigError: they name none; here none is chosen by what can be reached.
    """
    settings = resolved.settings
    if not settings.models:
        raise ConfigError(
            'no model under test is named: write models = ["..."] in promptpex.toml, or give --promptpex-models'
        )
    models = parse_models(settings.models, api_base=settings.api_base, named=resolved.named_models)
    return tuple(model.label for model in models)


async def begin(session: Session, planned: Planned) -> Run:
    """The run of all pairs before its first request.

    Raises:
        InputError: settings that do not allow it.
    """
    require_prices(session, [*session.roles.models(), *session.roles.named_judges()])
    take_judge_examples(session, planned.files.prompt, planned.prompt, planned.spec)
    metrics = metrics_of(session, planned.prompt)
    return await run_records.begin(session, planned.prompt, planned.spec, planned.suite, metrics=metrics)


async def ask(session: Session, begun: Run, pairs: Collection[Pair]) -> AskedPortion:
    """Asks these pairs and judges the outputs."""
    before = begun.manifest.replace(asked=0, stored=0)
    earlier = run_records.counted(session, before)
    run = await run_records.execute(session, begun.replace(manifest=before), pairs=pairs)
    newly_asked, stored = run.manifest.asked - earlier.asked, run.manifest.stored - earlier.stored
    return AskedPortion(
        manifest=run.manifest.replace(asked=newly_asked, stored=stored),
        outputs=run.outputs,
        verdicts=run.verdicts,
        scores=run.scores,
    )


def joined(begun: Run, portions: Iterable[AskedPortion]) -> Run:
    """The run that portions make together; where they leave pairs out, of those alone that were asked.

    A run of a part has an id of its own, which the same part has again.
    """
    parts = list(portions)
    manifests = [part.manifest for part in parts]
    manifest = begun.manifest.replace(
        judges=tuple(dict.fromkeys(label for each in manifests for label in each.judges)),
        named={label: text for each in manifests for label, text in each.named.items()},
        mode_rules={rule: text for each in manifests for rule, text in each.mode_rules.items()},
        notices=tuple(dict.fromkeys(notice for each in manifests for notice in each.notices)),
        partial=next((each.partial for each in manifests if each.partial), None),
        asked=sum(each.asked for each in manifests),
        stored=sum(each.stored for each in manifests),
    )
    run = begun.replace(
        manifest=manifest,
        outputs=tuple(output for part in parts for output in part.outputs),
        verdicts=tuple(verdict for part in parts for verdict in part.verdicts),
        scores=tuple(score for part in parts for score in part.scores),
    )
    ordered = early_stopping.in_order(run, manifest.models)
    return _of_pairs_asked(ordered.replace(manifest=run_records.reported(manifest, ordered.outputs)))


def _of_pairs_asked(run: Run) -> Run:
    asked_pairs = {(output.case, output.model) for output in run.outputs}
    pair_count = len(run.suite.usable()) * len(run.manifest.models)
    if len(asked_pairs) == pair_count:
        return run
    cases, labels = {case for case, _ in asked_pairs}, {model for _, model in asked_pairs}
    suite = run.suite.replace(cases=tuple(case for case in run.suite.cases if case.id in cases))
    manifest = run.manifest.replace(
        run=digest([run.manifest.run, sorted(asked_pairs)], 10),
        suite_digest=digest(suite.to_dict()),
        models=tuple(label for label in run.manifest.models if label in labels),
        subset=PartOfSuite(
            words=f"{len(asked_pairs)} of {pair_count} pairs of case and model",
            cases=len(cases),
            of=len(run.suite.usable()),
        ),
        reported={label: ids for label, ids in run.manifest.reported.items() if label in labels},
    )
    return run.replace(manifest=manifest, suite=suite)
