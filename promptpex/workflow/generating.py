"""From a spec to a suite: plan, generate, exclude what is not usable, expand, measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from promptpex.cases.duplicates import duplicates, independent
from promptpex.cases.expand import Expanding, expand
from promptpex.cases.expected import expected_outputs, lacking, with_expected
from promptpex.cases.generate import generate as generate_cases
from promptpex.cases.generate import keep_unreplaced, mark_invalid, replace_invalid, within_tries
from promptpex.cases.lint import LintFinding, lint_all
from promptpex.cases.plan import RULES_PER_REQUEST, Generation, Plan, plan, with_more
from promptpex.cases.rate import Kept, keep_most_valuable, own_cases, rate
from promptpex.cases.samples_and_scenarios import read_scenarios
from promptpex.cases.validity import ValidityCheck
from promptpex.codecs.text.wording import named
from promptpex.config import Settings
from promptpex.core.errors import ModelError, SuiteError
from promptpex.core.events import Notice
from promptpex.core.records import Case, Output, Prompt, Spec, Suite
from promptpex.core.time_allowance import Allowance
from promptpex.core.translation import stored, stored_n, tr_n
from promptpex.promptfile import RENDERING_SECONDS
from promptpex.workflow.execution.collect import Cell, answer_to
from promptpex.workflow.front_matter import instructions_of, language_of, output_params, samples_of
from promptpex.workflow.session import Session
from promptpex.workflow.specifying import lacks_inverse
from promptpex.workflow.statistical_power import interval_in_words


@dataclass(frozen=True, slots=True)
class Quality:
    """The quality of a suite, measured by code.

    Attributes:
        cases: all of them.
        excluded: unusable ones, kept with their reason.
        independent: usable ones that are not near-duplicates of one another.
        duplicates: pairs of near-duplicates.
        lint: the ids of the cases that have a finding, by its code.
        bare: rule ids that no usable case aims at.
        aside: valid ones that are put aside.
        untriggered: usable ones that did not meet the condition of their rule in the latest run; they aim at none.
    """

    cases: int
    excluded: int
    independent: int
    duplicates: int
    lint: dict[str, list[str]]
    bare: tuple[str, ...]
    aside: int = 0
    untriggered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Generated:
    """A suite as generated, the plan as it was carried out (stale cases that stay count as kept), and the quality.

    ``choice`` and ``resolution`` say what was put aside and what that costs, where the most valuable were to be kept.
    """

    suite: Suite
    plan: Plan
    quality: Quality
    choice: Kept | None = None
    resolution: str = ""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What one call asks for, besides the settings.

    Attributes:
        more: cases to make for each rule and inverse beyond those that there are.
        rate: whether cases are rated.
        keep: how many cases to keep, the most valuable ones, the others put aside; None: as it is.
        replace: whether outdated cases may go, however many, and those beyond the numbers that the settings want.
    """

    more: int = 0
    rate: bool = False
    keep: int | None = None
    replace: bool = False

    @property
    def rating(self) -> bool:
        return self.rate or self.keep is not None

    def only_own(self, suite: Suite) -> bool:
        """Whether people's cases are already as many as are to be kept, so that no other need be made or rated."""
        return self.keep is not None and not self.more and not self.rate and len(own_cases(suite)) >= self.keep


def planned(session: Session, prompt: Prompt, spec: Spec, suite: Suite, wishes: Wishes = Wishes()) -> Plan:
    """What ``generate`` would do; no request is sent."""
    if wishes.only_own(suite):
        return Plan(keep=suite.cases, retire=(), make=(), orphans=())
    options = _options(session, prompt, spec, suite, wishes)
    todo = plan(prompt, spec, suite, options=options)
    return within_tries(todo, tries=session.settings.rounds)


def _options(session: Session, prompt: Prompt, spec: Spec, suite: Suite, wishes: Wishes) -> Generation:
    options = replace(generation(session, prompt), replace=wishes.replace)
    if not wishes.more:
        return replace(options, own_count=wishes.rating)
    return with_more(options, prompt, spec, suite, more=wishes.more)


