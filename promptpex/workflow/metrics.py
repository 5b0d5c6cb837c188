"""The owner's metrics of a run or of an import: their code, their criteria, and the scores of outputs by them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any

from promptpex.assertions import (
    CheckResult,
    Compiled,
    check,
    check_time,
    checked_output,
    compile_checks,
    evaluate,
    prepare,
    questions_of,
)
from promptpex.assertions.kinds.javascript import NO_VERDICT, SCORE_WORDS, function_body
from promptpex.assertions.kinds.python import SCORE_WORDS as PYTHON_SCORE_WORDS
from promptpex.codecs.text.inputs_as_text import inputs_text
from promptpex.codecs.text.wording import did_you_mean, requests_in_words, with_hint
from promptpex.core.errors import CheckError, ConfigError, PromptFileError
from promptpex.core.events import Notice, StepDone, stage_events
from promptpex.core.ids import digest
from promptpex.core.records import Case, Check, Language, Metric, Output, Prompt, Run, Score, Spec
from promptpex.core.time_allowance import Allowance
from promptpex.core.translation import stored, stored_n
from promptpex.engines import run_all
from promptpex.interchange.format import Imported, ImportedMetric
from promptpex.interchange.notes import Note
from promptpex.judging.metric_judge import OUTPUT_FORMAT, STAGE, MetricJudge, shown
from promptpex.promptfile import RENDERING_SECONDS, render, sent_text
from promptpex.promptfile.metric_files import LANGUAGES, MOST, OTHER_NAMES, examine_metric, metrics_beside
from promptpex.workflow.execution.order import judging_order
from promptpex.workflow.front_matter import instructions_of
from promptpex.workflow.session import Session

POOLED = "judges:mean"
"""The source of the joint score of several judges: the mean of their scores, where all of them gave one."""


def metrics_of(session: Session, prompt: Prompt) -> tuple[Metric, ...]:
    """The metrics of a run: those beside the prompt's file, or those of them that the settings name."""
    chosen = session.settings.metrics
    if chosen == () or prompt.path is None:
        return ()
    metrics = {metric.name: metric for metric in metrics_beside(Path(prompt.path))}
    for name in chosen or ():
        if name not in metrics:
            place = f"there is no {name}.metric.md, .metric.prompty, .metric.js or .metric.py beside the prompt"
            message = f"--metrics names {name!r}, but {place}"
            raise ConfigError(with_hint(message, did_you_mean(name, metrics)))
    used = tuple(metrics[name] for name in (chosen or metrics))
    _require_code(used, Path(prompt.path))
    return used


_ENDINGS = {language: ending for ending, language in LANGUAGES.items()}


def _require_code(metrics: Sequence[Metric], prompt: Path) -> None:
    with check_time():
        for metric in metrics:
            problem = code_problem(metric.code, metric.language) if metric.code else None
            if problem:
                raise PromptFileError(
                    problem, path=prompt.with_name(f"{metric.name}.metric{_ENDINGS[metric.language]}")
                )


def metrics_to_score(session: Session, run: Run) -> tuple[Metric, ...]:
    """The run's metrics that outputs are scored by now: all, or those that the settings name."""
    chosen = session.settings.metrics
    names = [metric.name for metric in run.metrics]
    for name in chosen or ():
        if name not in names:
            hint = did_you_mean(name, names) or "`promptpex run` scores by further metrics"
            raise ConfigError(f"--metrics names {name!r}, by which this run was not scored; {hint}")
    return tuple(metric for metric in run.metrics if chosen is None or metric.name in chosen)


def metric_judges(session: Session, prompt: Prompt, metrics: Sequence[Metric]) -> tuple[MetricJudge, ...]:
    """A judge per model and metric with criteria; none where all are code."""
    if all(metric.criteria is None for metric in metrics):
        return ()
    note = instructions_of(session.settings, prompt).get(STAGE, "")
    roles = session.roles.judges()
    return tuple(MetricJudge(role, metric, note) for metric in metrics if metric.criteria for role in roles)


