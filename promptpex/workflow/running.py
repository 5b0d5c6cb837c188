"""A run on records: collect outputs, check them, judge the rest, weigh the verdicts."""

from __future__ import annotations

import platform
from collections.abc import Callable, Collection, Iterable, Sequence
from importlib.metadata import version

from promptpex.core import stage_templates
from promptpex.core.events import Notice, StepDone, stage_events
from promptpex.core.ids import digest, text_digest
from promptpex.core.records import (
    KEY_LENGTH,
    Case,
    Manifest,
    Metric,
    ModelName,
    Output,
    PartOfSuite,
    Prompt,
    Run,
    Score,
    Spec,
    Suite,
    Verdict,
)
from promptpex.engines import run_all
from promptpex.judging.judge import STAGE as JUDGE
from promptpex.judging.judge import Judge, judgeable
from promptpex.judging.match import STAGE as MATCH
from promptpex.judging.match import MatchJudge
from promptpex.judging.metric_judge import STAGE as METRIC
from promptpex.judging.metric_judge import MetricJudge
from promptpex.judging.model_families import self_preference_warnings
from promptpex.judging.questions import STAGE as QUESTION
from promptpex.judging.questions import QuestionJudge
from promptpex.judging.verdict_precedence import after_broken, unjudged, unusable, weigh
from promptpex.llm.role_model import RoleModel
from promptpex.workflow.collect import STAGE as OUTPUT
from promptpex.workflow.collect import Cell, cells, requests_for
from promptpex.workflow.early_outcomes import early_outcomes
from promptpex.workflow.instructions import instructions_of
from promptpex.workflow.judges import judges_for
from promptpex.workflow.metrics import announce_requests, metric_judges, metric_scores, metrics_of, metrics_to_score
from promptpex.workflow.order import cell_order, judging_order, serial_server
from promptpex.workflow.outcomes_so_far import OutcomesSoFar, outcomes_so_far
from promptpex.workflow.output_params import announce_missing_logprobs, in_manifest, output_params
from promptpex.workflow.output_params import shaping as of_front_matter
from promptpex.workflow.preconditions import require_answers_within_tpm, require_requests_within_tpm
from promptpex.workflow.questions import (
    announce_questions,
    question_judges,
)
from promptpex.workflow.scoring import match_judges, scores_of
from promptpex.workflow.session import Session
from promptpex.workflow.stages import find
from promptpex.workflow.verdicts_of_code import RulesOfOutputs, inputs_of_cases, rules_of_outputs, verdicts_of_code

AnyJudge = Judge | MatchJudge | MetricJudge | QuestionJudge


async def begin(
    session: Session,
    prompt: Prompt,
    spec: Spec,
    suite: Suite,
    *,
    author: str | None = None,
    metrics: Sequence[Metric] | None = None,
    subset: PartOfSuite | None = None,
) -> Run:
    """The run before its first request: it has a manifest, but no outputs yet.

    Args:
        author: the label of who wrote what was missing.
        metrics: what outputs are scored by; None: the metrics beside the prompt, as the settings have it.
        subset: which part of the suite this is; None: all of it.
    """
    models = session.roles.models()
    metrics = tuple(metrics_of(session, prompt) if metrics is None else metrics)
    rules = [rule for rule in spec.rules if not rule.stale]
    answering = question_judges(session, prompt, rules)
    asked: list[AnyJudge] = [*judges_for(session, prompt, spec), *answering]
    asked += [*match_judges(session, prompt, spec, suite), *metric_judges(session, prompt, metrics)]
    await _require_within_tpm(session, prompt, suite, [judge.role_model for judge in asked])
    outputs = len(suite.usable()) * len(models) * session.settings.repeats
    announce_questions(session, answering, rules, outputs)
    announce_requests(session, metrics, outputs)
    marks = [judge.fingerprint() for judge in asked] + [metric.fingerprint() for metric in metrics if metric.code]
    manifest = _manifest(session, prompt, spec, suite, models, marks)
    manifest = manifest.replace(author=author, judges=_labels(asked), subset=subset)
    manifest = with_names(session, manifest)
    warn_about_self_preference(session, manifest)
    return Run(manifest=manifest, prompt=prompt, spec=spec, suite=suite, metrics=metrics)


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
    """The manifest with what its labels stand for in this session, where they are names, and several servers."""
    labels = [*manifest.models, *manifest.judges, *([manifest.author] if manifest.author else [])]
    spelled = {label: session.roles.spelled(label) for label in labels}
    servers = {label: session.roles.servers(label) for label in labels}
    return manifest.replace(
        named={**manifest.named, **{label: text for label, text in spelled.items() if text}},
        servers={**manifest.servers, **{label: bases for label, bases in servers.items() if bases}},
    )