def require_leave_to_replace(spec: Spec, suite: Suite, todo: Plan, wishes: Wishes) -> None:
    """Refuses to retire more than a tenth of the usable cases unless that is wished."""
    outdated = [case for case in todo.retire if case.invalid is None]
    if wishes.replace or len(outdated) <= len(suite.usable()) / 10:
        return
    current = {rule.id for rule in spec.rules if not rule.stale}
    of_rules = Counter(case.rule for case in outdated if case.rule in current)
    changed = [f"{count} of {rule}" for rule, count in of_rules.items()]
    gone = len(outdated) - of_rules.total()
    why = [f"{named(changed)}, whose words, condition, scenario or inputs have changed"] if changed else []
    why += [f"{gone} of rules that are gone"] if gone else []
    raise SuiteError(
        f"{len(outdated)} of {len(suite.usable())} cases are outdated ({'; '.join(why)}): --replace retires them and "
        "makes new ones; nothing was changed"
    )


def require_cases(session: Session, made: Generated) -> None:
    """Refuses a suite for which its author has made no case at all."""
    if made.suite.cases or not made.plan.missing:
        return
    author = session.roles.author().label
    message = stored_n(
        (
            "the author {model} made none of {count} case: none of its replies could be used; name another author, "
            "or write cases"
        ),
        "the author {model} made none of {count} cases: none of its replies could be used; name another author, or "
        "write cases",
        made.plan.missing,
        model=author,
    )
    raise ModelError(message, model=author)


async def generate(
    session: Session,
    prompt: Prompt,
    spec: Spec,
    suite: Suite,
    wishes: Wishes = Wishes(),
    untriggered: Collection[str] = (),
) -> Generated:
    """The suite with what is missing or stale generated, unusable cases excluded, and its quality measured.

    Args:
        untriggered: ids of cases that did not meet the condition of their rule in an earlier run.
    """
    settings = session.settings
    todo = planned(session, prompt, spec, suite, wishes)
    require_leave_to_replace(spec, suite, todo, wishes)
    if wishes.only_own(suite):
        grown, plan_done = suite, todo
    else:
        grown, plan_done = await _filled(session, prompt, spec, suite, wishes, todo)
    untriggered = _unchanged(untriggered, suite, grown)
    choice = keep_most_valuable(grown, spec, wishes.keep, untriggered) if wishes.keep is not None else None
    grown = choice.suite if choice is not None else grown
    if settings.expected:
        grown = await _with_expected(session, prompt, spec, grown, settings.expected)
    measured = quality(prompt, spec, grown, language_of(settings, prompt), untriggered)
    return Generated(grown, plan_done, measured, choice, _resolution(settings, choice))


def _unchanged(ids: Collection[str], before: Suite, after: Suite) -> tuple[str, ...]:
    aims = {case.id: (case.rule, case.inputs) for case in before.cases}
    return tuple(case.id for case in after.cases if case.id in ids and aims.get(case.id) == (case.rule, case.inputs))


async def _filled(
    session: Session, prompt: Prompt, spec: Spec, suite: Suite, wishes: Wishes, todo: Plan
) -> tuple[Suite, Plan]:
    """The suite with its missing cases, checked, expanded and rated as wished; and the plan as it was carried out."""
    settings, author, emit = session.settings, session.roles.author(), session.emit
    options = _options(session, prompt, spec, suite, wishes)
    _say_what_no_rule_has(session, spec, todo)
    _say_what_comes_before_rating(session, todo, wishes)
    new = await generate_cases(author, prompt, spec, todo, suite_for=suite.prompt, options=options, emit=emit)
    filled_suite = new.replace(match=suite.match)
    instructions = instructions_of(settings, prompt)
    judge = session.roles.author(as_judge=True) if settings.validity else None
    check = ValidityCheck(prompt, spec, judge, instructions.get("validity", ""), options.language, emit)
    refined = await replace_invalid(author, filled_suite, check, options=options, rounds=settings.rounds)
    expanding = Expanding(settings.expansion, options.samples, instructions.get("expand", ""))
    stayed, plan_kept = keep_unreplaced(todo, refined.suite, spec, emit)
    grown = await expand(author, prompt, spec, stayed, how=expanding, emit=emit)
    variants = {case.id for case in grown.cases if case not in stayed.cases}
    if variants:
        grown, _ = await mark_invalid(grown, check, only=variants)
    if wishes.rating:
        rater = session.roles.author(as_judge=True)
        grown = await rate(rater, prompt, spec, grown, instructions=instructions.get("rate", ""), emit=emit)
    return grown, plan_kept


def _say_what_comes_before_rating(session: Session, todo: Plan, wishes: Wishes) -> None:
    """Tells who asks for a rating that cases are missing or outdated, and made before any is rated."""
    if wishes.rating and not wishes.more and todo.missing:
        message = stored_n(
            "{count} case is made before the rating, for {aims}: cases_per_rule and inverse_cases set how many there "
            "should be",
            "{count} cases are made before the rating, for {aims}: cases_per_rule and inverse_cases set how many "
            "there should be",
            todo.missing,
            aims=named(list(dict.fromkeys(target.stem for target, _ in todo.make))),
        )
        session.emit(Notice(message))


