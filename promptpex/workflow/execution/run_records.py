"""A run on records: collect outputs, check them, judge the rest, weigh the verdicts."""

from __future__ import annotations

import platform
from collections.abc import Collection, Iterable, Sequence
from importlib.metadata import version

from promptpex.core import stage_templates
from promptpex.core.events import Notice
from promptpex.core.ids import digest, text_digest
from promptpex.core.records import (
    CUT,
    KEY_LENGTH,
    Manifest,
    Metric,
    ModelName,
    Output,
    OutputKey,
    PartOfSuite,
    Prompt,
    Run,
    Score,
    Spec,
    Suite,
)
from promptpex.judging.judge import STAGE as JUDGE
from promptpex.judging.judge import Judge, self_preference_warnings
from promptpex.judging.metric_judge import MetricJudge
from promptpex.judging.questions import QuestionJudge
from promptpex.judging.same_as_expected import STAGE as MATCH
from promptpex.judging.same_as_expected import MatchJudge
from promptpex.llm.model_in_role import RoleModel
from promptpex.report.runs import RunRecords
from promptpex.workflow.execution.check_questions import (
    announce_questions,
    question_judges,
)
from promptpex.workflow.execution.collect import Cell, TakeOutput, cells, requests_for
from promptpex.workflow.execution.expected_scores import match_judges, scores_of
from promptpex.workflow.execution.judges import judges_for
from promptpex.workflow.execution.order import cell_order, serial_server
from promptpex.workflow.execution.verdicts_on_outputs import OutputVerdicts
from promptpex.workflow.front_matter import announce_missing_logprobs, in_manifest, instructions_of, output_params
from promptpex.workflow.front_matter import shaping as of_front_matter
from promptpex.workflow.metrics import (
    announce_requests,
    metric_judges,
    metric_scores,
    metrics_to_score,
)
from promptpex.workflow.preconditions import (
    require_answers_within_tpm,
    require_requests_within_tpm,
    without_narrow_conditions,
)
from promptpex.workflow.session import Session
from promptpex.workflow.stages import find, stages

AnyJudge = Judge | MatchJudge | MetricJudge | QuestionJudge


async def begin(
    session: Session,
    prompt: Prompt,
    spec: Spec,
    suite: Suite,
    *,
    author: str | None = None,
    metrics: Sequence[Metric] = (),
    subset: PartOfSuite | None = None,
) -> Run:
    """The run before its first request: it has a manifest, but no outputs yet.

    Args:
        author: the label of who wrote what was missing.
        metrics: what outputs are scored by, as ``metrics_of`` gives it.
        subset: which part of the suite this is; None: all of it.
    """
    models, spec = session.roles.models(), without_narrow_conditions(session, spec, suite)
    rules = [rule for rule in spec.rules if not rule.stale]
    answering = question_judges(session, prompt, rules)
    judges: list[AnyJudge] = [*judges_for(session, prompt, spec), *answering]
    judges += [*match_judges(session, prompt, spec, suite), *metric_judges(session, prompt, metrics)]
    await _require_within_tpm(session, prompt, suite, [judge.role_model for judge in judges])
    outputs = len(suite.usable()) * len(models) * session.settings.repeats
    announce_questions(session, answering, rules, outputs)
    announce_requests(session, metrics, outputs)
    marks = [judge.fingerprint() for judge in judges] + [metric.fingerprint() for metric in metrics if metric.code]
    manifest = _manifest(session, prompt, spec, suite, models, marks)
    manifest = manifest.replace(author=author, judges=_labels(judges), subset=subset)
    manifest = with_names(session, manifest)
    warn_about_self_preference(session, manifest)
    return Run(manifest=manifest, prompt=prompt, spec=spec, suite=suite, metrics=tuple(metrics))


def _labels(judges: Iterable[AnyJudge]) -> tuple[str, ...]:
    """The judges that a run asks, for rules, expected outputs or metrics, by their labels."""
    return tuple(dict.fromkeys(judge.role_model.label for judge in judges))


def _still_counting(run: Run, scores: Iterable[Score]) -> list[str]:
    """The judges of a run some of whose scores stay when it is judged again."""
    sources = {score.source for score in scores}
    return [label for label in run.manifest.judges if f"judge:{label}" in sources]


async def _require_within_tpm(session: Session, prompt: Prompt, suite: Suite, judges: Sequence[RoleModel]) -> None:
    """Refuses what could not be sent within ``tpm``, before anything is sent."""
    if session.settings.tpm is None:
        return
    require_answers_within_tpm(session, [judge.model for judge in judges])
    questions = cells(suite.usable(), session.roles.models(), session.settings.repeats)
    await require_requests_within_tpm(session, requests_for(prompt, questions, output_params(session, prompt)))


