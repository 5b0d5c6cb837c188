"""Writing a prompt's spec and cases with the author model: extract, update and generate, from reading to writing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from promptpex.cases.file import read_suite, write_suite
from promptpex.cases.plan import Plan, brought_along, targets_of
from promptpex.core.errors import InputError
from promptpex.core.events import Notice
from promptpex.core.records import Case, Prompt, Run, Spec, Suite
from promptpex.core.translation import stored
from promptpex.report import runs
from promptpex.specs.extract import unread_declarations
from promptpex.specs.file import write_spec
from promptpex.specs.groundedness import Groundedness
from promptpex.specs.source_quotes import uncovered
from promptpex.tables import untriggered
from promptpex.workflow import generating, specifying
from promptpex.workflow.estimate import (
    EstimateLine,
    extraction_lines,
    generation_lines,
)
from promptpex.workflow.generating import Generated, Wishes
from promptpex.workflow.importing.embedded_tests import with_own_rules
from promptpex.workflow.preconditions import (
    announce_effort,
    name_uncited_sentences,
    raise_if_cancelled,
    require_author,
    require_checker,
    require_judges_of_expected,
    warn_about_ungrounded_rules,
    without_narrow_conditions,
)
from promptpex.workflow.project_files import Files, read_for_update, read_prompt
from promptpex.workflow.session import Session
from promptpex.workflow.specifying import Update


@dataclass(frozen=True, slots=True)
class Extracted:
    """A spec as extracted, for each rule whether the prompt states it, and the sentences that no rule cites."""

    spec: Spec
    groundedness: tuple[Groundedness, ...]
    uncited: tuple[str, ...]


async def extract(session: Session, files: Files) -> Extracted:
    """Extracts the spec of a prompt with the author model and writes it beside the prompt."""
    prompt = read_prompt(session, files.prompt)
    require_author(session)
    require_checker(session)
    announce_effort(session, extraction_lines(session, prompt))
    return await write_missing_spec(session, prompt, files)


async def update(session: Session, files: Files, *, more: bool = False) -> Update:
    """Brings the spec up to date with a changed prompt and writes it; people's rules and comments stay.

    Args:
        more: whether to ask for rules that the spec lacks although the prompt is the same.
    """
    prompt, spec, suite = read_for_update(session, files, changed=True)
    require_author(session)
    require_checker(session)
    updated = await specifying.update(session, prompt, spec, suite, more=more, before=_latest_run(session, prompt))
    raise_if_cancelled(session)
    write_spec(files.spec, updated.spec)
    current = [rule for rule in updated.spec.rules if not rule.stale]
    updated = replace(updated, uncited=uncovered(current, prompt))
    if more and not (updated.added or updated.back):
        session.emit(Notice(stored("the author names no further rule (--fresh asks again)")))
    if updated.asked:
        warn_about_ungrounded_rules(session, prompt, [rule for rule in current if rule.id in updated.added])
        name_uncited_sentences(session, prompt, current)
    if session.settings.verify:
        return replace(updated, groundedness=tuple(await specifying.groundedness(session, prompt, updated.spec)))
    return updated


async def generate(session: Session, files: Files, wishes: Wishes = Wishes()) -> Generated:
    """Generates the cases that are missing or stale and writes the suite; people's cases stay as they are."""
    require_judges_of_expected(session)
    prompt, spec, suite = read_for_update(session, files)
    if not wishes.only_own(suite):
        require_author(session)
    announce_effort(session, _planned(session, prompt, spec, suite, wishes)[1])
    return await write_cases(session, files, prompt, spec, suite, wishes)


def planned(session: Session, files: Files, wishes: Wishes = Wishes()) -> tuple[Plan, list[EstimateLine]]:
    """What ``generate`` would do and what that would cost; nothing is asked and nothing written."""
    return _planned(session, *read_for_update(session, files), wishes)


def _planned(
    session: Session, prompt: Prompt, spec: Spec, suite: Suite, wishes: Wishes
) -> tuple[Plan, list[EstimateLine]]:
    todo = generating.planned(session, prompt, spec, suite, wishes)
    rating = wishes.rating and not wishes.only_own(suite)
    return todo, generation_lines(session, prompt, spec, todo, rating=rating)


