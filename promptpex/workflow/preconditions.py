"""What has to hold before anything is paid, and what is said about a prompt's files before that."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from promptpex.codecs.text.wording import named
from promptpex.config import EFFORT
from promptpex.core.errors import ConfigError, InputError
from promptpex.core.events import Notice
from promptpex.core.records import Case, Metric, ModelName, Prompt, Request, Rule, Spec, Suite
from promptpex.core.translation import stored, tr
from promptpex.documents.human_grades import read_grades
from promptpex.llm.model_in_role import merged
from promptpex.llm.pacing.cancellation import not_asked
from promptpex.llm.pacing.server_queue import beyond_tpm, tokens_expected
from promptpex.llm.stack import rates_for
from promptpex.promptfile import sibling
from promptpex.report.ranked_metric import require_metric
from promptpex.specs.source_quotes import changed, notices, orphans, uncited, ungrounded
from promptpex.workflow.estimate import EstimateLine, total_in_words
from promptpex.workflow.execution.expected_scores import unusable_expected
from promptpex.workflow.project_files import Files
from promptpex.workflow.roles import NO_JUDGE
from promptpex.workflow.session import Session


def require_prices(session: Session, models: Iterable[ModelName]) -> None:
    """Refuses models of unknown price where the cost is limited."""
    settings = session.settings
    if settings.max_cost is None:
        return
    unknown = [model for model in models if rates_for(model, settings.prices) is None]
    if unknown:
        labels = ", ".join(model.label for model in unknown)
        raise ConfigError(
            f"--max-cost cannot be kept: the price of {labels} is unknown; give it in the settings under "
            f'[prices."{unknown[0].name}"] (input and output, in US dollars per million tokens), or limit '
            "--max-requests or --max-total-tokens instead"
        )


def without_narrow_conditions(session: Session, spec: Spec, suite: Suite) -> Spec:
    """The spec without the proposed conditions that exclude a case written for their rule, which it says, and without
    the checks that were tried only where they hold."""
    from promptpex.cases.validity import narrow_conditions

    narrow = narrow_conditions(spec, suite.usable())
    for rule, case in narrow.items():
        dropped = stored("the condition was dropped")
        if any(one.id == rule and one.checks for one in spec.rules):
            dropped = stored("the condition was dropped with its checks, so only a judge can decide the rule")
        message = stored(
            "{rule}: its condition excludes {case}, a case written for it; {part}", rule=rule, case=case, part=dropped
        )
        session.emit(Notice(message, "warning"))
    rules = (rule.replace(when=(), checks=(), decides="wholly") if rule.id in narrow else rule for rule in spec.rules)
    return spec.replace(rules=tuple(rules)) if narrow else spec


def require_author(session: Session) -> None:
    """Refuses an author that cannot be asked within the limits that the user set."""
    author = session.roles.author().model
    require_prices(session, [author])
    require_answers_within_tpm(session, [author])


def require_checker(session: Session) -> None:
    """Refuses ``--verify`` where no model is named that could be asked."""
    if session.settings.verify:
        session.roles.checker()


async def require_requests_within_tpm(session: Session, requests: Iterable[Request]) -> None:
    """Refuses a request that alone may take more tokens than a minute allows, unless its answer is stored."""
    settings = session.settings
    large = {request.id: request for request in requests if beyond_tpm(request, settings.tpm)}
    stored = {} if settings.fresh else await session.store.get_many(large)
    _refuse_largest(session, [request for request_id, request in large.items() if request_id not in stored])


def require_answers_within_tpm(session: Session, roles: Iterable[ModelName], models: Iterable[ModelName] = ()) -> None:
    """As ``require_requests_within_tpm``, for authors, judges and models under test whose requests are not known yet:
    their answers alone may be too long.
    """
    models_with_params = [(model, session.roles.judge_params()) for model in roles]
    models_with_params += [(model, session.roles.output_params()) for model in models]
    _refuse_largest(
        session,
        [
            Request(model=model.name, messages=(), params=merged(model.params, defaults))
            for model, defaults in models_with_params
        ],
    )


def require_decidable(session: Session) -> None:
    """Refuses a question that no number of cases would answer."""
    settings = session.settings
    if settings.against is not None:
        labels = [model.label for model in session.roles.models()]
        if settings.against not in labels:
            raise ConfigError(f"--against names {settings.against}; name one of the models: {', '.join(labels)}")
        if settings.drop_worse:
            raise ConfigError("--drop-worse compares all models with each other: drop --against")
    if settings.drop_worse and settings.rank_by != "non-compliance":
        raise ConfigError(f"--drop-worse goes by non-compliance: drop it, or --rank-by {settings.rank_by}")


def require_ranked_metric(session: Session, metrics: Iterable[Metric]) -> None:
    """Refuses to rank models by a metric that outputs are not scored by."""
    require_metric(session.settings.rank_by, [metric.name for metric in metrics])


def require_expected(rank_by: str, cases: Iterable[Case]) -> None:
    """Refuses to rank models by an accuracy that there will not be."""
    if rank_by == "accuracy" and not any(case.expected is not None for case in cases):
        raise InputError("--rank-by accuracy needs cases with an expected output; write one, or `generate --expected`")


def require_grades_to_rank(session: Session, prompt: Path) -> None:
    """Refuses to rank models by people's grades where nobody has graded."""
    if session.settings.rank_by == "corrected" and not read_grades(sibling(prompt, "grades")):
        raise InputError(
            "--rank-by corrected takes people's grades, and nobody has graded an output of this prompt: run it without "
            "that, then `promptpex grade` and `promptpex report --rank-by corrected`"
        )