def warn_about_self_preference(session: Session, made: Manifest) -> None:
    """Warns about judges from the same vendor as a model under test or the author, unless that is allowed."""
    if not session.settings.allow_self_judging:
        for warning in self_preference_warnings(made.judges, made.models, made.author, named=made.named):
            session.roles.emit(Notice(warning, "warning"))


def with_names(session: Session, manifest: Manifest) -> Manifest:
    """The manifest with what its labels stand for in this session, where they are names."""
    labels = [*manifest.models, *manifest.judges, *([manifest.author] if manifest.author else [])]
    spelled = {label: session.roles.spelled(label) for label in labels}
    return manifest.replace(named={**manifest.named, **{label: text for label, text in spelled.items() if text}})


async def execute(session: Session, begun: Run, *, pairs: Collection[tuple[str, str]] | None = None) -> Run:
    """Collects an output for every usable case, model and repeat, and judges them.

    Args:
        pairs: case and label of a model: what alone is asked; None: every case of every model.
    """
    with RunRecords() as records:
        manifest = await fill(session, begun, records, keeping(records), pairs=pairs)
        return records.of_run(begun.replace(manifest=manifest))


def keeping(records: RunRecords) -> TakeOutput:
    """What puts outputs at their places among the records of a run."""
    return lambda place, output: records.outputs.put(place, [output])


async def fill(
    session: Session,
    begun: Run,
    records: RunRecords,
    on_output: TakeOutput,
    *,
    pairs: Collection[tuple[str, str]] | None = None,
) -> Manifest:
    """As ``execute``, into the records of the run, of which it gives the manifest.

    Args:
        on_output: puts each output at its place among the records, as it comes.
    """
    all_cells = cells(begun.suite.usable(), session.roles.models(), session.settings.repeats)
    places: Sequence[int] = range(len(all_cells))
    if pairs is not None:
        places = [at for at in places if (all_cells[at].case.id, all_cells[at].model.label) in pairs]
    manifest = await collect_and_judge(session, begun, (all_cells, places), records, on_output)
    announce_missing_logprobs(session, begun.spec, records.outputs)
    manifest = reported(manifest, records.outputs)
    return manifest.replace(notices=tuple(dict.fromkeys((*manifest.notices, *session.provider_notices))))


async def judge(session: Session, run: Run) -> Run:
    """The run with verdicts on all its outputs, and scores by expected outputs and metrics: code first, judges for the
    rest. No model under test is asked."""
    with RunRecords() as records:
        records.outputs.put_each(run.outputs)
        manifest = await judge_records(session, run, records, range(len(run.outputs)))
        return records.of_run(run.replace(manifest=manifest))


async def judge_records(session: Session, run: Run, records: RunRecords, places: Sequence[int]) -> Manifest:
    """As ``judge``, of the outputs at these places among the records of the run, of which it gives the manifest.

    Args:
        run: what it was made from, with its scores by metrics that are not scored anew.
    """
    verdicts = OutputVerdicts(session, run, records)
    await verdicts.make(places)
    return await _scored(session, run, records, places, verdicts)


async def collect_and_judge(
    session: Session,
    begun: Run,
    asked: tuple[Sequence[Cell], Sequence[int]],
    records: RunRecords,
    on_output: TakeOutput,
) -> Manifest:
    """Collects the outputs of some questions, asked in the fair order of the suite, and judges them as they come; gives
    the manifest.

    Args:
        asked: all questions of the run, and the numbers of those that are asked, which are the places of their outputs.
        on_output: as for ``fill``.
    """
    all_cells, places = asked
    questions = [all_cells[place] for place in places]
    order = cell_order(questions, begun.suite.usable(), session.settings.seed, serial_server)
    verdicts = OutputVerdicts(session, begun, records)

    def taken(number: int, output: Output) -> None:
        on_output(places[number], output)
        verdicts.add(places[number], output)

    models = [questions[number].model.label for number in order]
    async with verdicts.along([places[number] for number in order], models):
        await session.collect(
            session.client,
            begun.prompt,
            questions,
            defaults=output_params(session, begun.prompt, begun.spec),
            order=order,
            emit=session.emit,
            on_output=taken,
            room=verdicts.room,
        )
    return await _scored(session, begun, records, places, verdicts)


