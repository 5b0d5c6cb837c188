"""Judging by a model: what no check decides.

Two modes. ``rules``: the rules that need a judge, one structured request per output, a reason and a verdict per rule.
``prompt``: PromptPex's own (arXiv 2503.05070v1, §3.4), the whole prompt and the output, OK or ERR, without the input.
A judge that cannot be read gives ``unscored``, never a pass and never a fail.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from promptpex.core.errors import ModelError
from promptpex.core.ids import digest
from promptpex.core.records import PROMPT_RULE, Output, Prompt, Request, Rule, Spec, Verdict
from promptpex.core.stage_templates import Rendered, fingerprint, render
from promptpex.judging.confidence import confidences
from promptpex.llm.role_model import Asker
from promptpex.llm.schemas import REASON, reply_schema

Mode = Literal["rules", "prompt"]

STAGE = "judge"


class RuleVerdict(BaseModel):
    """A judge's word on one rule: the reason first, so that the verdict follows from it."""

    reason: Annotated[str, REASON]
    verdict: Literal["pass", "fail"]


class PromptVerdict(BaseModel):
    """A judge's word on compliance with the whole prompt."""

    reason: Annotated[str, REASON]
    verdict: Literal["OK", "ERR"]


@dataclass(frozen=True, slots=True)
class Judging:
    """How to judge.

    Attributes:
        mode: ``rules`` or ``prompt``.
        sees_input: whether the judge is shown the inputs.
        all_rules: whether rules that code decides are judged as well, to measure agreement.
        turns: how often each output is judged; later turns have the rules in another order and other words.
        confidence: whether log-probabilities are asked for, to tell how sure the judge was.
        instructions: the owner's note for the judge.
    """

    mode: Mode = "rules"
    sees_input: bool = False
    all_rules: bool = False
    turns: int = 1
    confidence: bool = False
    instructions: str = ""

    def rules_for_judge(self, spec: Spec) -> tuple[Rule, ...]:
        """The rules that the judge is asked about."""
        return tuple(rule for rule in spec.rules if not rule.stale and (self.all_rules or rule.needs_judge))


