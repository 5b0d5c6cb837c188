"""What a command says about its files before it works: the effort, a changed prompt, cases without their rule."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from promptpex.codecs.text.wording import named
from promptpex.config import EFFORT
from promptpex.core.events import Notice
from promptpex.core.records import Prompt, Rule, Spec, Suite
from promptpex.core.translation import stored, tr
from promptpex.specs.drift import changed, notices, orphans, uncited, ungrounded
from promptpex.workflow.estimate import EstimateLine, total_in_words
from promptpex.workflow.execution.expected_scores import unusable_expected
from promptpex.workflow.project_files import Files
from promptpex.workflow.session import Session


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
    """Names the rules whose quoted words are not in the prompt."""
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