async def metric_scores(session: Session, run: Run, judges: Sequence[MetricJudge]) -> list[Score]:
    """The scores of all outputs under the run's metrics, in the order of the outputs, then of the metrics.

    Where the settings name some metrics, the run's scores under the others stay as they are.
    """
    cases = {case.id: case for case in run.suite.cases}
    usable = [output for output in run.outputs if output.error is None and output.case in cases]
    anew = metrics_to_score(session, run)
    by_code = _by_code(run.prompt, usable, [metric for metric in anew if metric.code], cases)
    by_judge = await _by_judges(session, run, usable, judges, cases)
    before: dict[Key, list[Score]] = {}
    for score in run.scores:
        before.setdefault((score.key, score.name), []).append(score)
    return [
        score
        for output in run.outputs
        for metric in run.metrics
        for score in (
            _of_output(output, metric, by_code, by_judge, known=output.case in cases)
            if metric in anew
            else before.get((output.key, metric.name), ())
        )
    ]


def announce_requests(session: Session, metrics: Sequence[Metric], outputs: int) -> None:
    """Says what metrics with criteria cost in requests, before the first, as their files may be a stranger's; or that
    no judge is there to score by them."""
    metric_names = [metric.name for metric in metrics if metric.criteria]
    judges = len(session.roles.judges()) if metric_names else 0
    if not metric_names or not outputs:
        return
    names = ", ".join(metric_names[:_NAMED]) + (", ..." if len(metric_names) > _NAMED else "")
    what = stored_n(
        "{count} metric beside the prompt ({names})",
        "{count} metrics beside the prompt ({names})",
        len(metric_names),
        names=names,
    )
    if judges:
        message = stored(
            "{part}: {requests} at most to judges; --metrics none leaves them out",
            part=what,
            requests=requests_in_words(len(metric_names) * judges * outputs),
        )
        session.emit(Notice(message))
    else:
        message = stored("{part}: not scored, since it needs a judge and there is none", part=what)
        session.emit(Notice(message, "warning"))


_NAMED = 5
"""Metrics that are named before the first request."""

Key = tuple[tuple[str, str, int], str]
"""An output's key and the name of a metric."""


def _of_output(
    output: Output,
    metric: Metric,
    by_code: Mapping[Key, Score],
    by_judge: Mapping[Key, Sequence[Score]],
    *,
    known: bool,
) -> Sequence[Score]:
    key = (output.key, metric.name)
    if output.error is not None:
        return [_score(output, metric, "none", None, output.message or "", output.error)]
    if key in by_code:
        return [by_code[key]]
    scores = by_judge.get(key, ())
    if not scores and not known:
        return [_score(output, metric, "none", None, "the run has no such case", "no-case")]
    if not scores:
        return [
            _score(output, metric, "none", None, stored("a judge scores this metric, but the run has none"), "no-judge")
        ]
    return scores if len(scores) == 1 else [*(score.replace(counts=False) for score in scores), pooled(scores)]


def pooled(scores: Sequence[Score]) -> Score:
    """The joint score of several judges; unscored where one gave none: a mean over some of them is another measure."""
    missing = next((score for score in scores if score.value is None), None)
    values = [score.value for score in scores if score.value is not None]
    return scores[0].replace(
        value=None if missing else fmean(values),
        reason=stored("the mean of {count} of {number} judges", count=len(values), number=len(scores))
        if not missing
        else stored("not all judges gave a score"),
        unscored=missing.unscored if missing else None,
        source=POOLED,
        fingerprint=digest([score.fingerprint for score in scores], 16),
    )


async def _by_judges(
    session: Session, run: Run, outputs: Sequence[Output], judges: Sequence[MetricJudge], cases: Mapping[str, Case]
) -> dict[Key, list[Score]]:
    pairs = [(judge, output) for output in outputs for judge in judges]
    models, keys = [judge.role_model.model for judge in judges], [output.key for output in outputs]
    in_turn = judging_order(keys, run.suite.usable(), models, seed=session.settings.seed)
    order = [at * len(judges) + judge for judge, at, _ in in_turn]
    criteria = criteria_texts(run.prompt, run.spec)

    async def one(pair: tuple[MetricJudge, Output]) -> Score:
        judge, output = pair
        try:
            text = criteria.text(judge.metric, cases[output.case], output.text or "")
        except PromptFileError as error:
            score = _score(output, judge.metric, judge.source, None, error.message, "bad-template")
        else:
            score = await judge.score(output, text)
        session.emit(StepDone(STAGE, judge.role_model.label, score.unscored))
        return score

    scores: dict[Key, list[Score]] = {}
    with stage_events(session.emit, STAGE, Counter(judge.role_model.label for judge, _ in pairs)):
        scores_given = await run_all(one, [pairs[number] for number in order])
    for _, score in sorted(zip(order, scores_given, strict=True), key=itemgetter(0)):
        scores.setdefault((score.key, score.name), []).append(score)
    return scores