async def write_missing_spec(session: Session, prompt: Prompt, files: Files) -> Extracted:
    """Extracts the spec of a prompt and writes it, with the rules that the prompt's own file brings."""
    for sentence in unread_declarations(prompt):
        session.emit(Notice(f"{files.prompt.name}: {sentence}", "warning"))
    before, suite = _latest_run(session, prompt), _earlier_cases(session, files)
    spec = await specifying.extract(session, prompt, spec_for=files.prompt.name, suite=suite, before=before)
    raise_if_cancelled(session)
    whole = with_own_rules(session, prompt, spec)
    write_spec(files.spec, whole)
    warn_about_ungrounded_rules(session, prompt, spec.rules)
    name_uncited_sentences(session, prompt, spec.rules)
    groundedness = tuple(await specifying.groundedness(session, prompt, spec))
    return Extracted(whole, groundedness, uncovered(spec.rules, prompt))


async def write_cases(
    session: Session, files: Files, prompt: Prompt, spec: Spec, suite: Suite, wishes: Wishes = Wishes()
) -> Generated:
    """Generates the cases that are missing and writes the suite; the spec too where a condition excludes a case."""
    unmet = _untriggered(session, prompt, spec, suite)
    generated = await generating.generate(session, prompt, spec, suite, wishes, unmet)
    raise_if_cancelled(session)
    generating.require_cases(session, generated)
    if not wishes.only_own(suite):
        generated = replace(generated, suite=_widened(session, files, prompt, spec, generated.suite))
    write_suite(files.suite, generated.suite)
    return generated


def _widened(session: Session, files: Files, prompt: Prompt, spec: Spec, suite: Suite) -> Suite:
    """Drops narrow conditions from the spec's file; the suite for that spec, with the same cases."""
    wider = without_narrow_conditions(session, spec, suite)
    if wider == spec:
        return suite
    wider = write_spec(files.spec, wider)
    targets = partial(targets_of, prompt, options=generating.generation(session, prompt))
    return brought_along(suite, targets(spec), targets(wider))


def _earlier_cases(session: Session, files: Files) -> Suite | None:
    """The cases that there are before there is a spec, if they can be read: proposed checks may not refuse what they
    expect."""
    if not session.settings.checks or not files.suite.exists():
        return None
    try:
        return read_suite(files.suite)
    except InputError as error:
        session.emit(
            Notice(
                stored("checks are not compared with the expected outputs of the cases: {why}", why=error), "warning"
            )
        )
        return None


def _latest_run(session: Session, prompt: Prompt) -> Run | None:
    """The latest run of the prompt, if one can be read; proposed checks are compared with its verdicts."""
    if not session.settings.checks:
        return None
    folder = runs.latest_of(Path(session.settings.results), prompt.name)
    try:
        return runs.read(folder) if folder is not None else None
    except InputError as error:
        session.emit(Notice(stored("checks are not compared with the latest run: {why}", why=error), "warning"))
        return None


def _untriggered(session: Session, prompt: Prompt, spec: Spec, suite: Suite) -> tuple[str, ...]:
    """The cases that did not meet the condition of their rule in the latest run, and are what they were then."""
    folder = runs.latest_of(Path(session.settings.results), prompt.name) if suite.cases else None
    try:
        run = runs.read_for_report(folder) if folder is not None else None
    except InputError:
        return ()  # a run that cannot be read tells nothing of the cases; `report` says what is wrong with it
    if run is None:
        return ()
    now = {case.id: _aim(case, spec) for case in suite.cases}
    before = {case.id: _aim(case, run.spec) for case in run.suite.cases}
    return tuple(case for case in untriggered(run) if now.get(case) == before.get(case))


def _aim(case: Case, spec: Spec) -> tuple[object, ...]:
    """What a case tests: its inputs, and its rule with its words and its condition."""
    rule = spec.rule(case.rule) if case.rule is not None else None
    return case.inputs, case.rule, rule and rule.rule, rule and rule.when