@dataclass(frozen=True, slots=True)
class Judge:
    """One judge model with the material that its verdicts rest on."""

    asker: Asker
    prompt: Prompt
    spec: Spec
    options: Judging = field(default_factory=Judging)

    @property
    def source(self) -> str:
        """What its verdicts name as their source."""
        return f"judge:{self.asker.label}"

    @property
    def rules(self) -> tuple[str, ...]:
        """The rule ids that it gives verdicts on."""
        if self.options.mode == "prompt":
            return (PROMPT_RULE,)
        return tuple(rule.id for rule in self.options.rules_for_judge(self.spec))

    async def judge(self, output: Output, inputs: Mapping[str, Any], *, turn: int = 0) -> list[Verdict]:
        """A verdict per rule on a usable output, in the spec's order; unscored with the reason where none came.

        A later ``turn`` asks anew, with the rules in another order and in other words around them.
        """
        if not self.rules:
            return []
        try:
            return await self._verdicts(output, inputs, turn)
        except ModelError as error:
            say = self._verdict(output, turn)
            return [say(rule, "unscored", str(error), code=f"judge-{error.reason}") for rule in self.rules]

    def request(self, output: Output, inputs: Mapping[str, Any], *, turn: int = 0) -> Request:
        """The request that judging this output begins with."""
        request = self._asker.request(self._rendered(output, inputs, turn), stage=STAGE, repeat=turn)
        return request.replace(reply_schema=reply_schema(self._shape(turn)))

    @property
    def _asker(self) -> Asker:
        wants = self.options.confidence and not self.asker.defaults.logprobs
        return replace(self.asker, defaults=self.asker.defaults.replace(logprobs=True)) if wants else self.asker

    async def _verdicts(self, output: Output, inputs: Mapping[str, Any], turn: int) -> list[Verdict]:
        rendered, shape = self._rendered(output, inputs, turn), self._shape(turn)
        reply = await self._asker.ask(rendered, shape, stage=STAGE, repeat=turn)
        say, value = self._verdict(output, turn), reply.value
        if isinstance(value, PromptVerdict):
            sure = confidences(reply.completion, ("OK", "ERR"))
            status = "pass" if value.verdict == "OK" else "fail"
            return [say(PROMPT_RULE, status, value.reason.strip(), sure=sure[0] if len(sure) == 1 else None)]
        found = {info.alias or name: getattr(value, name) for name, info in type(value).model_fields.items()}
        asked, sure = self._in_turn(turn), confidences(reply.completion, ("pass", "fail"))
        how_sure = dict(zip(asked, sure, strict=True)) if len(sure) == len(asked) else {}
        return [
            say(rule, found[rule].verdict, found[rule].reason.strip(), sure=how_sure.get(rule)) for rule in self.rules
        ]

    def _in_turn(self, turn: int) -> tuple[str, ...]:
        """The rule ids in the order of a turn: later turns begin further down the list."""
        start = turn % max(len(self.rules), 1)
        return self.rules[start:] + self.rules[:start]

    def _shape(self, turn: int) -> type[BaseModel]:
        return PromptVerdict if self.options.mode == "prompt" else rules_reply(self._in_turn(turn))

    def _rendered(self, output: Output, inputs: Mapping[str, Any], turn: int) -> Rendered:
        text, note, wording = output.text or "", self.options.instructions, turn % 2
        if self.options.mode == "prompt":
            prompt = self.prompt.text()
            return render("judging/prompt", prompt=prompt, output=text, instructions=note, wording=wording)
        by_id = {rule.id: rule for rule in self.options.rules_for_judge(self.spec)}
        return render(
            "judging/rules",
            intent=self.spec.intent,
            rules=[by_id[rule] for rule in self._in_turn(turn)],
            output=text,
            inputs=inputs_text(inputs) if self.options.sees_input else "",
            instructions=note,
            wording=wording,
        )

    def _verdict(self, output: Output, turn: int) -> Callable[..., Verdict]:
        mark = self.fingerprint()

        def say(rule: str, status: str, reason: str, *, code: str | None = None, sure: float | None = None) -> Verdict:
            return Verdict.model_validate(
                {
                    "case": output.case,
                    "model": output.model,
                    "repeat": output.repeat,
                    "rule": rule,
                    "status": status,
                    "reason": reason,
                    "unscored": code,
                    "source": self.source,
                    "fingerprint": mark,
                    "confidence": sure,
                    "turn": turn,
                }
            )

        return say

    def fingerprint(self) -> str:
        """Hash of all that shapes its verdicts: the template, who answers, its settings, the rules and how they are
        put to it."""
        mode, asker = self.options.mode, self.asker
        rules = [rule.to_dict() for rule in self.options.rules_for_judge(self.spec)] if mode == "rules" else []
        who = [
            asker.label,
            asker.model.api_base,
            asker.model.backend,
            asker.model.params.to_dict(),
            asker.defaults.to_dict(),
        ]
        return digest([fingerprint(f"judging/{mode}"), who, asdict(self.options), self.spec.intent, rules], 16)


def inputs_text(inputs: Mapping[str, Any]) -> str:
    """Inputs as text: the value alone if there is one, else a paragraph a variable."""
    values = {k: v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for k, v in inputs.items()}
    if len(values) == 1:
        return next(iter(values.values()))
    return "\n\n".join(f"{name}:\n{value}" for name, value in values.items())


@lru_cache(maxsize=64)
def rules_reply(rules: tuple[str, ...]) -> type[BaseModel]:
    """The shape of a reply: an object with exactly one verdict under each rule's id."""
    fields: dict[str, Any] = {f"f{index}": (RuleVerdict, Field(alias=rule)) for index, rule in enumerate(rules)}
    return create_model("RuleVerdicts", __config__=ConfigDict(populate_by_name=True), **fields)


def judgeable(outputs: Sequence[Output]) -> list[Output]:
    """The outputs that have a usable text."""
    return [output for output in outputs if output.error is None]