def _say_what_no_rule_has(session: Session, spec: Spec, todo: Plan) -> None:
    """Tells of people's cases whose rule is gone, and of rules without an inverse to aim at."""
    for orphan in todo.orphans:
        if orphan.origin != "generated":
            message = stored(
                "case {case} is yours and stays, but its rule {rule} is gone", case=orphan.id, rule=orphan.rule
            )
            session.emit(Notice(message, "warning"))
    bare = [rule.id for rule in spec.rules if lacks_inverse(rule)]
    if bare and session.settings.inverse_cases:
        message = stored(
            "no inverse is written for {rules}, so no case aims at one; `promptpex extract PROMPT --update` asks "
            "for it",
            rules=", ".join(bare),
        )
        session.emit(Notice(message, "warning"))


def _resolution(settings: Settings, choice: Kept | None) -> str:
    """How much less the kept cases tell than all of them would; empty where none is put aside."""
    if choice is None or not choice.aside or choice.valid == choice.aside:
        return ""
    left = choice.valid - choice.aside
    now, before = interval_in_words(settings, left), interval_in_words(settings, choice.valid)
    return tr_n(
        "With {count} case a share of {rate} has an interval of {now}, with all {number} one of {before}.",
        "With {count} cases a share of {rate} has an interval of {now}, with all {number} one of {before}.",
        left,
        rate=now["rate"],
        now=now["ends"],
        number=choice.valid,
        before=before["ends"],
    )


def generation(session: Session, prompt: Prompt) -> Generation:
    """How to generate, by the settings over the prompt's front matter."""
    settings = session.settings
    scenarios: Any = settings.scenarios or prompt.meta.get("scenarios")
    path = prompt.path
    return Generation(
        per_rule=settings.cases_per_rule,
        per_inverse=settings.inverse_cases,
        rules_per_request=settings.rules_per_request or _rules_per_request(session),
        scenarios=read_scenarios(scenarios, variables=prompt.variables, path=path),
        samples=samples_of(settings, prompt),
        instructions=instructions_of(settings, prompt).get("cases", ""),
        language=language_of(settings, prompt),
    )


def _rules_per_request(session: Session) -> int:
    return 1 if session.roles.author().model.name.startswith("embedded/") else RULES_PER_REQUEST


def quality(
    prompt: Prompt, spec: Spec, suite: Suite, suite_language: str | None = None, untriggered: Collection[str] = ()
) -> Quality:
    """The quality of a suite, measured by code; cases that do not trigger their rule's condition test none."""
    usable = suite.usable()
    findings = lint_all(suite.replace(cases=usable), prompt=prompt, spec=spec, suite_language=suite_language)
    aimed = {case.rule for case in usable if case.id not in untriggered}
    return Quality(
        cases=len(suite.cases),
        excluded=len(suite.cases) - len(suite.valid()),
        independent=independent(usable),
        duplicates=len(duplicates(usable)),
        lint=_by_code(findings),
        bare=tuple(rule.id for rule in spec.rules if not rule.stale and rule.id not in aimed),
        aside=len(suite.valid()) - len(usable),
        untriggered=tuple(case.id for case in usable if case.id in untriggered),
    )


def _by_code(findings: Mapping[str, Sequence[LintFinding]]) -> dict[str, list[str]]:
    ids: dict[str, list[str]] = {}
    for case, of_case in findings.items():
        for code in sorted({finding.code for finding in of_case}):
            ids.setdefault(code, []).append(case)
    return ids


async def _with_expected(session: Session, prompt: Prompt, spec: Spec, suite: Suite, reference: str) -> Suite:
    """The suite with expected outputs from the reference model, where the judges score them high enough."""
    model = session.roles.named(reference)

    async def answer(case: Case, attempt: int) -> Output:
        return await _one_output(session, prompt, Cell(case, model, attempt))

    results = await expected_outputs(
        lacking(suite),
        answer,
        session.roles.judges(),
        prompt=prompt,
        spec=spec,
        instructions=instructions_of(session.settings, prompt).get("expected", ""),
        emit=session.emit,
    )
    return with_expected(suite, results, session.emit)


async def _one_output(session: Session, prompt: Prompt, cell: Cell) -> Output:
    time = Allowance(RENDERING_SECONDS)
    return await answer_to(session.client, prompt, cell, output_params(session, prompt), time)
