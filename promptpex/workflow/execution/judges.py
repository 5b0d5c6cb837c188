"""The judges of a run, as the settings have them, and what there is to say about them before they are asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from promptpex.assertions import questions_of
from promptpex.codecs.text.wording import plural
from promptpex.config import Settings
from promptpex.core.errors import ConfigError
from promptpex.core.events import Notice
from promptpex.core.records import Metric, Prompt, Spec, Suite
from promptpex.core.translation import stored
from promptpex.judging.judge import Judge, Judging
from promptpex.judging.verdict_precedence import Trust
from promptpex.workflow.execution.expected_scores import asked_about
from promptpex.workflow.front_matter import instructions_of
from promptpex.workflow.session import Session

MOST_NAMED = 8
"""Rules that a warning names."""


def judges_for(session: Session, prompt: Prompt, spec: Spec) -> tuple[Judge, ...]:
    """The judges, if anything is left to judge; none where code decides every rule.

    Raises:
        ConfigError: a judge that decides on the prompt as a whole is to agree with people on rules.
    """
    options = judging(session.settings, prompt)
    require_rules(session.settings, options)
    if not options.rules(spec):
        return ()
    examples = session.judge_examples
    judges = tuple(Judge(role_model, prompt, spec, options, examples) for role_model in session.roles.judges())
    if judges and session.settings.judge_examples and not options.judge_mode.examples_template:
        session.emit(
            Notice(
                stored("the judge mode {mode} shows the judge no graded outputs", mode=repr(options.mode)), "warning"
            )
        )
    if judges and options.sees_input and not options.judge_mode.shows_inputs:
        session.emit(
            Notice(
                stored("the judge mode {mode} never shows the input to the judge", mode=repr(options.mode)), "warning"
            )
        )
    if judges and options.confidence and not options.judge_mode.labels:
        message = stored(
            "replies in the judge mode {mode} have no word that shows how sure the judge was", mode=repr(options.mode)
        )
        session.emit(Notice(message, "warning"))
    _announce_trust(session, judges, spec)
    return judges


def require_judge(
    session: Session, prompt: Prompt, spec: Spec | None, suite: Suite | None, metrics: Iterable[Metric] = ()
) -> None:
    """Refuses a run that needs a judge where none is named; without a spec nobody knows that it needs none.

    Raises:
        ConfigError: with what to write.
    """
    if (
        spec is None
        or judging(session.settings, prompt).rules(spec)
        or questions_of(check for rule in spec.rules if not rule.stale for check in rule.checks)
        or any(metric.criteria for metric in metrics)
        or (suite is not None and asked_about(suite, session.settings.match))
    ):
        session.roles.require_judge()


def judging(settings: Settings, prompt: Prompt) -> Judging:
    """How to judge, by the settings."""
    return Judging(
        mode=settings.judge_mode,
        sees_input=settings.judge_sees_input,
        sees_prompt=settings.judge_sees_prompt,
        all_rules=settings.judge_all,
        turns=settings.judge_repeat,
        confidence=settings.judge_confidence,
        instructions=instructions_of(settings, prompt).get("judge", ""),
    )


def require_rules(settings: Settings, options: Judging) -> None:
    """Refuses a least agreement on rules where judges decide on something else.

    Raises:
        ConfigError: with what to do.
    """
    if settings.min_agreement is not None and options.judge_mode.own_rules:
        raise ConfigError(
            f"--min-agreement is about single rules, and a judge in the mode {options.mode!r} decides on the prompt"
            " as a whole: leave one of the two out"
        )


def _announce_trust(session: Session, judges: Iterable[Judge], spec: Spec) -> None:
    """Warns of the rules on which a judge will not count, and says by whose labels it does on others."""
    trust = Trust(spec, session.settings.min_agreement)
    for judge in judges:
        rules = judge.rules
        ids = trust.untrusted(rules, judge.role_model.label, judge.fingerprint())
        if ids:
            message = stored(
                "{judge} will not count on {count} of {rules} ({ids}): no valid calibration shows a kappa of {least} "
                "or more there; its verdicts are kept. `promptpex grade` and `promptpex align` measure it",
                judge=judge.role_model.label,
                count=len(ids),
                rules=plural(len(rules), "rule"),
                ids=_first(ids),
                least=f"{trust.min_agreement:g}",
            )
            session.emit(Notice(message, "warning"))
        _announce_labels(session, judge, trust)


def _announce_labels(session: Session, judge: Judge, trust: Trust) -> None:
    """Says by whose labels a judge counts, where these were not made in the usual way."""
    label = judge.role_model.label
    if trust.min_agreement is None:
        return
    for options, ids in trust.by_other_labels(judge.rules, label, judge.fingerprint()).items():
        message = stored(
            "{judge} counts on {rules} ({ids}) by a calibration on the labels of `{options}`",
            judge=label,
            rules=plural(len(ids), "rule"),
            ids=_first(ids),
            options=options,
        )
        session.emit(Notice(message, "always"))


def _first(ids: Sequence[str]) -> str:
    return ", ".join(ids[:MOST_NAMED]) + (", ..." if len(ids) > MOST_NAMED else "")