async def execute(
    session: Session,
    begun: Run,
    *,
    on_output: Callable[[Output], None] = lambda output: None,
    pairs: Collection[tuple[str, str]] | None = None,
) -> Run:
    """Collects an output for every usable case, model and repeat, and judges them.

    Args:
        pairs: case and label of a model: what alone is asked; None: every case of every model.
    """
    cases = begun.suite.usable()
    questions = cells(cases, session.roles.models(), session.settings.repeats)
    if pairs is not None:
        questions = [one for one in questions if (one.case.id, one.model.label) in pairs]
    known = outcomes_so_far(session, begun)
    outputs = await collected(session, begun, questions, cases, known, on_output)
    announce_missing_logprobs(session, begun.spec, outputs)
    manifest = reported(begun.manifest, outputs)
    run = await judge(session, begun.replace(manifest=manifest, outputs=tuple(outputs)), known)
    heard = dict.fromkeys((*run.manifest.notices, *session.provider_notices))
    return run.replace(manifest=run.manifest.replace(notices=tuple(heard)))


async def judge(session: Session, run: Run, known: OutcomesSoFar | None = None) -> Run:
    """The run with verdicts on all its outputs, and scores by expected outputs and metrics: code first, judges for the
    rest. No model under test is asked.

    Args:
        known: what was told of the outputs already.
    """
    outputs = run.outputs
    judges = judges_for(session, run.prompt, run.spec)
    comparers = match_judges(session, run.prompt, run.spec, run.suite)
    rules = [rule for rule in run.spec.rules if not rule.stale]
    usable = judgeable(outputs)
    answering = question_judges(session, run.prompt, rules)
    code = await verdicts_of_code(session, run.prompt, rules, run.suite, usable, answering)
    left_out = rules_of_outputs(code.unmet)
    by_code = code.weighable({rule.id for judge in judges for rule in judge.rules})
    settings = session.settings
    known = known or outcomes_so_far(session, run)
    known.code(by_code)
    known.asking([settings.judge_repeat] * len(judges))
    judged = await _ask_judges(session, judges, usable, run.suite, code.settled, known)
    weighed = weigh(run.spec, by_code, judged, quorum=settings.quorum, min_agreement=settings.min_agreement)
    verdicts = after_broken(rules, weighed)
    if not judges:
        verdicts += [verdict for output in usable for verdict in unjudged(output, rules, left_out.get(output.key, ()))]
    mode_rules = {rule.id: rule.rule for judge in judges for rule in judge.options.judge_mode.own_rules}
    names = [*(rule.id for rule in rules), *mode_rules]
    verdicts += [verdict for output in outputs if output.error for verdict in unusable(output, names)]
    known.end(outputs, verdicts)
    scorers = metric_judges(session, run.prompt, metrics_to_score(session, run))
    scores = [*await scores_of(session, run, comparers), *await metric_scores(session, run, scorers)]
    codes = [output.error for output in outputs] + [verdict.unscored for verdict in verdicts]
    codes += [score.unscored for score in scores]
    labels = _labels([*judges, *answering, *comparers, *scorers])
    manifest = _judged_by(session, run.manifest).replace(
        judges=tuple(dict.fromkeys([*labels, *_still_counting(run, scores)])),
        mode_rules=mode_rules,
        partial=_partial(codes),
    )
    manifest = with_names(session, manifest)
    return run.replace(
        manifest=counted(session, manifest),
        verdicts=tuple(_in_order(outputs, names, verdicts)),
        scores=tuple(_of_outputs_in_order(outputs, scores)),
    )


async def collected(
    session: Session,
    begun: Run,
    questions: Sequence[Cell],
    cases: Sequence[Case],
    known: OutcomesSoFar,
    on_output: Callable[[Output], None],
) -> list[Output]:
    """The outputs of questions, asked in the fair order of ``cases``; ``known`` is told of them as they come."""
    async with early_outcomes(session, begun, known) as check_early:

        def taken(output: Output) -> None:
            on_output(output)
            check_early(output)

        return await session.collect(
            session.client,
            begun.prompt,
            questions,
            defaults=output_params(session, begun.prompt, begun.spec),
            order=cell_order(questions, cases, session.settings.seed, serial_server),
            emit=session.emit,
            on_output=taken,
        )