def require_judges_of_expected(session: Session) -> None:
    """Refuses to take expected outputs from a model where no judge would mark them."""
    settings = session.settings
    if settings.expected and settings.judge in ((), (NO_JUDGE,)):
        raise ConfigError(f"--expected {settings.expected} needs judges, who mark its answers: name one with --judge")


def raise_if_cancelled(session: Session) -> None:
    """Keeps what is only half made from being written.

    Raises:
        Stopped: the user is stopping the command.
    """
    if session.client.cancelled:
        raise not_asked("the author")


def _refuse_largest(session: Session, requests: Iterable[Request]) -> None:
    tpm = session.settings.tpm
    large = [request for request in requests if beyond_tpm(request, tpm)]
    if large:
        largest = max(large, key=tokens_expected)
        raise ConfigError(f"{largest.model}: {beyond_tpm(largest, tpm)}")


def announce_effort(session: Session, lines: Sequence[EstimateLine]) -> None:
    """Says what the effort means, if one is chosen: its counts, those that were set otherwise, and the price."""
    effort = session.settings.effort
    if effort is None:
        return
    counts = []
    for name in EFFORT[effort]:
        value = getattr(session.settings, name)
        origin = session.resolved.origins[name]
        value_shown = ("no", "yes")[value] if isinstance(value, bool) else value
        counts.append(f"{name.replace('_', '-')} {value_shown}{'' if origin.startswith('preset') else f' ({origin})'}")

    def words() -> str:
        return tr(
            "effort {effort}: {counts}; this means {what}",
            effort=effort,
            counts=", ".join(counts),
            what=total_in_words(lines),
        )

    session.emit(Notice.of(words))


def warn_about_ungrounded_rules(session: Session, prompt: Prompt, rules: Sequence[Rule]) -> None:
    for warning in ungrounded(prompt, rules):
        session.emit(Notice(warning, "warning"))


def name_uncited_sentences(session: Session, prompt: Prompt, rules: Sequence[Rule]) -> None:
    """Names the sentences of the prompt that no rule cites, and how to have them asked about again."""
    lines = uncited(prompt, rules)
    for line in lines:
        session.emit(Notice(line))
    if lines:
        message = stored(
            "where such a sentence sets a rule, add it, or ask with `promptpex extract PROMPT --more-rules`"
        )
        session.emit(Notice(message))


def warn_about_changed_prompt(session: Session, prompt: Prompt, spec: Spec, files: Files) -> None:
    """Says what a changed prompt does to its spec: rules whose words are gone, sentences that no rule cites.

    A spec that people wrote may name no fingerprint, or may be another prompt's: the words it quotes are looked for
    all the same.
    """
    if spec.prompt and Path(spec.prompt).name != files.prompt.name:
        warning = stored(
            "{file} is the spec of {prompt}, but is used for {other}",
            file=files.spec.name,
            prompt=spec.prompt,
            other=files.prompt.name,
        )
        session.emit(Notice(warning, "warning"))
    if not changed(prompt, spec):
        warn_about_ungrounded_rules(session, prompt, [rule for rule in spec.rules if not rule.stale])
        return
    change = stored("{prompt} has changed since {file} was written", prompt=files.prompt.name, file=files.spec.name)
    for warning in (change, *notices(prompt, spec)):
        session.emit(Notice(warning, "warning"))
    command = f"promptpex extract {shlex.quote(str(files.prompt))} --update"
    session.emit(Notice(stored("to bring the spec up to date: {command}", command=command)))


def warn_about_unusable_expected(session: Session, suite: Suite) -> None:
    """Names the cases whose expected output their comparison cannot use, with the reason of the first."""
    usable = {case.id for case in suite.usable()}
    problems = {case: why for case, why in unusable_expected(suite, session.settings.match).items() if case in usable}
    if problems:
        values = {"count": len(problems), "ids": named(list(problems)), "why": next(iter(problems.values()))}
        message = stored(
            "{count} cases have an expected output that cannot be compared ({ids}), so their outputs stay unscored: "
            "{why}; change it, or the comparison under match",
            **values,
        )
        if len(problems) == 1:
            message = stored(
                "{count} case has an expected output that cannot be compared ({ids}), so its outputs stay unscored: "
                "{why}; change it, or the comparison under match",
                **values,
            )
        session.emit(Notice(message, "warning"))


def warn_about_orphans(session: Session, spec: Spec, suite: Suite) -> None:
    """Names the cases whose rule is gone; they are still run, and judged by the remaining rules."""
    orphaned = orphans(spec, suite)
    if orphaned:
        ids = named([case.id for case in orphaned])
        message = stored(
            "{count} cases aim at rules that are gone ({ids}); `promptpex generate` retires those it made",
            count=len(orphaned),
            ids=ids,
        )
        if len(orphaned) == 1:
            message = stored(
                "{count} case aims at a rule that is gone ({ids}); `promptpex generate` retires those it made",
                count=1,
                ids=ids,
            )
        session.emit(Notice(message, "warning"))