async def _scored(
    session: Session, run: Run, records: RunRecords, places: Sequence[int], verdicts: OutputVerdicts
) -> Manifest:
    """Scores the outputs at these places, on which the verdicts are there, and gives the manifest."""
    comparers = match_judges(session, run.prompt, run.spec, run.suite)
    scorers = metric_judges(session, run.prompt, metrics_to_score(session, run))
    scores = await _put_scores(session, run, records, places, comparers, scorers)
    labels = _labels([*verdicts.judges, *verdicts.answering, *comparers, *scorers])
    manifest = _judged_by(session, run.manifest).replace(
        judges=tuple(dict.fromkeys([*labels, *_still_counting(run, scores)])),
        mode_rules=verdicts.mode_rules,
        partial=_partial([*verdicts.reasons, *(score.unscored for score in scores)]),
    )
    return counted(session, with_names(session, manifest))


async def _put_scores(
    session: Session,
    run: Run,
    records: RunRecords,
    places: Sequence[int],
    comparers: Sequence[MatchJudge],
    scorers: Sequence[MetricJudge],
) -> Sequence[Score]:
    """Scores the outputs at these places; all scores of a run that has any are in memory meanwhile."""
    if not run.metrics and all(case.expected is None for case in run.suite.cases):
        return ()
    outputs = [(place, output) for place in places for output in records.outputs.at(place)]
    whole = run.replace(outputs=tuple(output for _, output in outputs))
    expected = await scores_of(session, whole, comparers)
    metrics = await metric_scores(session, whole, scorers)
    for spool, scores in ((records.expected, expected), (records.metrics, metrics)):
        of_outputs: dict[OutputKey, list[Score]] = {}
        for score in scores:
            of_outputs.setdefault(score.key, []).append(score)
        for place, output in outputs:
            spool.put(place, of_outputs.pop(output.key, ()))
    return [*expected, *metrics]


def _judged_by(session: Session, manifest: Manifest) -> Manifest:
    """The manifest with the settings of judging that are in force now, and what judges are shown; reports use them."""
    settings, origins = session.settings.to_dict(), session.resolved.origins
    judging_settings = (*find(JUDGE).settings, *find(MATCH).settings)
    example_digests = dict.fromkeys(text_digest(one.output, KEY_LENGTH) for one in session.judge_examples)
    return manifest.replace(
        shown=tuple(example_digests),
        settings={**manifest.settings, **{name: settings[name] for name in judging_settings}},
        origins={**manifest.origins, **{name: origins[name] for name in judging_settings}},
    )


def _manifest(
    session: Session, prompt: Prompt, spec: Spec, suite: Suite, models: Sequence[ModelName], marks: Sequence[str]
) -> Manifest:
    labels = tuple(model.label for model in models)
    spec_digest, suite_digest = spec.digest, digest(suite.to_dict())
    shaping = {**session.settings.shaping(), "instructions": instructions_of(session.settings, prompt)}
    shaping |= of_front_matter(session, prompt)
    settings, origins = in_manifest(session, prompt)
    models_asked = [
        [model.label, model.api_base, model.backend, *([model.spelled] if model.spelled else [])] for model in models
    ]
    return Manifest(
        run=digest([prompt.fingerprint, spec_digest, suite_digest, models_asked, marks, shaping], 10),
        prompt=prompt.name,
        prompt_fingerprint=prompt.fingerprint,
        spec_digest=spec_digest,
        suite_digest=suite_digest,
        models=labels,
        settings=settings,
        origins=origins,
        versions={"promptpex": version("promptpex"), "python": platform.python_version()},
        templates={name: stage_templates.fingerprint(name) for name in stage_templates.names()},
        created=session.clock().isoformat(timespec="seconds"),
    )


def counted(session: Session, manifest: Manifest) -> Manifest:
    """The manifest with how many answers of models and judges came from providers, and how many from the store."""
    asking = {stage.name for stage in stages("run")}
    totals = [total for (stage, _), total in session.meter.totals.items() if stage in asking]
    return manifest.replace(asked=sum(total.requests for total in totals), stored=sum(total.cached for total in totals))


def reported(manifest: Manifest, outputs: Iterable[Output]) -> Manifest:
    """The manifest with the ids that the providers returned."""
    ids_of: dict[str, dict[str, None]] = {label: {} for label in manifest.models}
    for output in outputs:
        if output.model_reported:
            ids_of[output.model][output.model_reported] = None
    return manifest.replace(reported={label: tuple(ids) for label, ids in ids_of.items()})


def _partial(codes: Iterable[str | None]) -> str | None:
    """Why the run is partial, if it is, from the reason codes of all that is open: some requests were not sent, or were
    cut, and the same command sends them."""
    reasons = {(code or "").removeprefix("judge-") for code in codes}
    return next((why for why in ("interrupted", "deadline", "budget") if reasons & {why, CUT[why]}), None)