def _judged_by(session: Session, manifest: Manifest) -> Manifest:
    """The manifest with the settings of judging that are in force now, and what judges are shown; reports use them."""
    settings, origins = session.settings.to_dict(), session.resolved.origins
    judging_settings = (*find(JUDGE).settings, *find(MATCH).settings)
    shown = dict.fromkeys(text_digest(one.output, KEY_LENGTH) for one in session.judge_examples)
    return manifest.replace(
        shown=tuple(shown),
        settings={**manifest.settings, **{name: settings[name] for name in judging_settings}},
        origins={**manifest.origins, **{name: origins[name] for name in judging_settings}},
    )


async def _ask_judges(
    session: Session,
    judges: Sequence[Judge],
    outputs: Sequence[Output],
    suite: Suite,
    left_out: RulesOfOutputs,
    known: OutcomesSoFar,
) -> list[list[Verdict]]:
    """The verdicts of each judge, turn by turn in the order of the outputs, but for rules ``left_out`` of one.
    Each of them is told to ``known``."""
    settings, inputs = session.settings, inputs_of_cases(suite)
    turns = settings.judge_repeat
    models = [judge.role_model.model for judge in judges]
    order = judging_order(outputs, suite.usable(), models, turns=turns, seed=settings.seed, serial=serial_server)
    totals = {judge.role_model.label: len(outputs) * turns for judge in judges}

    async def judge_one(asked: tuple[int, int, int]) -> list[Verdict]:
        judge, output, turn = judges[asked[0]], outputs[asked[1]], asked[2]
        settled = left_out.get(output.key, ())
        verdicts = await judge.judge(output, inputs.get(output.case, {}), turn=turn, left_out=settled)
        missing = next((verdict.unscored for verdict in verdicts if verdict.unscored), None)
        session.emit(StepDone(JUDGE, judge.role_model.label, missing))
        known.judge(output, asked[0], verdicts)
        return verdicts

    with stage_events(session.emit, JUDGE, totals):
        verdicts_of = dict(zip(order, await run_all(judge_one, order), strict=True))
    return [
        [verdict for turn in range(turns) for at in range(len(outputs)) for verdict in verdicts_of[number, at, turn]]
        for number in range(len(judges))
    ]


def _of_outputs_in_order(outputs: Sequence[Output], scores: Sequence[Score]) -> list[Score]:
    place = {output.key: index for index, output in enumerate(outputs)}
    return sorted(scores, key=lambda score: place[score.key])


def _in_order(outputs: Sequence[Output], rules: Sequence[str], verdicts: Sequence[Verdict]) -> list[Verdict]:
    place = {output.key: index for index, output in enumerate(outputs)}
    rank = {rule: index for index, rule in enumerate(rules)}
    return sorted(verdicts, key=lambda verdict: (place[verdict.key], rank.get(verdict.rule, -1)))


def _manifest(
    session: Session, prompt: Prompt, spec: Spec, suite: Suite, models: Sequence[ModelName], marks: Sequence[str]
) -> Manifest:
    labels = tuple(model.label for model in models)
    spec_digest, suite_digest = spec.digest, digest(suite.to_dict())
    shaping = {**session.settings.shaping(), "instructions": instructions_of(session.settings, prompt)}
    shaping |= of_front_matter(session, prompt)
    settings, origins = in_manifest(session, prompt)
    asked = [
        [model.label, model.api_base, model.backend, *([model.spelled] if model.spelled else [])] for model in models
    ]
    return Manifest(
        run=digest([prompt.fingerprint, spec_digest, suite_digest, asked, marks, shaping], 10),
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


ASKING_OF_A_RUN = (OUTPUT, JUDGE, QUESTION, MATCH, METRIC)
"""The stages whose answers a run rests on."""


def counted(session: Session, manifest: Manifest) -> Manifest:
    """The manifest with how many answers of models and judges came from providers, and how many from the store."""
    totals = [total for (stage, _), total in session.meter.totals.items() if stage in ASKING_OF_A_RUN]
    return manifest.replace(asked=sum(total.requests for total in totals), stored=sum(total.cached for total in totals))


def reported(manifest: Manifest, outputs: Sequence[Output]) -> Manifest:
    """The manifest with the ids that the providers returned."""
    ids_of: dict[str, dict[str, None]] = {label: {} for label in manifest.models}
    for output in outputs:
        if output.model_reported:
            ids_of[output.model][output.model_reported] = None
    return manifest.replace(reported={label: tuple(ids) for label, ids in ids_of.items()})


def _partial(codes: Iterable[str | None]) -> str | None:
    """Why the run is partial, if it is, from the reason codes of all that is open: some requests were not sent, and the
    same command sends them."""
    reasons = set(codes)
    return next((why for why in ("interrupted", "deadline", "budget") if reasons & {why, f"judge-{why}"}), None)
