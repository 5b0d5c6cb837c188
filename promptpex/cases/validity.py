"""Validity: whether a case is an input that the prompt has to cope with at all.

Code first: types, bounds, lengths, JSON schemas and the input checks of the spec, and lint. The sentences of the input
spec go to a model with several cases at once, which names what is broken and nothing else (after PromptPex, arXiv
2503.05070v1, §4.3.2, which asks about every case alone). A case that could not be decided is not known to be valid, and
is never excluded for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel

from promptpex.cases.input_specs import type_problems
from promptpex.cases.lint import errors, lint
from promptpex.cases.new_cases_request import by_number
from promptpex.codecs.text.inputs_as_text import inputs_text
from promptpex.core.events import Listener, ignore_events
from promptpex.core.records import ALSO_VALID, INPUT_VARIABLE, WHOLE_INPUT, Case, Prompt, Spec
from promptpex.core.stage_templates import Rendered, render
from promptpex.llm.model_in_role import RoleModel, map_batches
from promptpex.llm.schemas import REASON, one_of, readable, reply_model

TEMPLATE = "cases/validity"
STAGE = "validity"
PROPOSED = ("extracted", "generated")
"""Origins of rules that nobody has edited."""
CASES_PER_REQUEST = 8
"""Cases that a judge reads at once."""


@dataclass(frozen=True, slots=True)
class Validity:
    """Whether one case is valid.

    Attributes:
        status: ``valid``, ``invalid``, or ``unknown`` where a model was needed and none could be read or was sure.
        reasons: why it is not valid, or not known to be, a sentence each.
        source: ``code``, or ``judge:`` and the model's label.
    """

    case: str
    status: Literal["valid", "invalid", "unknown"]
    reasons: tuple[str, ...] = ()
    source: str = "code"


@dataclass(frozen=True, slots=True)
class ValidityCheck:
    """How validity is decided: by code for this prompt and spec and, where there is one, by a judge.

    Attributes:
        judge: reads the sentences of the input spec; usually the author. None: code alone decides, and what it cannot
            decide is unknown.
    """

    prompt: Prompt
    spec: Spec
    judge: RoleModel | None = None
    instructions: str = ""
    suite_language: str | None = None
    emit: Listener = ignore_events


def code_problems(case: Case, prompt: Prompt, spec: Spec) -> list[str]:
    """What code finds wrong with a case's inputs under the input spec, a sentence each; empty when nothing.

    The condition of a rule counts where a person wrote or edited it. One that was proposed may be too narrow, and its
    own cases are the evidence (``narrow_conditions``).

    Raises:
        CheckError: an input check of the spec that cannot be used as written.
    """
    from promptpex.assertions import check_inputs

    problems = [f"{name} is missing" for name in prompt.variables if name not in case.inputs]
    for name, value in case.inputs.items():
        if name in spec.inputs:
            problems += type_problems(name, value, spec.inputs[name])
    rule = spec.rule(case.rule) if case.rule is not None else None
    if rule is not None and not rule.stale and rule.origin not in PROPOSED:
        unmet = _decided(check_inputs(rule.when, case.inputs))
        problems += [f"the condition of {rule.id} does not hold: {reason}" for reason in unmet]
    present = [check for check in spec.input_checks if check.variable in case.inputs]
    return problems + _decided(check_inputs(present, case.inputs))


def narrow_conditions(spec: Spec, cases: Iterable[Case]) -> dict[str, str]:
    """The rules whose proposed condition excludes a case that was written for them, each with the first such case.

    Raises:
        CheckError: a condition that cannot be used as written.
    """
    from promptpex.assertions import check_inputs, check_time

    conditional = {rule.id: rule for rule in spec.rules if rule.when and not rule.stale and rule.origin in PROPOSED}
    narrow: dict[str, str] = {}
    with check_time():
        for case in cases:
            rule = conditional.get(case.rule or "")
            if rule is not None and rule.id not in narrow and _decided(check_inputs(rule.when, case.inputs)):
                narrow[rule.id] = case.id
    return narrow


def _decided(problems: Iterable[str]) -> list[str]:
    return [problem for problem in problems if "could not be checked" not in problem]


async def validity(cases: Sequence[Case], how: ValidityCheck) -> list[Validity]:
    """The validity of each case, in their order.

    Raises:
        CheckError: an input check of the spec that cannot be used as written.
        ModelError: of a kind that holds for the whole judge.
    """
    from promptpex.assertions import check_time

    with check_time():
        findings = {case.id: _by_code(case, how) for case in cases}
    sentences = constraints_of(how.prompt, how.spec)
    undecided = [case for case in cases if findings[case.id].status == "valid"] if sentences else []
    if how.judge is None:
        why = ("no model has read the sentences of the input spec",)
        findings.update({case.id: Validity(case.id, "unknown", why) for case in undecided})
    else:
        findings.update(await _by_judge(undecided, how.judge, how, sentences))
    return [findings[case.id] for case in cases]


async def _by_judge(
    cases: Sequence[Case], judge: RoleModel, how: ValidityCheck, sentences: Mapping[str, str]
) -> dict[str, Validity]:
    source = f"judge:{judge.label}"

    async def ask(batch: Sequence[Case]) -> list[Validity]:
        rendered = request_text(how.prompt, how.spec, batch, sentences, how.instructions)
        reply = await judge.ask(rendered, reply_type(len(batch), tuple(sentences)), stage=STAGE)
        problems = reply.value.problems  # type: ignore[attr-defined]
        return [
            _judged(case, sentences, [one for one in problems if one.input == name], source)
            for name, case in by_number(batch).items()
        ]

    unread: Validity | None = None
    findings = await map_batches(STAGE, judge.label, cases, ask, how.emit, size=CASES_PER_REQUEST, default=unread)
    return {
        case.id: finding or Validity(case.id, "unknown", ("the judge could not be read",), source)
        for case, finding in zip(cases, findings, strict=True)
    }


def constraints_of(prompt: Prompt, spec: Spec) -> dict[str, str]:
    """The sentences that a judge holds cases against, by the names that it answers with."""
    sentences = [line for line in _sentences(prompt, spec) if not _only_allows(line)]
    return {f"c{number}": f"({about}) {line}" for number, (about, line) in enumerate(sentences, 1)}


def request_text(
    prompt: Prompt, spec: Spec, cases: Sequence[Case], sentences: Mapping[str, str], instructions: str = ""
) -> Rendered:
    """The rendered template that asks about these cases."""
    allowed = [f"({about}) {line}" for about, line in _sentences(prompt, spec) if _only_allows((about, line))]
    return render(
        TEMPLATE,
        intent=spec.intent,
        sentences="\n".join(f"{name}: {' '.join(sentence.split())}" for name, sentence in sentences.items()),
        also_valid="\n".join(allowed),
        items=[{"id": name, "text": inputs_text(case.inputs)} for name, case in by_number(cases).items()],
        instructions=instructions,
    )


@lru_cache(maxsize=64)
def reply_type(count: int, names: tuple[str, ...]) -> type[BaseModel]:
    """The shape of a reply about ``count`` cases: what is broken or unclear; what names nothing is left out."""
    problem = reply_model(
        "Problem",
        input=one_of([f"i{number}" for number in range(1, count + 1)]),
        sentence=one_of(names),
        reason=Annotated[str, REASON],
        verdict=one_of(("breaks", "unclear")),
    )
    return reply_model("Problems", problems=Annotated[list[problem], readable(problem)])  # type: ignore[valid-type]


def _sentences(prompt: Prompt, spec: Spec) -> list[tuple[str, str]]:
    """The sentences of the input spec, each with what it is about."""
    sentences: list[tuple[str, str]] = []
    for name in (*prompt.variables, WHOLE_INPUT):
        variable = spec.inputs.get(name)
        about = {WHOLE_INPUT: "all together", INPUT_VARIABLE: "the input"}.get(name, name)
        sentences += [(about, line) for line in variable.constraints] if variable is not None else []
    return sentences


def _only_allows(sentence: tuple[str, str]) -> bool:
    return sentence[1].lstrip().casefold().startswith(ALSO_VALID.casefold())


def _by_code(case: Case, how: ValidityCheck) -> Validity:
    findings = errors(lint(case, prompt=how.prompt, spec=how.spec, suite_language=how.suite_language))
    reasons = [str(finding) for finding in findings if finding.code not in ("wrong-type", "missing-variable")]
    reasons = [*code_problems(case, how.prompt, how.spec), *reasons]
    return Validity(case.id, "invalid" if reasons else "valid", tuple(reasons))


def _judged(case: Case, sentences: Mapping[str, str], problems: Iterable[Any], source: str) -> Validity:
    reasons: dict[str, list[str]] = {"breaks": [], "unclear": []}
    for problem in problems:
        reasons[problem.verdict].append(f"{sentences[problem.sentence]} {problem.reason.strip()}".strip())
    if reasons["breaks"]:
        return Validity(case.id, "invalid", tuple(reasons["breaks"]), source)
    return Validity(case.id, "unknown" if reasons["unclear"] else "valid", tuple(reasons["unclear"]), source)
