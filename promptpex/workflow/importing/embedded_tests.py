"""The tests that a prompt file brings: GitHub's ``testData`` as cases and ``evaluators`` as rules, once a spec or a
suite is first written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from promptpex import promptfile
from promptpex.core.events import Notice
from promptpex.core.records import Case, Problem, Prompt, Rule, Spec, Suite
from promptpex.core.translation import stored, stored_n
from promptpex.interchange import github_prompt
from promptpex.interchange.notes import Log, Note
from promptpex.interchange.reading.foreign_files import At
from promptpex.workflow.session import Session


def with_own_rules(session: Session, prompt: Prompt, spec: Spec) -> Spec:
    """The spec with a rule for each evaluator of the prompt file; what cannot be one is named."""
    rules, notes = _rules(prompt)
    for note in notes:
        session.emit(Notice(stored("{name} of the prompt file: {reason}", name=note.name, reason=note.why)))
    if rules:
        message = stored_n(
            "{count} rule comes from the requirements in the prompt file",
            "{count} rules come from the requirements in the prompt file",
            len(rules),
        )
        session.emit(Notice(message))
    taken_ids = {rule.id for rule in spec.rules}
    own = [rule.replace(id=f"{rule.id}-evaluator") if rule.id in taken_ids else rule for rule in rules]
    return spec.replace(rules=(*spec.rules, *own))


def first_suite(prompt: Prompt, suite_for: str) -> Suite:
    return Suite(prompt=suite_for, cases=own_cases(prompt))


def own_cases(prompt: Prompt) -> tuple[Case, ...]:
    """The test data of a prompt file as cases, cut down to what the prompt names; rows that lack an input are not
    among them."""
    required_inputs = set(promptfile.required(prompt))
    cut = [_cut(case, prompt) for case in github_prompt.cases_of(prompt.meta, _top(prompt), Log(), prompt.messages)]
    return tuple(case for case in cut if case.inputs and required_inputs <= set(case.inputs))


def problems_of_own_tests(prompt: Prompt) -> Iterator[Problem]:
    """What becomes of the tests in a prompt file, and what of them cannot be used."""
    path = str(prompt.path)
    rules, notes = _rules(prompt)
    if rules:
        ids = ", ".join(rule.id for rule in rules)
        yield Problem.info(path, None, f"the file's requirements become rules of a new spec: {ids}")
    for note in notes:
        yield Problem.warning(path, None, f"{note.name}: {note.why}")
    rows, cases = prompt.meta.get("testData"), own_cases(prompt)
    if cases:
        yield Problem.info(path, None, f"rows of 'testData' that become cases of a new suite: {len(cases)}")
    if isinstance(rows, list) and len(rows) > len(cases):
        lacking = len(rows) - len(cases)
        yield Problem.warning(path, None, f"rows of 'testData' that lack an input and do not become cases: {lacking}")


def _rules(prompt: Prompt) -> tuple[list[Rule], tuple[Note, ...]]:
    log = Log()
    return github_prompt.rules_of(prompt.meta, _top(prompt), log), log.notes


def _top(prompt: Prompt) -> At:
    return At(Path(prompt.path or ""))


def _cut(case: Case, prompt: Prompt) -> Case:
    return case.replace(inputs={name: value for name, value in case.inputs.items() if name in prompt.variables})
