"""Validity: whether a case is an input that the prompt has to cope with at all.

Code first: types, bounds, lengths and the input checks of the spec, and lint. The sentences of the input spec go to a
model, one request per case, a verdict per sentence (after PromptPex, arXiv 2503.05070v1, §4, test validity). A case
that could not be decided is not known to be valid, and is never excluded for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, create_model

from promptpex.cases.input_types import type_problems
from promptpex.cases.lint import errors, lint
from promptpex.codecs.inputs_as_text import inputs_text
from promptpex.core.events import Listener, ignore_events
from promptpex.core.records import INPUT_VARIABLE, WHOLE_INPUT, Case, Prompt, Rule, Spec
from promptpex.core.stage_templates import Rendered, render
from promptpex.llm.map_requests import map_requests
from promptpex.llm.role_model import RoleModel
from promptpex.llm.schemas import REASON

TEMPLATE = "cases/validity"
STAGE = "validity"


class ConstraintVerdict(BaseModel):
    """A model's verdict on one sentence of the input spec: the reason first."""

    reason: Annotated[str, REASON]
    verdict: Literal["keeps", "breaks", "unclear"]


@dataclass(frozen=True, slots=True)
class Validity:
    """Whether one case is valid.

    Attributes:
        case: its id.
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
        instructions: the owner's note for the judge.
        suite_language: as in ``lint``.
        emit: is told about the stage and what came of it.
    """

    prompt: Prompt
    spec: Spec
    judge: RoleModel | None = None
    instructions: str = ""
    suite_language: str | None = None
    emit: Listener = ignore_events


def code_problems(case: Case, prompt: Prompt, spec: Spec) -> list[str]:
    """What code finds wrong with a case's inputs under the input spec, a sentence each; empty when nothing.

    Raises:
        CheckError: an input check of the spec that cannot be used as written.
    """
    from promptpex.assertions import check_inputs

    problems = [f"{name} is missing" for name in prompt.variables if name not in case.inputs]
    for name, value in case.inputs.items():
        if name in spec.inputs:
            problems += type_problems(name, value, spec.inputs[name])
    present = [check for check in spec.input_checks if check.variable in case.inputs]
    return problems + [
        problem for problem in check_inputs(present, case.inputs) if "could not be checked" not in problem
    ]


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

    async def ask(case: Case) -> Validity:
        rendered = request_text(how.spec, case, sentences, how.instructions)
        reply = await judge.ask(rendered, reply_type(tuple(sentences)), stage=STAGE)
        return _judged(case, sentences, reply.value, source)

    unread: Validity | None = None
    findings = await map_requests(STAGE, judge.label, cases, ask, how.emit, default=unread)
    return {
        case.id: finding or Validity(case.id, "unknown", ("the judge could not be read",), source)
        for case, finding in zip(cases, findings, strict=True)
    }


def constraints_of(prompt: Prompt, spec: Spec) -> dict[str, str]:
    """The sentences of the input spec under the names that a judge answers by, each with the variable it is about."""
    sentences: list[str] = []
    for name in (*prompt.variables, WHOLE_INPUT):
        variable = spec.inputs.get(name)
        about = {WHOLE_INPUT: "all together", INPUT_VARIABLE: "the input"}.get(name, name)
        sentences += [f"({about}) {line}" for line in variable.constraints] if variable is not None else []
    return {f"c{number}": sentence for number, sentence in enumerate(sentences, 1)}


def request_text(spec: Spec, case: Case, sentences: Mapping[str, str], instructions: str = "") -> Rendered:
    """The rendered template that asks about one case."""
    return render(
        TEMPLATE,
        intent=spec.intent,
        rules=[Rule(id=name, rule=sentence) for name, sentence in sentences.items()],
        inputs=inputs_text(case.inputs),
        instructions=instructions,
    )


@lru_cache(maxsize=64)
def reply_type(names: tuple[str, ...]) -> type[BaseModel]:
    """The shape of a reply: exactly one verdict under each constraint's name."""
    fields: dict[str, Any] = dict.fromkeys(names, (ConstraintVerdict, ...))
    return create_model("ConstraintVerdicts", **fields)


def _by_code(case: Case, how: ValidityCheck) -> Validity:
    findings = errors(lint(case, prompt=how.prompt, spec=how.spec, suite_language=how.suite_language))
    reasons = [str(finding) for finding in findings if finding.code not in ("wrong-type", "missing-variable")]
    reasons = [*code_problems(case, how.prompt, how.spec), *reasons]
    return Validity(case.id, "invalid" if reasons else "valid", tuple(reasons))


def _judged(case: Case, sentences: Mapping[str, str], reply: BaseModel, source: str) -> Validity:
    reasons: dict[str, list[str]] = {"keeps": [], "breaks": [], "unclear": []}
    for name, sentence in sentences.items():
        answer: ConstraintVerdict = getattr(reply, name)
        reasons[answer.verdict].append(f"{sentence} {answer.reason.strip()}".strip())
    if reasons["breaks"]:
        return Validity(case.id, "invalid", tuple(reasons["breaks"]), source)
    return Validity(case.id, "unknown" if reasons["unclear"] else "valid", tuple(reasons["unclear"]), source)