def _by_code(
    prompt: Prompt, outputs: Sequence[Output], metrics: Sequence[Metric], cases: Mapping[str, Case]
) -> dict[Key, Score]:
    time = Allowance(RENDERING_SECONDS)
    case_ids = {output.case for output in outputs} if metrics else set()
    prompts = {case: sent_text(prompt, cases[case].inputs, time) for case in case_ids}
    with check_time():
        codes = {metric.name: compiled_code(metric.code or "", metric.language) for metric in metrics if outputs}
        return {
            (output.key, metric.name): _code_score(
                output, metric, codes[metric.name], cases[output.case], prompts[output.case]
            )
            for output in outputs
            for metric in metrics
        }


def _code_score(output: Output, metric: Metric, code: MetricCode, case: Case, prompt: str) -> Score:
    variables: dict[str, Any] = {**case.inputs, **({} if case.expected is None else {"expected": case.expected})}
    result = code.result(output.text, variables, prompt)
    value = result.score if result.status != "unscored" else None
    if value is not None and not 0 <= value <= 1:
        reason = stored(
            "{reason}: give true, false or 0 to 1", reason=stored("the code gave {number}", number=f"{value:g}")
        )
        return _score(output, metric, metric.language, None, reason, "out-of-range")
    if value is not None and result.reason.endswith(NO_VERDICT):
        reason = stored("{reason}: give true, false or 0 to 1", reason=result.reason.removesuffix(NO_VERDICT))
        return _score(output, metric, metric.language, None, reason, "no-score")
    by_number = value is not None and result.reason.startswith((SCORE_WORDS, PYTHON_SCORE_WORDS))
    gives = stored("the script gives {score}") if metric.language == "javascript" else stored("the code gives {score}")
    reason = gives.format(score=f"{value:g}") if by_number else result.reason
    return _score(
        output, metric, metric.language, value, reason, None if value is not None else result.unscored or "error"
    )


def _score(
    output: Output, metric: Metric, source: str, value: float | None, reason: str, unscored: str | None
) -> Score:
    fingerprint = metric.fingerprint()
    return Score.of(
        output.key, metric.name, source, value=value, reason=reason, unscored=unscored, fingerprint=fingerprint
    )


@dataclass(frozen=True, slots=True)
class MetricCode:
    """A metric's code, compiled once for all outputs.

    Attributes:
        check: the code as a check, which scripts may see.
        compiled: the check made ready.
    """

    check: Mapping[str, object]
    compiled: Compiled

    def result(self, output: str | None, variables: Mapping[str, object], prompt: str = "") -> CheckResult:
        """What the code gives for an output; unscored where it fails, or has had the time of a check on all outputs."""
        checked = checked_output(output, variables, asserts=[self.check], prompt=prompt or None)
        return evaluate(self.compiled, checked).results[0]


def compiled_code(code: str, language: Language = "javascript") -> MetricCode:
    """The code made ready for outputs; code that cannot be used gives unscored results."""
    check = {"kind": language, "value": runnable(code) if language == "javascript" else code}
    return MetricCode(check, prepare([check]))


def runnable(code: str) -> str:
    """The code as the value of a check, which takes one line as an expression: a line that is not one, but a body with
    ``return``, is made one of two lines."""
    return as_body(code) if _fault(function_body(code)) and not _fault(as_body(code)) else code


def code_problem(code: str, language: Language = "javascript") -> str | None:
    """Why the code is not JavaScript, neither as an expression nor as a body, or not Python, in a clause; None where it
    is. What it would do is not tried."""
    if language == "python":
        return _python_problem(code)
    fault = _fault(function_body(code))
    other = _fault(as_body(code)) if fault else None
    if fault is None or other is None:
        return None
    return f"the code is not JavaScript: {other if 'return' in code else fault}"


def _python_problem(code: str) -> str | None:
    if questions_of([Check(kind="python", value=code)]):
        return "a metric's code cannot ask a judge; write criteria (.metric.md) instead"
    try:
        compile_checks([{"kind": "python", "value": code}])
    except CheckError as error:
        return error.message
    return None


def as_body(code: str) -> str:
    return f"\n{code}"


def _fault(body: str) -> str | None:
    """Why a function with this body does not parse; its first line ends it before the rest could."""
    result = check("", [{"kind": "javascript", "value": f"return true;\n{body}"}]).results[0]
    return result.reason if result.unscored == "script-error" else None


@dataclass(frozen=True, slots=True)
class CriteriaTexts:
    """The criteria of metrics for the outputs of one prompt, in one command.

    Attributes:
        shared: what all of them show of the prompt and its spec, fenced, by the names of variables.
        time: what filling in all criteria may take together.
    """

    shared: dict[str, str]
    time: Allowance = field(default_factory=lambda: Allowance(RENDERING_SECONDS))

    def text(self, metric: Metric, case: Case, output: str) -> str:
        """A metric's criteria with one output and its case filled in."""
        assert metric.criteria is not None
        own = {"input": inputs_text(case.inputs), "output": output, "expected": case.expected or ""}
        values = {**self.shared, **shown(own), "output_format": OUTPUT_FORMAT[metric.scale]}
        values |= {other: values[name] for other, name in OTHER_NAMES.items()}
        return "\n\n".join(message.content for message in render(metric.criteria, values, self.time))


def criteria_texts(prompt: Prompt, spec: Spec) -> CriteriaTexts:
    """The criteria of metrics for outputs of this prompt, with all rules of the spec that are not stale."""
    constraints = [(name, line) for name, variable in spec.inputs.items() for line in variable.constraints]
    shared = {
        "prompt": prompt.text(),
        "intent": spec.intent,
        "input_spec": "\n".join(f"- {name}: {line}" for name, line in constraints),
        "rules": "\n".join(f"- {rule.rule}" for rule in spec.rules if not rule.stale),
    }
    return CriteriaTexts(shown(shared))


def metric_file(prompt: Path, metric: ImportedMetric) -> Path:
    return prompt.with_name(f"{metric.name}.metric.prompty")


def metrics_of_run(prompt: Path, metrics: Iterable[ImportedMetric]) -> tuple[Metric, ...]:
    examined = (examine_metric(metric_file(prompt, metric), metric.text)[0] for metric in metrics)
    return tuple(sorted((metric for metric in examined if metric is not None), key=lambda metric: metric.name))


def with_usable_metrics(part: Imported) -> tuple[Imported, tuple[Note, ...]]:
    """The part with those of its metrics that can be used, and what is to be said of the others."""
    notes: list[Note] = []
    usable_metrics = [metric for metric in part.metrics if _is_usable(metric, notes)]
    for metric in usable_metrics[MOST:]:
        notes.append(Note("left out", metric.place[0], stored("a prompt has {limit} metrics at most", limit=MOST),
                          *metric.place[1:]))  # fmt: skip
    over = {key: count for key, count in part.over.items() if key != "metrics"}
    if usable_metrics:
        over["metrics"] = len(usable_metrics[:MOST])
    return replace(part, metrics=tuple(usable_metrics[:MOST]), over=over), tuple(notes)


def _is_usable(metric: ImportedMetric, notes: list[Note]) -> bool:
    examined, problems = examine_metric(Path(f"{metric.name}.metric.prompty"), metric.text)
    why = next((_sentence(problem.line, problem.message) for problem in problems if problem.severity == "error"), None)
    if examined is None and why is None:
        why = stored("it is tagged experimental, and PromptPex does not use it either")
    if examined is None:
        notes.append(Note("left out", metric.place[0], why or "", *metric.place[1:]))
    return examined is not None


def _sentence(line: int | None, message: str) -> str:
    return message if line is None else stored("line {line} of its text: {reason}", line=line, reason=message)
